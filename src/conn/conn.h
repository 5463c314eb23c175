/* conn.h - a client's connection: bytes in and out, bounded both ways. command.h has the meaning of
 * its lines. */
#ifndef BERTH_CONN_CONN_H
#define BERTH_CONN_CONN_H

#include "admission/fair_queue.h"
#include "admission/idle_wait.h"
#include "base/text.h"
#include "conn/conn_state.h"
#include "core/client.h"
#include "wire/linebuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct followed;
struct followers_ops;
struct parked;
struct scheduler_ops;
struct server;
struct long_answer;

/* Whether the process numbers that a client names mean the same here; checked when it names one. */
enum conn_pids { PIDS_NOT_KNOWN, PIDS_OURS, PIDS_OTHERS };

/* What is under way on a connection. */
struct traffic {
    struct linebuf input;
    struct text output; /* not sent yet */
    union {
        struct parked *parked; /* ANSWER_PARKED */
        struct long_answer *longer; /* ANSWER_LONG */
    };
    uint64_t parked_since; /* of a line carried out again, which is counted: since when; else 0 */
    char *again; /* a held-back line, which precedes the input; or NULL */
    nanoseconds stalled_since; /* the peer is behind, and has taken nothing since; else 0 */
};

struct conn {
    uv_poll_t poll; /* of .fd */
    struct server *server;
    struct client client; /* the peer, as the core knows it */
    LIST_ENTRY(conn) link; /* in server->conns */
    STAILQ_ENTRY(conn) dirty_link; /* in server->dirty */
    struct fair_member member; /* of its user; queued while awaiting its turn */
    struct traffic *traffic; /* NULL: it is idle; conn_traffic() makes it */
    char *program; /* from hello, or NULL */
    uint64_t started; /* when process `pid` was started, once looked up; else 0 */
    int fd; /* -1 once it is closed */
    pid_t pid;
    enum conn_pids pids : 8;
    struct conn_state state; /* what it may do now; only conn_pass() writes it */
    bool wants_drained; /* sent "drain wait=1", and has no event yet */
    bool is_full; /* its socket takes no more until libuv says so */
    /* What libuv, the kernel and the server were last asked to do for it: */
    uint8_t polled; /* UV_READABLE, UV_WRITABLE: what libuv looks for */
    bool is_watched; /* by the scheduler: for hearing its end while it is not read from */
    bool is_dirty; /* in server->dirty */
    bool is_operators; /* has a place reserved for operators' requests: seat.h */
    struct idle_waiter idle_waiter; /* has sent "wait" */
    struct followed *followed; /* has sent "watch"; else NULL */
};

/* Takes `fd`, just accepted, over: makes a connection, or (false) refuses and closes. */
bool conn_accept(struct server *server, int fd);
/* Begins a long answer: `answer`, which it takes over, makes the rest. */
void conn_begin_long(struct conn *conn, struct long_answer *answer);
/* Stops reading: the connection closes once what has come is carried out and the answers are
 * sent. */
void conn_end_input(struct conn *conn);
/* Idempotent. Ends its leases now; frees the struct when libuv has let go. */
void conn_close(struct conn *conn);

static inline bool conn_is_closed(const struct conn *conn)
{
    return conn->state.peer == PEER_CLOSED;
}

/* The others get their turn of the loop: this connection goes on in a later one. */
void conn_put_off(struct conn *conn);

/* The event must be possible now. */
void conn_pass(struct conn *conn, enum conn_event event);

/* conn_input.c: conn_traffic() makes it if the connection was idle. */
struct traffic *conn_begin_traffic(struct conn *conn);
static inline struct traffic *conn_traffic(struct conn *conn)
{
    return conn->traffic ? conn->traffic : conn_begin_traffic(conn);
}
/* Does nothing if it is NULL. */
void traffic_free(struct traffic *traffic);

/* conn_output.c: where answers and events go. Events are held back while a long answer is being
 * sent, or a change made by the connection is being stored. */
struct text *conn_answers(struct conn *conn);
struct text *conn_events(struct conn *conn);
/* conn_output.c: whether the client has not read the event that granted the lease. False where that
 * is not known: without an event, and for one of several leases of a connection. */
bool conn_grant_is_unread(const struct lease *lease);
/* Queues it for the next conn_flush() round. */
void conn_mark_dirty(struct conn *conn);
/* Sends what can be sent, goes on with a long answer, takes lines that were waiting for that. */
void conn_flush(struct conn *conn);
/* conn_input.c: carries the held-back line out again when the connection is no longer parked, and
 * its long answer is over. Takes the line over. */
void conn_again(struct conn *conn, char *line);
/* Goes on with what a connection put off, in a later turn of the loop. If its client goes away
 * before, its leases end at once. */
extern const struct scheduler_ops conn_scheduler_ops;
/* Sends batches to those that follow. */
extern const struct followers_ops conn_followers_ops;

#endif
