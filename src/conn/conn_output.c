#include "conn/conn_output.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn_input.h"
#include "conn/parked.h"
#include "log/log.h"
#include "status/long_answer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define STALL_LIMIT (10 * NANOSECONDS_PER_SECOND)

enum { STALL_CHECK_MS = 1000 };

/* ---- what is to be sent ---- */

struct text *conn_answers(struct conn *conn)
{
    conn_mark_dirty(conn);
    return &conn_traffic(conn)->output;
}

struct text *conn_events(struct conn *conn)
{
    conn_mark_dirty(conn);
    struct text *held = conn->state.answer == ANSWER_LONG ? &conn->traffic->longer->held_back
                                                          : parked_held_back(conn);
    return held ? held : &conn_traffic(conn)->output;
}

void conn_mark_dirty(struct conn *conn)
{
    if (!conn->is_dirty && !conn_is_closed(conn)) {
        conn->is_dirty = true;
        STAILQ_INSERT_TAIL(&conn->server->dirty, conn, dirty_link);
    }
}

/* ---- sending ---- */

/* The socket takes more later. */
static bool is_full_now(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

static void lose_output(struct conn *conn)
{
    text_deinit(&conn->traffic->output);
    conn->is_full = false;
}

/* The socket has taken the first `n` bytes, not all of them. */
static void keep_rest(struct conn *conn, size_t n)
{
    struct text *output = &conn->traffic->output;
    output->length -= n;
    memmove(output->bytes, output->bytes + n, output->length + 1);
    conn->is_full = true;
}

static void conn_send_output(struct conn *conn)
{
    struct text *output = &conn->traffic->output;
    ssize_t n = send(conn->fd, output->bytes, output->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && !is_full_now(errno)) {
        conn_pass(conn, CONN_UNHEARD);
        lose_output(conn);
        return;
    }
    if (n > 0) {
        conn->traffic->stalled_since = 0; /* and from now on, if it is still behind */
    }
    if (n == (ssize_t)output->length) {
        output->length = 0;
    } else {
        keep_rest(conn, n > 0 ? (size_t)n : 0);
    }
}

void conn_send(struct conn *conn)
{
    if (!conn->traffic) {
        return;
    }
    if (conn->state.peer == PEER_DEAF) {
        lose_output(conn);
    }
    if (conn->traffic->output.length > 0 && !conn->is_full) {
        conn_send_output(conn);
    }
}

/* ---- a peer that does not read ---- */

/* Closes it if it has taken nothing for long. */
static void check_stall(struct conn *conn, nanoseconds now)
{
    if (now - conn->traffic->stalled_since >= STALL_LIMIT) {
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
        if (conn->traffic && conn->traffic->stalled_since != 0) {
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

void conn_note_stall(struct conn *conn)
{
    struct traffic *traffic = conn->traffic;
    const struct conn_load load = conn_load(conn);
    bool behind = conn_load_is_behind(load) ||
        (conn->state.peer == PEER_HALF_CLOSED && load.unsent > 0);
    if (!behind) {
        traffic->stalled_since = 0;
    } else if (traffic->stalled_since == 0) {
        traffic->stalled_since = clock_now();
        watch_stalls(conn->server);
    }
}

/* ---- what has been read ---- */

bool conn_grant_is_unread(const struct lease *lease)
{
    int n = 0;
    if (!lease->is_unread || lease_is_detached(lease) || LIST_NEXT(lease, link) ||
        LIST_FIRST(&lease->client->leases) != lease) {
        return false;
    }
    const struct conn *conn = container_of(lease->client, struct conn, client);
    return conn->is_dirty || (ioctl(conn->fd, SIOCOUTQ, &n) == 0 && n > 0);
}
