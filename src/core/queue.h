/* queue.h - who waits for what, in which order, and who goes next.
 *
 * A lease that waits is *active* (it stands in the queue of each of its resources) or *aside* (it
 * stands in none, keeps its place, and delays nobody). It is aside while
 *   - one of its resources is blocked: paused or closed;
 *   - one of its resources bounds its users' units (max-units-per-user), and the lease is not its
 *     user's candidate there. The candidate is, among that user's waiters for that resource whose
 *     resources are not blocked, the first in order that fits into what is left of the quota.
 *   - or a database decides about it (fleet scope): then as long as it waits.
 * So one user's quota or an operator's pause never holds up anybody else, and a user at the quota
 * has at most one place in the queue, whatever number of requests are behind it.
 *
 * An active lease is granted when it may go in each of its queues: under `fifo` as the head; under
 * `first-fit` if it is among the first FIRST_FIT_WINDOW and nobody before it has been overtaken
 * max-overtakes times; and when there are enough units of each. */
#ifndef BERTH_CORE_QUEUE_H
#define BERTH_CORE_QUEUE_H

#include "core/core.h"

/* What one uid has of one resource. Lives while that uid holds or waits for some of it. */
struct usage {
    struct table_node by_uid; /* in resource.usages */
    uint32_t uid;
    uint32_t units; /* held */
    uint32_t n_claims; /* held and waiting */
    struct order line; /* the uid's places that may become the candidate; see claim_keep_line() */
    struct claim *candidate; /* of the line, or NULL */
};

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
/* The claim's token has changed: holders stand in the order of their tokens. */
void queue_place_holder(struct claim *claim);
void queue_mark_dirty(struct core *core, struct resource *resource);

/* After a resource's pause, limit or bounds have changed: sorts its waiters anew into active and
 * aside. O(waiters). */
void queue_resort(struct core *core, struct resource *resource);

/* All waiters, those in the queue first, in an array that the caller frees: for walks during which
 * leases may move between the queue and aside. */
struct lease **queue_waiters(const struct resource *resource, size_t *np);

/* After the units that the claim's user holds of its resource have changed, or one of the user's
 * waiters there has left: chooses the user's candidate anew. */
void queue_usage_changed(struct core *core, struct claim *claim);

/* Whether the claim's user may have that many more units of its resource. */
bool claim_fits_quota(const struct claim *claim);

struct usage *usage_find(const struct resource *resource, uint32_t uid);
void usage_add_claim(struct resource *resource, struct claim *claim);
void usage_remove_claim(struct claim *claim);

#endif
