#include "admission/scheduler.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/metrics.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define LONG_TURN NANOSECONDS_PER_MILLISECOND
#define BUSY_TURN (LONG_TURN / 4)
/* The most that a request or a piece of an answer really takes. */
#define LONGEST_PIECE NANOSECONDS_PER_MILLISECOND
#define UNIT (FAIR_UNIT_US * INT64_C(1000))

/* ---- work ---- */

static void on_prepare(uv_prepare_t *prepare)
{
    struct scheduler *scheduler = container_of(prepare, struct scheduler, prepare);
    if (scheduler->turns && scheduler->began != 0) {
        uint64_t lasted = microseconds(clock_now() - scheduler->began);
        metric_observe(scheduler->turns, METRIC_LATENCIES, lasted);
    }
    scheduler->number++;
    scheduler->began = 0;
}

static nanoseconds scheduler_now(const struct scheduler *scheduler)
{
    return scheduler->work_began != 0 ? scheduler->work_began : clock_now();
}

static bool has_lasted(const struct scheduler *scheduler, nanoseconds span)
{
    return scheduler->began != 0 && clock_now() - scheduler->began > span;
}

bool scheduler_is_long(const struct scheduler *scheduler)
{
    return has_lasted(scheduler, LONG_TURN);
}

bool scheduler_is_busy(const struct scheduler *scheduler)
{
    return has_lasted(scheduler, BUSY_TURN);
}

bool scheduler_must_wait(const struct scheduler *scheduler, const struct fair_user *fair_user)
{
    return fair_user_is_limited(&scheduler->fair_queue, fair_user) &&
        fair_user_must_wait(&scheduler->fair_queue, fair_user, scheduler_now(scheduler));
}

bool scheduler_begin_work(struct scheduler *scheduler, struct fair_user *fair_user)
{
    nanoseconds now = clock_now();
    scheduler->work_began = now;
    scheduler->n_requests = 0;
    scheduler->began = scheduler->began != 0 ? scheduler->began : now;
    if (!fair_user) {
        return true;
    }
    bool has_acted = fair_user->last_turn == scheduler->number;
    fair_user->last_turn = scheduler->number;
    return !(has_acted && now - scheduler->began > LONG_TURN) &&
        !scheduler_must_wait(scheduler, fair_user);
}

void scheduler_charge_request(struct scheduler *scheduler, struct fair_user *fair_user)
{
    scheduler->n_requests++;
    if (fair_user_is_limited(&scheduler->fair_queue, fair_user)) {
        fair_user_charge(&scheduler->fair_queue, fair_user, 1, 0, scheduler_now(scheduler));
    }
}

/* Since the last call: then a piece of work that took long need not have been long. */
static bool was_interrupted(struct scheduler *scheduler)
{
    struct rusage usage;
    long before = scheduler->n_interruptions;
    getrusage(RUSAGE_THREAD, &usage);
    scheduler->n_interruptions = usage.ru_nivcsw;
    return usage.ru_nivcsw != before;
}

void scheduler_end_work(struct scheduler *scheduler, struct fair_user *fair_user, uint32_t min)
{
    nanoseconds began = scheduler->work_began;
    scheduler->work_began = 0;
    if (!fair_user || began == 0 || !fair_user_is_limited(&scheduler->fair_queue, fair_user)) {
        return;
    }
    nanoseconds now = clock_now();
    uint32_t n = scheduler->n_requests > min ? scheduler->n_requests : min;
    nanoseconds more = now - began - n * UNIT;
    if (more > LONGEST_PIECE && was_interrupted(scheduler)) {
        more =
            LONGEST_PIECE; /* not all of it was ours, but nobody shall gain by burning processors */
    }
    fair_user_charge(&scheduler->fair_queue, fair_user, n - scheduler->n_requests, more, now);
}

/* ---- what was put off ---- */

static void on_idle(uv_idle_t *idle);

static void scheduler_on_timer(uv_timer_t *timer)
{
    struct scheduler *scheduler = container_of(timer, struct scheduler, timer);
    uv_idle_start(&scheduler->idle, on_idle);
}

static void scheduler_set_timer(struct scheduler *scheduler, nanoseconds due)
{
    if (uv_is_active((uv_handle_t *)&scheduler->timer) && scheduler->timer_due <= due) {
        return; /* too early does no harm */
    }
    scheduler->timer_due = due;
    uv_timer_start(
        &scheduler->timer, scheduler_on_timer, milliseconds_until(due, clock_now()), 0);
}

/* Also waits for users who are remembered only for a debt. */
static void schedule(struct scheduler *scheduler)
{
    nanoseconds due = fair_queue_due(&scheduler->fair_queue);
    if (due == 0) {
        uv_idle_start(&scheduler->idle, on_idle);
        return;
    }
    uv_idle_stop(&scheduler->idle);
    if (due != NEVER) {
        scheduler_set_timer(scheduler, due);
    }
}

static void on_idle(uv_idle_t *idle)
{
    struct scheduler *scheduler = container_of(idle, struct scheduler, idle);
    struct fair_member *member = fair_queue_next(&scheduler->fair_queue, clock_now());
    on_prepare(&scheduler->prepare);
    if (member) {
        scheduler_begin_work(scheduler, member->fair_user);
        scheduler->ops.go_on(member);
    }
    loop_iteration_end(scheduler->turn);
    if (member) {
        scheduler_end_work(scheduler, member->fair_user, 0);
    }
    schedule(scheduler);
}

/* Level and edge: an end that came before it was put off is reported as well. */
bool scheduler_watch_gone(
    struct scheduler *scheduler, struct fair_member *member, int fd, bool was_watched)
{
    struct epoll_event none = {.events = EPOLLET, .data.ptr = member}; /* EPOLLHUP always comes */
    return epoll_ctl(
               scheduler->gone_fd, was_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &none) == 0;
}

void scheduler_put_off(struct scheduler *scheduler, struct fair_member *member)
{
    fair_queue_put_off(&scheduler->fair_queue, member, scheduler_now(scheduler));
    schedule(scheduler);
}

static void on_gone(uv_poll_t *poll, int status, int events)
{
    struct scheduler *scheduler = container_of(poll, struct scheduler, gone_poll);
    struct epoll_event gone[16]; /* the others come in the next turn */
    (void)status, (void)events;
    int n = epoll_wait(scheduler->gone_fd, gone, sizeof gone / sizeof gone[0], 0);
    for (int i = 0; i < n; i++) {
        struct fair_member *member = gone[i].data.ptr; /* not freed in this turn */
        scheduler_begin_work(scheduler, member->fair_user);
        scheduler->ops.gone(member);
        scheduler_end_work(scheduler, member->fair_user, 0);
    }
    loop_iteration_end(scheduler->turn);
}

void scheduler_set_rate(struct scheduler *scheduler, uint32_t per_second)
{
    fair_queue_set_rate(&scheduler->fair_queue, per_second);
    schedule(scheduler);
}

/* ---- life ---- */

bool scheduler_init(struct scheduler *scheduler, uv_loop_t *loop, uint32_t own_uid,
    struct scheduler_ops ops, struct loop_iteration *turn)
{
    scheduler->ops = ops;
    scheduler->turn = turn;
    fair_queue_init(&scheduler->fair_queue, own_uid);
    scheduler->number = 1;
    scheduler->gone_fd = epoll_create1(EPOLL_CLOEXEC);
    if (scheduler->gone_fd < 0) {
        return false;
    }
    uv_idle_init(loop, &scheduler->idle);
    uv_timer_init(loop, &scheduler->timer);
    uv_prepare_init(loop, &scheduler->prepare);
    uv_prepare_start(&scheduler->prepare, on_prepare);
    uv_poll_init(loop, &scheduler->gone_poll, scheduler->gone_fd);
    uv_poll_start(&scheduler->gone_poll, UV_READABLE, on_gone);
    return true;
}

void scheduler_deinit(struct scheduler *scheduler)
{
    fair_queue_deinit(&scheduler->fair_queue);
    if (scheduler->gone_fd >= 0) {
        close(scheduler->gone_fd);
    }
}
