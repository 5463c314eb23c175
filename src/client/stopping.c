#include "client/stopping.h"

#include <assert.h>

#define DEFAULT_KILL_AFTER (10 * NANOSECONDS_PER_SECOND)
/* The kernel does not report the end of a group's last process unless it is our child. */
#define LOOK_EVERY (20 * NANOSECONDS_PER_MILLISECOND)
/* After SIGKILL. A process still in the group then is a zombie that its parent, outside the group,
 * does not reap, or stuck in the kernel, or another user's. */
#define LEAVE_AFTER NANOSECONDS_PER_SECOND
/* The part of the time between stop and deadline that is kept for the end of killed processes: an
 * eighth, half of what berthd plans beyond kill_after. It matters only to a stop that begins
 * late. */
#define KERNEL_MARGIN_DIVISOR 8

void stopping_init(struct stopping *stopping, enum on_lost on_lost, nanoseconds kill_after)
{
    *stopping = (struct stopping){
        .on_lost = on_lost == ON_LOST_NOT_SAID ? ON_LOST_KILL : on_lost,
        .kill_after = kill_after == NEVER ? DEFAULT_KILL_AFTER : kill_after,
        .stop_at = NEVER,
        .kill_by = NEVER,
        .kill_at = NEVER,
        .look_at = NEVER,
    };
}

void stopping_set_deadline(struct stopping *stopping, nanoseconds good_until, nanoseconds stop_at)
{
    nanoseconds span = good_until > stop_at ? good_until - stop_at : 0;
    stopping->kill_by = good_until - span / KERNEL_MARGIN_DIVISOR;
    stopping->stop_at = stop_at;
}

void stopping_drop_deadline(struct stopping *stopping)
{
    stopping->stop_at = NEVER;
}

bool stopping_is_due(const struct stopping *stopping, nanoseconds now)
{
    return stopping->state == STOPPING_NOT && now >= stopping->stop_at;
}

void stopping_begin(struct stopping *stopping)
{
    if (stopping->on_lost == ON_LOST_WARN) {
        stopping->stop_at = NEVER;
    } else if (stopping->state == STOPPING_NOT) {
        stopping->state = STOPPING_BEGUN;
    }
}

static enum stopping_action stopping_ask(struct stopping *stopping, nanoseconds now)
{
    stopping->state = STOPPING_ASKED;
    if (stopping->on_lost == ON_LOST_KILL) {
        /* A stop that begins late, after a suspend, has less time. */
        stopping->kill_at = earlier(now + stopping->kill_after, later(stopping->kill_by, now));
    }
    return STOPPING_ASK;
}

static enum stopping_action after_ask(
    struct stopping *stopping, enum job_left left, nanoseconds now)
{
    if (left == JOB_GROUP_LEFT && stopping->on_lost == ON_LOST_TERM) {
        return STOPPING_OVER;
    }
    if (now < stopping->kill_at) {
        return STOPPING_NOTHING;
    }
    stopping->state = STOPPING_KILLED;
    stopping->leave_at = now + LEAVE_AFTER;
    return STOPPING_KILL;
}

/* Repeats in each turn: under --tree there may be other processes by now. */
static enum stopping_action after_kill(
    struct stopping *stopping, enum job_left left, nanoseconds now)
{
    return left == JOB_GROUP_LEFT && now >= stopping->leave_at ? STOPPING_OVER : STOPPING_KILL;
}

enum stopping_action stopping_step(struct stopping *stopping, enum job_left left, nanoseconds now)
{
    if (stopping->state == STOPPING_NOT) {
        return STOPPING_NOTHING;
    }
    assert(stopping->on_lost != ON_LOST_WARN);
    if (left == JOB_GONE) {
        return STOPPING_OVER;
    }
    stopping->look_at = left == JOB_GROUP_LEFT ? now + LOOK_EVERY : NEVER;
    switch (stopping->state) {
    case STOPPING_NOT:
        break;
    case STOPPING_BEGUN:
        return stopping_ask(stopping, now);
    case STOPPING_ASKED:
        return after_ask(stopping, left, now);
    case STOPPING_KILLED:
        return after_kill(stopping, left, now);
    }
    return STOPPING_NOTHING;
}

nanoseconds stopping_deadline(const struct stopping *stopping)
{
    switch (stopping->state) {
    case STOPPING_NOT:
        return stopping->stop_at;
    case STOPPING_BEGUN:
        return 0;
    case STOPPING_ASKED:
        return earlier(stopping->kill_at, stopping->look_at);
    case STOPPING_KILLED:
        break;
    }
    return stopping->look_at;
}
