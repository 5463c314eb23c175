/* conn_output.h - the way out of a connection, for conn.c: answers and events are sent, and a peer
 * that does not take them is dropped. What others use is in conn.h. */
#ifndef BERTH_CONN_CONN_OUTPUT_H
#define BERTH_CONN_CONN_OUTPUT_H

#include "conn/conn.h"

/* Sends what the socket takes now; the rest waits. A peer that cannot be sent to becomes deaf. */
void conn_send(struct conn *conn);
/* Watches a connection with traffic for as long as its peer is behind: one that takes nothing for
 * 10 s is closed, and the log says so. */
void conn_note_stall(struct conn *conn);

#endif
