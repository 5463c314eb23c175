/* resource.h - one resource: its units and what becomes of them. Who waits, and in what order, is
 * queue.h's. */
#ifndef BERTH_CORE_RESOURCE_H
#define BERTH_CORE_RESOURCE_H

#include "base/order.h"
#include "base/table.h"
#include "core/account.h"
#include "core/definition.h"
#include "core/lease.h"

#include <sys/queue.h>

enum unit_state {
    UNIT_FREE, /* in resource.free */
    UNIT_HELD, /* by unit.claim */
    UNIT_COOLING, /* in the core's cooldown timers */
    UNIT_RESERVED, /* kept back, and not held */
    N_UNIT_STATES
};

/* A slot of a semaphore, or an item of a pool. Slots are made at first use. In fleet scope the
 * database knows the units, and there is one here only while a lease of this host holds it. */
struct unit {
    struct resource *resource;
    struct claim *claim; /* UNIT_HELD */
    struct unit *next_of_claim; /* UNIT_HELD */
    struct order_node node; /* UNIT_FREE, UNIT_COOLING; fleet scope: in resource.given */
    struct table_node by_item; /* pools of host scope: in resource.items */
    uint64_t rank; /* of an item among those of its resource: in the order of resource.units */
    char *item; /* pools; NULL for slots */
    char *reason; /* of a reservation, or NULL */
    uint32_t index; /* slot number; of an item, its place in resource.units */
    uint8_t state; /* enum unit_state; only unit_set_state() writes it */
    bool reserved; /* not to be granted; if held, from when it is given back */
    bool removed; /* of a pool: held, but goes when it is given back */
};

struct resource {
    struct table_node by_name;
    TAILQ_ENTRY(resource) link; /* in the core's list, oldest first */
    TAILQ_ENTRY(resource) dirty_link; /* in the core's list of queues to look at */
    TAILQ_ENTRY(resource) changed_link; /* in the core's list of those that an operator has changed */
    char *name;
    const struct definition *definition; /* the template's for an instance */
    struct definition *remains; /* once it is no longer defined: the own copy of the last one */
    struct template *template; /* of an instance, while that is defined; or NULL */
    struct charge instance_charge; /* of whoever made the instance */

    struct unit **units; /* host scope: slots 0 ... n-1, or items in file order */
    uint32_t n_units, size_units;
    uint64_t n_ranks; /* given to items so far */
    struct table items; /* pools of host scope: units by item */
    uint32_t n_in_state[N_UNIT_STATES]; /* derived from the units */
    uint64_t *free_slots; /* host scope, not of pools: a bit for each of its units */
    uint32_t n_free_ranges; /* derived: free slots that stand next to each other are one */
    uint32_t n_removed, n_reserved; /* derived: units with .removed, .reserved */
    struct order free; /* by slot, file order, or time of release */
    struct order given; /* fleet scope: units that this host holds, by slot or their item's hash */
    uint64_t n_frees; /* clock of `select = lru`; serial number of given units */

    struct order holders; /* claims by their tokens, and so in the order of their grants */
    struct order queue; /* places of those who wait for their turn, in order */
    struct order kept; /* places of those for whom their count is kept, in order; weighted by it */
    struct order aside; /* places of all others who wait, in order */
    struct table usages; /* struct usage by uid */
    TAILQ_HEAD(, lane_link) nested; /* of lanes that a nested request may go from though it is aside */

    uint32_t runtime_limit; /* UNBOUNDED: the definition's */
    char *pause_reason;
    bool paused;
    bool items_changed; /* at runtime */
    bool is_instance;
    bool is_defined; /* false: drains, then goes */
    bool is_dirty;
    bool is_listed; /* by changed_link */
};

TAILQ_HEAD(resource_list, resource);

/* NULL if nobody holds any of it. */
struct claim *resource_first_holder(const struct resource *resource);
/* The first with that token and lease, or behind these; NULL: none. */
struct claim *resource_holder_from(const struct resource *resource, uint64_t token, uint64_t lease);
struct claim *claim_next_holder(const struct claim *claim); /* NULL after the last */

/* ---- figures ---- */

/* The limit in force: of a pool, the number of items in service. */
uint32_t resource_limit(const struct resource *resource);
uint32_t resource_in_use(const struct resource *resource);
uint32_t resource_waiting(const struct resource *resource);
/* Units that are kept for those who wait for another resource as well. */
uint32_t resource_kept(const struct resource *resource);
/* How many more the limit allows beside those that are held or rest, of which `n_gone` do not count.
 * UNBOUNDED for a pool of host scope: each of its items is its own limit, however many others are held
 * that were removed meanwhile. */
uint32_t resource_spare(const struct resource *resource, uint32_t n_gone);
/* How many units could be granted now, order and pause apart. */
uint32_t resource_available(const struct resource *resource);
/* Paused or closed: nothing is granted, and a lease that also wants something else is set aside
 * there. */
bool resource_is_blocked(const struct resource *resource);
/* An operator has changed it, and that is in force still. */
bool resource_is_changed(const struct resource *resource);
/* More than this can never be had: the larger of what the file and the operator allow. UNBOUNDED
 * while the file says 0, which means closed; and in fleet scope, where the database knows. */
uint32_t resource_most(const struct resource *resource);
/* Whether one lease can ever have so many, as far as it is known here. */
bool resource_can_give(const struct resource *resource, uint32_t count);
/* A slot's number: strict decimals, below 10 * MAX_LIMIT. */
bool slot_parse(const char *text, uint32_t *slotp);
/* NULL if there is none, or if it is a slot that nobody has used yet. Fleet scope: only units that
 * this host holds. */
struct unit *resource_find_unit(const struct resource *resource, const char *item);

static inline bool definition_is_pool(const struct definition *definition)
{
    return definition->kind == KIND_POOL;
}

/* Its units are given out by a database, not here. */
static inline bool resource_is_fleet(const struct resource *resource)
{
    return resource->definition->database != 0;
}

static inline bool resource_is_pool(const struct resource *resource)
{
    return definition_is_pool(resource->definition);
}

/* ---- life (core.c and operator.c call these) ---- */

/* With the units of its definition, in no list or table. Nothing is granted yet. */
struct resource *resource_new(const char *name, const struct definition *definition);
/* Asserts that nobody holds or waits. */
void resource_free(struct resource *resource);

/* ---- units ---- */

/* Gives `claim` its count of units; resource_available() must allow it. `random` is used by
 * select = random. */
void resource_take_units(struct resource *resource, struct claim *claim, uint64_t *random);
/* Gives it this one, which nobody holds; to the front of its list. Whether it may is the caller's
 * matter. */
void resource_take_unit(struct claim *claim, struct unit *unit);
/* Fleet scope: the same of the unit of that name, which begins to exist here until it is given
 * back. False, and nothing is changed, if it cannot be true: not that kind of unit, or it is held
 * already. */
bool resource_take_given(struct claim *claim, const char *item, uint32_t slot);
/* NULL if nobody here holds it. `item` of a pool, else NULL. */
struct unit *resource_find_given(const struct resource *resource, const char *item, uint32_t slot);
/* The unit is free again, or reserved, or gone; cooldown is the caller's matter: a unit that has
 * to cool is put into UNIT_COOLING instead. */
void unit_settle(struct unit *unit);
void unit_set_cooling(struct unit *unit, struct order *timers, nanoseconds until, uint64_t serial);
/* `slot` below the limit; makes it if nobody has used it yet. */
struct unit *resource_slot(struct resource *resource, uint32_t slot);
struct unit *resource_add_item(struct resource *resource, const char *item);
/* Goes at once, or when its holder gives it back. `timers` are the cooldown timers. */
void unit_remove(struct unit *unit, struct order *timers);
/* Takes a removal back. */
void resource_return_item(struct unit *unit);
void unit_set_reserved(struct unit *unit, bool reserved, const char *reason);
/* After `select` has changed. */
void resource_rekey_free(struct resource *resource);
/* The definition is about to go away: lives on with a copy. */
void resource_keep_remains(struct resource *resource);
/* Those of the definition to the front, in its order. */
void resource_order_items(struct resource *resource);
/* Brings the items in line with the definition's: new ones come, others are removed. */
void resource_reset_items(struct resource *resource, struct order *timers);

#endif
