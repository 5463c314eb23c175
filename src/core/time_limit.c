/* time_limit.c - leases whose time is limited: max-hold, ttl, and how long a stop takes. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/timing.h"

#include <stdlib.h>

/* ---- the timer ---- */

void term_end(struct core *core, struct lease *lease)
{
    if (lease->term && order_contains(&lease->term->timer)) {
        order_remove(&core->term_timers, &lease->term->timer);
    }
    if (lease->term) {
        free(lease->term->reason);
    }
    free(lease->term);
    lease->term = NULL;
}

const char *lease_stop_reason(const struct lease *lease)
{
    return lease->term ? lease->term->reason : NULL;
}

static struct term *term_get(struct lease *lease)
{
    if (!lease->term) {
        lease->term = memory_new(sizeof *lease->term);
        lease->term->lease = lease;
        lease->term->hold_until = NEVER;
    }
    return lease->term;
}

void term_set(struct core *core, struct lease *lease, nanoseconds at)
{
    struct term *term = term_get(lease);
    if (order_contains(&term->timer)) {
        order_remove(&core->term_timers, &term->timer);
    }
    order_insert(&core->term_timers, &term->timer, (uint64_t)at, ++core->timer_serial);
}

static nanoseconds max_hold(const struct lease *lease)
{
    nanoseconds shortest = NEVER;
    for (size_t i = 0; i < lease->n_claims; i++) {
        shortest = earlier(shortest, lease->claims[i].resource->definition->max_hold);
    }
    return shortest;
}

void term_resume(
    struct core *core, struct lease *lease, nanoseconds until, nanoseconds hold_until)
{
    term_get(lease)->hold_until = hold_until;
    term_set(core, lease, until);
}

void term_start(struct core *core, struct lease *lease)
{
    nanoseconds hold_until = after(lease->granted_at, max_hold(lease)), until = hold_until;
    if (lease->binding == BOUND_TIME) {
        until = earlier(until, after(lease->granted_at, lease->ttl));
    }
    if (until != NEVER) {
        term_resume(core, lease, until, hold_until);
    }
}

nanoseconds lease_own_until(const struct lease *lease)
{
    bool is_limited = lease->term && lease->stopping == OUTCOME_OK;
    return is_limited ? (nanoseconds)lease->term->timer.major : NEVER;
}

static nanoseconds held_stop_at(const struct lease *lease)
{
    bool may_stop = lease->state == LEASE_HELD && lease->stopping == OUTCOME_OK;
    return may_stop ? lease_stop_at(lease) : NEVER;
}

nanoseconds lease_until(const struct lease *lease)
{
    return earlier(lease_own_until(lease), held_stop_at(lease));
}

/* From the signal until the job is certainly gone; only for a job that is stopped. */
static nanoseconds stop_takes(const struct lease *lease)
{
    return after(lease->terms.kill_after, timing_stop_margin(lease->terms.kill_after));
}

nanoseconds lease_gone_by(const struct lease *lease)
{
    nanoseconds until = lease_own_until(lease), stop_at = held_stop_at(lease);
    nanoseconds gone_by = until == NEVER ? NEVER : after(until, stop_takes(lease));
    nanoseconds deadline = stop_at == NEVER ? NEVER : after(stop_at, lease_stop_budget(lease));
    return earlier(gone_by, deadline);
}

bool lease_is_only_notified(const struct lease *lease)
{
    return lease->binding == BOUND_TIME || lease->terms.on_lost == ON_LOST_WARN;
}

nanoseconds lease_stop_budget(const struct lease *lease)
{
    return lease_is_only_notified(lease) ? 0 : stop_takes(lease);
}

/* ---- renew ---- */

enum outcome core_renew(struct core *core, struct lease *lease, nanoseconds ttl, nanoseconds now,
    struct effects *effects)
{
    if (lease->state != LEASE_HELD || lease->stopping != OUTCOME_OK) {
        return OUTCOME_LOST;
    }
    if (lease->binding != BOUND_TIME || lease->is_opaque) {
        return ttl == 0 && !lease->is_opaque ? OUTCOME_OK : OUTCOME_KIND;
    }
    if (ttl != 0) {
        lease->ttl = ttl;
    }
    term_set(core, lease, earlier(after(now, lease->ttl), term_get(lease)->hold_until));
    effects_change(effects, lease);
    return OUTCOME_OK;
}
