/* preview.h - read-only previews: what an acquire would be answered now, who is ahead of a waiter,
 * when a unit's cooldown ends. */
#pragma once

#include "core/core.h"
#include "core/tally.h"

/* What core_acquire() would return for this ask now, and its *at_faultp: OUTCOME_OK (granted at
 * once), OUTCOME_WAITING, OUTCOME_PENDING (fleet scope: a database decides) or a refusal. Only the
 * wants of the ask count; it would wait. */
enum outcome core_preview_acquire(struct core *core, uint32_t uid,
    const struct acquire_request *ask, nanoseconds now, const char **at_faultp);

/* Who waits for a resource of host scope ahead of a place. */
struct ahead {
    uint32_t n_active; /* in line */
    uint32_t n_aside; /* passed over at present */
    struct claim *first; /* the first of those in line; NULL: none */
};

/* The place is a waiting claim's, or fair_new_place(). */
struct ahead resource_ahead(const struct resource *resource, const struct sorted_set_node *own);

/* When the next of its units has cooled down; NEVER if none cools down, or if it has more than 1000
 * units and none of them is among the next 1000 of all resources. */
nanoseconds core_next_cooled(const struct core *core, const struct resource *resource);

/* For how long the latest leases on resources of that definition were held before they ended, in
 * microseconds; in no order. Returns how many, at most RECENT_HOLDS. */
size_t core_recent_holds(struct core *core, const char *name, uint64_t holds[RECENT_HOLDS]);
