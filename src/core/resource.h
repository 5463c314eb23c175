/* resource.h - one resource: its units, who holds them, who waits. */
#ifndef BERTH_CORE_RESOURCE_H
#define BERTH_CORE_RESOURCE_H

#include "core/account.h"
#include "core/definition.h"
#include "core/order.h"
#include "core/table.h"

#include <sys/queue.h>

struct claim;

enum unit_state {
    UNIT_FREE, /* in resource.free */
    UNIT_HELD, /* by unit.claim */
    UNIT_COOLING, /* in core's timers */
    UNIT_RESERVED, /* kept back, and not held */
    N_UNIT_STATES
};

/* A slot of a semaphore, or an item of a pool. Slots are made at first use. */
struct unit {
    struct resource *resource;
    struct claim *claim; /* UNIT_HELD */
    struct order_node node; /* in resource.free, or in core's timers */
    char *item; /* pools; NULL for slots */
    char *reason; /* of a reservation, or NULL */
    uint32_t index; /* slot number; for pools the place in resource.units */
    uint8_t state; /* enum unit_state; only resource.c writes it */
    bool reserved; /* not to be granted; while held, once it is given back */
    bool removed; /* pools: held, but goes when it is given back */
};

struct resource {
    struct table_node by_name;
    TAILQ_ENTRY(resource) link; /* in core's list, oldest first */
    TAILQ_ENTRY(resource) dirty_link; /* in core's list of queues to look at */
    char *name;
    const struct definition *definition; /* the template's for an instance */
    struct charge instance_charge; /* whoever made this instance of a template */

    struct unit **units;
    uint32_t n_units;
    uint32_t n_in_state[N_UNIT_STATES]; /* derived from the units */
    uint32_t n_in_service; /* pools: units not removed */
    struct order free; /* keyed by slot, file order, or time of release */

    struct order holders; /* claims, by ticket */
    struct order queue; /* claims that wait for their turn, in order */
    struct order aside; /* claims that wait for another reason, in order */
    struct table usages; /* struct usage by uid, if max_units_per_user is set */

    uint32_t runtime_limit; /* UNBOUNDED: the definition's */
    char *pause_reason;
    bool is_instance;
    bool is_defined; /* false: drains, then goes */
    bool items_changed; /* at runtime */
    bool paused;
    bool is_dirty;
};

TAILQ_HEAD(resource_list, resource);

/* The limit in force: of a pool, the number of items in service. */
uint32_t resource_limit(const struct resource *resource);
uint32_t resource_in_use(const struct resource *resource);
uint32_t resource_waiting(const struct resource *resource);
/* How many units could be granted now, order and pause apart. */
uint32_t resource_available(const struct resource *resource);
/* Paused or closed: nothing is granted, and who also wants something else delays nobody there. */
bool resource_is_blocked(const struct resource *resource);
struct unit *resource_find_unit(const struct resource *resource, const char *item);
static inline bool resource_is_pool(const struct resource *resource)
{
    return resource->definition->kind == KIND_POOL;
}

#endif
