#include "daemon/scheduler.h"

#include "base/clock.h"
#include "base/memory.h"
#include "daemon/conn.h"
#include "daemon/server.h"

#include <assert.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define MILLISECOND (NANOSECONDS_PER_SECOND / 1000)
#define LONG_TURN MILLISECOND
#define LONGEST_PIECE MILLISECOND /* that a request or a part of an answer really takes */
#define UNIT (SHARE_UNIT_US * (MILLISECOND / 1000))

static struct server *server_of(struct turns *turns)
{
    return container_of(turns, struct server, turns);
}

/* ---- work ---- */

static void on_prepare(uv_prepare_t *prepare)
{
    struct turns *turns = container_of(prepare, struct turns, prepare);
    turns->number++;
    turns->began = 0;
}

static nanoseconds turns_now(const struct turns *turns)
{
    return turns->work_began != 0 ? turns->work_began : clock_now();
}

bool turns_is_long(const struct turns *turns)
{
    return turns->began != 0 && clock_now() - turns->began > LONG_TURN;
}

bool turns_must_wait(const struct turns *turns, const struct share *share)
{
    return share_is_limited(&turns->shares, share) &&
        share_must_wait(&turns->shares, share, turns_now(turns));
}

bool turns_begin_work(struct turns *turns, struct share *share)
{
    nanoseconds now = clock_now();
    turns->work_began = now;
    turns->n_requests = 0;
    turns->began = turns->began != 0 ? turns->began : now;
    if (!share) {
        return true;
    }
    bool has_had_share = share->last_turn == turns->number;
    share->last_turn = turns->number;
    return !(has_had_share && now - turns->began > LONG_TURN) && !turns_must_wait(turns, share);
}

void turns_charge_request(struct turns *turns, struct share *share)
{
    turns->n_requests++;
    if (share_is_limited(&turns->shares, share)) {
        share_charge(&turns->shares, share, 1, 0, turns_now(turns));
    }
}

/* Since the last time it was asked: then a piece of work that took long need not have been long. */
static bool was_interrupted(struct turns *turns)
{
    struct rusage usage;
    long before = turns->n_interruptions;
    getrusage(RUSAGE_THREAD, &usage);
    turns->n_interruptions = usage.ru_nivcsw;
    return usage.ru_nivcsw != before;
}

void turns_end_work(struct turns *turns, struct share *share, uint32_t fewest)
{
    nanoseconds began = turns->work_began;
    turns->work_began = 0;
    if (!share || began == 0 || !share_is_limited(&turns->shares, share)) {
        return;
    }
    nanoseconds now = clock_now();
    uint32_t n = turns->n_requests > fewest ? turns->n_requests : fewest;
    nanoseconds more = now - began - n * UNIT;
    if (more > LONGEST_PIECE && was_interrupted(turns)) {
        more =
            LONGEST_PIECE; /* not all of it was ours, but nobody shall gain by burning processors */
    }
    share_charge(&turns->shares, share, n - turns->n_requests, more, now);
}

/* ---- what was put off ---- */

static void on_idle(uv_idle_t *idle);

static void on_timer(uv_timer_t *timer)
{
    struct turns *turns = container_of(timer, struct turns, timer);
    uv_idle_start(&turns->idle, on_idle);
}

static void set_timer(struct turns *turns, nanoseconds due)
{
    nanoseconds now = clock_now();
    uint64_t in_ms = due > now ? (uint64_t)((due - now) / MILLISECOND) + 1 : 1;
    if (uv_is_active((uv_handle_t *)&turns->timer) && turns->timer_due <= due) {
        return; /* early does no harm */
    }
    turns->timer_due = due;
    uv_timer_start(&turns->timer, on_timer, in_ms, 0);
}

/* Who is remembered for a debt alone is waited for too. */
static void schedule(struct turns *turns)
{
    nanoseconds due = shares_due(&turns->shares);
    if (due == 0) {
        uv_idle_start(&turns->idle, on_idle);
        return;
    }
    uv_idle_stop(&turns->idle);
    if (due != NEVER) {
        set_timer(turns, due);
    }
}

static void on_idle(uv_idle_t *idle)
{
    struct turns *turns = container_of(idle, struct turns, idle);
    struct share_member *member = shares_next(&turns->shares, clock_now());
    struct conn *conn = member ? container_of(member, struct conn, member) : NULL;
    on_prepare(&turns->prepare);
    if (conn) {
        turns_begin_work(turns, conn->member.share);
        conn_continue(conn);
    }
    server_end_turn(server_of(turns));
    if (conn) {
        turns_end_work(turns, conn->member.share, 0);
    }
    schedule(turns);
}

/* Level and edge: what is already so when it is put off is told as well. */
void turns_watch_gone(struct turns *turns, struct conn *conn)
{
    uv_os_fd_t fd;
    struct epoll_event none = {.events = EPOLLET, .data.ptr = conn}; /* but EPOLLHUP, always told */
    if (uv_fileno((uv_handle_t *)&conn->pipe, &fd) < 0) {
        return;
    }
    int error =
        epoll_ctl(turns->gone_fd, conn->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &none);
    conn->is_watched = error == 0; /* else: as late as its turn comes */
}

void turns_put_off(struct turns *turns, struct conn *conn)
{
    shares_put_off(&turns->shares, &conn->member, turns_now(turns));
    schedule(turns);
    turns_watch_gone(turns, conn);
}

static void on_gone(uv_poll_t *poll, int status, int events)
{
    struct turns *turns = container_of(poll, struct turns, gone_poll);
    struct epoll_event gone[16]; /* the others come in the next turn */
    (void)status, (void)events;
    int n = epoll_wait(turns->gone_fd, gone, sizeof gone / sizeof gone[0], 0);
    for (int i = 0; i < n; i++) {
        struct conn *conn = gone[i].data.ptr; /* not freed in this turn */
        turns_begin_work(turns, conn->member.share);
        conn_gone(conn);
        turns_end_work(turns, conn->member.share, 0);
    }
    server_end_turn(server_of(turns));
}

void turns_set_rate(struct turns *turns, uint32_t per_second)
{
    shares_set_rate(&turns->shares, per_second);
    schedule(turns);
}

/* ---- life ---- */

bool turns_init(struct turns *turns, uv_loop_t *loop, uint32_t own_uid)
{
    shares_init(&turns->shares, own_uid);
    turns->number = 1;
    turns->gone_fd = epoll_create1(EPOLL_CLOEXEC);
    if (turns->gone_fd < 0) {
        return false;
    }
    uv_idle_init(loop, &turns->idle);
    uv_timer_init(loop, &turns->timer);
    uv_prepare_init(loop, &turns->prepare);
    uv_prepare_start(&turns->prepare, on_prepare);
    uv_poll_init(loop, &turns->gone_poll, turns->gone_fd);
    uv_poll_start(&turns->gone_poll, UV_READABLE, on_gone);
    return true;
}

void turns_deinit(struct turns *turns)
{
    shares_deinit(&turns->shares);
    if (turns->gone_fd >= 0) {
        close(turns->gone_fd);
    }
}
