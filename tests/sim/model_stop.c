/* model_stop.c - the model's leases with a limited time, those without a client, and how each is
 * taken away. */
#include "model.h"

#include <signal.h>

/* ---- figures ---- */

static nanoseconds after(nanoseconds instant, nanoseconds span)
{
    return span == NEVER ? NEVER : instant + span;
}

static nanoseconds max_hold(const struct model_lease *lease)
{
    nanoseconds shortest = NEVER;
    for (size_t i = 0; i < lease->n_claims; i++) {
        shortest = earlier(shortest, lease->claims[i].resource->rules.max_hold);
    }
    return shortest;
}

void model_set_due(struct model *model, struct model_lease *lease, nanoseconds at)
{
    lease->due = at;
    lease->due_serial = ++model->moment;
}

void model_begin_term(struct model *model, struct model_lease *lease, nanoseconds now)
{
    lease->granted_at = now;
    lease->hold_until = after(now, max_hold(lease));
    nanoseconds ttl = lease->binding == BOUND_TIME ? lease->ttl : NEVER;
    model_set_due(model, lease, earlier(lease->hold_until, after(now, ttl)));
}

struct model_lease *model_next_term(const struct model *model)
{
    struct model_lease *first = NULL;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        bool sooner = lease->held && lease->due != NEVER &&
            (!first || lease->due < first->due ||
                (lease->due == first->due && lease->due_serial < first->due_serial));
        first = sooner ? lease : first;
    }
    return first;
}

/* ---- without a client ---- */

void model_link(struct model *model, struct model_lease *lease, int client)
{
    lease->client = client;
    lease->linked = ++model->moment;
}

void model_watch(struct model_lease *lease, struct trace *trace)
{
    if (!lease->is_watched) {
        model_require_effect(trace, EFFECT_WATCH, lease, OUTCOME_OK);
        lease->is_watched = true;
    }
}

void model_unwatch(struct model_lease *lease, struct trace *trace)
{
    if (lease->is_watched && !lease->is_reported && lease->stopping == OUTCOME_OK) {
        model_require_effect(trace, EFFECT_UNWATCH, lease, OUTCOME_OK);
        lease->is_watched = false;
    }
}

static bool can_be_signalled(const struct model_lease *lease)
{
    return lease->binding == BOUND_PROCESS && !lease->is_reported;
}

static void signal_job(struct model_lease *lease, int signal, struct trace *trace)
{
    if (can_be_signalled(lease)) {
        REQUIRE(lease->is_watched, "the process of %ju is not watched", lease->id);
        model_require_effect(trace, EFFECT_SIGNAL, lease, lease->stopping);
        int sent = trace->events[trace->at - 1].signal;
        REQUIRE(sent == signal, "signal %d instead of %d", sent, signal);
    }
}

void model_lose_client(
    struct model *model, struct model_lease *lease, nanoseconds now, struct trace *trace)
{
    if (lease->binding == BOUND_CONNECTION ||
        (lease->binding == BOUND_PROCESS && lease->is_reported)) {
        lease->ended_unreleased = true;
        model_lease_leave(model, lease, OUTCOME_RELEASED, now);
        return;
    }
    model_link(model, lease, CLIENT_DETACHED);
    if (lease->binding == BOUND_PROCESS) {
        model_watch(lease, trace);
    }
    if (lease->stopping != OUTCOME_OK && !lease->is_killed) {
        signal_job(lease, SIGTERM, trace);
    }
}

void model_process_gone(struct model *model, uint64_t id, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    lease->is_reported = true;
    if (lease->client >= 0 && lease->is_killed) {
        model_require_effect(trace, EFFECT_LOST, lease, lease->stopping);
    }
    if (lease->client < 0 || lease->is_killed) {
        lease->ended_unreleased = true;
        model_lease_leave(model, lease, OUTCOME_RELEASED, now);
    }
    model_settle(model, now, trace);
}

nanoseconds model_grace_until(const struct model *model)
{
    bool is_on = model->closed;
    for (size_t i = 0; i < model->n_leases; i++) {
        is_on |= model->leases[i]->client == CLIENT_ABSENT;
    }
    return is_on ? model->grace_until : NEVER;
}

static struct model_lease *last_absent(const struct model *model)
{
    struct model_lease *last = NULL;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        bool fits = lease->client == CLIENT_ABSENT;
        last = fits && (!last || lease->linked > last->linked) ? lease : last;
    }
    return last;
}

void model_grace_is_over(struct model *model, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease;
    model->closed = false;
    while ((lease = last_absent(model))) {
        if (lease->held) {
            model_lose_client(model, lease, now, trace);
        } else {
            model_lease_leave(model, lease, OUTCOME_CANCELLED, now);
        }
    }
}

/* ---- taken away ---- */

static nanoseconds half_margin(const struct model_lease *lease)
{
    nanoseconds margin = lease->kill_after / 3;
    return (margin < NANOSECONDS_PER_SECOND ? NANOSECONDS_PER_SECOND : margin) / 2;
}

static void stop_harder(struct model_lease *lease, enum outcome why, struct trace *trace)
{
    lease->stopping = why;
    if (lease->client < 0 && !lease->is_killed) {
        signal_job(lease, SIGTERM, trace);
    }
}

void model_stop(struct model *model, struct model_lease *lease, enum outcome why, nanoseconds now,
    struct trace *trace)
{
    if (lease->stopping == OUTCOME_WITHDRAWN) {
        stop_harder(lease, why, trace);
        return;
    }
    if (lease->binding == BOUND_TIME || lease->on_lost == ON_LOST_WARN) {
        model_require_effect(trace, why == OUTCOME_EXPIRED ? EFFECT_STOP : EFFECT_LOST, lease, why);
        model_lease_leave(model, lease, why, now);
        return;
    }
    lease->stopping = why;
    if (lease->binding == BOUND_PROCESS) {
        model_watch(lease, trace);
    }
    if (lease->client >= 0) {
        model_require_effect(trace, EFFECT_STOP, lease, why);
        model_set_due(model, lease, now + lease->kill_after + half_margin(lease));
    } else {
        signal_job(lease, SIGTERM, trace);
        model_set_due(model, lease, now + lease->kill_after);
    }
}

void model_term_is_due(
    struct model *model, struct model_lease *lease, nanoseconds now, struct trace *trace)
{
    if (lease->stopping == OUTCOME_OK) {
        bool too_long = lease->due >= lease->hold_until;
        model_stop(model, lease, too_long ? OUTCOME_MAX_HOLD : OUTCOME_EXPIRED, now, trace);
    } else if (can_be_signalled(lease) && lease->on_lost == ON_LOST_KILL) {
        lease->is_killed = true;
        if (lease->stopping == OUTCOME_WITHDRAWN && now >= lease->hold_until) {
            lease->stopping = OUTCOME_MAX_HOLD;
        }
        signal_job(lease, SIGKILL, trace);
        model_set_due(model, lease, now + NANOSECONDS_PER_SECOND);
    } else {
        model_require_effect(trace, EFFECT_LOST, lease, lease->stopping);
        model_lease_leave(model, lease, lease->stopping, now);
    }
}

void model_revoke(
    struct model *model, uint64_t id, enum outcome why, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    if (!lease->held) {
        model_require_effect(trace, EFFECT_DENIED, lease, OUTCOME_CANCELLED);
        model_lease_leave(model, lease, OUTCOME_CANCELLED, now);
    } else if (lease->stopping == OUTCOME_OK ||
        (lease->stopping == OUTCOME_WITHDRAWN && why == OUTCOME_REVOKED)) {
        model_stop(model, lease, why, now, trace);
    }
    model_settle(model, now, trace);
}

void model_drop(struct model *model, uint64_t id, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    model_require_effect(trace, lease->held ? EFFECT_LOST : EFFECT_DENIED, lease,
        lease->held ? OUTCOME_DROPPED : OUTCOME_CANCELLED);
    model_lease_leave(model, lease, lease->held ? OUTCOME_DROPPED : OUTCOME_CANCELLED, now);
    model_settle(model, now, trace);
}

/* ---- changed by its owner ---- */

void model_renew(
    struct model *model, uint64_t id, nanoseconds ttl, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    bool is_over = !lease->held || lease->stopping != OUTCOME_OK;
    bool is_timed = lease->binding == BOUND_TIME;
    model_require_outcome(trace,
        is_over                ? OUTCOME_LOST
            : is_timed || !ttl ? OUTCOME_OK
                               : OUTCOME_KIND,
        NULL);
    if (!is_over && is_timed) {
        lease->ttl = ttl ? ttl : lease->ttl;
        model_set_due(model, lease, earlier(now + lease->ttl, lease->hold_until));
    }
    model_settle(model, now, trace);
}

void model_bind(struct model *model, uint64_t id, int by, enum binding binding, nanoseconds now,
    struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    bool may = lease->binding != BOUND_TIME && (binding == BOUND_PROCESS || lease->client == by);
    model_require_outcome(trace, may ? OUTCOME_OK : OUTCOME_KIND, NULL);
    if (may) {
        lease->binding = binding;
        lease->is_alive = true;
        lease->is_reported = lease->is_watched = false;
        if (binding == BOUND_PROCESS && (lease->client < 0 || lease->stopping != OUTCOME_OK)) {
            model_watch(lease, trace);
        }
    }
    model_settle(model, now, trace);
}
