/* model.c - the model's operations: clients, leases, time. Each says what must happen and compares
 * that with the trace. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct model *model_new(void)
{
    struct model *model = calloc(1, sizeof *model);
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        model->client_uids[i] = -1;
    }
    model->file.bounds = (struct user_bounds){UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    return model;
}

struct model *model_free(struct model *model)
{
    for (size_t i = 0; i < model->n_leases; i++) {
        free(model->leases[i]);
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        free(model->resources[i]);
    }
    free(model->ended);
    free(model);
    return NULL;
}

void model_require_outcome(const struct trace *trace, enum outcome outcome, const char *at_fault)
{
    REQUIRE(
        trace->outcome == outcome, "outcome %d instead of %d", (int)trace->outcome, (int)outcome);
    bool same = at_fault && trace->at_fault ? strcmp(at_fault, trace->at_fault) == 0
                                            : at_fault == trace->at_fault;
    REQUIRE(same, "about %s instead of %s", trace->at_fault ? trace->at_fault : "-",
        at_fault ? at_fault : "-");
}

void model_require_waiting_or_granted(
    const struct model *model, uint64_t id, const struct trace *trace)
{
    bool is_held = model_find_lease(model, id)->held;
    model_require_outcome(trace, is_held ? OUTCOME_OK : OUTCOME_WAITING, NULL);
}

/* ---- clients ---- */

void model_client(
    struct model *model, int client, uint32_t uid, nanoseconds now, struct trace *trace)
{
    uint32_t n = 0;
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        n += model->client_uids[i] == (int)uid;
    }
    bool fits = n < model->file.bounds.clients;
    model_require_outcome(trace, fits ? OUTCOME_OK : OUTCOME_QUOTA, NULL);
    model->client_uids[client] = fits ? (int)uid : -1;
    model->client_since[client] = ++model->moment;
    model_settle(model, now, trace);
}

static struct model_lease *last_linked(const struct model *model, int client, bool held)
{
    struct model_lease *last = NULL;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        bool fits = lease->client == client && lease->held == held;
        last = fits && (!last || lease->linked > last->linked) ? lease : last;
    }
    return last;
}

/* The newest go first, and all that wait before those that hold. */
void model_client_gone(
    struct model *model, int client, bool half, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease;
    model->moment++;
    while ((lease = last_linked(model, client, false))) {
        model_lease_leave(model, lease, OUTCOME_CANCELLED, now);
    }
    while ((lease = last_linked(model, client, true))) {
        model_lose_client(model, lease, now, trace);
    }
    model->client_uids[client] = half ? model->client_uids[client] : -1;
    model_settle(model, now, trace);
}

/* ---- acquire ---- */

static uint32_t instances_of(const struct model *model, const struct rules *rules)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_resources; i++) {
        const struct model_resource *resource = model->resources[i];
        n += resource->defined && resource->is_instance &&
            file_find(&model->file, resource->name) == rules;
    }
    return n;
}

static uint32_t instances_charged_to(const struct model *model, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_resources; i++) {
        n += model->resources[i]->charged_uid == (int)uid;
    }
    return n;
}

bool model_may_pay(const struct model *model, int uid)
{
    return instances_charged_to(model, (uint32_t)uid) < model->file.bounds.instances;
}

enum outcome model_get_resource(
    struct model *model, const char *name, int payer, struct model_resource **resourcep)
{
    struct model_resource *resource = model_find_resource(model, name);
    *resourcep = resource;
    if (resource) {
        return resource->defined ? OUTCOME_OK : OUTCOME_UNKNOWN;
    }
    const struct rules *rules = file_find(&model->file, name);
    if (!rules) {
        return OUTCOME_UNKNOWN;
    }
    if (payer >= 0 &&
        (instances_of(model, rules) >= rules->max_instances ||
            !model_may_pay(model, payer))) {
        return OUTCOME_QUOTA;
    }
    *resourcep = model_resource_make(model, name, rules);
    (*resourcep)->charged_uid = payer;
    return OUTCOME_OK;
}

bool model_identity_is_taken(
    const struct model *model, const struct model_resource *resource, uint32_t uid, uint32_t holder)
{
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        if (holder != 0 && lease->holder == holder && model_claim_on(lease, resource) &&
            (resource->rules.identity_shared || lease->uid == uid)) {
            return true;
        }
    }
    return false;
}

/* One resource of a request: may it be requested at all? */
static enum outcome check_want(const struct model_resource *resource, const struct model_ask *ask,
    uint32_t count, bool has_proof)
{
    bool can_give =
        count <= model_max(resource) && count <= resource->rules.max_units_per_user;
    if (count == 0 || (!has_proof && !can_give)) {
        return OUTCOME_IMPOSSIBLE;
    }
    bool laxer = (ask->has_kill_after && ask->kill_after > resource->rules.kill_after) ||
        (ask->has_on_lost && ask->on_lost < resource->rules.on_lost);
    if (ask->priority > resource->rules.max_priority || laxer) {
        return OUTCOME_FORBIDDEN;
    }
    return OUTCOME_OK;
}

/* The strictest of all. */
static void take_stop_rules(struct model_lease *lease, const struct rules *rules)
{
    lease->kill_after =
        rules->kill_after < lease->kill_after ? rules->kill_after : lease->kill_after;
    lease->on_lost = rules->on_lost > lease->on_lost ? rules->on_lost : lease->on_lost;
}

enum outcome model_resolve(struct model *model, const struct model_ask *ask, bool has_proof,
    struct model_lease *lease, const char **at_faultp)
{
    int payer = has_proof ? -1 : (int)lease->uid;
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct model_resource *resource;
        *at_faultp = ask->wants[i].name;
        enum outcome outcome = model_get_resource(model, *at_faultp, payer, &resource);
        if (outcome == OUTCOME_OK) {
            outcome = check_want(resource, ask, ask->wants[i].count, has_proof);
        }
        if (outcome == OUTCOME_OK && !has_proof &&
            model_identity_is_taken(model, resource, lease->uid, ask->holder)) {
            outcome = OUTCOME_HELD;
        }
        if (outcome != OUTCOME_OK) {
            return outcome;
        }
        take_stop_rules(lease, &resource->rules);
        lease->claims[lease->n_claims++] =
            (struct model_claim){.resource = resource, .count = ask->wants[i].count};
    }
    *at_faultp = NULL;
    return OUTCOME_OK;
}

bool model_leases_fit(const struct model *model, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        n += model->leases[i]->uid == uid;
    }
    return n < model->file.bounds.leases;
}

/* Even if all others gave everything back, its own ancestors would be in its way. */
static bool is_behind_ancestors(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    uint32_t units = 0, of_user = 0;
    struct model_lease *ancestor = model_find_lease(model, lease->parent);
    while (lease->parent != 0 && ancestor && ancestor->held) {
        const struct model_claim *theirs = model_claim_on(ancestor, claim->resource);
        units += theirs ? theirs->count : 0;
        of_user += theirs && ancestor->uid == lease->uid ? theirs->count : 0;
        ancestor = ancestor->parent ? model_find_lease(model, ancestor->parent) : NULL;
    }
    uint64_t max = model_max(claim->resource);
    uint64_t per_user = claim->resource->rules.max_units_per_user;
    return (units > 0 && (uint64_t)units + claim->count > max) ||
        (of_user > 0 && (uint64_t)of_user + claim->count > per_user);
}

/* For wait=0: in this order. */
static enum outcome why_not_now(
    const struct model *model, const struct model_lease *lease, const char **at_faultp)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        *at_faultp = lease->claims[i].resource->name;
        if (model_is_paused(lease->claims[i].resource)) {
            return OUTCOME_PAUSED;
        }
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        *at_faultp = lease->claims[i].resource->name;
        if (model_limit(lease->claims[i].resource) == 0) {
            return OUTCOME_CLOSED;
        }
    }
    *at_faultp = NULL;
    if (model->draining || model->closed) {
        return model->draining ? OUTCOME_DRAINING : OUTCOME_GRACE;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!model_claim_within_quota(model, lease, &lease->claims[i])) {
            *at_faultp = lease->claims[i].resource->name;
            return OUTCOME_QUOTA;
        }
    }
    for (size_t i = 0; i < lease->n_claims && !*at_faultp; i++) {
        if (lease->claims[i].count > model_available(lease->claims[i].resource)) {
            *at_faultp = lease->claims[i].resource->name;
        }
    }
    return OUTCOME_WOULD_WAIT;
}

enum outcome model_may_wait(const struct model *model, const struct model_lease *lease,
    const struct model_ask *ask, const char **at_faultp)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        *at_faultp = lease->claims[i].resource->name;
        if (is_behind_ancestors(model, lease, &lease->claims[i])) {
            return OUTCOME_ANCESTOR;
        }
    }
    if (ask->wait == 0) {
        return why_not_now(model, lease, at_faultp);
    }
    uint32_t n = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_resource *resource = lease->claims[i].resource;
        *at_faultp = resource->name;
        if (model_waiting(model, resource) > resource->rules.max_waiters) {
            return OUTCOME_QUEUE_FULL;
        }
    }
    *at_faultp = NULL;
    for (size_t i = 0; i < model->n_waiters; i++) {
        n += model->waiters[i]->uid == lease->uid;
    }
    return n > model->file.bounds.waiters ? OUTCOME_QUOTA : OUTCOME_WAITING;
}

static enum outcome model_enter(struct model *model, struct model_lease *filled,
    const struct model_ask *ask, nanoseconds now, struct trace *trace)
{
    const char *at_fault = NULL;
    struct model_lease *lease = model_lease_make(model);
    *lease = *filled;
    model_lease_enter(model, lease);
    model_sort(model);
    if (model_may_go_at_once(model, lease)) {
        model_require_outcome(trace, OUTCOME_OK, NULL);
        model_lease_grant(model, lease, &trace->grant, now);
        return OUTCOME_OK;
    }
    enum outcome outcome = model_may_wait(model, lease, ask, &at_fault);
    if (outcome != OUTCOME_WAITING) {
        model_require_outcome(trace, outcome, at_fault);
        model_lease_leave(model, lease, OUTCOME_OK, now);
    }
    return outcome;
}

struct model_lease model_lease_of(
    const struct model *model, int client, const struct model_ask *ask, uint64_t id)
{
    return (struct model_lease){
        .id = id,
        .client = client,
        .uid = (uint32_t)model->client_uids[client],
        .holder = ask->holder,
        .once = ask->once,
        .priority = ask->priority,
        .parent = ask->parent,
        .binding = ask->binding,
        .is_alive = true,
        .ttl = ask->ttl,
        .kill_after = ask->has_kill_after ? ask->kill_after : NEVER,
        .on_lost = ask->has_on_lost ? ask->on_lost : ON_LOST_WARN,
        .due = NEVER,
        .hold_until = NEVER,
    };
}

void model_acquire(struct model *model, int client, const struct model_ask *ask, nanoseconds now,
    struct trace *trace)
{
    bool for_ever = ask->wait == 0 || ask->wait == NEVER;
    struct model_lease lease =
        model_lease_of(model, client, ask, trace->lease ? trace->lease : UINT64_MAX);
    const char *at_fault;
    model->moment++;
    lease.linked = model->moment;
    lease.asked_at = now;
    lease.until = for_ever ? NEVER : now + ask->wait;
    lease.until_serial = model->moment;
    REQUIRE(!trace->lease || trace->lease > model->last_id, "lease %ju after %ju", trace->lease,
        model->last_id);
    model->last_id = trace->lease ? trace->lease : model->last_id;
    enum outcome outcome = model_resolve(model, ask, false, &lease, &at_fault);
    if (outcome == OUTCOME_OK && !model_leases_fit(model, lease.uid)) {
        outcome = OUTCOME_QUOTA;
    }
    if (outcome == OUTCOME_OK) {
        outcome = model_enter(model, &lease, ask, now, trace);
    } else {
        model_require_outcome(trace, outcome, at_fault);
    }
    if (outcome != OUTCOME_OK && outcome != OUTCOME_WAITING) {
        model_count_refused(model, ask, outcome);
    }
    model_settle(model, now, trace);
    if (outcome == OUTCOME_WAITING) {
        model_require_waiting_or_granted(model, lease.id, trace);
        model_find_lease(model, lease.id)->has_waited = true;
    }
}

void model_end(struct model *model, uint64_t id, int by, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    if (lease->client != by) {
        model_require_effect(trace, lease->held ? EFFECT_LOST : EFFECT_DENIED, lease,
            lease->held ? OUTCOME_RELEASED : OUTCOME_CANCELLED);
    }
    model_lease_leave(model, lease, lease->held ? OUTCOME_RELEASED : OUTCOME_CANCELLED, now);
    model_settle(model, now, trace);
}

/* ---- time ---- */

/* The unit that is due first; NULL if none cools. */
static struct model_unit *next_cooling(const struct model *model)
{
    struct model_unit *first = NULL;
    for (size_t i = 0; i < model->n_resources; i++) {
        for (size_t k = 0; k < MODEL_UNITS; k++) {
            struct model_unit *unit = &model->resources[i]->units[k];
            bool sooner = unit->cooling &&
                (!first || unit->cooling_until < first->cooling_until ||
                    (unit->cooling_until == first->cooling_until &&
                        unit->cooling_serial < first->cooling_serial));
            first = sooner ? unit : first;
        }
    }
    return first;
}

/* Among waits that end at the same instant, the longest. */
static struct model_lease *next_timeout(const struct model *model)
{
    struct model_lease *first = NULL;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        bool sooner = !lease->held && lease->until != NEVER &&
            (!first || lease->until < first->until ||
                (lease->until == first->until && lease->until_serial < first->until_serial));
        first = sooner ? lease : first;
    }
    return first;
}

/* Among those that let go at the same instant, the oldest. */
static struct model_lease *next_to_let_go(const struct model *model)
{
    struct model_lease *first = NULL;
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        bool sooner = lease->keep_until != NEVER &&
            (!first || lease->keep_until < first->keep_until ||
                (lease->keep_until == first->keep_until && lease->id < first->id));
        first = sooner ? lease : first;
    }
    return first;
}

nanoseconds model_next_deadline(const struct model *model)
{
    const struct model_unit *unit = next_cooling(model);
    const struct model_lease *lease_timer = model_next_term(model), *wait = next_timeout(model);
    const struct model_lease *keeper = next_to_let_go(model);
    nanoseconds next =
        earlier(unit ? unit->cooling_until : NEVER, lease_timer ? lease_timer->due : NEVER);
    next = earlier(next, keeper ? keeper->keep_until : NEVER);
    return earlier(next, earlier(model_grace_until(model), wait ? wait->until : NEVER));
}

/* All that rest until the same instant are free together. */
static void end_cooling(struct model *model, nanoseconds instant)
{
    struct model_unit *unit;
    while ((unit = next_cooling(model)) && unit->cooling_until == instant) {
        unit->cooling = false;
        unit->free_since = model->moment++;
    }
}

/* At the same instant, units are free before anybody's time is over. */
void model_tick(struct model *model, nanoseconds now, struct trace *trace)
{
    nanoseconds next;
    while ((next = model_next_deadline(model)) <= now) {
        const struct model_unit *unit = next_cooling(model);
        struct model_lease *lease_timer = model_next_term(model), *wait = next_timeout(model);
        struct model_lease *keeper = next_to_let_go(model);
        model->moment++;
        if (unit && unit->cooling_until == next) {
            end_cooling(model, next);
        } else if (lease_timer && lease_timer->due == next) {
            model_term_is_due(model, lease_timer, now, trace);
        } else if (model_grace_until(model) == next) {
            model_grace_is_over(model, now, trace);
        } else if (keeper && keeper->keep_until == next) {
            model_patience_ends(keeper);
        } else {
            model_require_effect(trace, EFFECT_DENIED, wait, OUTCOME_TIMEOUT);
            model_lease_leave(model, wait, OUTCOME_TIMEOUT, now);
        }
        model_pump(model, now, trace);
    }
    model_settle(model, now, trace);
}
