/* term.c - leases whose time is limited (max-hold, ttl), and how a lease is taken away: the job is
 * stopped first, so that nobody else gets its units while it runs.
 *
 * Two killers: a client that is there has kill_after, and half the margin before the deadline,
 * until we send SIGKILL; without a client, we also send the first signal. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/timing.h"

#include <stdlib.h>

#define KILL_AGAIN NANOSECONDS_PER_SECOND

/* Spans come from clients and files: no sum overflows. */
static nanoseconds after(nanoseconds instant, nanoseconds span)
{
    return span >= NEVER - 1 - instant ? NEVER : instant + span;
}

/* ---- the timer ---- */

void term_end(struct core *core, struct lease *lease)
{
    if (lease->term && order_contains(&lease->term->timer)) {
        order_remove(&core->term_timers, &lease->term->timer);
    }
    free(lease->term);
    lease->term = NULL;
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

static void term_set(struct core *core, struct lease *lease, nanoseconds at)
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

void term_start(struct core *core, struct lease *lease, nanoseconds until)
{
    nanoseconds hold_until = after(lease->granted_at, max_hold(lease));
    if (until == NEVER) {
        until = hold_until;
        if (lease->binding == BOUND_TIME) {
            until = earlier(until, after(lease->granted_at, lease->ttl));
        }
    }
    if (until != NEVER) {
        term_get(lease)->hold_until = hold_until;
        term_set(core, lease, until);
    }
}

nanoseconds term_next_deadline(const struct core *core)
{
    const struct order_node *first = order_first(&core->term_timers);
    return first ? (nanoseconds)first->major : NEVER;
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

static bool is_told_only(const struct lease *lease)
{
    return lease->binding == BOUND_TIME || lease->terms.on_lost == ON_LOST_WARN;
}

nanoseconds lease_stop_budget(const struct lease *lease)
{
    return is_told_only(lease) ? 0 : stop_takes(lease);
}

/* ---- stopping ---- */

static void lose(struct core *core, struct lease *lease, enum effect_kind kind, enum outcome why,
    nanoseconds now, struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    core_unlink_lease(core, lease, now, effects);
    effects_append(effects, kind, lease, client, why);
}

static void ask_signal(struct lease *lease, int signal, struct effects *effects)
{
    if (lease->binding == BOUND_PROCESS && !lease->process_is_gone) {
        effects_append(effects, EFFECT_SIGNAL, lease, NULL, (enum outcome)lease->stopping);
        effects->list[effects->n - 1].signal = signal;
    }
}

void stop_without_client(struct lease *lease, struct effects *effects)
{
    if (!lease->is_killed) {
        ask_signal(lease, lease->terms.signal, effects);
    }
}

/* A stop by the job's own user may miss processes that this user may not signal: from now on
 * signals reach all. The client has been told. */
static void stop_harder(struct lease *lease, enum outcome why, struct effects *effects)
{
    lease->stopping = (uint8_t)why;
    effects_change(effects, lease);
    if (lease->database != 0) {
        tenure_stops(lease);
    }
    if (!lease_real_client(lease)) {
        stop_without_client(lease, effects);
    }
}

void stop_begin(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    if (lease->stopping == OUTCOME_WITHDRAWN) {
        stop_harder(lease, why, effects);
        return;
    }
    if (is_told_only(lease) || lease->is_untold) {
        lose(core, lease, why == OUTCOME_EXPIRED ? EFFECT_STOP : EFFECT_LOST, why, now, effects);
        return;
    }
    nanoseconds patience = lease->terms.kill_after;
    lease->stopping = (uint8_t)why;
    effects_change(effects, lease);
    if (lease->database != 0 && why != OUTCOME_WITHDRAWN) {
        tenure_stops(lease);
    }
    if (lease->binding == BOUND_PROCESS) {
        away_watch(lease, effects);
    }
    if (client) {
        effects_append(effects, EFFECT_STOP, lease, client, why);
        patience += timing_stop_margin(lease->terms.kill_after) / 2;
    } else {
        stop_without_client(lease, effects);
    }
    term_set(core, lease, after(now, patience));
}

/* If the job is being stopped, the next signal comes no later than `at`. */
static void hurry(struct core *core, struct lease *lease, nanoseconds at)
{
    bool is_over = lease->state == LEASE_ENDED;
    if (!is_over && at < (nanoseconds)lease->term->timer.major) {
        term_set(core, lease, at);
    }
}

void stop_begin_again(struct core *core, struct lease *lease, const struct remembered *remembered,
    nanoseconds now, struct effects *effects)
{
    stop_begin(core, lease, remembered->stopping, now, effects);
    if (lease->state != LEASE_ENDED) {
        lease->term->hold_until = after(lease->granted_at, max_hold(lease));
    }
    hurry(core, lease, remembered->until);
}

void stop_begin_by(struct core *core, struct lease *lease, enum outcome why, nanoseconds gone_by,
    nanoseconds now, struct effects *effects)
{
    nanoseconds kill_by = gone_by - timing_stop_margin(lease->terms.kill_after) / 2;
    stop_begin(core, lease, why, now, effects);
    hurry(core, lease, kill_by > now ? kill_by : now);
}

static void stop_goes_on(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool can_kill = lease->binding == BOUND_PROCESS && !lease->process_is_gone &&
        lease->terms.on_lost == ON_LOST_KILL;
    if (!can_kill) {
        lose(core, lease, EFFECT_LOST, (enum outcome)lease->stopping, now, effects);
        return;
    }
    /* Held until the job is dead. SIGKILL is repeated: the kernel may not be able to end the job
     * yet, or another user's rights may protect it for a while. */
    lease->is_killed = true;
    if (lease->stopping == OUTCOME_WITHDRAWN && now >= lease->term->hold_until) {
        stop_harder(lease, OUTCOME_MAX_HOLD, effects);
    }
    ask_signal(lease, SIGNAL_KILL, effects);
    term_set(core, lease, after(now, KILL_AGAIN));
    effects_change(effects, lease);
}

void term_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    struct term *term = container_of(order_first(&core->term_timers), struct term, timer);
    struct lease *lease = term->lease;
    if (lease->stopping != OUTCOME_OK) {
        stop_goes_on(core, lease, now, effects);
    } else {
        bool held_too_long = lease->binding != BOUND_TIME ||
            (nanoseconds)term->timer.major >= term->hold_until;
        stop_begin(
            core, lease, held_too_long ? OUTCOME_MAX_HOLD : OUTCOME_EXPIRED, now, effects);
    }
}

/* ---- revoke, withdraw, drop, renew, bind ---- */

static void revoke(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    if (lease->state == LEASE_WAITING) {
        core_deny(core, lease, OUTCOME_CANCELLED, now, effects);
    } else if (stop_may_begin(lease, why)) {
        stop_begin(core, lease, why, now, effects);
    }
    core_settle(core, now, effects);
}

void core_revoke(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    revoke(core, lease, OUTCOME_REVOKED, now, effects);
}

void core_withdraw(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    revoke(core, lease, OUTCOME_WITHDRAWN, now, effects);
}

void core_drop(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    if (lease->state == LEASE_WAITING) {
        core_deny(core, lease, OUTCOME_CANCELLED, now, effects);
    } else {
        lose(core, lease, EFFECT_LOST, OUTCOME_DROPPED, now, effects);
    }
    core_settle(core, now, effects);
}

enum outcome core_renew(
    struct core *core, struct lease *lease, nanoseconds ttl, nanoseconds now, struct effects *effects)
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

enum outcome lease_bind(struct lease *lease, const struct client *by, enum binding binding,
    const struct process *process, struct effects *effects)
{
    bool is_anothers = binding == BOUND_CONNECTION && lease->client != by;
    if (lease->binding == BOUND_TIME || lease->is_opaque || is_anothers) {
        return OUTCOME_KIND;
    }
    lease->binding = (uint8_t)binding;
    if (lease->terms.signal == 0) {
        lease->terms.signal = SIGNAL_TERM; /* it has a job now */
    }
    lease->process = *process;
    lease->wrapper = (struct process){.pid = 0};
    lease->pid = process->pid;
    lease->main_is_gone = lease->process_is_gone = false;
    lease->is_watched = false;
    if (binding == BOUND_PROCESS &&
        (lease_is_away(lease) || lease->stopping != OUTCOME_OK)) {
        away_watch(lease, effects);
    }
    effects_change(effects, lease);
    return OUTCOME_OK;
}
