/* conn_input.h - the way into a connection, for conn.c: bytes become lines, which are carried out
 * while the connection may go on. What others use is in conn.h. */
#ifndef BERTH_CONN_CONN_INPUT_H
#define BERTH_CONN_CONN_INPUT_H

#include "conn/conn.h"

#include <string.h>

/* Bytes that came and are not carried out yet. */
static inline size_t conn_unread(const struct conn *conn)
{
    const struct traffic *traffic = conn->traffic;
    if (!traffic) {
        return 0;
    }
    return linebuf_pending(&traffic->input) + (traffic->again ? strlen(traffic->again) : 0);
}

static inline struct conn_load conn_load(const struct conn *conn)
{
    return (struct conn_load){
        .unread = conn_unread(conn),
        .unsent = conn->traffic ? conn->traffic->output.length : 0,
    };
}

/* conn_pass() for an event that changes the pace alone, and not where that is free, as it is as a
 * rule. */
static inline void conn_pass_pace(struct conn *conn, enum conn_event event)
{
    if (conn->state.pace != PACE_FREE) {
        conn_pass(conn, event);
    }
}

/* Leaves the memory to the next connection if nothing is under way any more. */
void conn_end_traffic(struct conn *conn);

/* Lends `n` bytes that have come, until conn_keep_input(). */
void conn_feed(struct conn *conn, char *bytes, size_t n);
/* Keeps what is left of them until more comes. */
void conn_keep_input(struct conn *conn);
/* Whether there is a line to carry out: the beginning of one does not count. */
bool conn_has_line(const struct conn *conn);
/* Whether its user's rate forbids what it would do next, apart from one thing in its turn. */
bool conn_is_too_fast(const struct conn *conn);
/* Carries lines out until none is left, or until the rest has to be put off. */
void conn_take_lines(struct conn *conn);

#endif
