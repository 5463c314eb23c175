#include "core/preview.h"

#include "core/fair.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/place.h"
#include "core/quota.h"

#include <string.h>

/* A look at when the next unit has cooled down is part of each refusal. */
enum { MAX_UNITS_LOOKED_AT = 1000, MAX_TIMERS_LOOKED_AT = 1000 };

/* ---- places ---- */

static uint32_t count_before(const struct sorted_set *order, const struct sorted_set_node *node)
{
    return sorted_set_count_below(order, node->major, node->minor);
}

struct ahead resource_ahead(const struct resource *resource, const struct sorted_set_node *own)
{
    struct sorted_set_node *first = sorted_set_node_earlier(
        sorted_set_first(&resource->queue), sorted_set_first(&resource->kept));
    bool is_ahead = first && sorted_set_node_is_before(first, own);
    return (struct ahead){
        .n_active = count_before(&resource->queue, own) + count_before(&resource->kept, own),
        .n_aside = count_before(&resource->aside, own),
        .first = is_ahead ? place_of_node(first)->claim : NULL,
    };
}

/* ---- what would happen ---- */

static bool fits_quota(const struct resource *resource, uint32_t uid, uint32_t count)
{
    uint32_t max = resource->definition->max_units_per_user;
    return max == UNBOUNDED || (uint64_t)count + usage_units_of(resource, uid) <= max;
}

static bool has_now(
    const struct resource *resource, uint32_t uid, const struct requested_resource *want)
{
    const struct sorted_set_node place = fair_new_place(resource, uid, want->count, want->is_all);
    uint32_t kept = sorted_set_sum_below(&resource->kept, place.major, place.minor);
    return !resource_is_blocked(resource) &&
        (uint64_t)kept + want->count <= resource_available(resource) &&
        (!want->is_all || (kept == 0 && resource_is_untaken(resource))) &&
        resource_has_turn(resource, &place) && fits_quota(resource, uid, want->count);
}

/* Of one want. */
static enum outcome preview_of(
    const struct core *core, const struct resource *resource, uint32_t uid,
    const struct requested_resource *want)
{
    if (!acquire_may_be_given(resource, want)) {
        return OUTCOME_IMPOSSIBLE;
    }
    if (resource_is_fleet(resource)) {
        return OUTCOME_PENDING;
    }
    if (!core_is_granting_suspended(core) && has_now(resource, uid, want)) {
        return OUTCOME_OK;
    }
    return resource_waiting(resource) >= resource->definition->max_waiters ? OUTCOME_QUEUE_FULL
                                                                           : OUTCOME_WAITING;
}

/* Whether the user's request may make the instance. */
static bool may_be_made(const struct core *core, const char *name, uint32_t uid)
{
    const struct template *template = registry_find_template(core, name);
    return template && template->n_instances < template->definition->max_instances &&
        accounts_bound_met(&core->accounts, uid, ACCOUNT_INSTANCES) == UNBOUNDED;
}

static enum outcome preview_want(
    struct core *core, const struct requested_resource *want, uint32_t uid, uint8_t *databasep)
{
    const char *name = want->name;
    const struct definition *definition = core_find_definition(core, name);
    const struct resource *resource = core_find_resource(core, name);
    if (!definition) {
        return OUTCOME_UNKNOWN;
    }
    *databasep = definition->database;
    if (resource) {
        return preview_of(core, resource, uid, want);
    }
    if (!may_be_made(core, name, uid)) {
        return OUTCOME_QUOTA;
    }
    struct resource *made = core_idle_instance(core, name, definition);
    enum outcome outcome = preview_of(core, made, uid, want);
    resource_free(made);
    return outcome;
}

enum outcome core_preview_acquire(struct core *core, uint32_t uid,
    const struct acquire_request *ask, nanoseconds now, const char **at_faultp)
{
    core->meters.now = now;
    enum outcome all = OUTCOME_OK, full = OUTCOME_OK;
    const char *full_name = NULL;
    uint8_t first = 0;
    for (size_t i = 0; i < ask->n_wants; i++) {
        uint8_t database = first;
        const char *name = ask->wants[i].name;
        enum outcome outcome = preview_want(core, &ask->wants[i], uid, &database);
        first = i == 0 ? database : first;
        *at_faultp = name;
        if (!outcome_has_lease(outcome) && outcome != OUTCOME_QUEUE_FULL) {
            return outcome;
        }
        if (database != first) {
            return OUTCOME_MIXED;
        }
        full_name = outcome == OUTCOME_QUEUE_FULL && !full_name ? name : full_name;
        full = full_name ? OUTCOME_QUEUE_FULL : full;
        all = outcome != OUTCOME_OK ? outcome : all;
    }
    *at_faultp = full_name;
    if (accounts_bound_met(&core->accounts, uid, ACCOUNT_LEASES) != UNBOUNDED) {
        return OUTCOME_QUOTA;
    }
    if (full != OUTCOME_OK || all != OUTCOME_WAITING) {
        return full != OUTCOME_OK ? full : all;
    }
    bool may_wait = accounts_bound_met(&core->accounts, uid, ACCOUNT_WAITERS) == UNBOUNDED;
    return may_wait ? OUTCOME_WAITING : OUTCOME_QUOTA;
}

/* ---- figures ---- */

static nanoseconds first_of_units(const struct resource *resource)
{
    nanoseconds first = NEVER;
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        first = unit->cooldown ? earlier(first, (nanoseconds)unit->cooldown->timer.major) : first;
    }
    return first;
}

static nanoseconds first_of_timers(const struct core *core, const struct resource *resource)
{
    struct sorted_set_node *node = sorted_set_first(&core->cooldown_timers);
    for (int i = 0; node && i < MAX_TIMERS_LOOKED_AT; node = sorted_set_next(node), i++) {
        if (container_of(node, struct cooldown, timer)->unit->resource == resource) {
            return (nanoseconds)node->major;
        }
    }
    return NEVER;
}

nanoseconds core_next_cooled(const struct core *core, const struct resource *resource)
{
    if (resource->n_in_state[UNIT_COOLING] == 0) {
        return NEVER;
    }
    return resource->n_units <= MAX_UNITS_LOOKED_AT ? first_of_units(resource)
                                                    : first_of_timers(core, resource);
}

size_t core_recent_holds(struct core *core, const char *name, uint64_t holds[RECENT_HOLDS])
{
    const struct tally *tally = tallies_find(core, name);
    size_t n = tally->n_recent < RECENT_HOLDS ? tally->n_recent : RECENT_HOLDS;
    memcpy(holds, tally->recent, n * sizeof holds[0]);
    return n;
}
