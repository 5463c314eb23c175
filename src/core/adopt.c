/* adopt.c - units that a lease had before, or that its database gives it: these and no others,
 * whatever the definitions say by now. */
#include "core/internal.h"
#include "core/memory.h"

struct unit *adopt_find(struct resource *resource, const struct remembered_unit *wanted)
{
    if (resource_is_fleet(resource)) {
        return resource_find_given(resource, wanted->item, wanted->slot);
    }
    if (resource_is_pool(resource)) {
        return resource_find_unit(resource, wanted->item);
    }
    return wanted->slot < MAX_LIMIT ? resource_slot(resource, wanted->slot) : NULL;
}

/* ---- two leases, one unit ---- */

static const struct claim *holder_of(
    struct resource *resource, const struct remembered_unit *wanted)
{
    const struct unit *unit = adopt_find(resource, wanted);
    return unit && unit->state == UNIT_HELD ? unit->claim : NULL;
}

static bool is_newest(const struct lease *lease, const struct remembered_claim claims[])
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        for (uint32_t k = 0; k < lease->claims[i].count; k++) {
            const struct claim *holder =
                holder_of(lease->claims[i].resource, &claims[i].units[k]);
            if (holder && holder->token >= claims[i].token) {
                return false;
            }
        }
    }
    return true;
}

bool adopt_oust(struct core *core, const struct lease *lease,
    const struct remembered_claim claims[], nanoseconds now, struct effects *effects)
{
    if (!is_newest(lease, claims)) {
        return false;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        for (uint32_t k = 0; k < lease->claims[i].count; k++) {
            const struct claim *holder =
                holder_of(lease->claims[i].resource, &claims[i].units[k]);
            if (holder) {
                struct client *client = lease_real_client(holder->lease);
                core_unlink_lease(core, holder->lease, now, effects);
                effects_append(effects, EFFECT_LOST, holder->lease, client, OUTCOME_LOST);
            }
        }
    }
    return true;
}

/* ---- taking ---- */

/* An item that is in service no more is made, held and removed at once: it drains. */
static void take_item(struct core *core, struct claim *claim, const char *item)
{
    struct unit *unit = resource_add_item(claim->resource, item);
    resource_take_unit(claim, unit);
    unit_remove(unit, &core->cooldown_timers);
}

static bool take_unit(
    struct core *core, struct claim *claim, const struct remembered_unit *wanted)
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
        order_remove(&core->cooldown_timers, &unit->node);
    }
    resource_take_unit(claim, unit);
    return true;
}

/* From the last to the first: each goes to the front of the claim's list. */
static bool take_units(
    struct core *core, struct claim *claim, const struct remembered_unit units[])
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

bool adopt_units(struct core *core, struct lease *lease, const struct remembered_claim claims[])
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
