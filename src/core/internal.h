/* internal.h - the struct behind core.h, for the core's own files alone. */
#ifndef BERTH_CORE_INTERNAL_H
#define BERTH_CORE_INTERNAL_H

#include "core/core.h"
#include "core/fleet.h"
#include "core/quota.h"

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

TAILQ_HEAD(tenure_list, lease);

/* What the core keeps of one database: its leases, and until when they are good. */
struct tenure {
    nanoseconds good_until; /* all held ones; 0: they never were */
    struct order by_budget; /* of those that are held and not being stopped: the largest first */
    struct tenure_list waiting, held; /* oldest first */
    size_t n_waiting;
};

struct core {
    struct table resources; /* by name */
    struct resource_list resource_list; /* oldest first */
    struct resource_list dirty; /* whose queues must be looked at */
    struct resource_list changed; /* by operators, longest ago first */
    struct order agenda; /* struct waiting: who may be able to do something, in order */
    struct lane_list stale_lanes; /* from which somebody may be let in */
    struct core_cursor *cursors;
    struct table templates;

    struct table leases; /* by id */
    struct table identities;
    struct order wait_timers; /* struct waiting by when the wait ends */
    struct order keep_timers; /* struct road by when it lets go */
    struct order cooldown_timers; /* struct unit by when it is free again */
    struct order term_timers; /* struct term by when the lease's time, or the job's, is over */
    uint64_t timer_serial; /* breaks ties */
    struct tenure tenures[MAX_DATABASES]; /* database 1 first */

    struct accounts accounts;
    struct client detached; /* has the leases that live without a connection */
    struct client absent; /* has those whose client is expected back, until grace_until */
    struct table once; /* leases, by what their asker may repeat */
    nanoseconds grace_until;
    bool is_closed; /* until then: only who had a lease may have one */

    uint64_t first_id; /* smaller ones are of earlier runs */
    uint64_t last_id, last_token, last_client;
    uint64_t random;
    size_t n_held, n_waiting;
    core_judge *judge; /* or NULL */
    void *judge_context;
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
/* After an operator, or a reload, may have changed what resource_is_changed() says. */
void registry_list_changed(struct core *core, struct resource *resource);
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
/* Marks every resource's queue to be looked at. */
void core_look_at_all(struct core *core);
/* Nothing at all is granted at present. */
static inline bool core_grants_nothing(const struct core *core)
{
    return core->draining || core->is_closed;
}
/* The end of every operation: grants what can be granted, forgets what is idle. */
void core_settle(struct core *core, nanoseconds now, struct effects *effects);

/* ---- identity.c ---- */

struct identity *identity_find(
    const struct core *core, const struct resource *resource, uint32_t uid, const char *holder);
void identity_add(struct core *core, struct claim *claim);
void identity_remove(struct core *core, struct claim *claim);
/* After the resource's `identity` key has changed. */
void identity_rekey(struct core *core, struct resource *resource);

/* ---- term.c: leases whose time is limited, and stopping ---- */

/* A lease was granted, or made again with the time that it has left (NEVER: all). */
void term_start(struct core *core, struct lease *lease, nanoseconds until);
void term_end(struct core *core, struct lease *lease);
nanoseconds term_next_deadline(const struct core *core);
/* The first that is due. */
void term_is_due(struct core *core, nanoseconds now, struct effects *effects);
void stop_begin(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);
/* The same, and SIGKILL comes so early that the job is gone by then, even if `now` is late. */
void stop_begin_by(struct core *core, struct lease *lease, enum outcome why, nanoseconds gone_by,
    nanoseconds now, struct effects *effects);
/* The same of an earlier run: it has no more time than it had then. */
void stop_begin_again(struct core *core, struct lease *lease, const struct remembered *remembered,
    nanoseconds now, struct effects *effects);
/* It is not being stopped, or by its own user alone, which is not enough for others. */
static inline bool stop_may_begin(const struct lease *lease, enum outcome why)
{
    return lease->stopping == OUTCOME_OK ||
        (lease->stopping == OUTCOME_WITHDRAWN && why != OUTCOME_WITHDRAWN);
}
/* Its client has gone while it is being stopped. */
void stop_without_client(struct lease *lease, struct effects *effects);

/* ---- tenure.c: until when the leases of a database are good ---- */

void tenures_init(struct core *core);
/* A lease of fleet scope, from when it is linked until it has ended. */
void tenure_enter(struct core *core, struct lease *lease);
void tenure_leave(struct lease *lease);
/* It is held now; it is being stopped (not by its own user alone), or over. */
void tenure_holds(struct lease *lease);
void tenure_stops(struct lease *lease);
nanoseconds tenure_next_deadline(const struct core *core);
/* The first that is due. */
void tenure_is_due(struct core *core, nanoseconds now, struct effects *effects);

/* ---- fleet.c: leases that a database grants ---- */

/* The answer to a new one that its database has to be asked for: OUTCOME_PENDING, or a refusal. */
enum outcome fleet_begin(
    struct core *core, struct lease *lease, bool wants_now, struct effects *effects);
/* Whether anything is granted at present has changed: asks for those that wait, or takes it back. */
void fleet_look_at_all(struct core *core, nanoseconds now, struct effects *effects);

/* ---- detached.c: leases without a client ---- */

/* Whom an effect on the lease is for; NULL if nobody is there. */
static inline struct client *lease_real_client(const struct lease *lease)
{
    return lease_is_away(lease) ? NULL : lease->client;
}
/* Held, and its client has gone: over, or it lives on alone. */
void away_client_is_gone(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* From one client's list to another's: a client's, .detached or .absent. */
void lease_move(struct lease *lease, struct client *to);
/* The same, to a client that has come for it and is told if the job is being stopped. */
void lease_hand_to(struct lease *lease, struct client *client, struct effects *effects);
/* OUTCOME_OK, OUTCOME_WAITING or OUTCOME_PENDING: how it stands. */
enum outcome lease_outcome(const struct lease *lease);
/* Asks for a watch on the process, once. */
void away_watch(struct lease *lease, struct effects *effects);
nanoseconds away_next_deadline(const struct core *core);
/* The grace is over. */
void away_is_due(struct core *core, nanoseconds now, struct effects *effects);

/* ---- once.c: requests that may come once more ---- */

/* For as long as the lease lives. */
void once_enter(struct core *core, struct lease *lease);
void once_leave(struct core *core, struct lease *lease);

/* ---- acquire.c ---- */

/* Finds or makes the resources, and refuses what can never be. With `has_proof` the lease was held
 * before: its instances are made whatever the bounds on them, and its identities may be somebody
 * else's too, as those of a lease on record. */
enum outcome acquire_resolve(struct core *core, const struct ask *ask, bool has_proof,
    struct lease *lease, const char **aboutp);
/* Into the tables and the client's list, as one that waits in no queue yet. */
void acquire_link(struct core *core, struct client *client, struct lease *lease, uint64_t id);
/* May it wait, and does it want to? */
enum outcome acquire_wait(struct core *core, struct lease *lease, const struct ask *ask,
    struct effects *effects, const char **aboutp);
/* core_settle() at the end of an operation whose result says what became of that lease: the outcome
 * as it is then. A grant that settling brings about is the result too, not an effect. */
enum outcome acquire_settle(struct core *core, const struct lease *lease, enum outcome outcome,
    nanoseconds now, struct effects *effects);
/* Those that were held before it asked, which it says it runs under; only its own user's, as anybody
 * can name the lease of another one. */
bool lease_ancestors_hold(
    struct core *core, const struct lease *lease, const struct resource *resource);
/* Of an acquire: there is a lease, held or not yet. */
static inline bool outcome_is_lease(enum outcome outcome)
{
    return outcome == OUTCOME_OK || outcome == OUTCOME_WAITING || outcome == OUTCOME_PENDING;
}

/* ---- adopt.c: certain units ---- */

/* A slot that nobody has used yet is made. NULL: no such item, no slot there can be; fleet scope:
 * nobody here holds it. */
struct unit *adopt_find(struct resource *resource, const struct remembered_unit *wanted);
/* The leases that certain claims end, because these have the larger tokens for one of their units. */
struct ousted {
    struct lease **leases; /* .is_ousted: each once, in the order of the units */
    size_t n;
};
/* Finds them, and changes nothing. False if the units cannot be had: one is named twice or cannot be,
 * or the token of whoever holds one is as large. To be deinitialized in any case. */
bool adopt_may(
    struct ousted *ousted, const struct lease *lease, const struct remembered_claim claims[]);
void ousted_deinit(struct ousted *ousted);
/* How many of the resource's units they hold; only those of one user, unless `uid` is NULL. */
uint32_t ousted_units(
    const struct ousted *ousted, const struct resource *resource, const uint32_t *uid);
uint32_t ousted_leases(const struct ousted *ousted, uint32_t uid);
/* They are over, and told so. */
void ousted_end(
    struct core *core, const struct ousted *ousted, nanoseconds now, struct effects *effects);
/* These units and tokens, for all of the lease's claims or for none: false if somebody holds one of
 * them, or there is no such slot. Whether the lease may have them is the caller's matter. */
bool adopt_units(struct core *core, struct lease *lease, const struct remembered_claim claims[]);

#endif
