/* restore.c - makes leases again: from their records or, when these are lost, from what their
 * clients say, which is checked like an acquire. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/queue.h"

#include <string.h>

/* ---- from the record ---- */

static struct resource *make_remains(
    struct core *core, const struct remembered_claim *claim, uint8_t database)
{
    struct definition definition = {
        .name = (char *)claim->name,
        .kind = claim->is_pool ? KIND_POOL : KIND_SEMAPHORE,
        .database = database,
        .max_units_per_user = UNBOUNDED,
        .max_hold = NEVER,
        .on_lost = ON_LOST_KILL,
        .shows_to_owner_only = true, /* its section may have hidden what nobody knows now */
    };
    struct resource *resource = registry_add(core, claim->name, &definition);
    resource->is_defined = false;
    registry_keep_remains(resource);
    return resource;
}

/* What a lease held before stays held even if its resource is gone from the file. */
static enum outcome restore_resource(struct core *core, const struct remembered *remembered,
    const struct remembered_claim *claim, struct resource **resourcep)
{
    enum outcome outcome = registry_get(core, claim->name, NULL, resourcep);
    if (outcome == OUTCOME_UNKNOWN && remembered->is_held) {
        struct resource *draining = registry_find(core, claim->name);
        *resourcep = draining ? draining : make_remains(core, claim, remembered->database);
        outcome = OUTCOME_OK;
    }
    if (outcome != OUTCOME_OK) {
        return outcome;
    }
    if ((*resourcep)->definition->database != remembered->database) {
        return OUTCOME_KIND;
    }
    if (!remembered->is_held) {
        return resource_can_give(*resourcep, claim->count) ? OUTCOME_OK : OUTCOME_IMPOSSIBLE;
    }
    return resource_is_pool(*resourcep) == claim->is_pool ? OUTCOME_OK : OUTCOME_KIND;
}

static struct lease *restored_lease(const struct remembered *remembered)
{
    struct ask ask = {
        .n_wants = remembered->n_claims,
        .terms = remembered->terms,
        .pid = remembered->pid,
        .binding = remembered->binding,
        .process = remembered->process,
        .wrapper = remembered->wrapper,
        .ttl = remembered->ttl,
    };
    for (size_t i = 0; i < remembered->n_claims; i++) {
        ask.wants[i] = (struct want){
            .name = remembered->claims[i].name, .count = remembered->claims[i].count};
    }
    struct lease *lease = lease_new(&ask, remembered->uid, remembered->asked_at);
    lease->database = remembered->database;
    lease->ticket = remembered->ticket;
    lease->kept = memory_string(remembered->kept);
    lease->is_opaque = remembered->is_opaque;
    lease->is_away = !remembered->is_held && remembered->is_away;
    return lease;
}

/* Finds the resources, and refuses a record that cannot be true. Does not check identities: a
 * reload may have made one of two, and both leases go on. */
static enum outcome restore_resolve(
    struct core *core, const struct remembered *remembered, struct lease *lease)
{
    for (size_t i = 0; i < remembered->n_claims; i++) {
        const struct remembered_claim *claim = &remembered->claims[i];
        struct resource *resource = NULL;
        enum outcome outcome = restore_resource(core, remembered, claim, &resource);
        if (resource) {
            queue_mark_dirty(core, resource); /* so that an idle one is forgotten again */
        }
        if (outcome != OUTCOME_OK) {
            return outcome;
        }
        bool is_taken = false;
        for (size_t k = 0; k < i; k++) {
            is_taken |= lease->claims[k].resource == resource;
        }
        if (is_taken) {
            return OUTCOME_HELD;
        }
        lease->claims[i].resource = resource;
    }
    return core_find_lease(core, remembered->id) ? OUTCOME_HELD : OUTCOME_OK;
}

static bool restore_units(struct core *core, const struct remembered *remembered,
    struct lease *lease, nanoseconds now, struct effects *effects)
{
    struct ousted ousted;
    bool may = adopt_may(&ousted, lease, remembered->claims);
    if (may) {
        ousted_end(core, &ousted, now, effects);
        may = adopt_units(core, lease, remembered->claims);
    }
    ousted_deinit(&ousted);
    return may;
}

static bool restore_held(struct core *core, const struct remembered *remembered,
    struct lease *lease, nanoseconds now, struct effects *effects)
{
    if (!restore_units(core, remembered, lease, now, effects)) {
        return false;
    }
    queue_hold(core, lease, remembered->granted_at);
    tally_hold(lease, now);
    if (remembered->until != NEVER && remembered->stopping == OUTCOME_OK) {
        term_resume(core, lease, remembered->until, remembered->hold_until);
    }
    return true;
}

static void raise_token(struct core *core, uint8_t database, uint64_t token)
{
    if (database == 0 && token > core->last_token) {
        core->last_token = token;
    }
}

static void raise_numbers(struct core *core, const struct remembered *remembered)
{
    if (remembered->id > core->last_id) {
        core->last_id = remembered->id;
        core->first_id = remembered->id + 1;
    }
    for (size_t i = 0; i < remembered->n_claims; i++) {
        raise_token(core, remembered->database, remembered->claims[i].token);
    }
}

/* A client that is stopped comes back when it goes on; until then its process keeps its place. */
static bool has_to_come_back(const struct remembered *remembered)
{
    return remembered->is_held ? remembered->binding == BOUND_CONNECTION
                               : !remembered->is_away || remembered->binding != BOUND_PROCESS;
}

enum outcome core_restore(struct core *core, const struct remembered *remembered, nanoseconds now,
    struct effects *effects, struct lease **leasep)
{
    struct lease *lease = restored_lease(remembered);
    enum outcome outcome = restore_resolve(core, remembered, lease);
    *leasep = NULL;
    raise_numbers(core, remembered);
    if (outcome != OUTCOME_OK) {
        lease_free(lease);
        core_settle(core, now, effects);
        return outcome;
    }
    charge_take_anyway(&lease->charge, &core->accounts, lease->uid, ACCOUNT_LEASES);
    acquire_link(core, &core->absent, lease, remembered->id);
    lease_move(lease, has_to_come_back(remembered) ? &core->absent : &core->detached);
    queue_enter(core, lease, remembered->is_held ? NEVER : remembered->until);
    if (remembered->is_held && !restore_held(core, remembered, lease, now, effects)) {
        core_unlink_lease(core, lease, OUTCOME_OK, now, effects);
        core_settle(core, now, effects);
        return OUTCOME_HELD;
    }
    if (!remembered->is_held) {
        charge_take_anyway(
            &lease->waiting->charge, &core->accounts, lease->uid, ACCOUNT_WAITERS);
        lease->wants_now = lease->database != 0 && remembered->wants_now;
        lease->has_waited = true;
        tally_wait(lease);
    }
    lease->is_asked = remembered->is_held ? remembered->stopping != OUTCOME_LOST
                                           : !core->draining && !core->closed_why;
    lease->is_asked &= lease->database != 0 && !lease->is_away;
    if (lease->binding == BOUND_PROCESS) {
        detached_watch(lease, effects);
    }
    if (remembered->stopping != OUTCOME_OK) {
        stop_resume(core, lease, remembered, now, effects);
    }
    core_settle(core, now, effects);
    *leasep = lease;
    return OUTCOME_OK;
}

/* ---- units at rest ---- */

static bool rest_claim(struct core *core, const struct remembered_claim *claim, nanoseconds until)
{
    struct resource *resource;
    bool any = false;
    if (registry_get(core, claim->name, NULL, &resource) != OUTCOME_OK) {
        return false;
    }
    queue_mark_dirty(core, resource);
    for (uint32_t i = 0; resource_is_pool(resource) == claim->is_pool && i < claim->count; i++) {
        struct unit *unit = adopt_find(resource, &claim->units[i]);
        if (unit && unit->state == UNIT_FREE) {
            unit_set_cooling(unit, &core->cooldown_timers, until, ++core->timer_serial);
            any = true;
        }
    }
    return any;
}

nanoseconds core_restore_rest(struct core *core, const struct remembered *remembered,
    nanoseconds now, struct effects *effects)
{
    nanoseconds last = 0;
    raise_numbers(core, remembered);
    for (size_t i = 0; remembered->is_held && i < remembered->n_claims; i++) {
        const struct remembered_claim *claim = &remembered->claims[i];
        const struct definition *definition = core_find_definition(core, claim->name);
        nanoseconds cooldown = definition ? definition->cooldown : 0;
        bool is_over = remembered->rested_at > now || now - remembered->rested_at >= cooldown;
        nanoseconds until = is_over ? 0 : remembered->rested_at + cooldown;
        if (until > now && rest_claim(core, claim, until) && until > last) {
            last = until;
        }
    }
    core_settle(core, now, effects);
    return last;
}

/* ---- from what the client says ---- */

/* Whether its user may have the claim without the leases that it ousts and, unless it is proven,
 * whether it could be acquired now. A proven claim's job runs: as with a record, units at rest, out
 * of service, or above the limit by now are its own. In fleet scope the database decides. */
static bool may_have(
    const struct claim *claim, const struct remembered_claim *said, const struct ousted *ousted)
{
    struct resource *resource = claim->resource;
    if (!claim_fits_quota(claim, ousted_units(ousted, resource, claim->lease->uid))) {
        return false;
    }
    if (said->token != 0 || resource_is_fleet(resource)) {
        return true;
    }
    for (uint32_t i = 0; i < claim->count; i++) {
        const struct remembered_unit *wanted = &said->units[i];
        bool in_limit = resource_is_pool(resource) || wanted->slot < resource_limit(resource);
        const struct unit *unit = in_limit ? adopt_find(resource, wanted) : NULL;
        if (!unit || unit->state != UNIT_FREE) {
            return false;
        }
    }
    return claim->count <= resource_spare(resource);
}

static enum outcome may_hold(struct core *core, const struct lease *lease,
    const struct remembered_claim claims[], const struct ousted *ousted)
{
    if (!accounts_have_room(&core->accounts, lease->uid, ACCOUNT_LEASES,
            ousted_leases(ousted, lease->uid))) {
        return OUTCOME_QUOTA;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!may_have(&lease->claims[i], &claims[i], ousted)) {
            return OUTCOME_LOST;
        }
    }
    return OUTCOME_OK;
}

/* First finds the leases that hold these units wrongly, then checks whether this one may have them,
 * and only then takes anything away. */
static enum outcome reclaim_units(struct core *core, struct lease *lease,
    const struct remembered_claim claims[], nanoseconds now, struct effects *effects)
{
    struct ousted ousted;
    enum outcome outcome = adopt_may(&ousted, lease, claims)
        ? may_hold(core, lease, claims, &ousted)
        : OUTCOME_LOST;
    if (outcome == OUTCOME_OK) {
        ousted_end(core, &ousted, now, effects);
        outcome = adopt_units(core, lease, claims) ? OUTCOME_OK : OUTCOME_LOST;
    }
    ousted_deinit(&ousted);
    return outcome;
}

static enum outcome reclaim_held(struct core *core, struct lease *lease,
    const struct remembered_claim claims[], nanoseconds now, struct effects *effects)
{
    enum outcome outcome = reclaim_units(core, lease, claims, now, effects);
    if (outcome != OUTCOME_OK) {
        return outcome;
    }
    charge_take_anyway(&lease->charge, &core->accounts, lease->uid, ACCOUNT_LEASES);
    for (size_t i = 0; i < lease->n_claims; i++) {
        raise_token(core, lease->database, claims[i].token);
    }
    lease->is_asked = lease->database != 0;
    queue_hold(core, lease, now);
    tally_hold(lease, now);
    term_start(core, lease);
    return OUTCOME_OK;
}

static enum outcome reclaim_waiting(struct core *core, struct lease *lease, const struct ask *ask,
    struct effects *effects, const char **at_faultp)
{
    return charge_take(&lease->charge, &core->accounts, lease->uid, ACCOUNT_LEASES)
        ? acquire_wait(core, lease, ask, effects, at_faultp)
        : OUTCOME_QUOTA;
}

static bool are_proven(const struct remembered_claim claims[])
{
    return claims && claims[0].token != 0;
}

enum outcome core_reclaim_unknown(struct core *core, struct client *client, const struct ask *ask,
    uint64_t id, const struct remembered_claim claims[], nanoseconds now,
    struct effects *effects, struct lease **leasep, const char **at_faultp)
{
    *leasep = NULL;
    *at_faultp = NULL;
    if (!core->is_closed || id == 0 || id >= core->first_id || core_find_lease(core, id)) {
        return OUTCOME_LOST;
    }
    struct lease *lease = lease_new(ask, client->uid, now);
    enum outcome outcome = acquire_resolve(core, ask, are_proven(claims), lease, at_faultp);
    if (outcome != OUTCOME_OK) {
        core_count_refused(core, ask, outcome);
        lease_free(lease);
        core_settle(core, now, effects);
        return outcome;
    }
    acquire_link(core, client, lease, id);
    bool for_ever = ask->wait > NEVER - 1 - now;
    queue_enter(core, lease, claims || for_ever ? NEVER : now + ask->wait);
    outcome = claims ? reclaim_held(core, lease, claims, now, effects)
                     : reclaim_waiting(core, lease, ask, effects, at_faultp);
    if (outcome_is_lease(outcome)) {
        effects_change(effects, lease);
        tally_reclaim(lease);
        *leasep = lease;
    } else {
        core_unlink_lease(core, lease, outcome, now, effects);
    }
    outcome = acquire_settle(core, *leasep, outcome, now, effects);
    acquire_count_wait(*leasep);
    return outcome;
}
