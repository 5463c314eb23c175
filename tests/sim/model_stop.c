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

void model_begin_term(struct model *model, struct model_lease *lease)
{
    lease->granted_at = model->now;
    lease->hold_until = after(model->now, max_hold(lease));
    nanoseconds ttl = lease->ttl != 0 ? lease->ttl : NEVER;
    model_set_due(model, lease, earlier(lease->hold_until, after(model->now, ttl)));
}

/* ---- without a client ---- */

void model_link(struct model *model, struct model_lease *lease, int client)
{
    lease->client = client;
    lease->linked = ++model->moment;
}

void model_watch(struct model *model, struct model_lease *lease)
{
    if (!lease->is_watched) {
        model_require_effect(model, EFFECT_WATCH, lease, OUTCOME_OK);
        lease->is_watched = true;
    }
}

void model_unwatch(struct model *model, struct model_lease *lease)
{
    if (lease->is_watched && !lease->is_reported && lease->stopping == OUTCOME_OK) {
        model_require_effect(model, EFFECT_UNWATCH, lease, OUTCOME_OK);
        lease->is_watched = false;
    }
}

static bool can_be_signalled(const struct model_lease *lease)
{
    return lease->binding == BOUND_PROCESS && !lease->is_reported && !lease->is_programs;
}

static void signal_job(struct model *model, struct model_lease *lease, int signal)
{
    if (can_be_signalled(lease)) {
        REQUIRE(lease->is_watched, "the process of %ju is not watched", lease->id);
        model_require_effect(model, EFFECT_SIGNAL, lease, lease->stopping);
        int sent = model->trace->events[model->trace->at - 1].signal;
        REQUIRE(sent == signal, "signal %d instead of %d", sent, signal);
    }
}

void model_lose_client(struct model *model, struct model_lease *lease)
{
    if (lease->binding == BOUND_CONNECTION ||
        (lease->binding == BOUND_PROCESS && lease->is_reported)) {
        lease->ended_unreleased = true;
        model_lease_leave(model, lease, OUTCOME_RELEASED);
        return;
    }
    model_link(model, lease, CLIENT_DETACHED);
    if (lease->binding == BOUND_PROCESS) {
        model_watch(model, lease);
    }
    if (lease->stopping != OUTCOME_OK && !lease->is_killed) {
        signal_job(model, lease, SIGTERM);
    }
}

void model_process_gone(struct model *model, uint64_t id)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    lease->is_reported = true;
    if (lease->client >= 0 && lease->is_killed) {
        model_require_effect(model, EFFECT_LOST, lease, lease->stopping);
    }
    if (lease->client < 0 || lease->is_killed) {
        lease->ended_unreleased = true;
        model_lease_leave(model, lease, OUTCOME_RELEASED);
    }
    model_settle(model);
}

nanoseconds model_grace_until(const struct model *model)
{
    bool is_on = model->closed;
    for (size_t i = 0; i < model->n_leases; i++) {
        is_on |= model->leases[i]->client == CLIENT_ABSENT;
    }
    return is_on ? model->grace_until : NEVER;
}

void model_grace_is_over(struct model *model)
{
    struct model_lease *lease;
    model->closed = false;
    while ((lease = model_last_linked(model, CLIENT_ABSENT, true, true))) {
        if (lease->held) {
            model_lose_client(model, lease);
        } else {
            model_lease_leave(model, lease, OUTCOME_CANCELLED);
        }
    }
}

/* ---- taken away ---- */

static nanoseconds margin(const struct model_lease *lease)
{
    nanoseconds third = lease->kill_after / 3;
    return third < NANOSECONDS_PER_SECOND ? NANOSECONDS_PER_SECOND : third;
}

nanoseconds model_until(const struct model_lease *lease)
{
    return lease->stopping == OUTCOME_OK ? lease->due
        : lease->is_programs             ? lease->due - lease->kill_after - margin(lease)
                                         : NEVER;
}

/* With its client, a job has half the margin; a program that nobody kills has all of it. */
static nanoseconds patience(const struct model_lease *lease)
{
    nanoseconds more = lease->client >= 0 ? margin(lease) / 2 : 0;
    return lease->kill_after + (lease->is_programs ? margin(lease) : more);
}

static void stop_harder(struct model *model, struct model_lease *lease, enum outcome why)
{
    lease->stopping = why;
    if (lease->client < 0 && !lease->is_killed) {
        signal_job(model, lease, SIGTERM);
    }
}

static void stop(struct model *model, struct model_lease *lease, enum outcome why)
{
    if (lease->stopping == OUTCOME_WITHDRAWN) {
        stop_harder(model, lease, why);
        return;
    }
    if (lease->binding == BOUND_TIME || lease->on_lost == ON_LOST_WARN) {
        model_require_effect(model, why == OUTCOME_EXPIRED ? EFFECT_STOP : EFFECT_LOST, lease, why);
        model_lease_leave(model, lease, why);
        return;
    }
    lease->stopping = why;
    if (lease->binding == BOUND_PROCESS) {
        model_watch(model, lease);
    }
    if (lease->client >= 0) {
        model_require_effect(model, EFFECT_STOP, lease, why);
    } else {
        signal_job(model, lease, SIGTERM);
    }
    model_set_due(model, lease, model->now + patience(lease));
}

void model_term_is_due(struct model *model, struct model_lease *lease)
{
    if (lease->stopping == OUTCOME_OK) {
        bool too_long = lease->due >= lease->hold_until;
        stop(model, lease, too_long ? OUTCOME_MAX_HOLD : OUTCOME_EXPIRED);
    } else if (can_be_signalled(lease) && lease->on_lost == ON_LOST_KILL) {
        lease->is_killed = true;
        if (lease->stopping == OUTCOME_WITHDRAWN && model->now >= lease->hold_until) {
            lease->stopping = OUTCOME_MAX_HOLD;
        }
        signal_job(model, lease, SIGKILL);
        model_set_due(model, lease, model->now + NANOSECONDS_PER_SECOND);
    } else {
        model_lease_end(model, lease, lease->stopping);
    }
}

static void take_away(struct model *model, uint64_t id, enum outcome why)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    if (!lease->held) {
        model_lease_end(model, lease, OUTCOME_CANCELLED);
    } else if (lease->stopping == OUTCOME_OK ||
        (lease->stopping == OUTCOME_WITHDRAWN && why == OUTCOME_REVOKED)) {
        stop(model, lease, why);
    }
    model_settle(model);
}

void model_revoke(struct model *model, uint64_t id)
{
    take_away(model, id, OUTCOME_REVOKED);
}

void model_withdraw(struct model *model, uint64_t id)
{
    take_away(model, id, OUTCOME_WITHDRAWN);
}

void model_drop(struct model *model, uint64_t id)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    model_lease_end(model, lease, lease->held ? OUTCOME_DROPPED : OUTCOME_CANCELLED);
    model_settle(model);
}

/* ---- changed by its owner ---- */

void model_renew(struct model *model, uint64_t id, nanoseconds ttl)
{
    struct model_lease *lease = model_find_lease(model, id);
    bool is_over = !lease->held || lease->stopping != OUTCOME_OK;
    bool is_timed = lease->ttl != 0;
    model_require_outcome(model,
        is_over                ? OUTCOME_LOST
            : is_timed || !ttl ? OUTCOME_OK
                               : OUTCOME_KIND,
        NULL);
    if (!is_over && is_timed) {
        lease->ttl = ttl ? ttl : lease->ttl;
        model_set_due(model, lease, earlier(model->now + lease->ttl, lease->hold_until));
    }
    model_settle(model);
}

void model_bind(struct model *model, uint64_t id, int by, enum binding binding)
{
    struct model_lease *lease = model_find_lease(model, id);
    bool may = lease->binding != BOUND_TIME && (binding == BOUND_PROCESS || lease->client == by);
    model_require_outcome(model, may ? OUTCOME_OK : OUTCOME_KIND, NULL);
    if (may) {
        lease->binding = binding;
        lease->is_programs = false;
        lease->is_alive = true;
        lease->is_reported = lease->is_watched = false;
        if (binding == BOUND_PROCESS && (lease->client < 0 || lease->stopping != OUTCOME_OK)) {
            model_watch(model, lease);
        }
    }
    model_settle(model);
}
