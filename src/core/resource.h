/* resource.h - one resource: its units and their states. queue.h has its waiters and their
 * order. */
#pragma once

#include "base/actor.h"
#include "base/bitset.h"
#include "base/sorted_set.h"
#include "base/table.h"
#include "core/account.h"
#include "core/definition.h"
#include "core/lease.h"

#include <sys/queue.h>

enum unit_state {
    UNIT_FREE, /* in resource.free or .free_slots */
    UNIT_HELD, /* by unit.claim */
    UNIT_COOLING, /* unit.cooldown is in the core's cooldown timers */
    UNIT_RESERVED, /* kept back by an operator, and not held */
    N_UNIT_STATES
};

/* A slot of a semaphore, or an item of a pool. Slots are made at first use. In fleet scope the
 * database knows the units, and there is one here only while a lease of this host holds it. */
struct unit {
    struct resource *resource;
    struct claim *claim; /* UNIT_HELD */
    struct unit *next_of_claim; /* UNIT_HELD */
    struct cooldown *cooldown; /* UNIT_COOLING, else NULL */
    char *item; /* pools; NULL for slots */
    char *reason; /* of a reservation, or NULL */
    uint32_t index; /* slot number, or an item's place in resource.units */
    uint8_t state; /* enum unit_state; only unit_set_state() writes it */
    bool reserved; /* not to be granted; if held, once it is given back */
    bool removed; /* of a pool: held, and goes when it is given back */
};

/* A unit that is looked for by more than its index: an item, or what a database has given. */
struct keyed_unit {
    struct unit unit;
    struct sorted_set_node node; /* UNIT_FREE; fleet scope: in resource.given */
    struct table_node by_item; /* host scope: in resource.items */
    uint64_t rank; /* host scope: its place in the order of resource.units */
};

/* A unit's cooldown. */
struct cooldown {
    struct unit *unit;
    struct sorted_set_node timer; /* in the core's cooldown timers */
};

/* Who has made a change that is in force, when and why. */
struct decision {
    struct actor by;
    uint64_t at; /* milliseconds since 1970; 0: not known */
    char *reason; /* or NULL; owned, like the next */
    char *host; /* of fleet scope, from which it was made; or NULL */
};

/* Whether an operator has paused it. */
struct pause {
    struct decision decision;
    bool is_on;
};

struct resource {
    struct table_node by_name;
    TAILQ_ENTRY(resource) link; /* in the core's list, oldest first */
    TAILQ_ENTRY(resource) dirty_link; /* in the core's list of queues to look at */
    TAILQ_ENTRY(resource) changed_link; /* in the core's list of those changed by operators */
    char *name;
    const struct definition *definition; /* the template's for an instance */
    struct definition *remains; /* a copy of the last definition, once there is none any more */
    struct tally *tally; /* where what happens is counted; tally_move() writes it */
    struct template *template; /* of an instance, while that is defined; or NULL */
    struct charge instance_charge; /* of an instance: registry_settle() */

    struct unit **units; /* host scope: slots 0 ... n-1, or items in file order */
    uint32_t n_units, size_units;
    uint64_t n_ranks; /* given to items so far */
    struct table items; /* pools of host scope: units by item */
    uint32_t n_in_state[N_UNIT_STATES]; /* derived from the units */
    uint32_t n_shares; /* of .holders, those that are shares of others */
    struct bitset free_slots; /* host scope, not of pools: by index */
    uint32_t n_removed, n_reserved; /* derived: units with .removed, .reserved */
    uint32_t n_all; /* derived: holders with .is_all; while there is one, nothing is granted */
    uint32_t n_inside; /* only while circle.c searches: units that those who wait hold above */
    struct sorted_set_node *unseen; /* then: the first in .queue who may be in the way for ever */
    struct sorted_set free; /* pools: by file order, or time of release */
    struct sorted_set given; /* fleet scope: units that this host holds, by slot or item's hash */
    struct meter *meter; /* meter.h; NULL: its grants have no rate */
    uint64_t n_frees; /* clock of `select = lru`; serial number of given units */

    struct sorted_set holders; /* claims by token, so in the order of their grants */
    struct sorted_set queue; /* places of those waiting for their turn, in order */
    /* places of those whose count is kept, in order; weighted by the count */
    struct sorted_set kept;
    struct sorted_set aside; /* places of all other waiters, in order */
    struct table flows; /* fair: struct flow by whose they are */
    struct table fair_clocks; /* fair: by priority: core/fair.c */
    struct table usages; /* struct usage by uid */
    struct usage *idle_usage; /* the latest in .usages that has no claim any more; or NULL */

    uint32_t runtime_limit; /* its own; UNBOUNDED: the template's or the definition's */
    struct decision decision; /* of its own limit, or its items: see resource_decision() */
    struct pause pause; /* its own; see resource_pause() */
    bool is_exempt; /* from the pause of its template, which is on */
    bool items_changed; /* at runtime */
    bool is_instance;
    bool is_defined; /* false: drains, then goes */
    bool is_dirty;
    bool is_listed; /* linked by changed_link */
};

TAILQ_HEAD(resource_list, resource);

/* ---- lookup.c ---- */

/* NULL if nobody holds a unit. */
struct claim *resource_first_holder(const struct resource *resource);
/* The first claim with that token and lease, or the next after these; NULL: none. */
struct claim *resource_holder_from(const struct resource *resource, uint64_t token, uint64_t lease);
struct claim *claim_next_holder(const struct claim *claim); /* NULL after the last */

/* ---- figures ---- */

/* The limit in force; of a pool, the number of items in service. */
uint32_t resource_limit(const struct resource *resource);
uint32_t resource_in_use(const struct resource *resource);
uint32_t resource_waiting(const struct resource *resource);
/* Units that are kept for waiters that also wait for another resource. */
uint32_t resource_kept(const struct resource *resource);
/* How many more the limit allows beside units that are held or rest. UNBOUNDED for a pool of host
 * scope: each item is its own limit, however many other held ones have been removed meanwhile. */
uint32_t resource_spare(const struct resource *resource);
/* How many of these are free, however many the rate lets go. */
uint32_t resource_free_units(const struct resource *resource);
/* How many units could be granted now, order and pause apart. */
uint32_t resource_available(const struct resource *resource);
/* The pause in force: its own, or its template's; else one that is not on. */
const struct pause *resource_pause(const struct resource *resource);
bool resource_is_paused(const struct resource *resource);
/* Frees what it owns: it is not known. */
void decision_clear(struct decision *decision);
/* Whether an operator has set the limit, of the resource or of its template. */
bool resource_limit_is_changed(const struct resource *resource);
/* Of the change in force to the limit or the items; NULL: there is none. */
const struct decision *resource_decision(const struct resource *resource);
/* Paused or closed: nothing is granted, and a lease that also wants something else is set aside
 * there. */
bool resource_is_blocked(const struct resource *resource);
/* Whether a change by an operator to this resource itself is in force. */
bool resource_is_changed(const struct resource *resource);
/* The most that can ever be had: the larger of what the file and the operator allow. UNBOUNDED
 * while the file says 0, which means closed; also in fleet scope, where the database knows. */
uint32_t resource_max(const struct resource *resource);
/* Whether one lease can ever have so many, or all, as far as this host knows. */
bool resource_can_give(const struct resource *resource, uint32_t count, bool is_all);
/* Whether nobody holds a unit, and none rests. */
bool resource_is_untaken(const struct resource *resource);
/* A slot's number: strict decimals, below 10 * MAX_LIMIT. */
bool slot_parse(const char *text, uint32_t *slotp);
/* NULL if there is no such unit, or it is a slot that nobody has used yet. Fleet scope: only units
 * that this host holds. */
struct unit *resource_find_unit(const struct resource *resource, const char *item);

/* Whether that item is in service. */
bool resource_has_item(const struct resource *resource, const char *item);

/* Whether a database gives out its units. */
static inline bool resource_is_fleet(const struct resource *resource)
{
    return resource->definition->database != 0;
}

static inline bool resource_is_pool(const struct resource *resource)
{
    return definition_is_pool(resource->definition);
}

/* ---- life (registry.c calls these) ---- */

/* The resource has the units of its definition, is in no list or table, and grants nothing yet. */
struct resource *resource_new(const char *name, const struct definition *definition);
/* Asserts that nobody holds or waits. */
void resource_free(struct resource *resource);

/* ---- units ---- */

/* Gives `claim` its count of units; resource_available() must allow it. Only select = random uses
 * `random`. */
void resource_take_units(struct resource *resource, struct claim *claim, uint64_t *random);
/* Gives the claim this unit, which nobody holds; it goes to the front of the claim's list. The
 * caller decides whether it may. */
void resource_take_unit(struct claim *claim, struct unit *unit);
/* Fleet scope: gives the claim the unit of that name, which exists here until it is given back.
 * Returns false and changes nothing if that cannot be: another kind of unit, or it is held
 * already. */
bool resource_take_given(struct claim *claim, const char *item, uint32_t slot);
/* NULL if nobody here holds it. `item` is NULL for a slot. */
struct unit *resource_find_given(const struct resource *resource, const char *item, uint32_t slot);
/* The unit becomes free or reserved, or goes. The caller puts a unit that has to cool into
 * UNIT_COOLING instead. */
void unit_settle(struct unit *unit);
void unit_set_cooling(
    struct unit *unit, struct sorted_set *timers, nanoseconds until, uint64_t serial);
/* A unit that is UNIT_COOLING leaves the timers; its state is for the caller to change. */
void unit_end_cooldown(struct unit *unit, struct sorted_set *timers);
/* `slot` is below the limit; makes it if nobody has used it yet. */
struct unit *resource_slot(struct resource *resource, uint32_t slot);
struct unit *resource_add_item(struct resource *resource, const char *item);
/* The unit goes at once, or when its holder gives it back. `timers` are the cooldown timers. */
void unit_remove(struct unit *unit, struct sorted_set *timers);
/* Undoes unit_remove(). */
void resource_return_item(struct unit *unit);
void unit_set_reserved(struct unit *unit, bool reserved, const char *reason);
/* Call after `select` has changed. */
void resource_rekey_free(struct resource *resource);
/* Puts the definition's items first, in its order. */
void resource_order_items(struct resource *resource);
/* Makes the items those of the definition: adds new ones, removes others. */
void resource_reset_items(struct resource *resource, struct sorted_set *timers);

/* ---- templates ---- */

/* A definition "x/" + star, and what operators have changed for all its instances, those to come
 * included. A change to one instance comes before it. */
struct template {
    struct table_node by_name;
    TAILQ_ENTRY(template) link; /* in the order of the file */
    const struct definition *definition;
    uint32_t n_instances; /* alive */
    uint32_t runtime_limit; /* of each instance; UNBOUNDED: the definition's */
    struct decision decision; /* of that */
    struct pause pause;
};

TAILQ_HEAD(template_list, template);

/* The limit of each instance that has none of its own; of a pool, its items. */
static inline uint32_t template_limit(const struct template *template)
{
    return template->runtime_limit != UNBOUNDED ? template->runtime_limit
                                                : definition_limit(template->definition);
}

static inline bool template_is_changed(const struct template *template)
{
    return template->pause.is_on || template->runtime_limit != UNBOUNDED;
}
