/* adopt.c - gives a lease particular units, which it had before or which its database gives it,
 * whatever the definitions say by now. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/units.h"

#include <stdlib.h>

struct unit *adopt_find(struct resource *resource, const struct saved_unit *wanted)
{
    if (resource_is_fleet(resource)) {
        return resource_find_given(resource, wanted->item, wanted->slot);
    }
    if (resource_is_pool(resource)) {
        return resource_find_unit(resource, wanted->item);
    }
    return wanted->slot < MAX_LIMIT ? resource_slot(resource, wanted->slot) : NULL;
}

/* ---- which leases have to end ---- */

static bool can_be(const struct resource *resource, const struct saved_unit *wanted)
{
    uint32_t end = resource_is_fleet(resource) ? MAX_SLOTS : MAX_LIMIT;
    return resource_is_pool(resource) == (wanted->item != NULL) &&
        (wanted->item || wanted->slot < end);
}

static void add_preempted(struct preempted_leases *preempted, struct lease *lease)
{
    if (!lease->is_preempted) {
        lease->is_preempted = true;
        preempted->leases[preempted->n++] = lease;
    }
}

/* Whether the holder's token is smaller: then its lease has to end. */
static bool preempt(struct preempted_leases *preempted, const struct claim *holder,
    const struct saved_claim *claimed)
{
    bool may = holder->token < claimed->token;
    if (may) {
        add_preempted(preempted, holder->lease);
    }
    return may;
}

/* Beside a claim to all there is no other. */
static bool find_preempted(struct preempted_leases *preempted, const struct claim *claim,
    const struct saved_claim *claimed)
{
    bool may = true;
    const struct claim *first = resource_first_holder(claim->resource);
    bool is_alone = claim->is_all || claim->resource->n_all > 0;
    for (const struct claim *other = is_alone ? first : NULL; may && other;
         other = claim_next_holder(other)) {
        may = claim_is_share(other) || preempt(preempted, other, claimed);
    }
    for (uint32_t i = 0; may && i < claim->count; i++) {
        const struct saved_unit *wanted = &claimed->units[i];
        bool is_there = can_be(claim->resource, wanted);
        const struct unit *unit = is_there ? adopt_find(claim->resource, wanted) : NULL;
        bool is_held = unit && unit->state == UNIT_HELD;
        may = is_there && (!is_held || preempt(preempted, unit->claim, claimed));
    }
    return may && units_are_different(claimed->units, claim->count);
}

bool adopt_is_possible(struct preempted_leases *preempted, const struct lease *lease,
    const struct saved_claim claims[])
{
    size_t n_units = 0;
    bool may = true;
    for (size_t i = 0; i < lease->n_claims; i++) {
        n_units += lease->claims[i].count + sorted_set_size(&lease->claims[i].resource->holders);
    }
    *preempted =
        (struct preempted_leases){.leases = memory_new((n_units + 1) * sizeof(struct lease *))};
    for (size_t i = 0; may && i < lease->n_claims; i++) {
        may = find_preempted(preempted, &lease->claims[i], &claims[i]);
    }
    return may;
}

void preempted_leases_deinit(struct preempted_leases *preempted)
{
    for (size_t i = 0; i < preempted->n; i++) {
        preempted->leases[i]->is_preempted = false;
    }
    free(preempted->leases);
    *preempted = (struct preempted_leases){.leases = NULL};
}

/* ---- figures without those leases ---- */

uint32_t preempted_leases_units(
    const struct preempted_leases *preempted, const struct resource *resource, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < preempted->n; i++) {
        const struct lease *lease = preempted->leases[i];
        for (size_t k = 0; k < lease->n_claims; k++) {
            bool counts = lease->claims[k].resource == resource && lease->uid == uid;
            n += counts ? lease->claims[k].count : 0;
        }
    }
    return n;
}

uint32_t preempted_leases_count(const struct preempted_leases *preempted, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < preempted->n; i++) {
        n += preempted->leases[i]->uid == uid;
    }
    return n;
}

void preempted_leases_end(struct core *core, const struct preempted_leases *preempted,
    nanoseconds now, struct effects *effects)
{
    for (size_t i = 0; i < preempted->n; i++) {
        struct lease *lease = preempted->leases[i];
        if (lease->state == LEASE_HELD) { /* else it has shared units of one before it */
            struct client *client = lease_real_client(lease);
            lease_over(core, lease, OUTCOME_LOST, now, effects);
            effects_append(effects, EFFECT_LOST, lease, client, OUTCOME_LOST);
        }
    }
}

/* ---- taking ---- */

/* An item that is no longer in service is made, held and removed at once: it drains. */
static void take_item(struct core *core, struct claim *claim, const char *item)
{
    struct unit *unit = resource_add_item(claim->resource, item);
    resource_take_unit(claim, unit);
    unit_remove(unit, &core->cooldown_timers);
}

static bool take_unit(struct core *core, struct claim *claim, const struct saved_unit *wanted)
{
    struct resource *resource = claim->resource;
    if (resource_is_fleet(resource)) {
        return resource_take_given(claim, wanted->item, wanted->slot);
    }
    struct unit *unit = adopt_find(resource, wanted);
    if (!unit && resource_is_pool(resource)) {
        take_item(core, claim, wanted->item);
        return true;
    }
    if (!unit || unit->state == UNIT_HELD) {
        return false;
    }
    if (unit->state == UNIT_COOLING) {
        unit_end_cooldown(unit, &core->cooldown_timers);
    }
    resource_take_unit(claim, unit);
    return true;
}

/* From the last to the first, as each goes to the front of the claim's list. */
static bool take_units(struct core *core, struct claim *claim, const struct saved_unit units[])
{
    for (uint32_t i = claim->count; i-- > 0;) {
        if (!take_unit(core, claim, &units[i])) {
            return false;
        }
    }
    return true;
}

static void give_back(struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        while (claim->units) {
            struct unit *unit = claim->units;
            claim->units = unit->next_of_claim;
            unit_settle(unit);
        }
    }
}

bool adopt_units(struct core *core, struct lease *lease, const struct saved_claim claims[])
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!take_units(core, &lease->claims[i], claims[i].units)) {
            give_back(lease);
            return false;
        }
        lease->claims[i].token = claims[i].token;
    }
    return true;
}
