/* definition.h - what the operator wrote about one resource or template.
 *
 * Read-only for the core, which keeps pointers to definitions until the next core_define() has
 * returned. conf/ builds and owns them. */
#pragma once

#include "base/nested.h"
#include "base/on_lost.h"
#include "base/words.h"
#include "core/types.h"

enum kind {
    KIND_SEMAPHORE, /* units are slots 0 ... limit-1, the lowest free one first */
    KIND_LOCK, /* a semaphore whose limit is 1, or how many may share it */
    KIND_POOL, /* units are named items */
};

enum queue_order {
    ORDER_FIFO,
    ORDER_FIRST_FIT, /* a later request that fits may pass, max_overtakes times */
    ORDER_FAIR, /* as fifo, but a request's ticket is its rank: core/fair.h */
};

enum selection {
    SELECT_LRU, /* the item that has been free for longest */
    SELECT_FIRST, /* the first free one in file order */
    SELECT_RANDOM,
};

/* A set of ids, sorted or not. The definition's owner owns `ids`. */
struct id_set {
    uint32_t *ids;
    size_t n;
};

/* `also`: who takes COUNT units of the resource takes COUNT times so many of this one. */
struct level {
    char *name;
    uint32_t count;
};

/* How many units may be granted in how long, in the long run. */
struct rate {
    uint32_t units; /* 0: there is no rate */
    nanoseconds window; /* whole milliseconds */
};

/* Who may do what. Empty allow sets mean everyone; deny overrides allow. Admins need no
 * allowance. */
struct rights {
    struct id_set allow_users, allow_groups;
    struct id_set deny_users, deny_groups;
    struct id_set admin_users, admin_groups;
};

struct definition {
    char *name; /* a template's ends in "/" and a star */
    enum kind kind;
    uint8_t database; /* that grants it: one of the caller's; 0: the core (host scope) */
    enum queue_order order;
    enum selection selection; /* pools */
    uint32_t limit; /* semaphores and locks; 0 = closed */
    uint32_t shared; /* locks: how many may hold it at once who say so; others want all of it */
    char **items; /* pools */
    size_t n_items;
    struct level *levels;
    size_t n_levels;
    nanoseconds cooldown; /* a freed unit rests this long */
    struct rate rate;
    uint32_t burst; /* with a rate: how many units may be granted at once */
    nanoseconds max_hold; /* a lease is stopped after so long; NEVER if not set */
    nanoseconds kill_after; /* between the signal and SIGKILL */
    enum on_lost on_lost;
    enum nested nested; /* for a request under a lease that has some of it */
    nanoseconds keep; /* how long a unit is kept for a waiter that lacks another resource */
    uint32_t max_waiters;
    uint32_t max_units_per_user; /* UNBOUNDED if not set */
    uint32_t max_overtakes; /* first-fit: how often one waiter may be passed */
    uint32_t max_instances; /* templates */
    int32_t max_priority;
    bool fair_by_share; /* fair: flows are the words of requests; else users */
    bool identity_shared; /* identities are not per uid */
    bool shows_to_owner_only; /* only its uid and admins see what a lease says about itself */
    bool refuses_programs; /* each of its leases must have a job that can be stopped */
    bool shows_arguments; /* the history shows those of its jobs */
    bool has_own_names; /* templates: each instance is for one user */
    struct rights rights;
};

/* What operators' changes rest on: the sort of units, and the value of the key that gives them. */
struct basis {
    bool is_pool;
    uint8_t database;
    uint64_t value; /* the limit, or a hash of the items */
};

static inline bool definition_is_pool(const struct definition *definition)
{
    return definition->kind == KIND_POOL;
}

/* What the file allows; of a pool, its items. */
static inline uint32_t definition_limit(const struct definition *definition)
{
    return definition_is_pool(definition) ? (uint32_t)definition->n_items : definition->limit;
}

/* How many units may be granted at once, as far as a rate goes. */
static inline uint32_t definition_at_once(const struct definition *definition)
{
    return definition->rate.units > 0 ? definition->burst : UNBOUNDED;
}

/* Whether requests for the lock want all of it unless they say otherwise. */
static inline bool definition_is_shared(const struct definition *definition)
{
    return definition->shared > 1;
}

/* Whether that limit is more than a lock can have. */
static inline bool definition_is_exceeded(const struct definition *definition, uint32_t limit)
{
    uint32_t most = definition_is_shared(definition) ? definition->shared : 1;
    return definition->kind == KIND_LOCK && limit > most;
}

struct basis definition_basis(const struct definition *definition);

/* The name of the template one level above: "a/b/" and a star for "a/b/c". No other template can
 * match. False: there can be none. */
bool template_name_above(const char *name, char out[static NAME_BYTES + 1]);

/* Whether has_own_names leaves the name to that user: as 1000-report below the template. */
bool definition_leaves_name(const struct definition *definition, const char *name, uint32_t uid);

/* Of a pool: whether the file has that item. */
bool definition_has_item(const struct definition *definition, const char *item);

/* Deep copies; NULL stays NULL. */
struct definition *definition_copy(const struct definition *definition);
void definition_free(struct definition *definition);
/* Frees what it points to, not the struct. */
void definition_deinit(struct definition *definition);

/* Bounds that hold for one uid over all resources. */
struct user_bounds {
    uint32_t clients;
    uint32_t waiters;
    uint32_t leases; /* held and waiting */
    uint32_t instances; /* of templates */
};
