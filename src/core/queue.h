/* queue.h - who waits for what, in which order, and who goes next. doc/ordering.md has the rule.
 *
 * A lease that waits is *active* (it stands in one queue) or *aside* (in none: it keeps its place,
 * and delays nobody). It is aside while
 *   - one of its resources is blocked: paused, closed, or limited to less than it wants;
 *   - its user's quota leaves no room for it (quota.h);
 *   - or a database decides about it (fleet scope): then as long as it waits.
 *
 * An active lease is granted when it may go in the queues of all its resources: under `fifo` as the
 * head; under `first-fit` if it is among the first FIRST_FIT_WINDOW and nobody before it has been
 * overtaken max-overtakes times; and when there are enough units of each, beside those that are
 * kept for older ones (keep.h). */
#ifndef BERTH_CORE_QUEUE_H
#define BERTH_CORE_QUEUE_H

#include "core/core.h"
#include "core/place.h"
#include "core/quota.h"

/* Makes the lease wait: its claims get their places. The resources are dirty afterwards. */
void queue_enter(struct core *core, struct lease *lease, nanoseconds until);
/* Undoes it, for whatever reason; frees lease->waiting. */
void queue_leave(struct core *core, struct lease *lease);

/* Grants to this one lease if it may go now. No effect but the change. */
bool queue_try(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* From the queue to the holders: the claims have their units. Gives new tokens to those that have
 * none (but not in fleet scope). */
void queue_hold(struct core *core, struct lease *lease, nanoseconds granted_at);
/* After anything that may let somebody go: grants until nobody can. */
void queue_pump(struct core *core, nanoseconds now, struct effects *effects);
/* The claim has its token, or another one: holders stand in the order of their tokens. */
void queue_place_holder(struct claim *claim);

/* After a resource's pause, limit or bounds have changed: sorts its waiters anew into active and
 * aside. O(waiters). */
void queue_resort(struct core *core, struct resource *resource);

/* All waiters, those in the queue first, in an array that the caller frees: for walks during which
 * leases may move between the queue and aside. */
struct lease **queue_waiters(const struct resource *resource, size_t *np);

#endif
