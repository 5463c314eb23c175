/* internal.h - the struct behind core.h, for the core's own files alone. */
#ifndef BERTH_CORE_INTERNAL_H
#define BERTH_CORE_INTERNAL_H

#include "core/core.h"

/* A `x/` + star definition, and how many instances of it are alive. */
struct template {
    struct table_node by_name; /* without the star */
    const struct definition *definition;
    uint32_t n_instances;
};

/* One identity on one resource: at most one lease has it. */
struct identity {
    struct table_node by_key;
    struct claim *claim;
};

struct core {
    struct table resources; /* by name */
    struct resource_list resource_list; /* oldest first */
    struct resource_list dirty; /* whose queues must be looked at */
    struct core_cursor *cursors;
    struct table templates;

    struct table leases; /* by id */
    struct table identities;
    struct order wait_timers; /* struct waiting by when the wait ends */
    struct order cooldown_timers; /* struct unit by when it is free again */
    uint64_t timer_serial; /* breaks ties */

    struct accounts accounts;
    uint64_t last_id, last_ticket, last_token;
    uint64_t random;
    size_t n_held, n_waiting;
    bool draining;
    bool drain_reported;
};

/* ---- registry.c: resources and templates by name ---- */

struct resource *registry_find(const struct core *core, const char *name);
struct template *registry_find_template(const struct core *core, const char *name);
/* Defined or alive, else a new instance charged to the uid `payer`; NULL is an operator, whom no
 * bound holds up. OUTCOME_UNKNOWN, OUTCOME_QUOTA. */
enum outcome registry_get(
    struct core *core, const char *name, const uint32_t *payer, struct resource **resourcep);
struct resource *registry_add(
    struct core *core, const char *name, const struct definition *definition);
/* Frees it if nothing keeps it: an idle instance, or one that is no longer defined. */
void registry_forget_if_idle(struct core *core, struct resource *resource);
void registry_add_template(struct core *core, const struct definition *definition);
void registry_free_templates(struct core *core);
void registry_free(struct core *core);

/* ---- core.c ---- */

/* Takes a lease out of everything and hands it to `effects` to be freed. No effect, no pump. */
void core_unlink_lease(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* A waiting lease is over: effect and unlink. */
void core_deny(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);
/* The end of every operation: grants what can be granted, forgets what is idle. */
void core_settle(struct core *core, nanoseconds now, struct effects *effects);

/* ---- identity.c ---- */

struct identity *identity_find(
    const struct core *core, const struct resource *resource, uint32_t uid, const char *holder);
void identity_add(struct core *core, struct claim *claim);
void identity_remove(struct core *core, struct claim *claim);
/* After the resource's `identity` key has changed. */
void identity_rekey(struct core *core, struct resource *resource);

#endif
