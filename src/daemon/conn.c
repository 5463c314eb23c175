#include "daemon/conn.h"

#include "core/memory.h"
#include "daemon/clock.h"
#include "daemon/command.h"
#include "daemon/log.h"
#include "daemon/parked.h"
#include "daemon/peer.h"
#include "daemon/server.h"
#include "daemon/snapshot.h"
#include "wire/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define STALL_LIMIT (10 * NANOSECONDS_PER_SECOND)

enum {
    OUTPUT_LIMIT = 64 * 1024,
    SHARE_LINES = 16, /* how often one connection looks whether the turn has become long */
};

/* ---- closing ---- */

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = container_of(handle, struct conn, pipe);
    linebuf_deinit(&conn->input);
    text_deinit(&conn->output);
    free(conn->program);
    free(conn);
}

/* The descriptor is closed at once: another connection may have its place. */
static void close_pipe(struct conn *conn)
{
    conn->closing = true;
    conn->server->n_conns--;
    uv_close((uv_handle_t *)&conn->pipe, on_closed);
}

void conn_close(struct conn *conn)
{
    if (conn->closing) {
        return;
    }
    struct server *server = conn->server;
    conn->closing = true;
    LIST_REMOVE(conn, link);
    if (conn->is_dirty) {
        STAILQ_REMOVE(&server->dirty, conn, conn, dirty_link);
    }
    if (conn->is_later) {
        STAILQ_REMOVE(&server->later, conn, conn, later_link);
    }
    parked_close(conn);
    conn->snapshot = snapshot_free(conn->snapshot);
    server->store->ops->client_deinit(server->store, &conn->client, clock_now());
    server_carry_out(server);
    close_pipe(conn);
}

/* ---- output ---- */

static size_t conn_unsent(const struct conn *conn)
{
    return conn->output.length + uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe);
}

static bool conn_is_behind(const struct conn *conn)
{
    return conn_unsent(conn) >= OUTPUT_LIMIT;
}

struct text *conn_answers(struct conn *conn)
{
    conn_mark_dirty(conn);
    return &conn->output;
}

struct text *conn_events(struct conn *conn)
{
    conn_mark_dirty(conn);
    return conn->snapshot ? snapshot_held_back(conn->snapshot) : &conn->output;
}

void conn_mark_dirty(struct conn *conn)
{
    if (!conn->is_dirty && !conn->closing) {
        conn->is_dirty = true;
        STAILQ_INSERT_TAIL(&conn->server->dirty, conn, dirty_link);
    }
}

/* Bytes that the peer's socket has taken so far. */
static uint64_t conn_taken(const struct conn *conn)
{
    return conn->given - uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe);
}

/* What libuv could not send at once: the bytes live as long as the request. */
struct pending_write {
    uv_write_t request;
    char *bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct pending_write *write = container_of(request, struct pending_write, request);
    struct conn *conn = request->data;
    free(write->bytes);
    free(write);
    conn->writing = false;
    conn->is_deaf |= status < 0;
    conn_mark_dirty(conn);
    server_end_turn(conn->server);
}

static void conn_write_later(struct conn *conn, size_t sent)
{
    struct pending_write *write = memory_new(sizeof *write);
    write->bytes = conn->output.bytes;
    write->request.data = conn;
    uv_buf_t buffer = uv_buf_init(write->bytes + sent, (unsigned)(conn->output.length - sent));
    conn->given += conn->output.length;
    conn->output = (struct text)TEXT_INIT;
    conn->writing =
        uv_write(&write->request, (uv_stream_t *)&conn->pipe, &buffer, 1, on_written) == 0;
    if (!conn->writing) {
        free(write->bytes);
        free(write);
        conn->is_deaf = true;
    }
}

static void conn_send(struct conn *conn)
{
    if (conn->is_deaf) {
        text_deinit(&conn->output);
    }
    if (conn->writing || conn->output.length == 0) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(conn->output.bytes, (unsigned)conn->output.length);
    int sent = uv_try_write((uv_stream_t *)&conn->pipe, &buffer, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        conn->is_deaf = true;
        text_deinit(&conn->output);
    } else if (sent == (int)conn->output.length) {
        conn->given += conn->output.length;
        text_deinit(&conn->output);
    } else {
        conn_write_later(conn, sent < 0 ? 0 : (size_t)sent);
    }
}

/* ---- input ---- */

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);

/* One buffer for all connections: lines are taken from it before the next read. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char shared[64 * 1024];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(shared, sizeof shared);
}

static void conn_set_reading(struct conn *conn, bool reading)
{
    if (conn->reading == reading || conn->closing) {
        return;
    }
    conn->reading = reading;
    if (!reading) {
        uv_read_stop((uv_stream_t *)&conn->pipe);
    } else if (uv_read_start((uv_stream_t *)&conn->pipe, on_alloc, on_read) < 0) {
        conn_close(conn);
    }
}

/* The others shall have their turn of the loop: it goes on in a later one. */
static void conn_put_off(struct conn *conn)
{
    conn->is_later = true;
    STAILQ_INSERT_TAIL(&conn->server->later, conn, later_link);
    server_continue_later(conn->server);
    conn_set_reading(conn, false);
}

void conn_continue(struct conn *conn)
{
    conn->is_later = false;
    STAILQ_REMOVE(&conn->server->later, conn, conn, later_link);
    conn_mark_dirty(conn);
}

/* No line is carried out before the answer to the one before has been made. */
static bool conn_owes_answer(const struct conn *conn)
{
    return conn->snapshot || conn->parked;
}

/* Lines wait while a long answer is being sent, or when the peer does not take its answers. */
static void conn_take_lines(struct conn *conn)
{
    char *line;
    size_t length;
    bool was_parked = conn->was_parked;
    conn->was_parked = false;
    for (unsigned n = 1;
         !conn->closing && !conn_owes_answer(conn) && !conn->is_later && !conn_is_behind(conn);
         n++) {
        bool has_had_share = was_parked || n == 2 || n % SHARE_LINES == 0;
        if (has_had_share && server_turn_is_long(conn->server)) {
            conn_put_off(conn);
            return;
        }
        switch (linebuf_next(&conn->input, &line, &length)) {
        case LINE_MORE:
            return;
        case LINE_OK:
            command_run(conn, line, length);
            break;
        case LINE_TOO_LONG:
            command_refuse_too_long(conn);
            break;
        }
        server_carry_out(conn->server);
    }
}

/* Whether lines that have arrived still wait to be carried out. */
static bool conn_has_lines_left(const struct conn *conn)
{
    return conn->snapshot || conn->is_later ||
        ((conn->parked || conn_is_behind(conn)) && linebuf_pending(&conn->input) > 0);
}

/* A half-close, perhaps: what was sent before is still carried out and answered, but leases end
 * with the connection. */
static void conn_end_input(struct conn *conn)
{
    struct store *store = conn->server->store;
    conn->input_ended = true;
    conn_set_reading(conn, false);
    conn_mark_dirty(conn);
    if (!conn_has_lines_left(conn)) {
        store->ops->client_end_leases(store, &conn->client, clock_now());
        server_carry_out(conn->server);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct conn *conn = container_of(stream, struct conn, pipe);
    struct server *server = conn->server;
    if (n > 0) {
        if (!linebuf_feed(&conn->input, buffer->base, (size_t)n)) {
            conn_close(conn);
        }
        conn_take_lines(conn);
        if (!conn->closing && !linebuf_keep(&conn->input)) {
            conn_close(conn);
        } else if (conn->parked) {
            conn_mark_dirty(conn); /* lines wait, perhaps enough of them */
        }
    } else if (n == UV_EOF && linebuf_pending(&conn->input) == 0 && conn_unsent(conn) == 0 &&
        !conn->parked) {
        conn_close(conn);
    } else if (n == UV_EOF) {
        conn_end_input(conn);
    } else if (n < 0) {
        conn_close(conn);
    }
    server_end_turn(server);
}

/* ---- both ---- */

static void conn_note_stall(struct conn *conn)
{
    bool behind = conn_is_behind(conn) || (conn->input_ended && conn_unsent(conn) > 0);
    if (!behind) {
        conn->stalled_since = 0;
    } else if (conn->stalled_since == 0) {
        conn->stalled_since = clock_now();
        conn->taken_then = conn_taken(conn);
        server_watch_stalls(conn->server);
    }
}

void conn_check_stall(struct conn *conn, nanoseconds now)
{
    if (conn_taken(conn) > conn->taken_then) {
        conn->stalled_since = now;
        conn->taken_then = conn_taken(conn);
    } else if (now - conn->stalled_since >= STALL_LIMIT) {
        log_provoked(
            "pid %d (uid %u) does not read its answers: dropped", (int)conn->pid, conn->client.uid);
        conn_close(conn);
    }
}

/* What it sent before it went: a `cancel`, perhaps, of what it was just granted. */
static void conn_hear_out(struct conn *conn)
{
    enum { MOST_READS = 16 };
    static char bytes[4096];
    uv_os_fd_t fd;
    ssize_t n = uv_fileno((uv_handle_t *)&conn->pipe, &fd) == 0 ? 1 : 0;
    for (int i = 0; i < MOST_READS && n > 0 && !conn->closing; i++) {
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0 && linebuf_feed(&conn->input, bytes, (size_t)n)) {
            conn_take_lines(conn);
            n = linebuf_keep(&conn->input) ? n : 0;
        }
    }
}

void conn_flush(struct conn *conn)
{
    conn_send(conn);
    if (conn->is_deaf && !conn->closing) {
        conn_hear_out(conn);
        conn_close(conn);
        return;
    }
    while (!conn->closing && conn->snapshot && !conn->is_later && !conn_is_behind(conn)) {
        if (!snapshot_continue(conn->snapshot, &conn->output, OUTPUT_LIMIT)) {
            conn->snapshot = snapshot_free(conn->snapshot);
        }
        conn_send(conn);
        bool has_more = conn->snapshot || linebuf_pending(&conn->input) > 0;
        if (!conn->closing && has_more && server_turn_is_long(conn->server)) {
            conn_put_off(conn);
        }
    }
    if (!conn->closing && linebuf_pending(&conn->input) > 0) {
        conn_take_lines(conn);
    }
    if (conn->closing || !linebuf_keep(&conn->input)) {
        conn_close(conn);
        return;
    }
    if (conn->input_ended && !conn_owes_answer(conn) && !conn_has_lines_left(conn) &&
        conn_unsent(conn) == 0) {
        conn_close(conn);
        return;
    }
    conn_set_reading(
        conn, !conn->input_ended && !conn_has_lines_left(conn) && !conn_is_behind(conn));
    conn_note_stall(conn);
}

/* ---- accepting ---- */

static void refuse(struct conn *conn, const char *why)
{
    char line[128];
    int n = snprintf(line, sizeof line, "error %s %s\n", code_table[CODE_BUSY].word, why);
    uv_buf_t buffer = uv_buf_init(line, (unsigned)n);
    uv_try_write((uv_stream_t *)&conn->pipe, &buffer, 1); /* the close says it as well */
    close_pipe(conn);
}

static bool identify(struct conn *conn, uid_t *uidp)
{
    uv_os_fd_t fd;
    struct peer peer;
    if (uv_fileno((uv_handle_t *)&conn->pipe, &fd) < 0 || !peer_read(fd, &peer)) {
        return false;
    }
    conn->pid = peer.pid;
    *uidp = peer.uid;
    return true;
}

void conn_accept(struct server *server, int fd)
{
    uid_t uid = 0;
    struct conn *conn = memory_new(sizeof *conn);
    conn->server = server;
    uv_pipe_init(&server->loop, &conn->pipe, 0);
    server->n_conns++;
    int error = uv_pipe_open(&conn->pipe, fd);
    if (error < 0) {
        close(fd);
    }
    if (error < 0 || !identify(conn, &uid)) {
        close_pipe(conn);
    } else if (server->n_conns + server->watches.n_pidfds > server->max_conns) {
        log_provoked("more than %u connections: uid %u refused", server->max_conns, uid);
        refuse(conn, "too%20many%20connections");
    } else if (server->store->ops->client_init(server->store, &conn->client, uid) != OUTCOME_OK) {
        log_provoked("uid %u has too many connections: refused", uid);
        refuse(conn, "too%20many%20connections%20of%20this%20user");
    } else {
        LIST_INSERT_HEAD(&server->conns, conn, link);
        conn_set_reading(conn, true);
    }
}
