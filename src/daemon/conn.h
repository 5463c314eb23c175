/* conn.h - one client's connection: bytes in and out, bounded both ways. What its lines mean is
 * command.h's. */
#ifndef BERTH_DAEMON_CONN_H
#define BERTH_DAEMON_CONN_H

#include "base/text.h"
#include "core/client.h"
#include "daemon/conn_state.h"
#include "daemon/fair_queue.h"
#include "wire/linebuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct parked;
struct server;
struct snapshot;

/* Whether the pids that a client names are the same to us: asked for when it names one. */
enum conn_pids { PIDS_NOT_KNOWN, PIDS_OURS, PIDS_OTHERS };

struct conn {
    uv_pipe_t pipe;
    struct server *server;
    struct client client; /* pipe's peer, as the core knows it */
    LIST_ENTRY(conn) link; /* in server->conns */
    STAILQ_ENTRY(conn) dirty_link; /* in server->dirty */
    struct fair_member member; /* of its user; queued while its turn is awaited */
    struct linebuf input;
    struct text output; /* not yet given to libuv */
    union {
        struct parked *parked; /* ANSWER_PARKED */
        struct snapshot *snapshot; /* ANSWER_LONG */
    };
    uint64_t parked_since; /* parked.c's: of the line that was held back; else 0 */
    char *again; /* a line that was held back, and comes before its input; or NULL */
    char *program; /* from hello, or NULL */
    uint64_t given; /* bytes that libuv has had from us so far */
    uint64_t taken_then; /* bytes that the peer's socket had taken at stalled_since */
    nanoseconds stalled_since; /* when it last took anything; 0 if it is not behind */
    uint64_t started; /* of the process `pid`, once it was looked at; else 0 */
    pid_t pid;
    enum conn_pids pids : 8;
    struct conn_state state; /* what it may do now; written by conn_pass() alone */
    /* What libuv, the kernel and the server were last asked to do for it: */
    bool is_reading;
    bool is_writing; /* libuv has bytes of ours */
    bool is_watched; /* scheduler.c's: for going away while it is not read from */
    bool is_dirty; /* in server->dirty */
    bool is_operators; /* has a place that is kept for operators' requests: seat.h */
    bool wants_drained; /* sent "drain wait=1", and was not told yet */
};

/* Takes over `fd`, just accepted: a connection, or (false) refused and closed. */
bool conn_accept(struct server *server, int fd);
/* A long answer begins: `snapshot`, which is handed over, says the rest. */
void conn_begin_snapshot(struct conn *conn, struct snapshot *snapshot);
/* Reads no more of it: it closes when what has come is carried out, and the answers are sent. */
void conn_end_input(struct conn *conn);
/* Idempotent. Its leases end now; the struct is freed when libuv has let go of it. */
void conn_close(struct conn *conn);

/* Its descriptor, while it is open; else -1. */
int conn_fd(const struct conn *conn);

/* The event must be possible now. */
void conn_pass(struct conn *conn, enum conn_event event);

/* Where answers and events go: an event is held back while a long answer is being sent, or a change of
 * the connection is being stored. */
struct text *conn_answers(struct conn *conn);
struct text *conn_events(struct conn *conn);
/* Takes part in the next conn_flush() round. */
void conn_mark_dirty(struct conn *conn);
/* Sends what can be sent, goes on with a long answer, takes lines that were waiting for that. */
void conn_flush(struct conn *conn);
/* The line, which was held back, is carried out once more when the connection is no longer parked.
 * Takes it over. */
void conn_again(struct conn *conn, char *line);
/* Goes on with what it put off, in a later turn of the loop. */
void conn_continue(struct conn *conn);
/* The peer has closed it. If it has put something off, its leases end now, not in its turn. */
void conn_gone(struct conn *conn);

#endif
