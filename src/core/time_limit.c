/* time_limit.c - leases whose time is limited: max-hold, ttl, and how long a stop takes. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/timing.h"

#include <stdlib.h>

/* ---- the timer ---- */

void lease_timer_end(struct core *core, struct lease *lease)
{
    if (lease->lease_timer) {
        sorted_set_discard(&core->lease_timers, &lease->lease_timer->timer);
    }
    free(lease->lease_timer);
    lease->lease_timer = NULL;
}

static struct lease_timer *lease_timer_get(struct lease *lease)
{
    if (!lease->lease_timer) {
        lease->lease_timer = memory_new(sizeof *lease->lease_timer);
        lease->lease_timer->lease = lease;
        lease->lease_timer->hold_until = NEVER;
        lease->lease_timer->good_until = NEVER;
    }
    return lease->lease_timer;
}

bool lease_timer_note_good_until(struct lease *lease, nanoseconds good_until)
{
    struct lease_timer *lease_timer = lease_timer_get(lease);
    bool is_earlier = good_until < lease_timer->good_until;
    lease_timer->good_until = earlier(lease_timer->good_until, good_until);
    return is_earlier;
}

void lease_timer_set(struct core *core, struct lease *lease, nanoseconds at)
{
    struct lease_timer *lease_timer = lease_timer_get(lease);
    sorted_set_discard(&core->lease_timers, &lease_timer->timer);
    sorted_set_insert(&core->lease_timers, &lease_timer->timer, (uint64_t)at, ++core->timer_serial);
}

static nanoseconds max_hold(const struct lease *lease)
{
    nanoseconds shortest = NEVER;
    for (size_t i = 0; i < lease->n_claims; i++) {
        shortest = earlier(shortest, lease->claims[i].resource->definition->max_hold);
    }
    return shortest;
}

void lease_timer_resume(
    struct core *core, struct lease *lease, nanoseconds until, nanoseconds hold_until)
{
    lease_timer_get(lease)->hold_until = hold_until;
    lease_timer_set(core, lease, until);
}

void lease_timer_start(struct core *core, struct lease *lease)
{
    nanoseconds hold_until =
        earlier(instant_after(lease->granted_at, max_hold(lease)), shares_hold_until(lease));
    nanoseconds until = hold_until;
    if (lease->ttl != 0) {
        until = earlier(until, instant_after(lease->granted_at, lease->ttl));
    }
    if (until != NEVER) {
        lease_timer_resume(core, lease, until, hold_until);
    }
}

nanoseconds lease_max_hold(const struct lease *lease)
{
    nanoseconds hold_until = lease->lease_timer ? lease->lease_timer->hold_until : NEVER;
    return lease->state != LEASE_HELD ? max_hold(lease)
        : hold_until == NEVER         ? NEVER
                                      : hold_until - lease->granted_at;
}

nanoseconds lease_own_until(const struct lease *lease)
{
    bool is_limited = lease->lease_timer && lease->stopping == OUTCOME_OK;
    return is_limited ? (nanoseconds)lease->lease_timer->timer.major : NEVER;
}

static nanoseconds held_stop_at(const struct lease *lease)
{
    bool may_stop = lease->state == LEASE_HELD && lease->stopping == OUTCOME_OK;
    return may_stop ? lease_stop_at(lease) : NEVER;
}

/* A program that has been told to give the lease back, and loses it when the timer is due. */
static bool is_told_program(const struct lease *lease)
{
    return lease->stopping != OUTCOME_OK && !lease->is_ending && lease_is_programs(lease) &&
        lease->lease_timer;
}

nanoseconds lease_until(const struct lease *lease)
{
    return is_told_program(lease)
        ? (nanoseconds)lease->lease_timer->timer.major - lease_stop_budget(lease)
        : earlier(lease_own_until(lease), held_stop_at(lease));
}

/* From the signal until the job is certainly gone; only for a job that is stopped. */
static nanoseconds stop_takes(const struct lease *lease)
{
    nanoseconds kill_after = lease->attributes.kill_after;
    return instant_after(kill_after, timing_stop_margin(kill_after));
}

nanoseconds lease_gone_by(const struct lease *lease)
{
    return is_told_program(lease)
        ? (nanoseconds)lease->lease_timer->timer.major
        : earlier(instant_after(lease_own_until(lease), stop_takes(lease)),
              instant_after(held_stop_at(lease), lease_stop_budget(lease)));
}

bool lease_is_notify_only(const struct lease *lease)
{
    return lease->binding == BOUND_TIME || lease->attributes.on_lost == ON_LOST_WARN;
}

nanoseconds lease_stop_budget(const struct lease *lease)
{
    return lease_is_notify_only(lease) ? 0 : stop_takes(lease);
}

/* ---- renew ---- */

enum outcome core_renew(struct core *core, struct lease *lease, nanoseconds ttl, nanoseconds now,
    struct effects *effects)
{
    if (lease->state != LEASE_HELD || lease->stopping != OUTCOME_OK) {
        return OUTCOME_LOST;
    }
    if (lease->ttl == 0 || lease->is_opaque) {
        return ttl == 0 && !lease->is_opaque ? OUTCOME_OK : OUTCOME_KIND;
    }
    if (ttl != 0) {
        lease->ttl = ttl;
    }
    lease_timer_set(
        core, lease, earlier(instant_after(now, lease->ttl), lease_timer_get(lease)->hold_until));
    effects_change(effects, lease);
    return OUTCOME_OK;
}
