/* parked.h - a request that a database or the disk answers: until then its connection carries out
 * nothing that came behind it. It still hears a half-close; events still go out, unless they are
 * held back. */
#pragma once

#include <stdbool.h>

struct conn;
struct parked;
struct text;

struct parked_ops {
    /* No answer has come in time (4 s: berthctl waits for 5; a request that is held back repeatedly
     * has them once), and none will come any more: answers, and ends with parked_end(). */
    void (*late)(struct conn *conn);
    void (*free)(void *state);
    bool outlives_peer; /* carried out even if the client has gone meanwhile */
    bool holds_events; /* they follow the answer: the request may have caused some */
};

/* The connection must not be parked. Takes `state` over. */
void parked_begin(struct conn *conn, const struct parked_ops *ops, void *state);
/* The same for a request that has done nothing yet: `line` is as it was sent. */
void parked_hold_back(
    struct conn *conn, const char *line, const struct parked_ops *ops, void *state);
/* NULL: it is not parked. */
void *parked_state(const struct conn *conn);
bool parked_outlives_peer(const struct conn *conn);
/* Where its events go meanwhile; NULL: they are not held back. */
struct text *parked_held_back(const struct conn *conn);
/* The request has its answer: frees the state; the connection goes on in this turn of the loop. */
void parked_end(struct conn *conn);
/* For one that is held back: frees the state; the line is carried out again. */
void parked_again(struct conn *conn);
/* The connection closes: nobody is to be answered. Does nothing if it is not parked. */
void parked_close(struct conn *conn);
