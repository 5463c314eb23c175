/* stop.c - how a lease is taken away: the job is stopped first, so that nobody else gets its units
 * while it runs.
 *
 * Two killers: a client that is there has kill_after, and half the margin before the deadline,
 * until we send SIGKILL; without a client, we also send the first signal.
 *
 * A program is told, and not killed: it has until the end of the margin, and then others may have
 * its units (guarantee 5's exception). */
#include "base/memory.h"
#include "core/internal.h"
#include "core/timing.h"

#include <stdlib.h>

#define KILL_AGAIN NANOSECONDS_PER_SECOND

/* ---- who, and why ---- */

void lease_note_taker(struct lease *lease, const struct actor *by, const char *reason)
{
    struct taken *before = lease->taken;
    lease->taken = memory_new(sizeof *lease->taken);
    *lease->taken = (struct taken){.by = *by, .reason = memory_string(reason)};
    taken_free(before);
}

const char *lease_stop_reason(const struct lease *lease)
{
    return lease->taken ? lease->taken->reason : NULL;
}

static void note_reason(struct lease *lease, const char *reason)
{
    const struct actor nobody = {.is_known = false};
    if (reason) {
        lease_note_taker(lease, lease->taken ? &lease->taken->by : &nobody, reason);
    }
}

/* ---- stops ---- */

static void stop_shares(struct core *core, const struct lease *lease, enum outcome why,
    bool at_once, nanoseconds now, struct effects *effects);

static void lose(struct core *core, struct lease *lease, enum effect_kind kind, enum outcome why,
    nanoseconds now, struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    lease_over(core, lease, why, now, effects);
    effects_append_saying(
        effects, kind, lease, client, why, memory_string(lease_stop_reason(lease)));
}

static void ask_signal(struct lease *lease, int signal, struct effects *effects)
{
    bool has_job = lease->binding == BOUND_PROCESS && !lease->process_is_gone && !lease->is_ending;
    if (has_job && !lease_is_programs(lease)) {
        effects_append(effects, EFFECT_SIGNAL, lease, NULL, (enum outcome)lease->stopping);
        effects->list[effects->n - 1].signal = signal;
    }
}

void stop_on_client_gone(struct lease *lease, struct effects *effects)
{
    if (!lease->is_killed) {
        ask_signal(lease, lease->attributes.signal, effects);
    }
}

/* A stop by the job's own user may miss processes that this user may not signal: from now on
 * signals reach all. The client has been told. */
static void stop_harder(struct lease *lease, enum outcome why, struct effects *effects)
{
    lease->stopping = (uint8_t)why;
    effects_change(effects, lease);
    tenure_stops(lease);
    if (!lease_real_client(lease)) {
        stop_on_client_gone(lease, effects);
    }
}

/* Until the job is gone; the next signal comes at that instant. */
static void stop_set(struct core *core, struct lease *lease, enum outcome why, nanoseconds at,
    struct effects *effects)
{
    lease->stopping = (uint8_t)why;
    effects_change(effects, lease);
    if (why != OUTCOME_WITHDRAWN) {
        tenure_stops(lease);
    }
    if (lease->binding == BOUND_PROCESS) {
        detached_watch(lease, effects);
    }
    lease_timer_set(core, lease, at);
}

static void stop_begin(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    if (lease->stopping != OUTCOME_OK) {
        stop_harder(lease, why, effects);
        stop_shares(core, lease, why, false, now, effects);
        return;
    }
    if (lease_is_notify_only(lease) || lease->is_undelivered) {
        enum effect_kind kind = why == OUTCOME_EXPIRED ? EFFECT_STOP : EFFECT_LOST;
        lose(core, lease, kind, why, now, effects);
        return;
    }
    nanoseconds patience = lease->attributes.kill_after;
    patience += client ? timing_stop_margin(lease->attributes.kill_after) / 2 : 0;
    patience = lease_is_programs(lease) ? lease_stop_budget(lease) : patience;
    stop_set(core, lease, why, instant_after(now, patience), effects);
    if (client) {
        effects_append_saying(effects, EFFECT_STOP, lease, client, why,
            memory_string(lease_stop_reason(lease)));
    } else {
        stop_on_client_gone(lease, effects);
    }
    stop_shares(core, lease, why, false, now, effects);
}

/* If the job is being stopped, the next signal comes early enough for it to be gone by then; and so
 * for its shares. */
static void hurry(struct core *core, struct lease *lease, nanoseconds gone_by, nanoseconds now)
{
    nanoseconds kill_by = lease_is_programs(lease)
        ? gone_by
        : gone_by - timing_stop_margin(lease->attributes.kill_after) / 2;
    nanoseconds at = later(kill_by, now);
    if (lease->state == LEASE_ENDED) {
        return;
    }
    if (lease->lease_timer && at < (nanoseconds)lease->lease_timer->timer.major) {
        lease_timer_set(core, lease, at);
    }
    const struct claim *share;
    LIST_FOREACH (share, &lease->shares, share_link) {
        bool is_news = lease_timer_note_good_until(share->lease, gone_by);
        if (is_news) { /* it may be a share of several of them */
            hurry(core, share->lease, gone_by, now);
        }
    }
}

/* ---- with the lease that has their units ---- */

/* As its own user can end a lease, so its shares: with that user's rights alone. */
static enum outcome why_for_shares(enum outcome why)
{
    bool is_by_user = why == OUTCOME_RELEASED || why == OUTCOME_EXPIRED;
    return is_by_user ? OUTCOME_WITHDRAWN : why;
}

static void stop_share(struct core *core, struct lease *lease, const struct lease *above,
    enum outcome why, bool at_once, nanoseconds now, struct effects *effects)
{
    bool is_taken = lease->state == LEASE_WAITING ||
        (lease->state == LEASE_HELD && (at_once || stop_may_begin(lease, why)));
    if (is_taken && above->taken) {
        lease_note_taker(lease, &above->taken->by, above->taken->reason);
    }
    if (is_taken && lease->state == LEASE_WAITING) {
        lose(core, lease, EFFECT_DENIED, OUTCOME_ANCESTOR, now, effects);
    } else if (is_taken && at_once) {
        lose(core, lease, EFFECT_LOST, why, now, effects);
    } else if (is_taken) {
        stop_begin(core, lease, why, now, effects);
    }
}

static void stop_shares(struct core *core, const struct lease *lease, enum outcome why,
    bool at_once, nanoseconds now, struct effects *effects)
{
    const struct claim *share;
    struct lease **leases = NULL; /* one may end another */
    size_t n = 0;
    LIST_FOREACH (share, &lease->shares, share_link) {
        leases = memory_grow(leases, n, sizeof *leases);
        leases[n++] = share->lease;
    }
    for (size_t i = 0; i < n; i++) {
        stop_share(core, leases[i], lease, why_for_shares(why), at_once, now, effects);
    }
    free(leases);
}

/* The leases whose shares it was may have waited for it. */
static void shares_have_left(
    struct core *core, const struct lease *lease, nanoseconds now, struct effects *effects)
{
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        struct lease *of = lease->claims[i].of ? lease->claims[i].of->lease : NULL;
        if (of && of->is_ending && of->state == LEASE_HELD && LIST_EMPTY(&of->shares)) {
            lease_over(core, of, OUTCOME_RELEASED, now, effects);
        }
    }
}

static void forget_shares(struct lease *lease)
{
    while (!LIST_EMPTY(&lease->shares)) {
        struct claim *share = LIST_FIRST(&lease->shares);
        LIST_REMOVE(share, share_link);
        share->of = NULL;
    }
}

void stop_begin_ending(struct core *core, struct lease *lease, enum outcome why)
{
    lease->is_ending = true;
    lease->stopping = lease->stopping == OUTCOME_OK ? (uint8_t)why : lease->stopping;
    once_leave(core, lease);
    lease->attributes.once = NULL;
    tenure_stops(lease);
    lease_timer_end(core, lease);
}

/* True: that takes time, and the lease is .is_ending until the last share is gone. */
static bool shares_hold_up(struct core *core, struct lease *lease, enum outcome why,
    nanoseconds now, struct effects *effects)
{
    bool at_once = why == OUTCOME_OK || why == OUTCOME_DROPPED || lease->is_preempted;
    if (lease->state != LEASE_HELD || LIST_EMPTY(&lease->shares)) {
        return false;
    }
    bool was_ending = lease->is_ending;
    lease->is_ending = false; /* the last of them does not end it */
    if (why != OUTCOME_OK) {
        stop_shares(core, lease, why, at_once, now, effects);
    }
    if (at_once || LIST_EMPTY(&lease->shares)) {
        forget_shares(lease);
        return false;
    }
    if (!was_ending) {
        stop_begin_ending(core, lease, why);
        effects_change(effects, lease);
    }
    lease->is_ending = true;
    lease_move(lease, &core->detached);
    return true;
}

void lease_over(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    if (!shares_hold_up(core, lease, why, now, effects)) {
        core_unlink_lease(core, lease, why, now, effects);
        shares_have_left(core, lease, now, effects);
    }
}

void core_deny(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    lose(core, lease, EFFECT_DENIED, why, now, effects);
}

void core_end(struct core *core, struct lease *lease, const struct client *by, nanoseconds now,
    struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    bool was_held = lease->state == LEASE_HELD;
    enum outcome why = was_held ? OUTCOME_RELEASED : OUTCOME_CANCELLED;
    lease_over(core, lease, why, now, effects);
    if (client != by) {
        effects_append(effects, was_held ? EFFECT_LOST : EFFECT_DENIED, lease, client, why);
    }
    core_settle(core, now, effects);
}

void core_abort_acquire(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    lease_over(core, lease, why, now, effects);
    core_settle(core, now, effects);
}

void stop_restored_share(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    stop_begin(core, lease, OUTCOME_WITHDRAWN, now, effects);
}

/* ---- after a restart, and by a deadline ---- */

void stop_resume(struct core *core, struct lease *lease, const struct saved_lease *saved,
    nanoseconds now, struct effects *effects)
{
    nanoseconds patience = lease_is_programs(lease) /* which may have been told until when */
        ? lease_stop_budget(lease)
        : lease->attributes.kill_after;
    nanoseconds at = earlier(instant_after(now, patience), saved->until);
    bool is_lost = saved->stopping == OUTCOME_LOST || saved->stopping == OUTCOME_DEADLINE;
    nanoseconds good_until =
        lease->database != 0 && is_lost ? core_fleet_deadline(core, lease->database) : 0;
    stop_set(core, lease, saved->stopping, at, effects);
    lease_timer_note_good_until(lease, good_until != 0 ? good_until : NEVER);
    lease->lease_timer->hold_until = saved->hold_until;
    lease_note_taker(lease, &saved->by, saved->stop_reason);
}

void stop_begin_by(struct core *core, struct lease *lease, enum outcome why, nanoseconds gone_by,
    nanoseconds now, struct effects *effects)
{
    lease_timer_note_good_until(lease, gone_by);
    stop_begin(core, lease, why, now, effects);
    hurry(core, lease, gone_by, now);
}

static void stop_goes_on(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool can_kill = lease->binding == BOUND_PROCESS && !lease->process_is_gone &&
        !lease_is_programs(lease) && lease->attributes.on_lost == ON_LOST_KILL;
    if (!can_kill) {
        lose(core, lease, EFFECT_LOST, (enum outcome)lease->stopping, now, effects);
        return;
    }
    /* Held until the job is dead. SIGKILL is repeated: the kernel may not be able to end the job
     * yet, or another user's rights may protect it for a while. */
    lease->is_killed = true;
    if (lease->stopping == OUTCOME_WITHDRAWN && now >= lease->lease_timer->hold_until) {
        stop_harder(lease, OUTCOME_MAX_HOLD, effects);
    }
    ask_signal(lease, SIGNAL_KILL, effects);
    lease_timer_set(core, lease, instant_after(now, KILL_AGAIN));
    effects_change(effects, lease);
}

void lease_timer_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    struct lease_timer *lease_timer =
        container_of(sorted_set_first(&core->lease_timers), struct lease_timer, timer);
    struct lease *lease = lease_timer->lease;
    if (lease->stopping != OUTCOME_OK) {
        stop_goes_on(core, lease, now, effects);
    } else {
        bool held_too_long = (nanoseconds)lease_timer->timer.major >= lease_timer->hold_until;
        enum outcome why = held_too_long ? OUTCOME_MAX_HOLD : OUTCOME_EXPIRED;
        stop_begin(core, lease, why, now, effects);
    }
}

/* ---- in time, when their database could not be reached ---- */

static void stop_first(
    struct core *core, struct tenure *tenure, nanoseconds now, struct effects *effects)
{
    struct lease *lease = tenure_first_to_stop(tenure);
    stop_begin_by(core, lease, OUTCOME_DEADLINE, tenure->good_until, now, effects);
}

void tenure_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    stop_first(core, &core->tenures[tenure_first(core) - core->tenures], now, effects);
}

void core_fleet_good_until(struct core *core, uint8_t database, nanoseconds until, nanoseconds now,
    struct effects *effects)
{
    struct tenure *tenure = tenure_get(core, database);
    tenure->good_until = until;
    while (tenure_stop_at(tenure) <= now) {
        stop_first(core, tenure, now, effects);
    }
    core_settle(core, now, effects);
}

/* ---- revoke, withdraw, drop ---- */

bool core_would_stop(const struct lease *lease, enum outcome why)
{
    return lease->state == LEASE_WAITING || stop_may_begin(lease, why);
}

void core_revoke(struct core *core, struct lease *lease, enum outcome why, const char *reason,
    nanoseconds now, struct effects *effects)
{
    if (why == OUTCOME_DROPPED || core_would_stop(lease, why)) {
        note_reason(lease, reason);
    }
    if (lease->state == LEASE_WAITING) {
        lose(core, lease, EFFECT_DENIED, OUTCOME_CANCELLED, now, effects);
    } else if (why == OUTCOME_DROPPED) {
        lose(core, lease, EFFECT_LOST, why, now, effects);
    } else if (stop_may_begin(lease, why)) {
        stop_begin(core, lease, why, now, effects);
    }
    core_settle(core, now, effects);
}
