/* place.h - each resource's ordered sets of waiters (queued, aside, kept for), all in the one order
 * (base/ticket.h), and which waiters to look at after a change there. */
#pragma once

#include "base/memory.h"
#include "core/core.h"

/* Of those that nobody has moved to the front. */
static inline uint64_t place_row(int32_t priority)
{
    return (uint64_t)(1 + MAX_PRIORITY - priority);
}
/* Inserts in that order: the bigger priority first, then the smaller ticket, then the smaller id;
 * fleet leases in that of their requests. Only sorted_set_sum_below() uses the weight. */
void place_insert(struct sorted_set *order, struct sorted_set_node *node, const struct lease *lease,
    uint32_t weight);
/* Its ticket on this host. */
static inline uint64_t lease_rank(const struct lease *lease)
{
    bool has_own = lease->ticket != 0 && lease->database == 0; /* else a database has the order */
    return has_own ? lease->ticket : lease->id;
}
/* A lease that begins to wait stands aside until place_put(). */
void place_enter(struct claim *claim);
/* The lease no longer waits, wherever it stood. */
void place_leave(struct core *core, struct claim *claim);
/* The only function that moves a waiting lease's claim between the sets of its resource. */
void place_put(struct core *core, struct claim *claim, enum standing standing);

static inline struct place *place_of_node(struct sorted_set_node *node)
{
    return container_of(node, struct place, node);
}

static inline struct lease *lease_of_place_node(struct sorted_set_node *node)
{
    return place_of_node(node)->claim->lease;
}

/* The first in that queue, and all for whom units are kept, are to be looked at. */
void queue_mark_dirty(struct core *core, struct resource *resource);
void queue_mark_all_dirty(struct core *core, const struct lease *lease);
/* This lease is to be looked at, if it still waits then. */
void queue_look_at(struct core *core, struct lease *lease);

/* The claims of all waiters, those in the queue first, in an array that the caller frees: for walks
 * during which leases may move between the queue and aside. */
struct claim **place_waiters(const struct resource *resource, size_t *np);
