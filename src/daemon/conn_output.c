#include "daemon/conn_output.h"

#include "base/clock.h"
#include "base/memory.h"
#include "daemon/parked.h"
#include "daemon/server.h"
#include "log/log.h"
#include "status/long_answer.h"

#include <stdlib.h>

#define STALL_LIMIT (10 * NANOSECONDS_PER_SECOND)

enum { STALL_CHECK_MS = 1000 };

/* ---- what is to be sent ---- */

size_t conn_unsent(const struct conn *conn)
{
    return conn->output.length + uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe);
}

/* What has been sent leaves its buffer to the next answer, of any connection: who idles has none.
 */
static void leave_output(struct conn *conn)
{
    enum { MAX_SPARE = 4096 };
    struct text *spare = &conn->server->spare;
    if (spare->bytes || conn->output.size > MAX_SPARE) {
        text_deinit(&conn->output);
        return;
    }
    *spare = conn->output;
    spare->length = 0;
    conn->output = (struct text)TEXT_INIT;
}

static struct text *output_of(struct conn *conn)
{
    if (!conn->output.bytes) {
        conn->output = conn->server->spare;
        conn->server->spare = (struct text)TEXT_INIT;
    }
    return &conn->output;
}

struct text *conn_answers(struct conn *conn)
{
    conn_mark_dirty(conn);
    return output_of(conn);
}

struct text *conn_events(struct conn *conn)
{
    conn_mark_dirty(conn);
    struct text *held = conn->state.answer == ANSWER_LONG ? &conn->longer->held_back
                                                          : parked_held_back(conn);
    return held ? held : output_of(conn);
}

void conn_mark_dirty(struct conn *conn)
{
    if (!conn->is_dirty && !conn_is_closed(conn)) {
        conn->is_dirty = true;
        STAILQ_INSERT_TAIL(&conn->server->dirty, conn, dirty_link);
    }
}

/* ---- sending ---- */

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
    conn->is_writing = false;
    if (status < 0) {
        conn_pass(conn, CONN_UNHEARD);
    }
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
    conn->is_writing =
        uv_write(&write->request, (uv_stream_t *)&conn->pipe, &buffer, 1, on_written) == 0;
    if (!conn->is_writing) {
        free(write->bytes);
        free(write);
        conn_pass(conn, CONN_UNHEARD);
    }
}

void conn_send(struct conn *conn)
{
    if (conn->state.peer == PEER_DEAF) {
        text_deinit(&conn->output);
    }
    if (conn->is_writing) {
        return;
    }
    if (conn->output.length == 0) {
        leave_output(conn);
        return;
    }
    uv_buf_t buffer = uv_buf_init(conn->output.bytes, (unsigned)conn->output.length);
    int sent = uv_try_write((uv_stream_t *)&conn->pipe, &buffer, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        conn_pass(conn, CONN_UNHEARD);
        text_deinit(&conn->output);
    } else if (sent == (int)conn->output.length) {
        conn->given += conn->output.length;
        leave_output(conn);
    } else {
        conn_write_later(conn, sent < 0 ? 0 : (size_t)sent);
    }
}

/* ---- a peer that does not read ---- */

/* How many bytes the peer's socket has taken so far. */
static uint64_t conn_taken(const struct conn *conn)
{
    return conn->given - uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe);
}

/* Closes it if it has taken nothing for long. */
static void check_stall(struct conn *conn, nanoseconds now)
{
    if (conn_taken(conn) > conn->taken_then) {
        conn->stalled_since = now;
        conn->taken_then = conn_taken(conn);
    } else if (now - conn->stalled_since >= STALL_LIMIT) {
        const struct log_subject subject = {
            .event = "limit", .asker = {.uid = conn->client.uid, .pid = conn->pid}};
        log_provoked_on(LOG_LEVEL_WARNING, &subject,
            "pid %d (uid %u) does not read its answers: dropped", (int)conn->pid, conn->client.uid);
        conn_close(conn);
    }
}

static void on_stall_timer(uv_timer_t *timer)
{
    struct server *server = container_of(timer, struct server, stall_timer);
    nanoseconds now = clock_now();
    bool any = false;
    struct conn *next;
    for (struct conn *conn = LIST_FIRST(&server->conns); conn; conn = next) {
        next = LIST_NEXT(conn, link);
        if (conn->stalled_since != 0) {
            any = true;
            check_stall(conn, now);
        }
    }
    if (!any) {
        uv_timer_stop(timer);
    }
    server_end_turn(server);
}

static void watch_stalls(struct server *server)
{
    if (!uv_is_active((uv_handle_t *)&server->stall_timer)) {
        uv_timer_start(&server->stall_timer, on_stall_timer, STALL_CHECK_MS, STALL_CHECK_MS);
    }
}

void conn_note_stall(struct conn *conn, struct conn_load load)
{
    bool behind = conn_load_is_behind(load) ||
        (conn->state.peer == PEER_HALF_CLOSED && load.unsent > 0);
    if (!behind) {
        conn->stalled_since = 0;
    } else if (conn->stalled_since == 0) {
        conn->stalled_since = clock_now();
        conn->taken_then = conn_taken(conn);
        watch_stalls(conn->server);
    }
}
