/* acquire.c - from a request to a granted or waiting lease, or to the reason for a refusal. */
#include "core/circle.h"
#include "core/internal.h"
#include "core/queue.h"
#include "core/ranges.h"

#include <assert.h>

/* The lease gets the strictest of its resources' rules and its own. False if its own are laxer. */
static bool take_stop_rules(
    struct lease *lease, const struct acquire_request *ask, const struct definition *definition)
{
    bool is_laxer = (ask->has_kill_after && ask->attributes.kill_after > definition->kill_after) ||
        (ask->has_on_lost && ask->attributes.on_lost < definition->on_lost);
    if (definition->kill_after < lease->attributes.kill_after) {
        lease->attributes.kill_after = definition->kill_after;
    }
    if (definition->on_lost > lease->attributes.on_lost) {
        lease->attributes.on_lost = (uint8_t)definition->on_lost;
    }
    return !is_laxer;
}

/* A share is gone when the lease that has its units must be. */
static void take_stop_rules_of(struct lease *lease, const struct lease_attributes *above)
{
    struct lease_attributes *own = &lease->attributes;
    own->kill_after = earlier(own->kill_after, above->kill_after);
    own->on_lost = own->on_lost > above->on_lost ? own->on_lost : above->on_lost;
}

bool acquire_may_be_given(const struct resource *resource, const struct requested_resource *want)
{
    bool is_ours_to_say = !resource_is_fleet(resource) || !resource->is_instance;
    return is_ours_to_say ? resource_can_give(resource, want->count, want->is_all)
                          : want->count != 0;
}

/* Of one that replaces others, none is: it waits for that. One that comes back is older than those
 * that wait to replace others. */
static bool is_taken(const struct core *core, const struct resource *resource,
    const struct lease *lease, const struct acquire_request *ask)
{
    bool needs_it = ask->attributes.holder && ask->attributes.replace == REPLACE_NOTHING;
    const struct lease *other = needs_it
        ? core_find_identity(core, resource, lease->uid, ask->attributes.holder)
        : NULL;
    return other && (lease->id == 0 || lease_has_identity(other));
}

enum outcome acquire_resolve(struct core *core, const struct acquire_request *ask, bool has_proof,
    struct lease *lease, const char **at_faultp)
{
    const uint32_t *payer = has_proof ? NULL : &lease->uid;
    lease->attributes.kill_after = ask->has_kill_after ? ask->attributes.kill_after : NEVER;
    lease->attributes.on_lost =
        (uint8_t)(ask->has_on_lost ? ask->attributes.on_lost : ON_LOST_WARN);
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct requested_resource *want = &ask->wants[i];
        struct resource *resource = want->of ? want->of->resource : want->resource;
        *at_faultp = want->name;
        enum outcome outcome =
            resource ? OUTCOME_OK : registry_get(core, want->name, payer, &resource);
        if (outcome != OUTCOME_OK) {
            return outcome;
        }
        if (resource->is_instance) {
            queue_mark_dirty(core, resource); /* so that it is forgotten again if it is idle */
        }
        lease->claims[i].resource = resource;
        const struct definition *definition = resource->definition;
        if (i == 0) {
            lease->database = definition->database;
        }
        if (definition->database != lease->database) {
            return OUTCOME_MIXED;
        }
        bool is_possible = has_proof ? want->count != 0
                                     : want->of || acquire_may_be_given(resource, want);
        if (!is_possible) {
            return OUTCOME_IMPOSSIBLE;
        }
        if (ask->attributes.priority > definition->max_priority ||
            !take_stop_rules(lease, ask, definition)) {
            return OUTCOME_FORBIDDEN;
        }
        if (want->of) {
            take_stop_rules_of(lease, &want->of->lease->attributes);
        } else if (!has_proof && !want->is_level && is_taken(core, resource, lease, ask)) {
            return OUTCOME_HELD;
        }
    }
    *at_faultp = NULL;
    return OUTCOME_OK;
}

void acquire_link(struct core *core, struct client *client, struct lease *lease, uint64_t id)
{
    lease->id = id;
    lease->client = client;
    LIST_INSERT_HEAD(&client->leases, lease, link);
    table_insert(&core->leases, &lease->by_id, hash_number(lease->id));
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        usage_add_claim(claim->resource, claim);
        identity_add(core, claim);
    }
    if (lease->attributes.holder) {
        queue_identity_changed(core, lease);
    }
    shares_enter(lease);
    once_enter(core, lease);
    if (lease->database != 0) {
        tenure_enter(core, lease);
    }
}

bool outcome_has_lease(enum outcome outcome)
{
    return outcome == OUTCOME_OK || outcome == OUTCOME_WAITING || outcome == OUTCOME_PENDING;
}

/* Why a request that does not want to wait is refused. */
static enum outcome why_not_now(const struct core *core, const struct lease *lease,
    const struct acquire_request *ask, const char **at_faultp)
{
    enum outcome why = core->draining ? OUTCOME_DRAINING
        : core_is_closed(core)        ? OUTCOME_GRACE
                                      : OUTCOME_WOULD_WAIT;
    const struct claim *ahead = core_identity_ahead(core, lease);
    *at_faultp = ahead && why == OUTCOME_WOULD_WAIT ? ahead->resource->name : NULL;
    for (size_t i = lease->n_claims; i-- > 0;) {
        const struct resource *resource = lease->claims[i].resource;
        if (resource_is_paused(resource)) {
            why = OUTCOME_PAUSED;
            *at_faultp = ask->wants[i].name;
        } else if (resource_limit(resource) == 0 && why != OUTCOME_PAUSED) {
            why = OUTCOME_CLOSED;
            *at_faultp = ask->wants[i].name;
        } else if (why == OUTCOME_WOULD_WAIT && !claim_has_units(&lease->claims[i])) {
            *at_faultp = ask->wants[i].name;
        }
    }
    for (size_t i = 0; why == OUTCOME_WOULD_WAIT && i < lease->n_claims; i++) {
        if (!claim_fits_quota(&lease->claims[i], 0)) {
            why = OUTCOME_QUOTA;
            *at_faultp = ask->wants[i].name;
        }
    }
    return why;
}

/* One that it replaces gives its own back. */
static bool take_charge(struct core *core, const struct lease *lease, struct charge *charge,
    enum account_slot slot)
{
    if (newest_finds_older(core, lease)) {
        charge_force(charge, &core->accounts, lease->uid, slot);
        return true;
    }
    return charge_take(charge, &core->accounts, lease->uid, slot);
}

enum outcome acquire_wait(struct core *core, struct lease *lease, const struct acquire_request *ask,
    struct effects *effects, const char **at_faultp)
{
    if (lease->database != 0) {
        return fleet_begin(core, lease, ask->wait == 0, effects);
    }
    const struct claim *ancestral = circle_of_one(core, lease);
    if (ancestral) {
        *at_faultp = ask->wants[ancestral - lease->claims].name;
        return OUTCOME_ANCESTOR;
    }
    if (ask->wait == 0) {
        return why_not_now(core, lease, ask, at_faultp);
    }
    bool replaces = newest_finds_older(core, lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct resource *resource = lease->claims[i].resource;
        if (resource_waiting(resource) - replaces > resource->definition->max_waiters) {
            *at_faultp = ask->wants[i].name;
            return OUTCOME_QUEUE_FULL;
        }
    }
    const struct claim *crowd = newest_crowd(core, lease);
    if (crowd) {
        *at_faultp = ask->wants[crowd - lease->claims].name;
        return OUTCOME_QUEUE_FULL;
    }
    return take_charge(core, lease, &lease->waiting->charge, ACCOUNT_WAITERS) ? OUTCOME_WAITING
                                                                              : OUTCOME_QUOTA;
}

enum outcome acquire_settle(struct core *core, const struct lease *lease, enum outcome outcome,
    nanoseconds now, struct effects *effects)
{
    size_t before = effects->n;
    bool was_waiting = lease && lease->state == LEASE_WAITING;
    core_settle(core, now, effects);
    if (!was_waiting || lease->state == LEASE_WAITING) {
        return outcome;
    }
    bool is_held = lease->state == LEASE_HELD;
    assert(is_held || lease->ended_why == OUTCOME_CIRCLE); /* settling ends no other */
    effects_withdraw(effects, before, is_held ? EFFECT_GRANTED : EFFECT_DENIED, lease);
    return is_held ? OUTCOME_OK : OUTCOME_CIRCLE;
}

static void count_wait(struct lease *lease)
{
    if (lease->state == LEASE_WAITING) {
        lease->has_waited = lease->database == 0; /* else the database says so */
        tally_wait(lease);
    }
}

enum outcome acquire_finish(struct core *core, const struct acquire_request *ask,
    enum outcome outcome, nanoseconds now, struct effects *effects, struct lease **leasep,
    const char **at_faultp)
{
    outcome = acquire_settle(core, *leasep, outcome, now, effects);
    if (outcome == OUTCOME_CIRCLE) {
        *leasep = NULL;
        *at_faultp = ask->wants[core->circle.claim].name;
    } else if (*leasep) {
        count_wait(*leasep);
    }
    return outcome;
}


static enum outcome enter_and_try(struct core *core, struct lease *lease,
    const struct acquire_request *ask, nanoseconds now, struct effects *effects,
    const char **at_faultp)
{
    queue_enter(core, lease, ask->wait == 0 ? NEVER : instant_after(now, ask->wait));
    return queue_try(core, lease, now, effects)
        ? OUTCOME_OK
        : acquire_wait(core, lease, ask, effects, at_faultp);
}

static enum outcome acquire(struct core *core, struct client *client,
    const struct acquire_request *ask, nanoseconds now, struct effects *effects,
    struct lease **leasep, const char **at_faultp)
{
    struct lease *lease = lease_new(ask, client->uid, now);
    enum outcome outcome = acquire_resolve(core, ask, false, lease, at_faultp);
    if (outcome == OUTCOME_OK &&
        !take_charge(core, lease, &lease->charge, ACCOUNT_LEASES)) {
        outcome = OUTCOME_QUOTA;
    }
    if (outcome != OUTCOME_OK) {
        core_count_refused(core, ask, outcome);
        lease_free(lease);
        return outcome;
    }
    acquire_link(core, client, lease, ++core->last_id);
    if (!queue_grant_alone(core, lease, now, effects)) {
        outcome = enter_and_try(core, lease, ask, now, effects, at_faultp);
    }
    if (!outcome_has_lease(outcome)) {
        core_unlink_lease(core, lease, outcome, now, effects);
        return outcome;
    }
    effects_change(effects, lease);
    if (lease_replaces(lease)) {
        newest_replaces(core, lease, now, effects);
    }
    *leasep = lease;
    return outcome;
}

enum outcome core_acquire(struct core *core, struct client *client,
    const struct acquire_request *ask, nanoseconds now, struct effects *effects,
    struct lease **leasep, const char **at_faultp)
{
    struct acquire_request expanded, sorted;
    *leasep = NULL;
    *at_faultp = NULL;
    core->meters.now = now;
    enum outcome outcome = levels_find(core, 0, client->uid, &ask, &expanded, at_faultp);
    if (outcome == OUTCOME_OK) {
        outcome = shares_find(core, 0, client->uid, &ask, &sorted, at_faultp);
    }
    if (outcome == OUTCOME_OK) {
        outcome = acquire(core, client, ask, now, effects, leasep, at_faultp);
    } else {
        core_count_refused(core, ask, outcome);
    }
    return acquire_finish(core, ask, outcome, now, effects, leasep, at_faultp);
}
