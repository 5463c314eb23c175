/* parked.h - a request that a database answers: until then its connection carries out nothing that
 * came behind it. Events still go out; a half-close is heard. */
#ifndef BERTH_DAEMON_PARKED_H
#define BERTH_DAEMON_PARKED_H

struct conn;
struct parked;

struct parked_ops {
    /* No answer has come in time (4 s: berthctl waits for 5), and none will come any more: answers,
     * and ends with parked_end(). */
    void (*late)(struct conn *conn);
    void (*free)(struct conn *conn, void *state);
};

/* The connection must not be parked. Takes over `state`. */
void parked_begin(struct conn *conn, const struct parked_ops *ops, void *state);
/* NULL: it is not parked. */
void *parked_state(const struct conn *conn);
/* It has its answer: frees the state; the connection goes on in this turn of the loop. */
void parked_end(struct conn *conn);
/* The connection closes: nobody is to be answered. Nothing if it is not parked. */
void parked_close(struct conn *conn);

#endif
