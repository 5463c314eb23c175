/* model_restart.c - the model after a restart: what is made again from memory, and which clients
 * come back. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* ---- everything is over ---- */

static void remember_lease(struct model_past *past, const struct model_lease *lease)
{
    *past = (struct model_past){.lease = *lease};
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_resource *resource = lease->claims[i].resource;
        strcpy(past->on[i].name, resource->name);
        past->on[i].is_pool = rules_are_pool(&resource->rules);
        past->lease.claims[i].resource = NULL;
    }
}

void model_restart(struct model *model, uint64_t first)
{
    model->n_past = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        remember_lease(&model->past[model->n_past++], model->leases[i]);
        free(model->leases[i]);
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        free(model->resources[i]);
    }
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        model->client_uids[i] = -1;
    }
    model->n_leases = model->n_waiters = model->n_resources = model->n_templates = 0;
    model->draining = model->drain_reported = model->closed = false;
    model->file.n = 0;
    memset(model->counts, 0, sizeof model->counts);
    model->n_counts = 0;
    model->first_id = first;
    model->last_ticket = 0;
    if (first <= model->last_id) { /* the state is lost: only what is remembered counts */
        model->last_id = first - 1;
        model->n_tokens = 0;
        model->token_floor = 0;
    }
}

void model_begin_grace(struct model *model, bool closed, nanoseconds until)
{
    model->closed = closed;
    model->grace_until = until;
}

struct model_past *model_find_past(struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->n_past; i++) {
        if (model->past[i].lease.id == id) {
            return &model->past[i];
        }
    }
    return NULL;
}

void model_forget_past(struct model *model, uint64_t id)
{
    struct model_past *past = model_find_past(model, id);
    if (past) {
        *past = model->past[--model->n_past];
    }
}

/* ---- from the record ---- */

/* A record's place for a resource that the file does not name. */
static const struct rules *remains_of(struct rules *rules, const char *name, bool is_pool)
{
    *rules = (struct rules){.kind = is_pool ? KIND_POOL : KIND_SEMAPHORE,
        .max_units_per_user = UNBOUNDED,
        .max_hold = NEVER,
        .on_lost = ON_LOST_KILL};
    strcpy(rules->name, name);
    return rules;
}

static enum outcome restore_claim(
    struct model *model, const struct model_past *past, struct model_lease *lease, size_t i)
{
    struct model_claim *claim = &lease->claims[i];
    struct model_resource *resource;
    struct rules remains;
    enum outcome outcome = model_get_resource(model, past->on[i].name, -1, &resource);
    if (!lease->held && outcome == OUTCOME_OK &&
        !model_can_give(resource, claim->count, claim->is_all)) {
        outcome = OUTCOME_IMPOSSIBLE;
    }
    if (lease->held && outcome == OUTCOME_UNKNOWN && !resource) {
        resource = model_resource_make(
            model, past->on[i].name, remains_of(&remains, past->on[i].name, past->on[i].is_pool));
        resource->defined = false;
        strcpy(resource->counts_as, model_counts_name(model, resource->name));
    }
    if (lease->held) {
        outcome =
            rules_are_pool(&resource->rules) == past->on[i].is_pool ? OUTCOME_OK : OUTCOME_KIND;
    }
    claim->resource = resource;
    claim->overtaken = 0;
    return outcome;
}

static void raise_numbers(struct model *model, uint64_t id)
{
    if (id > model->last_id) {
        model->last_id = id;
        model->first_id = id + 1;
    }
}

static void raise_tokens(struct model *model, uint64_t token)
{
    model->token_floor = token > model->token_floor ? token : model->token_floor;
}

/* An item that is not in service now is still held, and goes with its holder. */
static void hold_again(struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        struct model_resource *resource = claim->resource;
        for (uint32_t k = 0; k < claim->count; k++) {
            struct model_unit *unit = &resource->units[claim->units[k]];
            REQUIRE(unit->holder == 0, "unit %u of %s is remembered twice", claim->units[k],
                resource->name);
            unit->cooling = false;
            if (rules_are_pool(&resource->rules) && !unit->exists) {
                unit->exists = unit->removed = true;
                resource->order[resource->n_order++] = claim->units[k];
            }
            unit->holder = lease->id;
            unit->holder_has_all = claim->is_all;
        }
    }
}

static struct model_lease *add_lease(struct model *model, const struct model_lease *lease)
{
    struct model_lease *made = model_lease_make(model);
    *made = *lease;
    made->number = 0;
    return made;
}

static void make_again(struct model *model, const struct model_lease *past)
{
    struct model_lease *lease = add_lease(model, past);
    bool comes_back = !lease->held || lease->binding == BOUND_CONNECTION;
    model_link(model, lease, comes_back ? CLIENT_ABSENT : CLIENT_DETACHED);
    lease->is_watched = lease->is_killed = false;
    if (lease->held) {
        nanoseconds killed_by =
            past->stopping != OUTCOME_OK ? model->now + past->kill_after : NEVER;
        hold_again(lease);
        model_set_due(
            model, lease, past->is_programs ? past->due : earlier(past->due, killed_by));
    } else {
        lease->until_serial = ++model->moment;
        lease->has_waited = true;
        model_lease_enter(model, lease);
    }
    if (lease->binding == BOUND_PROCESS) {
        model_watch(model, lease);
    }
}

void model_restore(struct model *model, uint64_t id, const struct saved_lease *saved)
{
    struct model_past past = *model_find_past(model, id);
    enum outcome outcome = OUTCOME_OK;
    model->moment++;
    for (size_t i = 0; i < past.lease.n_claims && outcome == OUTCOME_OK; i++) {
        outcome = restore_claim(model, &past, &past.lease, i);
    }
    raise_numbers(model, id);
    model->last_id = past.lease.moved > model->last_id ? past.lease.moved : model->last_id;
    for (size_t i = 0; past.lease.held && i < past.lease.n_claims; i++) {
        raise_tokens(model, past.lease.claims[i].token);
    }
    for (size_t i = 0; saved->is_held && i < saved->n_claims; i++) {
        model_rate_restore(model, &saved->claims[i]);
    }
    model_require_outcome(model, outcome, NULL);
    if (outcome == OUTCOME_OK) {
        make_again(model, &past.lease);
    }
    model_forget_past(model, id);
    model_settle(model);
}

static bool rest_units(struct model *model, struct model_resource *resource,
    const struct saved_claim *claim, nanoseconds until)
{
    bool is_pool = rules_are_pool(&resource->rules), any = false;
    for (uint32_t i = 0; is_pool == claim->is_pool && i < claim->count; i++) {
        const struct saved_unit *saved = &claim->units[i];
        size_t number = is_pool ? strtoul(saved->item + 1, NULL, 10) : saved->slot;
        if (model_unit_is_free(resource, (uint32_t)number)) {
            resource->units[number].cooling = any = true;
            resource->units[number].cooling_until = until;
            resource->units[number].cooling_serial = ++model->moment;
        }
    }
    return any;
}

/* A lease that has been brought back since has ended twice. */
static const struct model_ended *find_end(
    const struct model *model, const struct saved_lease *saved)
{
    const struct model_ended *end = model->ended + model->n_ended;
    do {
        REQUIRE(end-- > model->ended, "lease %ju rests, and has not ended", saved->id);
    } while (end->id != saved->id || end->ended_at != saved->rested_at);
    return end;
}

nanoseconds model_restore_rest(struct model *model, const struct saved_lease *saved)
{
    nanoseconds last = 0;
    const struct model_ended *ended = find_end(model, saved);
    model->moment++;
    raise_numbers(model, saved->id);
    for (size_t i = 0; saved->is_held && i < saved->n_claims; i++) {
        const struct saved_claim *claim = &saved->claims[i];
        raise_tokens(model, claim->token);
        nanoseconds until = ended->ended_at + ended->claims[i].cooldown;
        struct model_resource *resource;
        if (until > model->now &&
            model_get_resource(model, claim->name, -1, &resource) == OUTCOME_OK &&
            rest_units(model, resource, claim, until)) {
            last = until > last ? until : last;
        }
        last = later(last, model_rate_restore(model, claim));
    }
    model_settle(model);
    return last;
}

/* ---- back again ---- */

void model_reclaim(struct model *model, uint64_t id, int client)
{
    struct model_lease *lease = model_find_lease(model, id);
    bool waits = false;
    model->moment++;
    if (lease->client >= 0) {
        model_require_outcome(model, OUTCOME_HELD, NULL);
        model_settle(model);
        return;
    }
    model->asked = id;
    model_link(model, lease, client);
    model_count_reclaim(model, lease);
    model_sort(model);
    model_unwatch(model, lease);
    if (lease->held) {
        model_require_outcome(model, OUTCOME_OK, NULL);
        if (lease->stopping != OUTCOME_OK) {
            model_require_effect(model, EFFECT_STOP, lease, lease->stopping);
        }
    } else if (model_may_go(model, lease) && model_fair_turn(model, lease) == lease) {
        model_require_outcome(model, OUTCOME_OK, NULL);
        model_lease_grant(model, lease, &model->trace->grant);
    } else {
        waits = true;
    }
    model_settle(model);
    if (waits && model_find_lease(model, id)) {
        model_require_waiting_or_granted(model, id);
    }
}

/* From the present client to the later one. */
void model_repeat(struct model *model, uint64_t id, int client)
{
    struct model_lease *lease = model_find_lease(model, id);
    int before = lease->client;
    if (before < 0) {
        model_reclaim(model, id, client);
        return;
    }
    model->moment++;
    if (model->client_since[before] > model->client_since[client]) {
        model_require_outcome(model, OUTCOME_HELD, NULL);
    } else {
        model_require_outcome(model, lease->held ? OUTCOME_OK : OUTCOME_WAITING, NULL);
    }
    if (model->client_since[before] < model->client_since[client]) {
        model_link(model, lease, client);
        if (lease->stopping != OUTCOME_OK) {
            model_require_effect(model, EFFECT_STOP, lease, lease->stopping);
        }
    }
    model_settle(model);
}

/* ---- back again, and forgotten ---- */

/* Those that would lose their leases. */
struct preempted_leases {
    struct model_lease *list[MODEL_LEASES];
    size_t n;
};

static bool is_preempted(const struct preempted_leases *preempted, const struct model_lease *lease)
{
    for (size_t i = 0; i < preempted->n; i++) {
        if (preempted->list[i] == lease) {
            return true;
        }
    }
    return false;
}

/* False: another token is as large, or the unit is named twice. */
static bool oust_from(const struct model *model, struct preempted_leases *preempted,
    const struct model_claim *claim, const uint8_t *units, uint64_t token)
{
    bool from_all = claim->is_all || model_is_all_held(claim->resource);
    for (uint32_t i = 0; i < (from_all ? MODEL_UNITS : claim->count); i++) {
        uint32_t unit = from_all ? i : units[i];
        struct model_lease *holder = model_find_lease(model, claim->resource->units[unit].holder);
        if (holder && model_claim_on(holder, claim->resource)->token >= token) {
            return false;
        }
        if (holder && !is_preempted(preempted, holder)) {
            preempted->list[preempted->n++] = holder;
        }
        for (uint32_t k = 0; i < claim->count && k < i; k++) {
            if (units[k] == units[i]) {
                return false;
            }
        }
    }
    return true;
}

/* What all others hold, except the ousted; only one user's, if `uid` is not -1. */
static uint32_t held_by_others(const struct model *model, const struct preempted_leases *preempted,
    const struct model_resource *resource, int uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        struct model_claim *claim = lease->held ? model_claim_on(lease, resource) : NULL;
        bool counts =
            claim && !is_preempted(preempted, lease) && (uid < 0 || lease->uid == (uint32_t)uid);
        n += counts ? claim->count : 0;
    }
    return n;
}

static bool can_have_named_units(const struct model *model, const struct model_lease *lease,
    const struct model_claim *claim, const struct preempted_leases *preempted, const uint8_t *units,
    bool is_proven)
{
    const struct model_resource *resource = claim->resource;
    bool is_pool = rules_are_pool(&resource->rules), can = true;
    uint32_t limit = model_limit(resource), max = resource->rules.max_units_per_user;
    uint32_t of_user = held_by_others(model, preempted, resource, (int)lease->uid);
    uint32_t taken = held_by_others(model, preempted, resource, -1) + model_cooling(resource);
    for (uint32_t i = 0; i < claim->count; i++) {
        const struct model_unit *unit = &resource->units[units[i]];
        can = can && (is_pool ? unit->exists : units[i] < limit);
        can = can && model_unit_is_free(resource, units[i]);
    }
    can = can && (is_pool || taken + claim->count <= limit) && (!claim->is_all || taken == 0);
    return (is_proven || can) && (max == UNBOUNDED || of_user + claim->count <= max);
}

static bool is_within_bound(const struct model *model, const struct model_lease *lease,
    const struct preempted_leases *preempted)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *other = model->leases[i];
        n += other != lease && other->uid == lease->uid && !is_preempted(preempted, other);
    }
    return n < model->file.bounds.leases;
}

static enum outcome may_hold(const struct model *model, const struct model_lease *lease,
    const struct model_said *said, struct preempted_leases *preempted)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!oust_from(model, preempted, &lease->claims[i], said->units[i], said->tokens[i])) {
            return OUTCOME_LOST;
        }
    }
    if (!is_within_bound(model, lease, preempted)) {
        return OUTCOME_QUOTA;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!can_have_named_units(
                model, lease, &lease->claims[i], preempted, said->units[i], said->tokens[i] != 0)) {
            return OUTCOME_LOST;
        }
    }
    return OUTCOME_OK;
}

/* Their clients may say again what they had. */
static void end_preempted(struct model *model, const struct preempted_leases *preempted)
{
    for (size_t i = 0; i < preempted->n; i++) {
        if (model->n_past < MODEL_LEASES) {
            remember_lease(&model->past[model->n_past++], preempted->list[i]);
        }
        model_lease_end(model, preempted->list[i], OUTCOME_LOST);
    }
}

static void take_tokens(
    struct model *model, struct model_lease *lease, const struct model_said *said)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        claim->token = model->trace->grant.claims[i].token;
        if (said->tokens[i] == 0) {
            model_require_token(model, claim->resource->name, claim->token);
        }
        REQUIRE(said->tokens[i] == 0 || claim->token == said->tokens[i],
            "%s: token %ju was proven, and is %ju now", claim->resource->name, said->tokens[i],
            claim->token);
        raise_tokens(model, said->tokens[i]);
    }
}

static enum outcome hold_unknown(
    struct model *model, struct model_lease *lease, const struct model_said *said)
{
    struct preempted_leases preempted = {.n = 0};
    enum outcome outcome = may_hold(model, lease, said, &preempted);
    if (outcome != OUTCOME_OK) {
        return outcome;
    }
    model_require_outcome(model, OUTCOME_OK, NULL); /* or there is no grant to read */
    end_preempted(model, &preempted);
    for (size_t i = 0; i < lease->n_claims; i++) {
        memcpy(lease->claims[i].units, said->units[i], sizeof lease->claims[i].units);
    }
    hold_again(lease);
    model_lease_hold(model, lease);
    take_tokens(model, lease, said);
    model_begin_term(model, lease);
    return OUTCOME_OK;
}

static enum outcome wait_unknown(const struct model *model, const struct model_lease *lease,
    const struct model_ask *ask, const char **at_faultp)
{
    bool fits = is_within_bound(model, lease, &(const struct preempted_leases){.n = 0});
    return fits ? model_may_wait(model, lease, ask, at_faultp) : OUTCOME_QUOTA;
}

static enum outcome enter_unknown(struct model *model, const struct model_lease *filled,
    const struct model_ask *ask, const struct model_said *said, const char **at_faultp)
{
    struct model_lease *lease = add_lease(model, filled);
    bool for_ever = said || ask->wait == NEVER;
    lease->until = for_ever ? NEVER : model->now + ask->wait;
    lease->until_serial = ++model->moment;
    model_link(model, lease, lease->client);
    model_lease_enter(model, lease);
    model_sort(model);
    enum outcome outcome =
        said ? hold_unknown(model, lease, said) : wait_unknown(model, lease, ask, at_faultp);
    if (outcome != OUTCOME_OK && outcome != OUTCOME_WAITING) {
        model_lease_leave(model, lease, OUTCOME_OK);
    }
    return outcome;
}

void model_reclaim_unknown(struct model *model, int client, const struct model_ask *asked,
    uint64_t id, const struct model_said *said)
{
    struct model_ask expanded = *asked;
    const struct model_ask *ask = &expanded;
    if (!said) {
        model_add_levels(model, &expanded);
    }
    const char *at_fault = NULL;
    struct model_lease lease = model_lease_of(model, client, ask, id);
    lease.asked_at = model->now;
    model->asked = id;
    model->names_fault = true;
    enum outcome outcome = OUTCOME_LOST;
    model->moment++;
    if (!said && model_is_replaced(model, lease.uid, ask, id)) {
        outcome = OUTCOME_REPLACED;
    } else if (model->closed && id < model->first_id && !model_find_lease(model, id)) {
        bool has_proof = said && said->tokens[0] != 0;
        outcome = model_resolve(model, ask, has_proof, &lease, &at_fault);
        if (outcome == OUTCOME_OK) {
            outcome = enter_unknown(model, &lease, ask, said, &at_fault);
        }
        if (outcome != OUTCOME_OK && outcome != OUTCOME_WAITING) {
            model_count_refused(model, ask, outcome);
        }
    }
    bool has_lease = outcome == OUTCOME_OK || outcome == OUTCOME_WAITING;
    if (has_lease) {
        model_count_reclaim(model, model_find_lease(model, id));
        model_replace_older(model, model_find_lease(model, id));
    } else {
        model_require_outcome(model, outcome, at_fault);
    }
    model_settle(model);
    struct model_lease *made = has_lease ? model_find_lease(model, id) : NULL;
    if (made) {
        model_require_outcome(model, made->held ? OUTCOME_OK : OUTCOME_WAITING, NULL);
        made->has_waited |= !made->held;
        model_forget_past(model, id);
    }
}
