/* deadlines.h - a database was reached: until when that is good is told. */
#ifndef BERTH_DAEMON_DEADLINES_H
#define BERTH_DAEMON_DEADLINES_H

#include <stdint.h>

struct server;

/* To every client that holds a lease of this database. */
void deadlines_tell(struct server *server, uint8_t database);

#endif
