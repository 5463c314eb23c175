/* model.c - the model's operations: clients, leases, time. Each says what must happen and compares
 * that with the trace. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct model *model_new(struct trace *trace)
{
    struct model *model = calloc(1, sizeof *model);
    model->trace = trace;
    model->rates_unknown_at = NEVER;
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

void model_require_outcome(const struct model *model, enum outcome outcome, const char *at_fault)
{
    REQUIRE(model->trace->outcome == outcome, "outcome %d instead of %d",
        (int)model->trace->outcome, (int)outcome);
    bool same = at_fault && model->trace->at_fault ? strcmp(at_fault, model->trace->at_fault) == 0
                                                   : at_fault == model->trace->at_fault;
    REQUIRE(same, "about %s instead of %s", model->trace->at_fault ? model->trace->at_fault : "-",
        at_fault ? at_fault : "-");
}

void model_require_waiting_or_granted(const struct model *model, uint64_t id)
{
    bool is_held = model_find_lease(model, id)->held;
    model_require_outcome(model, is_held ? OUTCOME_OK : OUTCOME_WAITING, NULL);
}

/* ---- clients ---- */

void model_client(struct model *model, int client, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        n += model->client_uids[i] == (int)uid;
    }
    bool fits = n < model->file.bounds.clients;
    model_require_outcome(model, fits ? OUTCOME_OK : OUTCOME_QUOTA, NULL);
    model->client_uids[client] = fits ? (int)uid : -1;
    model->client_since[client] = ++model->moment;
    model_settle(model);
}

struct model_lease *model_last_linked(
    const struct model *model, int client, bool may_wait, bool may_hold)
{
    struct model_lease *last = NULL;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        bool fits = lease->client == client && (lease->held ? may_hold : may_wait);
        last = fits && (!last || lease->linked > last->linked) ? lease : last;
    }
    return last;
}

/* The newest go first, and all that wait before those that hold. */
void model_client_gone(struct model *model, int client, bool half)
{
    struct model_lease *lease;
    model->moment++;
    while ((lease = model_last_linked(model, client, true, false))) {
        model_lease_leave(model, lease, OUTCOME_CANCELLED);
    }
    while ((lease = model_last_linked(model, client, false, true))) {
        model_lose_client(model, lease);
    }
    model->client_uids[client] = half ? model->client_uids[client] : -1;
    model_settle(model);
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
        (instances_of(model, rules) >= rules->max_instances || !model_may_pay(model, payer))) {
        return OUTCOME_QUOTA;
    }
    *resourcep = model_resource_make(model, name, rules);
    (*resourcep)->charged_uid = payer;
    return OUTCOME_OK;
}

/* A new request is also behind those that wait for the identity. */
static bool identity_is_taken(const struct model *model, const struct model_resource *resource,
    uint32_t uid, uint32_t holder, bool is_new)
{
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        const struct model_claim *claim = model_claim_on(lease, resource);
        bool counts = is_new || model_has_identity(lease);
        if (counts && holder != 0 && lease->holder == holder && claim && !claim->is_level &&
            (resource->rules.identity_shared || lease->uid == uid)) {
            return true;
        }
    }
    return false;
}

/* One resource of a request: may it be requested at all? */
static enum outcome check_want(const struct model_resource *resource, const struct model_ask *ask,
    size_t i, bool has_proof)
{
    uint32_t count = ask->wants[i].count;
    bool can_give = model_can_give(resource, count, ask->wants[i].is_all);
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
            outcome = check_want(resource, ask, i, has_proof);
        }
        if (outcome == OUTCOME_OK && !has_proof && ask->replace == REPLACE_NOTHING &&
            !ask->wants[i].is_level &&
            identity_is_taken(model, resource, lease->uid, ask->holder, lease->is_new)) {
            outcome = OUTCOME_HELD;
        }
        if (outcome != OUTCOME_OK) {
            return outcome;
        }
        take_stop_rules(lease, &resource->rules);
        lease->claims[lease->n_claims++] =
            (struct model_claim){.resource = resource,
                .count = ask->wants[i].count,
                .is_all = ask->wants[i].is_all,
                .is_level = ask->wants[i].is_level};
    }
    *at_faultp = NULL;
    return OUTCOME_OK;
}

/* What so many units of that resource take of its levels, and these of theirs. */
static void take_levels(
    const struct model *model, struct model_ask *ask, const char *name, uint32_t count)
{
    const struct rules *rules = file_find(&model->file, name);
    for (size_t i = 0; rules && i < rules->n_levels; i++) {
        const char *level = rules->levels[i].name;
        uint32_t needs = count < UNBOUNDED / 2 ? count * rules->levels[i].count : count;
        size_t k = 0;
        while (k < ask->n_wants && strcmp(ask->wants[k].name, level) != 0) {
            k++;
        }
        if (k == ask->n_wants) {
            strcpy(ask->wants[ask->n_wants].name, level);
            ask->wants[k].count = 0;
            ask->wants[k].is_all = false;
            ask->wants[ask->n_wants++].is_level = true;
        }
        if (needs > ask->wants[k].count) {
            ask->wants[k].count = ask->wants[k].is_all ? ask->wants[k].count : needs;
            take_levels(model, ask, level, needs);
        }
    }
}

void model_add_levels(const struct model *model, struct model_ask *ask)
{
    for (size_t i = 0, n = ask->n_wants; i < n; i++) {
        take_levels(model, ask, ask->wants[i].name, ask->wants[i].count);
    }
}

static bool leases_fit(const struct model *model, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        n += model->leases[i]->uid == uid;
    }
    return n < model->file.bounds.leases;
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
        const struct model_claim *claim = &lease->claims[i];
        if (claim->count > model_available(claim->resource) ||
            (claim->is_all && !model_is_untaken(claim->resource))) {
            *at_faultp = lease->claims[i].resource->name;
        }
    }
    for (size_t i = 0; i < lease->n_claims && !*at_faultp; i++) {
        const struct model_resource *resource = lease->claims[i].resource;
        *at_faultp = model_identity_ahead(model, lease, resource) ? resource->name : NULL;
    }
    return OUTCOME_WOULD_WAIT;
}

enum outcome model_may_wait(const struct model *model, const struct model_lease *lease,
    const struct model_ask *ask, const char **at_faultp)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        *at_faultp = lease->claims[i].resource->name;
        if (model_is_behind_ancestors(model, lease, &lease->claims[i])) {
            return OUTCOME_ANCESTOR;
        }
    }
    if (ask->wait == 0) {
        return why_not_now(model, lease, at_faultp);
    }
    uint32_t n = 0, n_replaced = model_older(model, lease) != NULL;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_resource *resource = lease->claims[i].resource;
        *at_faultp = resource->name;
        if (model_waiting(model, resource) - n_replaced > resource->rules.max_waiters) {
            return OUTCOME_QUEUE_FULL;
        }
    }
    *at_faultp = NULL;
    for (size_t i = 0; i < model->n_waiters; i++) {
        n += model->waiters[i]->uid == lease->uid;
    }
    bool fits = n_replaced > 0 || n <= model->file.bounds.waiters;
    return fits ? OUTCOME_WAITING : OUTCOME_QUOTA;
}

static enum outcome model_enter(
    struct model *model, struct model_lease *filled, const struct model_ask *ask)
{
    const char *at_fault = NULL;
    struct model_lease *lease = model_lease_make(model);
    *lease = *filled;
    lease->is_new = false;
    bool is_alone = true;
    for (size_t i = 0; i < lease->n_claims; i++) {
        is_alone &= model_waiting(model, lease->claims[i].resource) == 0;
    }
    model->last_ticket = model->n_waiters > 0 ? model->last_ticket : 0;
    lease->moved = model_rank(model, lease, lease->id);
    lease->number = lease->id;
    model_lease_enter(model, lease);
    model_sort(model);
    if (model_may_go(model, lease)) {
        model_require_outcome(model, OUTCOME_OK, NULL);
        lease->moved = is_alone ? 0 : lease->moved; /* it has not waited */
        model_lease_grant(model, lease, &model->trace->grant);
        model_replace_older(model, lease);
        return OUTCOME_OK;
    }
    enum outcome outcome = model_may_wait(model, lease, ask, &at_fault);
    if (outcome != OUTCOME_WAITING) {
        model_require_outcome(model, outcome, at_fault);
        model_lease_leave(model, lease, OUTCOME_OK);
    } else {
        model_replace_older(model, lease);
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
        .replace = ask->replace,
        .share = ask->share,
        .once = ask->once,
        .priority = ask->priority,
        .parent = ask->parent,
        .binding = ask->binding,
        .is_programs = ask->is_programs,
        .is_alive = true,
        .ttl = ask->ttl,
        .kill_after = ask->has_kill_after ? ask->kill_after : NEVER,
        .on_lost = ask->has_on_lost ? ask->on_lost : ON_LOST_WARN,
        .due = NEVER,
        .hold_until = NEVER,
    };
}

void model_acquire(struct model *model, int client, const struct model_ask *asked)
{
    struct model_ask expanded = *asked;
    const struct model_ask *ask = &expanded;
    model_add_levels(model, &expanded);
    bool for_ever = ask->wait == 0 || ask->wait == NEVER;
    struct model_lease lease =
        model_lease_of(model, client, ask, model->trace->lease ? model->trace->lease : UINT64_MAX);
    const char *at_fault;
    model->rate_now = model->now;
    model->moment++;
    lease.linked = model->moment;
    lease.is_new = true;
    lease.asked_at = model->now;
    lease.until = for_ever ? NEVER : model->now + ask->wait;
    lease.until_serial = model->moment;
    REQUIRE(!model->trace->lease || model->trace->lease > model->last_id, "lease %ju after %ju",
        model->trace->lease, model->last_id);
    model->last_id = model->trace->lease ? model->trace->lease : model->last_id;
    model->asked = lease.id;
    model->names_fault = true;
    enum outcome outcome = model_resolve(model, ask, false, &lease, &at_fault);
    if (outcome == OUTCOME_OK && !model_older(model, &lease) && !leases_fit(model, lease.uid)) {
        outcome = OUTCOME_QUOTA;
    }
    if (outcome == OUTCOME_OK) {
        outcome = model_enter(model, &lease, ask);
    } else {
        model_require_outcome(model, outcome, at_fault);
    }
    if (outcome != OUTCOME_OK && outcome != OUTCOME_WAITING) {
        model_count_refused(model, ask, outcome);
    }
    model_settle(model);
    if (outcome == OUTCOME_WAITING && model_find_lease(model, lease.id)) {
        model_require_waiting_or_granted(model, lease.id);
        model_find_lease(model, lease.id)->has_waited = true;
    }
}

void model_end(struct model *model, uint64_t id, int by)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    if (lease->client != by) {
        model_require_effect(model, lease->held ? EFFECT_LOST : EFFECT_DENIED, lease,
            lease->held ? OUTCOME_RELEASED : OUTCOME_CANCELLED);
    }
    model_lease_leave(model, lease, lease->held ? OUTCOME_RELEASED : OUTCOME_CANCELLED);
    model_settle(model);
}

/* ---- time ---- */

/* Of those that are due at the same instant, the kind that comes first here. */
enum timer_kind { TIMER_RATE, TIMER_COOLING, TIMER_TERM, TIMER_GRACE, TIMER_PATIENCE, TIMER_WAIT };

struct timer {
    nanoseconds at;
    enum timer_kind kind;
    uint64_t serial; /* of two of a kind, the smaller comes first */
    struct model_unit *unit; /* that cools */
    struct model_lease *lease; /* of the other kinds but the grace */
};

static void consider(struct timer *first, struct timer timer)
{
    bool is_same_kind = timer.at == first->at && timer.kind == first->kind;
    bool sooner = timer.at < first->at || (timer.at == first->at && timer.kind < first->kind) ||
        (is_same_kind && timer.serial < first->serial);
    *first = sooner && timer.at != NEVER ? timer : *first;
}

static struct timer next_timer(const struct model *model)
{
    struct timer first = {.at = model_grace_until(model), .kind = TIMER_GRACE};
    consider(&first, (struct timer){.at = model_rate_due(model), .kind = TIMER_RATE});
    for (size_t i = 0; i < model->n_resources; i++) {
        for (size_t k = 0; k < MODEL_UNITS; k++) {
            struct model_unit *unit = &model->resources[i]->units[k];
            nanoseconds at = unit->cooling ? unit->cooling_until : NEVER;
            consider(&first, (struct timer){at, TIMER_COOLING, unit->cooling_serial, unit, NULL});
        }
    }
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *it = model->leases[i];
        if (it->held) {
            consider(&first, (struct timer){it->due, TIMER_TERM, it->due_serial, NULL, it});
        } else {
            consider(&first, (struct timer){it->keep_until, TIMER_PATIENCE, it->id, NULL, it});
            consider(&first, (struct timer){it->until, TIMER_WAIT, it->until_serial, NULL, it});
        }
    }
    return first;
}

nanoseconds model_next_deadline(const struct model *model)
{
    return next_timer(model).at;
}

void model_tick(struct model *model)
{
    struct timer timer;
    while ((timer = next_timer(model)).at <= model->now) {
        nanoseconds instant = timer.at;
        model->moment++;
        model->rate_now = later(model->rate_now, instant);
        switch (timer.kind) {
        case TIMER_RATE: /* model_pump() looks at all */
            break;
        case TIMER_COOLING: /* all that rest until the same instant are free together */
            for (; timer.unit && timer.at == instant; timer = next_timer(model)) {
                timer.unit->cooling = false;
                timer.unit->free_since = model->moment++;
            }
            break;
        case TIMER_TERM:
            model_term_is_due(model, timer.lease);
            break;
        case TIMER_GRACE:
            model_grace_is_over(model);
            break;
        case TIMER_PATIENCE:
            model_patience_ends(timer.lease);
            break;
        case TIMER_WAIT:
            model_lease_end(model, timer.lease, OUTCOME_TIMEOUT);
        }
        model_pump(model);
    }
    model_settle(model);
}
