/* restore.c - makes leases again from their records, and lets units rest as before. */
#include "base/memory.h"
#include "base/ticket.h"
#include "core/internal.h"
#include "core/queue.h"

#include <stdlib.h>

/* ---- the units that a lease had ---- */

/* Whether its user may have the claim without the leases that it ousts and, unless it is proven,
 * whether it could be acquired now. A proven claim's job runs: as with a record, units at rest, out
 * of service, or above the limit by now are its own. In fleet scope the database decides. */
static bool may_have(const struct claim *claim, const struct saved_claim *claimed,
    const struct preempted_leases *preempted)
{
    struct resource *resource = claim->resource;
    if (!claim_fits_quota(claim, preempted_leases_units(preempted, resource, claim->lease->uid))) {
        return false;
    }
    if (claimed->token != 0 || resource_is_fleet(resource)) {
        return true;
    }
    for (uint32_t i = 0; i < claim->count; i++) {
        const struct saved_unit *wanted = &claimed->units[i];
        bool in_limit = resource_is_pool(resource) || wanted->slot < resource_limit(resource);
        const struct unit *unit = in_limit ? adopt_find(resource, wanted) : NULL;
        if (!unit || unit->state != UNIT_FREE) {
            return false;
        }
    }
    return claim->count <= resource_spare(resource) &&
        (!claim->is_all || resource_is_untaken(resource));
}

static enum outcome may_hold(struct core *core, const struct lease *lease,
    const struct saved_claim claims[], const struct preempted_leases *preempted)
{
    if (!accounts_have_room(&core->accounts, lease->uid, ACCOUNT_LEASES,
            preempted_leases_count(preempted, lease->uid))) {
        return OUTCOME_QUOTA;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!may_have(&lease->claims[i], &claims[i], preempted)) {
            return OUTCOME_LOST;
        }
    }
    return OUTCOME_OK;
}

enum outcome reclaim_units(struct core *core, struct lease *lease,
    const struct saved_claim claims[], bool is_recorded, nanoseconds now, struct effects *effects)
{
    struct preempted_leases preempted;
    enum outcome outcome = !adopt_is_possible(&preempted, lease, claims) ? OUTCOME_LOST
        : is_recorded                                                    ? OUTCOME_OK
        : may_hold(core, lease, claims, &preempted);
    if (outcome == OUTCOME_OK) {
        preempted_leases_end(core, &preempted, now, effects);
        outcome = adopt_units(core, lease, claims) ? OUTCOME_OK : OUTCOME_LOST;
    }
    preempted_leases_deinit(&preempted);
    return outcome;
}

/* ---- rates ---- */

/* An earlier run has granted the claim to that lease. Returns until when something is owed; 0. By
 * the rate of the record it may be paid for, and by that of a reload since then not. */
static nanoseconds restore_rate(
    struct core *core, const struct saved_claim *claim, uint64_t lease, nanoseconds now)
{
    struct resource *resource;
    const struct saved_rate *saved = &claim->rate;
    const struct definition *definition =
        saved->step != 0 && saved->charged_at <= now ? core_find_definition(core, claim->name)
                                                     : NULL;
    bool has_meter = definition && definition->rate.units > 0 && definition->database == 0;
    nanoseconds paid_at = has_meter ? rate_paid_at(definition, saved) : 0;
    if (paid_at <= now || registry_get(core, claim->name, NULL, &resource) != OUTCOME_OK) {
        return 0;
    }
    struct meter *meter = resource->meter;
    if (paid_at >= meter->paid_at) {
        meter->charged_at = saved->charged_at;
        meter->paid_at = paid_at;
        meter->charged_to = lease;
    }
    queue_mark_dirty(core, resource); /* so that an idle one is forgotten again */
    return paid_at;
}

/* ---- from the record ---- */

static struct resource *make_remains(
    struct core *core, const struct saved_claim *claim, uint8_t database)
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
static enum outcome restore_resource(struct core *core, const struct saved_lease *saved,
    const struct saved_claim *claim, struct resource **resourcep)
{
    enum outcome outcome = registry_get(core, claim->name, NULL, resourcep);
    if (outcome == OUTCOME_UNKNOWN && saved->is_held) {
        struct resource *draining = core_find_resource(core, claim->name);
        *resourcep = draining ? draining : make_remains(core, claim, saved->database);
        outcome = OUTCOME_OK;
    }
    if (outcome != OUTCOME_OK) {
        return outcome;
    }
    if ((*resourcep)->definition->database != saved->database) {
        return OUTCOME_KIND;
    }
    if (claim->sharer != 0) {
        return OUTCOME_OK;
    }
    if (!saved->is_held) {
        bool can = resource_can_give(*resourcep, claim->count, claim->is_all);
        return can ? OUTCOME_OK : OUTCOME_IMPOSSIBLE;
    }
    return resource_is_pool(*resourcep) == claim->is_pool ? OUTCOME_OK : OUTCOME_KIND;
}

/* Its shares are of leases that have come before it. */
static struct lease *restored_lease(
    struct core *core, const struct saved_lease *saved, size_t n_shared)
{
    struct acquire_request ask = {
        .n_wants = saved->n_claims,
        .n_shared = n_shared,
        .attributes = saved->attributes,
        .pid = saved->pid,
        .binding = saved->binding,
        .process = saved->process,
        .wrapper = saved->wrapper,
        .ttl = saved->ttl,
    };
    for (size_t i = 0; i < saved->n_claims; i++) {
        const struct saved_claim *claim = &saved->claims[i];
        ask.wants[i] = (struct requested_resource){
            .name = claim->name,
            .count = claim->count,
            .is_all = claim->is_all,
            .is_level = claim->is_level,
            .of = claim->sharer != 0 ? share_find_claim(core, saved->uid, claim) : NULL,
            .sharer = claim->sharer,
            .asked = claim->asked,
        };
    }
    struct lease *lease = lease_new(&ask, saved->uid, saved->asked_at);
    lease->database = saved->database;
    lease->ticket = saved->ticket;
    lease->kept = memory_string(saved->kept);
    lease->is_opaque = saved->is_opaque;
    lease->is_away = !saved->is_held && saved->is_away;
    return lease;
}

/* Finds the resources, and refuses a record that cannot be true. Does not check identities: a
 * reload may have made one of two, and both leases go on. */
static enum outcome restore_resolve(
    struct core *core, const struct saved_lease *saved, struct lease *lease)
{
    if (shares_are_over(lease, saved->is_held)) {
        return OUTCOME_ANCESTOR;
    }
    for (size_t i = 0; i < saved->n_claims; i++) {
        const struct saved_claim *claim = &saved->claims[i];
        struct resource *resource = NULL;
        enum outcome outcome = restore_resource(core, saved, claim, &resource);
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
    return core_find_lease(core, saved->id) ? OUTCOME_HELD : OUTCOME_OK;
}

static bool restore_held(struct core *core, const struct saved_lease *saved, struct lease *lease,
    nanoseconds now, struct effects *effects)
{
    if (reclaim_units(core, lease, saved->claims, true, now, effects) != OUTCOME_OK) {
        return false;
    }
    queue_make_holder(core, lease, saved->granted_at);
    tally_hold(lease, now);
    if (saved->until != NEVER && saved->stopping == OUTCOME_OK) {
        lease_timer_resume(core, lease, saved->until, saved->hold_until);
    }
    return true;
}

void raise_token(struct core *core, uint8_t database, uint64_t token)
{
    if (database == 0 && token > core->last_token) {
        core->last_token = token;
    }
}

static void raise_numbers(struct core *core, const struct saved_lease *saved)
{
    if (saved->id > core->last_id) {
        core->last_id = saved->id;
        core->first_id = saved->id + 1;
    }
    if (saved->database == 0 && ticket_number(saved->ticket) > core->last_id) {
        core->last_id = ticket_number(saved->ticket);
    }
    for (size_t i = 0; i < saved->n_claims; i++) {
        raise_token(core, saved->database, saved->claims[i].token);
    }
}

/* A client that is stopped comes back when it goes on; until then its process keeps its place. */
static bool has_to_come_back(const struct saved_lease *saved)
{
    return saved->is_held
        ? saved->binding == BOUND_CONNECTION || saved->stopping == OUTCOME_RELEASED
                          : !saved->is_away || saved->binding != BOUND_PROCESS;
}

/* What was being stopped, is. */
static void restore_stop(struct core *core, const struct saved_lease *saved, struct lease *lease,
    nanoseconds now, struct effects *effects)
{
    if (saved->stopping == OUTCOME_RELEASED) {
        stop_begin_ending(core, lease, OUTCOME_RELEASED);
    } else if (saved->stopping != OUTCOME_OK) {
        stop_resume(core, lease, saved, now, effects);
    }
}

enum outcome core_restore(struct core *core, const struct saved_lease *as_saved, nanoseconds now,
    struct effects *effects, struct lease **leasep)
{
    struct saved_lease sorted = *as_saved, *saved = &sorted;
    size_t n_shared = shares_sort_saved(as_saved->claims, as_saved->n_claims, sorted.claims);
    struct lease *lease = restored_lease(core, saved, n_shared);
    enum outcome outcome = restore_resolve(core, saved, lease);
    *leasep = NULL;
    raise_numbers(core, saved);
    for (size_t i = 0; saved->is_held && saved->database == 0 && i < saved->n_claims; i++) {
        restore_rate(core, &saved->claims[i], saved->id, now);
    }
    if (outcome != OUTCOME_OK) {
        lease_free(lease);
        core_settle(core, now, effects);
        return outcome;
    }
    charge_force(&lease->charge, &core->accounts, lease->uid, ACCOUNT_LEASES);
    acquire_link(core, &core->absent, lease, saved->id);
    lease_move(lease, has_to_come_back(saved) ? &core->absent : &core->detached);
    queue_enter(core, lease, saved->is_held ? NEVER : saved->until);
    if (saved->is_held && !restore_held(core, saved, lease, now, effects)) {
        core_unlink_lease(core, lease, OUTCOME_OK, now, effects);
        core_settle(core, now, effects);
        return OUTCOME_HELD;
    }
    if (!saved->is_held) {
        charge_force(&lease->waiting->charge, &core->accounts, lease->uid, ACCOUNT_WAITERS);
        lease->wants_now = lease->database != 0 && saved->wants_now;
        lease->has_waited = true;
        tally_wait(lease);
    }
    lease->is_asked =
        saved->is_held ? saved->stopping != OUTCOME_LOST : !core->draining && !core->closed_why;
    lease->is_asked &= lease->database != 0 && lease->n_claims > 0 && !lease->is_away;
    if (lease->binding == BOUND_PROCESS && saved->stopping != OUTCOME_RELEASED) {
        detached_watch(lease, effects);
    }
    restore_stop(core, saved, lease, now, effects);
    core_settle(core, now, effects);
    *leasep = lease;
    return OUTCOME_OK;
}

static void end_restoring(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool is_held = lease->state == LEASE_HELD;
    if (is_held && lease->stopping == OUTCOME_OK && !shares_may_go_on(lease)) {
        stop_restored_share(core, lease, now, effects);
    } else if (is_held && lease->is_ending && LIST_EMPTY(&lease->shares)) {
        lease_over(core, lease, OUTCOME_RELEASED, now, effects);
    } else if (lease->state == LEASE_WAITING) {
        newest_replaces(core, lease, now, effects); /* their records may have outlived them */
    }
}

void core_end_restoring(struct core *core, nanoseconds now, struct effects *effects)
{
    struct lease **leases = memory_new((core->leases.n + 1) * sizeof *leases);
    size_t n = 0;
    for (size_t i = 0; i < core->leases.n_buckets; i++) {
        for (struct table_node *node = core->leases.buckets[i]; node; node = node->next) {
            leases[n++] = container_of(node, struct lease, by_id);
        }
    }
    for (size_t i = 0; i < n; i++) {
        end_restoring(core, leases[i], now, effects); /* may end others, too */
    }
    free(leases);
    core_settle(core, now, effects);
}

/* ---- units at rest ---- */

bool rest_claim(struct core *core, const struct saved_claim *claim, nanoseconds until)
{
    struct resource *resource;
    bool any = false;
    if (registry_get(core, claim->name, NULL, &resource) != OUTCOME_OK) {
        return false;
    }
    queue_mark_dirty(core, resource);
    for (uint32_t i = 0; i < claim->count; i++) {
        bool fits = resource_is_pool(resource) == (claim->units[i].item != NULL);
        struct unit *unit = fits ? adopt_find(resource, &claim->units[i]) : NULL;
        if (unit && unit->state == UNIT_FREE) {
            unit_set_cooling(unit, &core->cooldown_timers, until, ++core->timer_serial);
            any = true;
        }
    }
    return any;
}

static void take_cooldowns(struct core *core, struct saved_lease *saved)
{
    for (size_t i = 0; i < saved->n_claims; i++) {
        const struct definition *definition = core_find_definition(core, saved->claims[i].name);
        saved->claims[i].cooldown = definition ? definition->cooldown : 0;
    }
    saved->has_cooldowns = true;
}

nanoseconds core_note_rest(const struct lease *ended, struct saved_lease *saved)
{
    nanoseconds until = ended->ended_at;
    saved->n_claims = lease_n_all(ended);
    saved->has_cooldowns = true;
    for (size_t i = 0; i < saved->n_claims; i++) {
        const struct claim *claim = lease_asked(ended, i);
        saved->claims[i].cooldown = claim->cooldown;
        until = later(until, later(ended->ended_at + claim->cooldown, claim->owed_until));
    }
    saved->rested_at = ended->ended_at;
    return until == ended->ended_at ? 0 : until;
}

nanoseconds core_owes_until(const struct core *core, const struct saved_lease *ended)
{
    nanoseconds until = 0;
    for (size_t i = 0; i < ended->n_claims; i++) {
        const struct resource *resource = core_find_resource(core, ended->claims[i].name);
        until = later(until, resource ? resource_owes_until(resource, ended->id) : 0);
    }
    return until;
}

nanoseconds core_restore_cooldown(
    struct core *core, struct saved_lease *saved, nanoseconds now, struct effects *effects)
{
    nanoseconds last = 0;
    raise_numbers(core, saved);
    if (!saved->has_cooldowns) {
        take_cooldowns(core, saved);
    }
    for (size_t i = 0; saved->is_held && i < saved->n_claims; i++) {
        const struct saved_claim *claim = &saved->claims[i];
        bool is_over = saved->rested_at > now || now - saved->rested_at >= claim->cooldown ||
            claim->sharer != 0;
        nanoseconds until = is_over ? 0 : saved->rested_at + claim->cooldown;
        if (until > now && rest_claim(core, claim, until) && until > last) {
            last = until;
        }
        last = later(last, restore_rate(core, claim, saved->id, now));
    }
    core_settle(core, now, effects);
    return last;
}
