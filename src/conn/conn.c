#include "conn/conn.h"

#include "admission/asker.h"
#include "admission/followers.h"
#include "admission/peer.h"
#include "admission/seat.h"
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn_input.h"
#include "conn/conn_output.h"
#include "conn/parked.h"
#include "record/counting.h"
#include "status/long_answer.h"
#include "wire/protocol.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 16 * 1024, /* of a long answer */
    CALLED_BYTES = 4096, /* read at once from a connection that was called from its fair queue */
};

void conn_pass(struct conn *conn, enum conn_event event)
{
    bool is_possible = conn_state_pass(&conn->state, event);
    assert(is_possible);
    (void)is_possible;
}

/* ---- closing ---- */

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = container_of((uv_poll_t *)handle, struct conn, poll);
    traffic_free(conn->traffic);
    free(conn->program);
    free(conn);
}

/* Closes the descriptor at once: another connection may have its place. */
static void close_socket(struct conn *conn)
{
    seat_give_back(&conn->server->seats, conn->is_operators);
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    close(conn->fd);
    conn->fd = -1;
}

void conn_begin_long(struct conn *conn, struct long_answer *answer)
{
    conn_pass(conn, CONN_LONG_BEGINS);
    conn_traffic(conn)->longer = answer;
    conn->member.fair_user->view_weight += long_answer_view_weight(answer);
}

static void end_long(struct conn *conn)
{
    if (conn->state.answer == ANSWER_LONG) {
        conn->member.fair_user->view_weight -= long_answer_view_weight(conn->traffic->longer);
        conn->traffic->longer = long_answer_free(conn->traffic->longer);
        conn_pass(conn, CONN_LONG_ENDS);
    }
}

void conn_close(struct conn *conn)
{
    if (conn_is_closed(conn)) {
        return;
    }
    struct server *server = conn->server;
    conn_pass(conn, CONN_CLOSED);
    LIST_REMOVE(conn, link);
    if (conn->is_dirty) {
        STAILQ_REMOVE(&server->dirty, conn, conn, dirty_link);
    }
    parked_close(conn);
    end_long(conn);
    conn->followed = followers_leave(conn->followed);
    idle_wait_end(&server->idle_waits, &conn->idle_waiter);
    core_client_deinit(server->core, &conn->client, clock_now(), &server->effects);
    apply_effects(&server->turn);
    scheduler_end_work(&server->scheduler, conn->member.fair_user, 0);
    fair_user_leave(&server->scheduler.fair_queue, &conn->member, clock_now());
    close_socket(conn);
}

/* ---- input ---- */

static void on_ready(uv_poll_t *poll, int status, int events);

static void conn_watch_gone(struct conn *conn)
{
    if (!conn_is_closed(conn)) {
        conn->is_watched = scheduler_watch_gone(
            &conn->server->scheduler, &conn->member, conn->fd, conn->is_watched);
    }
}

/* Only the connection's state decides whether it is read from. */
static void conn_follow_state(struct conn *conn)
{
    bool may_read = conn_state_may_read(conn->state, conn_load(conn));
    uint8_t wanted = (may_read ? UV_READABLE : 0) | (conn->is_full ? UV_WRITABLE : 0);
    if (conn->polled == wanted || conn_is_closed(conn)) {
        return;
    }
    bool stops_reading = conn->polled & ~wanted & UV_READABLE;
    conn->polled = wanted;
    if (stops_reading) {
        conn_watch_gone(conn);
    }
    if (wanted == 0) {
        uv_poll_stop(&conn->poll);
    } else if (uv_poll_start(&conn->poll, wanted, on_ready) < 0) {
        conn_close(conn);
    }
}

void conn_put_off(struct conn *conn)
{
    conn_pass(conn, CONN_PUT_OFF);
    scheduler_put_off(&conn->server->scheduler, &conn->member);
    conn_watch_gone(conn);
    conn_follow_state(conn);
}

static void conn_continue(struct fair_member *member)
{
    struct conn *conn = container_of(member, struct conn, member);
    conn_pass(conn, CONN_CALLED);
    conn_mark_dirty(conn);
}

/* The same when nobody reads the answers. */
static void conn_take_unheard(struct conn *conn)
{
    while (!conn_is_closed(conn) && conn_has_line(conn)) {
        end_long(conn);
        text_deinit(&conn->traffic->output);
        if (!conn_state_may_take_line(conn->state, conn_load(conn))) {
            return;
        }
        conn_take_lines(conn);
        if (conn_has_line(conn) && conn->state.answer == ANSWER_LONG &&
            scheduler_is_long(&conn->server->scheduler)) {
            conn_put_off(conn);
        }
    }
}

/* Whether the line that was held back, and each line behind it, is carried out although the peer
 * has gone. */
static bool conn_must_stay(const struct conn *conn)
{
    return conn_has_line(conn) || parked_outlives_peer(conn);
}

static void conn_end_leases(struct conn *conn)
{
    struct server *server = conn->server;
    core_client_end_leases(server->core, &conn->client, clock_now(), &server->effects);
    apply_effects(&conn->server->turn);
}

/* Perhaps a half-close: what was sent before is still carried out and answered, but leases end with
 * the connection. */
void conn_end_input(struct conn *conn)
{
    conn_pass(conn, CONN_INPUT_ENDED);
    conn_follow_state(conn);
    conn_mark_dirty(conn);
    if (!conn_state_has_work_left(conn->state, conn_load(conn))) {
        conn_end_leases(conn);
    }
}

/* `n`: as recv() returns it. */
static void conn_hear(struct conn *conn, char *bytes, ssize_t n)
{
    if (n > 0) {
        conn_feed(conn, bytes, (size_t)n);
        conn_take_lines(conn);
        conn_keep_input(conn);
        if (conn->state.answer == ANSWER_PARKED) {
            conn_mark_dirty(conn); /* lines wait, perhaps enough */
        }
    } else if (n == 0 && conn_unread(conn) == 0 && conn_load(conn).unsent == 0 &&
        conn->state.answer == ANSWER_NONE) {
        conn_close(conn);
    } else if (n == 0) {
        conn_end_input(conn);
    } else if (conn_must_stay(conn)) {
        conn_pass(conn, CONN_UNHEARD);
        conn_end_input(conn);
    } else {
        conn_close(conn);
    }
}

/* One buffer serves all connections: lines are taken from it before the next read. False: nothing
 * has come, or the connection has to put off even reading. */
static bool conn_read(struct conn *conn)
{
    static char shared[64 * 1024];
    bool is_called = conn->state.pace == PACE_CALLED;
    if (!scheduler_begin_work(&conn->server->scheduler, conn->member.fair_user) && !is_called) {
        conn_put_off(conn);
        return false;
    }
    ssize_t n = recv(conn->fd, shared, is_called ? CALLED_BYTES : sizeof shared, MSG_DONTWAIT);
    bool has_come = n >= 0 || (errno != EAGAIN && errno != EINTR);
    if (has_come) {
        conn_hear(conn, shared, n);
    }
    conn_pass_pace(conn, CONN_HAS_ACTED);
    return has_come;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct conn *conn = container_of(poll, struct conn, poll);
    struct server *server = conn->server;
    if (status < 0) { /* the socket has an error, and libuv has stopped looking */
        events = conn->polled;
        conn->polled = 0;
        conn_watch_gone(conn); /* perhaps its last lines keep it from being read from */
        conn_mark_dirty(conn);
    }
    if (events & UV_WRITABLE) {
        /* What has waited for this is work of its user, too. */
        scheduler_begin_work(&server->scheduler, conn->member.fair_user);
        conn->is_full = false;
        conn_mark_dirty(conn);
    }
    bool has_come = (events & UV_READABLE) && conn_read(conn);
    server_end_turn(server);
    scheduler_end_work(&server->scheduler, conn->member.fair_user, has_come ? 1 : 0);
}

/* ---- both ---- */

/* Lines that it sent before it went: perhaps a `cancel` of what it was just granted. */
static void conn_hear_out(struct conn *conn)
{
    enum { MAX_READS = 16 };
    static char bytes[4096];
    ssize_t n = 1;
    for (int i = 0; i < MAX_READS && n > 0 && !conn_is_closed(conn); i++) {
        n = recv(conn->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0) {
            conn_feed(conn, bytes, (size_t)n);
            conn_take_unheard(conn);
            conn_keep_input(conn);
        }
    }
}

/* Whatever keeps it ends with conn_flush(): an answer, its turn, or libuv. */
static void conn_end_deaf(struct conn *conn)
{
    conn_take_unheard(conn);
    if (!conn_must_stay(conn) &&
        !scheduler_must_wait(&conn->server->scheduler, conn->member.fair_user)) {
        conn_hear_out(conn);
    }
    if (!conn_must_stay(conn)) {
        conn_close(conn);
    } else if (!conn_is_closed(conn)) {
        conn->traffic->stalled_since = 0;
        conn_follow_state(conn);
        conn_end_leases(conn);
    }
}

/* Of a long answer. False: that was the last. */
static bool send_piece(struct conn *conn)
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
    struct text *output = &conn->traffic->output;
    bool has_more = long_answer_continue(
        conn->traffic->longer, &moment, output, output->length + PIECE_BYTES);
    asker_deinit(&asker);
    return has_more;
}

/* Many may follow, and all become able to send at the same time. */
static bool conn_gives_way(const struct conn *conn)
{
    return conn->followed && conn->state.pace != PACE_CALLED &&
        scheduler_is_busy(&conn->server->scheduler);
}

/* Sends the next pieces of a long answer. */
static void conn_send_pieces(struct conn *conn)
{
    while (conn_state_may_send_piece(conn->state, conn_load(conn))) {
        if (conn_is_too_fast(conn) || conn_gives_way(conn)) {
            conn_put_off(conn);
            return;
        }
        conn_pass_pace(conn, CONN_HAS_ACTED);
        if (!send_piece(conn)) {
            end_long(conn);
        }
        conn_send(conn);
        bool has_more = conn->state.answer == ANSWER_LONG || conn_unread(conn) > 0;
        bool is_enough = conn->followed || scheduler_is_long(&conn->server->scheduler);
        if (has_more && is_enough) {
            conn_put_off(conn);
        }
    }
}

/* The peer has had its part of this turn. */
static void conn_settle(struct conn *conn)
{
    if (conn_state_is_over(conn->state, conn_load(conn))) {
        conn_close(conn);
        return;
    }
    conn_end_traffic(conn);
    conn_follow_state(conn);
    if (conn->followed) {
        followers_look(conn->followed);
    }
    if (conn->traffic) {
        conn_note_stall(conn);
    }
}

void conn_flush(struct conn *conn)
{
    conn_send(conn);
    if (conn->state.answer == ANSWER_LONG) {
        conn_send_pieces(conn);
    }
    if (conn->state.peer < PEER_DEAF && conn_unread(conn) > 0) {
        conn_take_lines(conn);
        conn_keep_input(conn);
    }
    if (conn->state.peer == PEER_DEAF) {
        conn_end_deaf(conn);
    } else if (!conn_is_closed(conn)) {
        conn_settle(conn);
    }
}

/* ---- following ---- */

static bool conn_may_begin_batch(const struct conn *conn)
{
    return conn->state.peer < PEER_DEAF && conn->state.answer == ANSWER_NONE &&
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

/* ---- gone ---- */

/* Both directions are closed: nothing can be sent any more. */
static void conn_gone(struct fair_member *member)
{
    struct conn *conn = container_of(member, struct conn, member);
    if (!conn_is_closed(conn) && !(conn->polled & UV_READABLE)) { /* else reading will find it */
        conn_pass(conn, CONN_UNHEARD);
        conn_flush(conn);
    }
}

const struct scheduler_ops conn_scheduler_ops = {.go_on = conn_continue, .gone = conn_gone};

/* ---- accepting ---- */

static bool refuse(int fd, const char *why)
{
    char line[128];
    int n = snprintf(line, sizeof line, "error %s %s\n", code_table[CODE_BUSY].word, why);
    send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL); /* closing tells as much */
    close(fd);
    return false;
}

static void conn_open(struct conn *conn)
{
    struct server *server = conn->server;
    LIST_INSERT_HEAD(&server->conns, conn, link);
    server->counts->connections[0]++;
    if (scheduler_must_wait(&server->scheduler, conn->member.fair_user)) {
        conn_put_off(conn);
    } else {
        conn_follow_state(conn);
    }
}

bool conn_accept(struct server *server, int fd)
{
    struct peer peer;
    if (!peer_read(fd, &peer)) {
        close(fd);
        return false;
    }
    struct seat seat = seat_find(&server->seats, fd, &peer);
    if (seat.why_not) {
        server->counts->connections_refused[seat.cause]++;
        return refuse(fd, seat.why_not);
    }
    struct conn *conn = memory_new(sizeof *conn);
    if (uv_poll_init(&server->loop, &conn->poll, fd) < 0) {
        free(conn);
        close(fd);
        return false;
    }
    conn->server = server;
    conn->fd = fd;
    conn->pid = peer.pid;
    if (!seat_take(&server->seats, &seat, &conn->client, &conn->member, fd, &peer)) {
        uv_close((uv_handle_t *)&conn->poll, on_closed);
        server->counts->connections_refused[seat.cause]++;
        return refuse(fd, seat.why_not);
    }
    conn->is_operators = seat.is_operators;
    conn_open(conn);
    return true;
}
