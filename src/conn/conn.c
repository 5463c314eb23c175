#include "conn/conn.h"

#include "admission/admission.h"
#include "admission/asker.h"
#include "admission/followers.h"
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "job/process.h"
#include "job/watch.h"
#include "wire/protocol.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void conn_handle_event(struct conn *conn, enum conn_event event)
{
    bool is_possible = conn_state_handle_event(&conn->state, event);
    assert(is_possible);
    (void)is_possible;
}

/* ---- what is under way ---- */

/* A connection takes what the one before has left: as a rule memory for one is enough for all. */
struct traffic *conn_begin_traffic(struct conn *conn)
{
    struct server *server = conn->server;
    conn->traffic = server->spare ? server->spare : memory_new(sizeof *conn->traffic);
    server->spare = NULL;
    return conn->traffic;
}

void traffic_free(struct traffic *traffic)
{
    if (traffic) {
        linebuf_deinit(&traffic->in.lines);
        free(traffic->in.again);
        text_deinit(&traffic->out.text);
        free(traffic);
    }
}

static bool is_under_way(const struct conn *conn)
{
    const struct conn_load load = conn_load(conn);
    return load.unread > 0 || conn->traffic->in.lines.skipping || load.unsent > 0 ||
        conn->state.answer != ANSWER_NONE;
}

/* Leaves the memory to the next connection if nothing is under way any more. */
static void conn_end_traffic(struct conn *conn)
{
    struct server *server = conn->server;
    if (!is_under_way(conn)) {
        traffic_free(server->spare);
        server->spare = conn->traffic;
        conn->traffic = NULL;
    }
}

/* ---- a request that is parked ---- */

enum { PATIENCE_MS = 4000 };

struct parked {
    uv_timer_t timer;
    struct conn *conn;
    const struct parked_ops *ops;
    void *state;
    struct text events; /* events held back */
    char *line; /* to be carried out again; or NULL */
    uint64_t since; /* by the loop's clock, in ms; never 0 */
};

static bool is_parked(const struct conn *conn)
{
    return conn->state.answer == ANSWER_PARKED;
}

static void parked_on_closed(uv_handle_t *handle)
{
    struct parked *parked = container_of((uv_timer_t *)handle, struct parked, timer);
    text_deinit(&parked->events);
    free(parked->line);
    free(parked);
}

static void on_late(uv_timer_t *timer)
{
    struct conn *conn = container_of(timer, struct parked, timer)->conn;
    struct server *server = conn->server;
    conn->traffic->parked->ops->late(conn);
    loop_iteration_end(&server->turn);
}

void parked_begin(struct conn *conn, const struct parked_ops *ops, void *state)
{
    struct parked *parked = memory_new(sizeof *parked);
    *parked = (struct parked){.conn = conn, .ops = ops, .state = state};
    uv_timer_init(&conn->server->loop, &parked->timer);
    uint64_t now = uv_now(&conn->server->loop), gone_by;
    parked->since = conn_is_repeated(conn) ? conn->traffic->in.since : now + 1;
    gone_by = now + 1 - parked->since;
    uv_timer_start(&parked->timer, on_late, gone_by < PATIENCE_MS ? PATIENCE_MS - gone_by : 0, 0);
    conn_handle_event(conn, CONN_PARKED);
    conn->traffic->parked = parked;
}

void parked_go_on(struct conn *conn)
{
    uv_timer_start(&conn->traffic->parked->timer, on_late, PATIENCE_MS, 0);
}

void parked_hold_back(
    struct conn *conn, const char *line, const struct parked_ops *ops, void *state)
{
    parked_begin(conn, ops, state);
    conn->traffic->parked->line = memory_string(line);
}

void *parked_state(const struct conn *conn)
{
    return is_parked(conn) ? conn->traffic->parked->state : NULL;
}

bool parked_outlives_peer(const struct conn *conn)
{
    return is_parked(conn) && conn->traffic->parked->ops->outlives_peer;
}

struct text *parked_held_back(const struct conn *conn)
{
    bool is_held = is_parked(conn) && conn->traffic->parked->ops->holds_events;
    return is_held ? &conn->traffic->parked->events : NULL;
}

void parked_end(struct conn *conn)
{
    struct parked *parked = conn->traffic->parked;
    conn_handle_event(conn, CONN_ANSWERED);
    parked->ops->free(parked->state);
    text_add_bytes(conn_answers(conn), parked->events.bytes, parked->events.length);
    uv_close((uv_handle_t *)&parked->timer, parked_on_closed);
    conn_mark_dirty(conn);
}

void parked_again(struct conn *conn)
{
    struct parked *parked = conn->traffic->parked;
    conn_again(conn, parked->line, parked->since);
    parked->line = NULL;
    parked_end(conn);
}

/* ---- closing ---- */

static void conn_on_closed(uv_handle_t *handle)
{
    struct conn *conn = container_of((uv_poll_t *)handle, struct conn, poll);
    traffic_free(conn->traffic);
    free(conn->program);
    free(conn);
}

/* Closes the descriptor at once: another connection may have its place. */
static void close_socket(struct conn *conn)
{
    admission_end(&conn->server->admissions, conn->is_operators);
    uv_close((uv_handle_t *)&conn->poll, conn_on_closed);
    close(conn->fd);
    conn->fd = -1;
}

void conn_close(struct conn *conn)
{
    if (conn_is_closed(conn)) {
        return;
    }
    struct server *server = conn->server;
    conn_handle_event(conn, CONN_CLOSED);
    LIST_REMOVE(conn, link);
    if (is_parked(conn)) {
        parked_end(conn); /* nobody is to be answered */
    }
    conn_end_output(conn);
    conn->peer_watch = watch_free(conn->peer_watch);
    conn->followed = followers_leave(conn->followed);
    idle_wait_end(&server->idle_waits, &conn->idle_waiter);
    core_client_deinit(server->core, &conn->client, clock_now(), &server->effects);
    apply_effects(&server->turn);
    scheduler_end_work(&server->scheduler, conn->member.fair_user, 0);
    fair_user_leave(&server->scheduler.fair_queue, &conn->member, clock_now());
    close_socket(conn);
}

/* ---- what it does next ---- */

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
    uint8_t wanted = (may_read ? UV_READABLE : 0) | (conn->out.is_full ? UV_WRITABLE : 0);
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
    conn_handle_event(conn, CONN_PUT_OFF);
    scheduler_put_off(&conn->server->scheduler, &conn->member);
    conn_watch_gone(conn);
    conn_follow_state(conn);
}

static void conn_continue(struct fair_member *member)
{
    struct conn *conn = container_of(member, struct conn, member);
    conn_handle_event(conn, CONN_CALLED);
    conn_mark_dirty(conn);
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
    conn_handle_event(conn, CONN_INPUT_ENDED);
    conn_follow_state(conn);
    conn_mark_dirty(conn);
    if (!conn_state_has_work_left(conn->state, conn_load(conn))) {
        conn_end_leases(conn);
    }
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
        conn_unblock(conn);
    }
    bool has_come = (events & UV_READABLE) && conn_read(conn);
    loop_iteration_end(&server->turn);
    scheduler_end_work(&server->scheduler, conn->member.fair_user, has_come ? 1 : 0);
}

/* What it has sent is carried out first: perhaps it gave everything back. */
static void on_peer_gone(struct watches *watches, void *context)
{
    struct conn *conn = context;
    struct server *server = conn->server;
    (void)watches;
    conn->peer_watch = watch_free(conn->peer_watch);
    bool has_come = (conn->polled & UV_READABLE) && conn_read(conn);
    if (!conn_is_closed(conn)) {
        conn_end_input(conn);
    }
    loop_iteration_end(&server->turn);
    scheduler_end_work(&server->scheduler, conn->member.fair_user, has_come ? 1 : 0);
}

bool conn_bind_to_peer(struct conn *conn, struct process *peer)
{
    struct process found;
    if (!conn->peer_watch) {
        if (!process_of_peer(conn->fd, conn->pid, conn->accepted_at, &found)) {
            return false;
        }
        conn->started = found.started;
        conn->peer_watch =
            watch_new(&conn->server->jobs.watches, &found, on_peer_gone, conn);
    }
    *peer = (struct process){.pid = conn->pid, .started = conn->started};
    return true;
}

/* Whatever keeps it ends with conn_flush(): an answer, its turn, or libuv. */
static void conn_end_unanswered(struct conn *conn)
{
    if (conn_take_last_lines(conn)) {
        conn_close(conn);
    } else if (!conn_is_closed(conn)) {
        conn_follow_state(conn);
        conn_end_leases(conn);
    }
}

/* The peer has had its part of this turn. */
static void conn_settle(struct conn *conn)
{
    if (conn_state_is_over(conn->state, conn_load(conn))) {
        conn_close(conn);
        return;
    }
    if (conn->traffic) {
        conn_settle_output(conn);
        conn_end_traffic(conn);
    }
    conn_follow_state(conn);
    if (conn->followed) {
        followers_look(conn->followed);
    }
}

void conn_flush(struct conn *conn)
{
    conn_send(conn);
    if (conn->state.answer == ANSWER_LONG) {
        conn_send_pieces(conn);
    }
    if (conn->state.peer < PEER_WRITE_FAILED) {
        conn_take_lines(conn);
    }
    if (conn->state.peer == PEER_WRITE_FAILED) {
        conn_end_unanswered(conn);
    } else if (!conn_is_closed(conn)) {
        conn_settle(conn);
    }
}

/* ---- gone ---- */

/* Both directions are closed: nothing can be sent any more. */
static void conn_gone(struct fair_member *member)
{
    struct conn *conn = container_of(member, struct conn, member);
    if (!conn_is_closed(conn) && !(conn->polled & UV_READABLE)) { /* else reading will find it */
        conn_handle_event(conn, CONN_WRITE_FAILED);
        conn_flush(conn);
    }
}

const struct scheduler_ops conn_scheduler_ops = {.go_on = conn_continue, .gone = conn_gone};

/* ---- accepting ---- */

static bool refuse(struct server *server, int fd, enum refused_cause cause)
{
    static const char *const why[N_REFUSED_CAUSES] = {
        [REFUSED_FULL] = "too%20many%20connections",
        [REFUSED_RATE] = "too%20many%20new%20connections%20of%20this%20user",
        [REFUSED_USER] = "too%20many%20connections%20of%20this%20user",
    };
    char line[128];
    int n = snprintf(line, sizeof line, "error %s %s\n", code_table[CODE_BUSY].word, why[cause]);
    send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL); /* closing tells as much */
    close(fd);
    server->counts.connections_refused[cause]++;
    return false;
}

static void conn_open(struct conn *conn)
{
    struct server *server = conn->server;
    LIST_INSERT_HEAD(&server->conns, conn, link);
    server->counts.connections++;
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
    struct conn *conn = memory_new(sizeof *conn);
    conn->server = server;
    conn->fd = fd;
    conn->pid = peer.pid;
    conn->accepted_at = clock_now();
    enum refused_cause cause = admission_begin(
        &server->admissions, &conn->client, &conn->member, &conn->is_operators, fd, &peer);
    if (cause != NOT_REFUSED) {
        free(conn);
        return refuse(server, fd, cause);
    }
    if (uv_poll_init(&server->loop, &conn->poll, fd) < 0) {
        core_client_deinit(server->core, &conn->client, clock_now(), &server->effects);
        fair_user_leave(&server->scheduler.fair_queue, &conn->member, clock_now());
        admission_end(&server->admissions, conn->is_operators);
        free(conn);
        close(fd);
        return false;
    }
    conn_open(conn);
    return true;
}
