/* conn.h - a client's connection: bytes in and out, bounded both ways. command.c has the meaning of
 * its lines. */
#pragma once

#include "admission/fair_queue.h"
#include "admission/idle_wait.h"
#include "base/memory.h"
#include "base/text.h"
#include "conn/conn_state.h"
#include "core/lease.h"
#include "wire/linebuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>
#include <uv.h>

struct followed;
struct followers_ops;
struct parked;
struct process;
struct scheduler_ops;
struct server;
struct long_answer;
struct watch;

/* Whether the process numbers that a client names mean the same here; checked when it names one. */
enum conn_pids { PIDS_NOT_KNOWN, PIDS_OURS, PIDS_OTHERS };

/* What is under way on a connection. Each group is written by one file: */
struct traffic {
    struct { /* conn_input.c: what has come and is not carried out yet */
        struct linebuf lines;
        char *again; /* a held-back line, which precedes them; or NULL */
        uint64_t since; /* of a line carried out again: when it first came, never 0; else 0 */
    } in;
    struct { /* conn_output.c: what is not sent yet */
        struct text text;
        struct long_answer *longer; /* ANSWER_LONG: makes the rest */
        int passed; /* a descriptor that goes with .text, which is not empty; 0: none */
        nanoseconds stalled_since; /* the peer is behind, and has taken nothing since; else 0 */
    } out;
    struct parked *parked; /* ANSWER_PARKED */
};

struct conn {
    uv_poll_t poll; /* of .fd */
    struct server *server;
    struct client client; /* the peer, as the core knows it */
    LIST_ENTRY(conn) link; /* in server->conns */
    struct fair_member member; /* of its user; queued while awaiting its turn */
    struct traffic *traffic; /* NULL: it is idle; conn_traffic() makes it */
    char *program; /* from hello, or NULL */
    uint64_t started; /* when process `pid` was started, once looked up; else 0 */
    nanoseconds accepted_at;
    struct watch *peer_watch; /* of that process: a lease is bound to it (bind=peer); or NULL */
    int fd; /* -1 once it is closed */
    pid_t pid;
    enum conn_pids pids : 8;
    struct conn_state state; /* what it may do now; only conn_handle_event() writes it */
    bool wants_drained; /* sent "drain wait=1", and has no event yet */
    bool is_operators; /* has a place reserved for operators' requests: admission.h */
    /* What libuv and the kernel were last asked to do for it: */
    uint8_t polled; /* UV_READABLE, UV_WRITABLE: what libuv looks for */
    bool is_watched; /* by the scheduler: for hearing its end while it is not read from */
    struct { /* conn_output.c */
        STAILQ_ENTRY(conn) link; /* in server->dirty */
        bool is_dirty; /* in server->dirty: has something to send or to do */
        bool is_full; /* its socket takes no more until libuv says so */
    } out;
    struct idle_waiter idle_waiter; /* has sent "wait" */
    struct followed *followed; /* has sent "watch"; else NULL */
};

/* Takes `fd`, just accepted, over: makes a connection, or (false) refuses and closes. */
bool conn_accept(struct server *server, int fd);
/* Stops reading: the connection closes once what has come is carried out and the answers are
 * sent. */
void conn_end_input(struct conn *conn);
/* The connection ends with the process that has made it, also if a child has inherited the socket.
 * False: that process has ended, or cannot be seen. */
bool conn_bind_to_peer(struct conn *conn, struct process *peer);
/* Idempotent. Ends its leases now; frees the struct when libuv has let go. */
void conn_close(struct conn *conn);

static inline struct conn *conn_of(struct client *client)
{
    return container_of(client, struct conn, client);
}

static inline bool conn_is_closed(const struct conn *conn)
{
    return conn->state.peer == PEER_CLOSED;
}

/* ---- conn_output.c: where answers and events go ---- */

struct text *conn_answers(struct conn *conn);
/* The descriptor, which stays open, goes with the answers that are not sent yet. Those that are
 * sent together have it once. */
void conn_pass_descriptor(struct conn *conn, int fd);
/* They are held back while a long answer is being sent, or a change made by the connection is being
 * stored. */
struct text *conn_events(struct conn *conn);
/* Begins a long answer: `answer`, which it takes over, makes the rest. */
void conn_begin_long(struct conn *conn, struct long_answer *answer);
/* Whether the client has not read the event that granted the lease. False where that is not known:
 * without an event, and for one of several leases of a connection. */
bool conn_grant_is_unread(const struct lease *lease);
/* At the end of a turn: lets those send and do what they have to. Returns whether there was one. */
bool conn_flush_all(struct server *server);

/* ---- conn_input.c ---- */

/* Carries the line out again, which was held back `since` then (by the loop's clock, never 0), when
 * the connection is no longer parked, and its long answer is over. Takes the line over. */
void conn_again(struct conn *conn, char *line, uint64_t since);
/* Whether the line being carried out was held back. */
bool conn_is_repeated(const struct conn *conn);

/* ---- a request that a database or the disk answers ---- */

/* Until then its connection carries out nothing that came behind it. It still hears a half-close;
 * events still go out, unless they are held back. */
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
/* The answer is under way: it has that time once more. */
void parked_go_on(struct conn *conn);
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

/* Does nothing if it is NULL. */
void traffic_free(struct traffic *traffic);
/* Goes on with what a connection put off, in a later turn of the loop. If its client goes away
 * before, its leases end at once. */
extern const struct scheduler_ops conn_scheduler_ops;
/* Sends batches to those that follow. */
extern const struct followers_ops conn_followers_ops;

/* ---- between conn.c, conn_input.c and conn_output.c ---- */

/* Bytes that came and are not carried out yet. */
static inline size_t conn_unread_bytes(const struct conn *conn)
{
    const struct traffic *traffic = conn->traffic;
    if (!traffic) {
        return 0;
    }
    size_t held_back = traffic->in.again ? strlen(traffic->in.again) : 0;
    return linebuf_pending(&traffic->in.lines) + held_back;
}

static inline struct conn_load conn_load(const struct conn *conn)
{
    return (struct conn_load){
        .unread = conn_unread_bytes(conn),
        .unsent = conn->traffic ? conn->traffic->out.text.length : 0,
    };
}

/* conn.c: the event must be possible now. */
void conn_handle_event(struct conn *conn, enum conn_event event);
/* The same for an event that changes the pace alone, and not where that is free, as it is as a
 * rule. */
static inline void conn_handle_pace_event(struct conn *conn, enum conn_event event)
{
    if (conn->state.pace != PACE_FREE) {
        conn_handle_event(conn, event);
    }
}

struct traffic *conn_begin_traffic(struct conn *conn);
static inline struct traffic *conn_traffic(struct conn *conn)
{
    return conn->traffic ? conn->traffic : conn_begin_traffic(conn);
}

/* The others get their turn of the loop: this connection goes on in a later one. */
void conn_put_off(struct conn *conn);
/* Sends what can be sent, goes on with a long answer, takes lines that were waiting for that. */
void conn_flush(struct conn *conn);

/* conn_input.c: reads, and carries out what has come. False: nothing has come, or even reading has
 * to be put off. */
bool conn_read(struct conn *conn);
/* Carries out the lines that have come, until none is left, or until the rest has to be put off. */
void conn_take_lines(struct conn *conn);
/* The same when sending has failed, for the lines that the peer sent before: what is only an answer
 * is skipped. False: some have to wait, or must be carried out by the database or the disk that has
 * them. */
bool conn_take_last_lines(struct conn *conn);
/* Whether its user's rate forbids what it would do next, apart from one thing in its turn. */
bool conn_is_too_fast(const struct conn *conn);

/* conn_output.c: queues it for the next conn_flush_all(). */
void conn_mark_dirty(struct conn *conn);
/* The socket takes more again. */
void conn_unblock(struct conn *conn);
/* Sends what the socket takes now; the rest waits. If that fails: CONN_WRITE_FAILED. */
void conn_send(struct conn *conn);
/* Sends the next pieces of a long answer. */
void conn_send_pieces(struct conn *conn);
/* Nobody will read it: drops it, with the rest of a long answer. */
void conn_drop_output(struct conn *conn);
/* The peer has had its part of the turn: watches it for as long as it is behind. One that takes
 * nothing for 10 s is closed, and the log says so. */
void conn_settle_output(struct conn *conn);
/* The connection closes. */
void conn_end_output(struct conn *conn);
