/* queue.h - who waits for what, in which order, and who goes next. doc/ordering.md has the rule.
 *
 * A lease that waits is *active* (it stands in one queue) or *aside* (in none: it keeps its place,
 * and delays nobody). It is aside while
 *   - one of its resources is blocked: paused, closed, or limited to less than it wants;
 *   - its user's quota leaves no room for it (quota.h);
 *   - its client is away: core_set_away();
 *   - it replaces others, and another lease has its identity (newest.c);
 *   - or, in fleet scope, for as long as it waits: a database decides.
 *
 * An active lease is granted when it may go in the queues of all its resources and each has enough
 * units, beside those kept for older leases (keep.h). Under `fifo` and `fair` the head may go;
 * under `first-fit`, one of the first FIRST_FIT_WINDOW, if nobody before it has been overtaken
 * max-overtakes times. */
#pragma once

#include "core/core.h"
#include "core/place.h"
#include "core/quota.h"

/* Makes the lease wait: its claims get their places. Marks the resources dirty. */
void queue_enter(struct core *core, struct lease *lease, nanoseconds until);
/* Undoes queue_enter(), for whatever reason; frees lease->waiting. */
void queue_leave(struct core *core, struct lease *lease);
/* The waiting lease gets that ticket, and what is kept for it goes to others. */
void queue_move(struct core *core, struct lease *lease, uint64_t ticket);

/* Grants to a lease that is in no queue if it may go now and nobody waits for any of its resources:
 * as queue_enter() and queue_try() would, at a third of the cost; or if it has only shares. Appends
 * no effect about it. */
bool queue_grant_alone(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* Grants to this one lease if it may go now. Appends no effect about the grant. */
bool queue_try(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* Moves the lease from the queue to the holders; its claims have their units. Claims without a
 * token get a new one (but not in fleet scope). */
void queue_make_holder(struct core *core, struct lease *lease, nanoseconds granted_at);
/* Call after anything that may let a waiter go: grants until nobody can go. */
void queue_pump(struct core *core, nanoseconds now, struct effects *effects);
/* The claim has got a token, or another one: holders stand in the order of their tokens. */
void queue_place_holder(struct claim *claim);

/* Call after a resource's pause, limit or bounds have changed: sorts its waiters again into active
 * and aside. O(waiters). */
void queue_reclassify(struct core *core, struct resource *resource);

/* Call after lease.is_away of a waiting lease has changed: the same for it alone. */
void queue_resort_lease(struct core *core, struct lease *lease);

/* The lease has got its identity, or has given it up: those who wait for that are sorted again. */
void queue_identity_changed(struct core *core, const struct lease *lease);
