/* model_queue.c - the model's leases and queues: who is set aside, who goes next. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct model_claim *model_claim_on(struct model_lease *lease, const struct model_resource *resource)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (lease->claims[i].resource == resource) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

uint32_t model_units_of_user(
    const struct model *model, const struct model_resource *resource, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        struct model_claim *claim =
            lease->held && lease->uid == uid ? model_claim_on(lease, resource) : NULL;
        n += claim ? claim->count : 0;
    }
    return n;
}

bool model_claim_within_quota(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    uint32_t max = claim->resource->rules.max_units_per_user;
    return max == UNBOUNDED ||
        model_units_of_user(model, claim->resource, lease->uid) + claim->count <= max;
}

/* ---- aside ---- */

static bool is_bounded(const struct model_lease *lease)
{
    bool is = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        is |= lease->claims[i].resource->rules.max_units_per_user != UNBOUNDED;
    }
    return is;
}

static bool is_blocked(const struct model *model, const struct model_lease *lease)
{
    bool is = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        is |= model_is_blocked(claim->resource) || claim->count > model_limit(claim->resource) ||
            model_identity_ahead(model, lease, claim->resource);
    }
    return is;
}

static bool want_the_same(const struct model_lease *a, const struct model_lease *b)
{
    bool same = a->uid == b->uid && a->n_claims == b->n_claims;
    for (size_t i = 0; same && i < a->n_claims; i++) {
        same = a->claims[i].resource == b->claims[i].resource &&
            a->claims[i].count == b->claims[i].count &&
            a->claims[i].is_all == b->claims[i].is_all;
    }
    return same;
}

/* Where a quota bounds any of them, requests for the same things go one after the other. */
static bool may_enter(const struct model *model, const struct model_lease *lease)
{
    if (!is_bounded(lease)) {
        return true;
    }
    for (size_t i = 0; model->waiters[i] != lease; i++) {
        const struct model_lease *other = model->waiters[i];
        if (want_the_same(other, lease) && !other->aside && other->n_kept == 0) {
            return false;
        }
    }
    return model_fits(model, lease);
}

void model_sort(struct model *model)
{
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        lease->blocked = is_blocked(model, lease);
        if (lease->blocked && !lease->aside) {
            model_set_aside(lease);
        }
    }
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        if (lease->aside && !lease->blocked && may_enter(model, lease)) {
            lease->aside = false;
            lease->station = lease->n_claims == 1 ? 0 : -1;
        }
    }
}

/* ---- who may go ---- */

bool model_can_go(const struct model *model, const struct model_lease *lease)
{
    return !model->draining && !model->closed && lease->client >= 0;
}

bool model_may_go(const struct model *model, const struct model_lease *lease)
{
    return model_can_go(model, lease) && !lease->aside && model_fits(model, lease) &&
        model_lacks_nothing(model, lease);
}

/* ---- leases ---- */

struct model_lease *model_lease_make(struct model *model)
{
    REQUIRE(model->n_leases < MODEL_LEASES, "too many leases for the model");
    struct model_lease *lease = calloc(1, sizeof *lease);
    model->leases[model->n_leases++] = lease;
    return lease;
}

static bool goes_first(const struct model_lease *a, const struct model_lease *b)
{
    uint64_t turn_of_a = a->moved ? a->moved : a->id, turn_of_b = b->moved ? b->moved : b->id;
    if (a->is_first || b->is_first) {
        return a->is_first && (!b->is_first || turn_of_a > turn_of_b);
    }
    return a->priority != b->priority ? a->priority > b->priority
        : turn_of_a != turn_of_b      ? turn_of_a < turn_of_b
                                      : a->id < b->id;
}

static void insert(struct model *model, struct model_lease *lease)
{
    size_t i = model->n_waiters++;
    for (; i > 0 && goes_first(lease, model->waiters[i - 1]); i--) {
        model->waiters[i] = model->waiters[i - 1];
    }
    model->waiters[i] = lease;
}

void model_lease_enter(struct model *model, struct model_lease *lease)
{
    lease->number = lease->number ? lease->number : lease->moved ? lease->moved : lease->id;
    insert(model, lease);
    model_road_begin(lease);
    lease->aside = true;
}

static void list_remove(struct model_lease **list, size_t *np, const struct model_lease *lease)
{
    size_t n = 0;
    for (size_t i = 0; i < *np; i++) {
        if (list[i] != lease) {
            list[n++] = list[i];
        }
    }
    *np = n;
}

static void leave_waiters(struct model *model, const struct model_lease *lease)
{
    list_remove(model->waiters, &model->n_waiters, lease);
    if (!lease->held) {
        model_fair_left(model, lease);
    }
    model_fair_forget(model);
}

void model_lease_leave(struct model *model, struct model_lease *lease, enum outcome why)
{
    model_count_end(model, lease, why);
    model_history_end(model, lease, why);
    leave_waiters(model, lease);
    list_remove(model->leases, &model->n_leases, lease);
    for (size_t i = 0; lease->held && i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        for (uint32_t k = 0; k < claim->count; k++) {
            model_unit_give_back(model, claim->resource, claim->units[k]);
        }
    }
    free(lease);
}

/* Counts that it has overtaken those that it passes where they stand. */
static void count_overtaken(struct model *model, struct model_lease *lease)
{
    for (size_t i = 0; model->waiters[i] != lease; i++) {
        struct model_lease *other = model->waiters[i];
        struct model_claim *theirs = other->station < 0 ? NULL : &other->claims[other->station];
        if (theirs && model_claim_on(lease, theirs->resource)) {
            theirs->overtaken++;
        }
    }
}

void model_lease_hold(struct model *model, struct model_lease *lease)
{
    leave_waiters(model, lease);
    lease->held = true;
    lease->moved = 0;
}

void model_lease_grant(struct model *model, struct model_lease *lease, const struct grant *grant)
{
    count_overtaken(model, lease);
    model_fair_granted(model, lease);
    model_count_grant(model, lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        model_claim_take_units(model, lease, &lease->claims[i], grant->claims[i].units,
            grant->claims[i].n, grant->claims[i].token);
        model_rate_charge(model, &lease->claims[i]);
    }
    model_lease_hold(model, lease);
    model_begin_term(model, lease);
}

/* ---- what the core did ---- */

const struct trace_event *model_next_event(struct model *model, enum effect_kind kind)
{
    static const char *const words[] = {
        [EFFECT_GRANTED] = "granted",
        [EFFECT_DENIED] = "denied",
        [EFFECT_LOST] = "lost",
        [EFFECT_STOP] = "stop",
        [EFFECT_WATCH] = "watch",
        [EFFECT_UNWATCH] = "unwatch",
        [EFFECT_SIGNAL] = "signal",
        [EFFECT_DRAINED] = "drained",
    };
    REQUIRE(model->trace->at < model->trace->n_events, "an effect is missing: %s", words[kind]);
    const struct trace_event *event = &model->trace->events[model->trace->at++];
    REQUIRE(event->kind == kind, "effect %zu is %s (lease %ju) instead of %s", model->trace->at,
        words[event->kind], event->lease, words[kind]);
    return event;
}

void model_require_effect(
    struct model *model, enum effect_kind kind, const struct model_lease *lease, enum outcome why)
{
    const struct trace_event *event = model_next_event(model, kind);
    bool is_for_process = kind == EFFECT_WATCH || kind == EFFECT_UNWATCH || kind == EFFECT_SIGNAL;
    bool has_client = !is_for_process && lease->client >= 0;
    REQUIRE(event->lease == lease->id && event->why == why,
        "effect %d is about lease %ju instead of %ju, for reason %d instead of %d", (int)kind,
        event->lease, lease->id, (int)event->why, (int)why);
    REQUIRE(event->client == (has_client ? lease->client : -1),
        "effect %d on lease %ju is for client %d instead of %d", (int)kind, lease->id,
        event->client, lease->client);
}

void model_lease_end(struct model *model, struct model_lease *lease, enum outcome why)
{
    model_require_effect(model, lease->held ? EFFECT_LOST : EFFECT_DENIED, lease, why);
    model_lease_leave(model, lease, why);
}

/* The operation's own lease is granted by its result, not by an effect. */
static void grant_next(struct model *model, struct model_lease *lease)
{
    if (lease->id == model->trace->lease) {
        model_require_outcome(model, OUTCOME_OK, NULL);
        model_lease_grant(model, lease, &model->trace->grant);
        return;
    }
    REQUIRE(model->trace->at < model->trace->n_events, "lease %ju may go but is left waiting",
        lease->id);
    const struct trace_event *event = model_next_event(model, EFFECT_GRANTED);
    REQUIRE(event->lease == lease->id, "lease %ju is granted before lease %ju", event->lease,
        lease->id);
    REQUIRE(event->client == lease->client, "client %d gets the grant of %ju", event->client,
        lease->id);
    model_lease_grant(model, lease, &event->grant);
}

/* The oldest that can do anything does it. */
static bool step(struct model *model)
{
    model_sort(model);
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        if (model_may_go(model, lease)) {
            struct model_lease *next = model_fair_turn(model, lease);
            if (next != lease) {
                model_fair_swap(lease, next);
                list_remove(model->waiters, &model->n_waiters, lease);
                list_remove(model->waiters, &model->n_waiters, next);
                insert(model, lease);
                insert(model, next);
            }
            grant_next(model, next);
            return true;
        }
        if (!lease->aside && model_step(model, lease)) {
            return true;
        }
    }
    return false;
}

void model_pump(struct model *model)
{
    while (step(model)) {
    }
    model_forget_idle(model);
    model_rates_look(model);
}

/* Those whom the operation asked for are told by its result. */
static void deny_in_circle(struct model *model, struct model_lease *lease)
{
    if (lease->id != model->asked) {
        model_lease_end(model, lease, OUTCOME_CIRCLE);
        return;
    }
    model_require_outcome(
        model, OUTCOME_CIRCLE, model->names_fault ? model_circle_name(model, lease) : NULL);
    model_lease_leave(model, lease, OUTCOME_CIRCLE);
}

void model_settle(struct model *model)
{
    struct model_lease *lease;
    model->rate_now = model->now;
    model_pump(model);
    while ((lease = model_last_in_circle(model))) {
        deny_in_circle(model, lease);
        model_pump(model);
    }
    bool is_drained = model->draining && !model->closed && model_n_held(model) == 0;
    if (is_drained && !model->drain_reported) {
        model_next_event(model, EFFECT_DRAINED);
        model->drain_reported = true;
    }
    REQUIRE(model->trace->at == model->trace->n_events,
        "%zu effects too many; the first is about lease %ju",
        model->trace->n_events - model->trace->at, model->trace->events[model->trace->at].lease);
}

struct model_lease *model_find_lease(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->n_leases; i++) {
        if (model->leases[i]->id == id) {
            return model->leases[i];
        }
    }
    return NULL;
}

size_t model_n_held(const struct model *model)
{
    size_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        n += model->leases[i]->held;
    }
    return n;
}

void model_stand_again(struct model *model, struct model_lease *lease)
{
    leave_waiters(model, lease);
    model_set_aside(lease);
    insert(model, lease);
    model_sort(model);
}

void model_move(struct model *model, uint64_t id, uint64_t number, bool is_first)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    REQUIRE(number > model->last_id, "move %ju after %ju", number, model->last_id);
    model->last_id = lease->number = number;
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].overtaken = 0;
    }
    lease->n_let_go = 0;
    lease->moved = is_first ? number : model_rank(model, lease, number);
    lease->is_first = is_first;
    model_stand_again(model, lease);
    model_settle(model);
}
