/* own_waiters.h - this host's waiters of one database, by resource: they stand in no queue of the
 * core. Pure. */
#ifndef BERTH_STATUS_OWN_WAITERS_H
#define BERTH_STATUS_OWN_WAITERS_H

#include "core/core.h"

struct own_waiter;

/* {0}: not gathered yet. */
struct own_waiters {
    struct own_waiter *list; /* by resource, in order */
    size_t n;
};

/* Gathers them, once. `core` is the same each time. */
void own_waiters_gather(struct own_waiters *waiters, struct core *core, uint8_t database);
void own_waiters_deinit(struct own_waiters *waiters);
/* How many waited for the resource when they were gathered. */
size_t own_waiters_count(const struct own_waiters *waiters, const struct resource *resource);
/* The id of one of these, counted from 0; 0 behind the last. */
uint64_t own_waiters_at(
    const struct own_waiters *waiters, const struct resource *resource, size_t i);

#endif
