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
    uint32_t most = claim->resource->rules.max_units_per_user;
    return most == UNBOUNDED ||
        model_units_of_user(model, claim->resource, lease->uid) + claim->count <= most;
}

/* ---- aside ---- */

/* Of one user's waiters for one resource with a quota, one stands in line: the first that the
 * quota allows and that no pause or closed resource keeps from going. */
static bool is_candidate(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *other = model->waiters[i];
        struct model_claim *theirs = other->uid == lease->uid && !other->blocked
            ? model_claim_on(other, claim->resource)
            : NULL;
        if (theirs && model_claim_within_quota(model, other, theirs)) {
            return other == lease;
        }
    }
    return false;
}

void model_sort(struct model *model)
{
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        lease->blocked = false;
        for (size_t k = 0; k < lease->n_claims; k++) {
            lease->blocked |= model_is_blocked(lease->claims[k].resource);
        }
    }
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        lease->aside = lease->blocked;
        for (size_t k = 0; k < lease->n_claims && !lease->aside; k++) {
            const struct model_claim *claim = &lease->claims[k];
            lease->aside = claim->resource->rules.max_units_per_user != UNBOUNDED &&
                !is_candidate(model, lease, claim);
        }
    }
}

/* ---- who may go ---- */

/* In the queue of one of its resources. */
static bool is_its_turn(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    const struct rules *rules = &claim->resource->rules;
    uint32_t n_before = 0;
    for (size_t i = 0; model->waiters[i] != lease; i++) {
        struct model_lease *other = model->waiters[i];
        const struct model_claim *theirs =
            other->aside ? NULL : model_claim_on(other, claim->resource);
        if (!theirs) {
            continue;
        }
        if (rules->order == ORDER_FIFO || theirs->overtaken >= rules->max_overtakes) {
            return false;
        }
        n_before++;
    }
    return n_before < FIRST_FIT_WINDOW;
}

bool model_may_go(const struct model *model, struct model_lease *lease)
{
    bool may = !model->draining && !model->closed && !lease->aside && lease->client >= 0;
    for (size_t i = 0; i < lease->n_claims && may; i++) {
        const struct model_claim *claim = &lease->claims[i];
        may = claim->count <= model_available(claim->resource) && is_its_turn(model, lease, claim);
    }
    return may;
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
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

void model_lease_enter(struct model *model, struct model_lease *lease)
{
    size_t i = model->n_waiters++;
    for (; i > 0 && goes_first(lease, model->waiters[i - 1]); i--) {
        model->waiters[i] = model->waiters[i - 1];
    }
    model->waiters[i] = lease;
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

void model_lease_leave(struct model *model, struct model_lease *lease, nanoseconds now)
{
    list_remove(model->waiters, &model->n_waiters, lease);
    list_remove(model->leases, &model->n_leases, lease);
    for (size_t i = 0; lease->held && i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        for (uint32_t k = 0; k < claim->count; k++) {
            model_unit_give_back(model, claim->resource, claim->units[k], now);
        }
    }
    free(lease);
}

/* Those it passes have been overtaken once more. */
static void count_overtaken(struct model *model, const struct model_lease *lease)
{
    for (size_t i = 0; model->waiters[i] != lease; i++) {
        struct model_lease *other = model->waiters[i];
        for (size_t k = 0; k < lease->n_claims && !other->aside; k++) {
            struct model_claim *theirs = model_claim_on(other, lease->claims[k].resource);
            if (theirs) {
                theirs->overtaken++;
            }
        }
    }
}

void model_lease_hold(struct model *model, struct model_lease *lease)
{
    list_remove(model->waiters, &model->n_waiters, lease);
    lease->held = true;
}

void model_lease_grant(
    struct model *model, struct model_lease *lease, const struct grant *grant, nanoseconds now)
{
    count_overtaken(model, lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        model_claim_take_units(model, lease, &lease->claims[i], grant->claims[i].units,
            grant->claims[i].n, grant->claims[i].token);
    }
    model_lease_hold(model, lease);
    model_begin_term(model, lease, now);
}

/* ---- what the core did ---- */

const struct event *model_next_event(struct trace *trace, enum effect_kind kind)
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
    REQUIRE(trace->at < trace->n_events, "an effect is missing: %s", words[kind]);
    const struct event *event = &trace->events[trace->at++];
    REQUIRE(event->kind == kind, "effect %zu is %s (lease %ju) instead of %s", trace->at,
        words[event->kind], event->lease, words[kind]);
    return event;
}

void model_tell(
    struct trace *trace, enum effect_kind kind, const struct model_lease *lease, enum outcome why)
{
    const struct event *event = model_next_event(trace, kind);
    bool is_about_process =
        kind == EFFECT_WATCH || kind == EFFECT_UNWATCH || kind == EFFECT_SIGNAL;
    bool has_client = !is_about_process && lease->client >= 0;
    REQUIRE(event->lease == lease->id && event->why == why,
        "effect %d is about lease %ju instead of %ju, for reason %d instead of %d", (int)kind,
        event->lease, lease->id, (int)event->why, (int)why);
    REQUIRE(event->client == (has_client ? lease->client : -1),
        "effect %d on lease %ju is for client %d instead of %d", (int)kind, lease->id,
        event->client, lease->client);
}

static struct model_lease *anybody_who_may_go(struct model *model)
{
    model_sort(model);
    for (size_t i = 0; i < model->n_waiters; i++) {
        if (model_may_go(model, model->waiters[i])) {
            return model->waiters[i];
        }
    }
    return NULL;
}

void model_pump(struct model *model, nanoseconds now, struct trace *trace)
{
    const struct model_lease *somebody;
    while ((somebody = anybody_who_may_go(model))) {
        REQUIRE(trace->at < trace->n_events, "lease %ju may go but is left waiting", somebody->id);
        const struct event *event = model_next_event(trace, EFFECT_GRANTED);
        struct model_lease *lease = model_find_lease(model, event->lease);
        REQUIRE(lease && !lease->held, "lease %ju is granted but does not wait", event->lease);
        REQUIRE(model_may_go(model, lease), "lease %ju is granted before its turn", event->lease);
        REQUIRE(event->client == lease->client, "client %d is told of the grant of %ju",
            event->client, lease->id);
        model_lease_grant(model, lease, &event->grant, now);
    }
    model_forget_idle(model);
}

void model_settle(struct model *model, nanoseconds now, struct trace *trace)
{
    model_pump(model, now, trace);
    if (model->draining && !model->drain_reported && model_n_held(model) == 0) {
        model_next_event(trace, EFFECT_DRAINED);
        model->drain_reported = true;
    }
    REQUIRE(trace->at == trace->n_events, "%zu effects too many; the first is about lease %ju",
        trace->n_events - trace->at, trace->events[trace->at].lease);
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
