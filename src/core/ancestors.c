/* ancestors.c - the leases that a lease runs under. */
#include "core/internal.h"

const struct lease *core_fleet_above(
    struct core *core, const struct lease *lease, const struct lease *below)
{
    uint64_t id = below->attributes.parent;
    const struct lease *above = id != 0 ? core_find_lease(core, id) : NULL;
    bool counts = above && above->state == LEASE_HELD && above->uid == lease->uid &&
        above->granted_at < lease->asked_at;
    return counts ? above : NULL;
}

bool lease_ancestors_hold(
    struct core *core, const struct lease *lease, const struct resource *resource)
{
    const struct lease *above = lease;
    for (int i = 0; i < MAX_ANCESTORS && (above = core_fleet_above(core, lease, above)); i++) {
        for (size_t k = 0; k < above->n_claims; k++) {
            if (above->claims[k].resource == resource) {
                return true;
            }
        }
    }
    return false;
}
