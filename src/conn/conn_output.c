/* conn_output.c - the way out of a connection: answers and events are sent, and a peer that does
 * not take them is dropped. Writes traffic.out and conn.out. */
#include "admission/asker.h"
#include "admission/followers.h"
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "log/log.h"
#include "status/long_answer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define STALL_LIMIT (10 * NANOSECONDS_PER_SECOND)

enum {
    PIECE_BYTES = 16 * 1024, /* of a long answer */
    KEPT_BYTES = 4096, /* half a line keeps no long answer's memory */
    STALL_CHECK_MS = 1000,
};

/* ---- what is to be sent ---- */

struct text *conn_answers(struct conn *conn)
{
    conn_mark_dirty(conn);
    return &conn_traffic(conn)->out.text;
}

struct text *conn_events(struct conn *conn)
{
    conn_mark_dirty(conn);
    struct text *held = conn->state.answer == ANSWER_LONG ? &conn->traffic->out.longer->held_back
                                                          : parked_held_back(conn);
    return held ? held : &conn_traffic(conn)->out.text;
}

void conn_mark_dirty(struct conn *conn)
{
    if (!conn->out.is_dirty && !conn_is_closed(conn)) {
        conn->out.is_dirty = true;
        STAILQ_INSERT_TAIL(&conn->server->dirty, conn, out.link);
    }
}

bool conn_flush_all(struct server *server)
{
    struct conn *conn;
    bool any = false;
    while ((conn = STAILQ_FIRST(&server->dirty))) {
        STAILQ_REMOVE_HEAD(&server->dirty, out.link);
        conn->out.is_dirty = false;
        conn_flush(conn);
        any = true;
    }
    return any;
}

/* ---- sending ---- */

/* The socket takes more later. */
static bool is_full_now(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

void conn_unblock(struct conn *conn)
{
    conn->out.is_full = false;
    conn_mark_dirty(conn);
}

void conn_pass_descriptor(struct conn *conn, int fd)
{
    conn_traffic(conn)->out.passed = fd;
}

/* As send(), with the descriptor that is to be passed: it goes with the first byte. */
static ssize_t send_with_descriptor(const struct conn *conn, const struct text *output)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                     .cmsg_level = SOL_SOCKET,
                     .cmsg_type = SCM_RIGHTS}};
    struct iovec bytes = {.iov_base = output->bytes, .iov_len = output->length};
    const struct msghdr message = {.msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &conn->traffic->out.passed, sizeof(int));
    return sendmsg(conn->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The socket has taken the first `n` bytes, not all of them. */
static void keep_rest(struct conn *conn, size_t n)
{
    struct text *output = &conn->traffic->out.text;
    output->length -= n;
    memmove(output->bytes, output->bytes + n, output->length + 1);
    conn->out.is_full = true;
}

static void conn_send_output(struct conn *conn)
{
    struct text *output = &conn->traffic->out.text;
    ssize_t n = conn->traffic->out.passed > 0
        ? send_with_descriptor(conn, output)
        : send(conn->fd, output->bytes, output->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && !is_full_now(errno)) {
        conn_handle_event(conn, CONN_WRITE_FAILED);
        conn_drop_output(conn);
        return;
    }
    if (n > 0) {
        conn->traffic->out.stalled_since = 0; /* and from now on, if it is still behind */
        conn->traffic->out.passed = 0;
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
    if (conn->state.peer == PEER_WRITE_FAILED) {
        conn_drop_output(conn);
    }
    if (conn->traffic->out.text.length > 0 && !conn->out.is_full) {
        conn_send_output(conn);
    }
}

/* ---- long answers ---- */

void conn_begin_long(struct conn *conn, struct long_answer *answer)
{
    conn_handle_event(conn, CONN_LONG_BEGINS);
    conn_traffic(conn)->out.longer = answer;
    conn->member.fair_user->view_weight += long_answer_view_weight(answer);
}

static void end_long(struct conn *conn)
{
    if (conn->state.answer == ANSWER_LONG) {
        struct long_answer **longerp = &conn->traffic->out.longer;
        conn->member.fair_user->view_weight -= long_answer_view_weight(*longerp);
        *longerp = long_answer_free(*longerp);
        conn_handle_event(conn, CONN_LONG_ENDS);
    }
}

/* The last piece is made. */
static void finish_long(struct conn *conn)
{
    struct long_answer *answer = conn->traffic->out.longer;
    if (!answer->kind->next) {
        end_long(conn);
        return;
    }
    conn->member.fair_user->view_weight -= long_answer_view_weight(answer);
    conn->traffic->out.longer = NULL;
    conn_handle_event(conn, CONN_LONG_ENDS);
    answer->kind->next(answer);
}

/* False: that was the last. */
static bool conn_output_make_piece(struct conn *conn)
{
    struct asker asker;
    asker_init(&asker, conn->fd, conn->client.uid, &conn->server->admins);
    asker.viewer.is_unread = conn_grant_is_unread;
    const struct answer_moment moment = {
        .viewer = &asker.viewer,
        .now = clock_now(),
        .wall_now = clock_wall_now(),
        .definitions = conn->server->conf->definitions,
        .n_definitions = conn->server->conf->n_definitions,
    };
    struct text *output = &conn->traffic->out.text;
    bool has_more = long_answer_continue(
        conn->traffic->out.longer, &moment, output, output->length + PIECE_BYTES);
    asker_deinit(&asker);
    return has_more;
}

/* Many may follow, and all become able to send at the same time. */
static bool conn_gives_way(const struct conn *conn)
{
    return conn->followed && conn->state.pace != PACE_CALLED &&
        scheduler_is_busy(&conn->server->scheduler);
}

void conn_send_pieces(struct conn *conn)
{
    while (conn_state_may_send_piece(conn->state, conn_load(conn))) {
        if (conn_is_too_fast(conn) || conn_gives_way(conn)) {
            conn_put_off(conn);
            return;
        }
        conn_handle_pace_event(conn, CONN_HAS_ACTED);
        if (!conn_output_make_piece(conn)) {
            finish_long(conn);
        }
        conn_send(conn);
        bool has_more = conn->state.answer == ANSWER_LONG || conn_unread_bytes(conn) > 0;
        bool is_enough = conn->followed || scheduler_is_long(&conn->server->scheduler);
        if (has_more && is_enough) {
            conn_put_off(conn);
        }
    }
}

static bool conn_may_begin_batch(const struct conn *conn)
{
    return conn->state.peer < PEER_WRITE_FAILED && conn->state.answer == ANSWER_NONE &&
        conn->state.pace != PACE_QUEUED && conn_load(conn).unsent == 0;
}

static void conn_begin_batch(struct conn *conn, struct long_answer *batch)
{
    struct scheduler *scheduler = &conn->server->scheduler;
    scheduler_begin_work(scheduler, conn->member.fair_user);
    conn_begin_long(conn, batch);
    conn_flush(conn);
    scheduler_end_work(scheduler, conn->member.fair_user, 0);
}

const struct followers_ops conn_followers_ops = {
    .may_begin = conn_may_begin_batch, .begin = conn_begin_batch};

/* ---- what is not sent any more ---- */

void conn_drop_output(struct conn *conn)
{
    end_long(conn);
    text_deinit(&conn->traffic->out.text);
    conn->traffic->out.passed = 0;
    conn->traffic->out.stalled_since = 0;
    conn->out.is_full = false;
}

void conn_end_output(struct conn *conn)
{
    if (conn->out.is_dirty) {
        STAILQ_REMOVE(&conn->server->dirty, conn, conn, out.link);
    }
    end_long(conn);
}

/* ---- a peer that does not read ---- */

/* Closes it if it has taken nothing for long. */
static void check_stall(struct conn *conn, nanoseconds now)
{
    if (now - conn->traffic->out.stalled_since >= STALL_LIMIT) {
        const struct log_subject subject = {
            .event = "limit", .asker = log_process_of(conn->client.uid, conn->pid)};
        log_ratelimited_on(LOG_LEVEL_WARNING, &subject,
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
        if (conn->traffic && conn->traffic->out.stalled_since != 0) {
            any = true;
            check_stall(conn, now);
        }
    }
    if (!any) {
        uv_timer_stop(timer);
    }
    loop_iteration_end(&server->turn);
}

static void note_stall(struct conn *conn)
{
    uv_timer_t *timer = &conn->server->stall_timer;
    const struct conn_load load = conn_load(conn);
    bool is_behind = conn_load_is_behind(load) ||
        (conn->state.peer == PEER_HALF_CLOSED && load.unsent > 0);
    if (!is_behind) {
        conn->traffic->out.stalled_since = 0;
    } else if (conn->traffic->out.stalled_since == 0) {
        conn->traffic->out.stalled_since = clock_now();
        if (!uv_is_active((uv_handle_t *)timer)) {
            uv_timer_start(timer, on_stall_timer, STALL_CHECK_MS, STALL_CHECK_MS);
        }
    }
}

void conn_settle_output(struct conn *conn)
{
    struct text *output = &conn->traffic->out.text;
    if (output->length == 0 && output->size > KEPT_BYTES) {
        text_deinit(output);
    }
    note_stall(conn);
}

/* ---- what has been read ---- */

bool conn_grant_is_unread(const struct lease *lease)
{
    int n = 0;
    if (!lease->is_unread || lease_is_detached(lease) || LIST_NEXT(lease, link) ||
        LIST_FIRST(&lease->client->leases) != lease) {
        return false;
    }
    const struct conn *conn = conn_of(lease->client);
    return conn->out.is_dirty || (ioctl(conn->fd, SIOCOUTQ, &n) == 0 && n > 0);
}
