/* internal.h - the struct behind core.h, for the core's own files alone. */
#pragma once

#include "core/core.h"
#include "core/fleet.h"
#include "core/meter.h"
#include "core/news.h"
#include "core/tally.h"

struct templates {
    struct table by_name;
    struct template_list list;
};

struct lane;

TAILQ_HEAD(lane_list, lane);
TAILQ_HEAD(tenants, tenant);

/* What the core keeps about a database: its leases, and until when they are good. */
struct tenure {
    nanoseconds good_until; /* all held leases; 0: they never were */
    /* held leases that are not being stopped: the largest budget first */
    struct sorted_set by_budget;
    struct tenants waiting, held; /* oldest first */
    size_t n_waiting; /* of these */
};

struct core {
    struct table resources; /* by name */
    struct resource_list resource_list; /* oldest first */
    struct resource_list dirty; /* whose queues must be looked at */
    struct resource_list changed; /* by operators, longest ago first */
    struct sorted_set agenda; /* struct waiting: waiters that may be able to act, in order */
    struct lane_list stale_lanes; /* from which a request may be let in */
    TAILQ_HEAD(, waiting) nested; /* requests of host scope that wait under a lease */
    struct circle circle; /* the last one that was broken */
    bool may_have_circle; /* the waiters must be searched for one */
    bool has_levels; /* of the definitions, some do */
    struct core_cursor *cursors;
    struct templates templates;

    struct table leases; /* by id */
    struct table identities; /* claims by resource and identity */
    struct sorted_set wait_timers; /* struct waiting by when the wait ends */
    struct sorted_set keep_timers; /* struct road by when it lets go */
    struct sorted_set cooldown_timers; /* struct unit by when it is free again */
    /* struct lease_timer by when the lease's time, or the job's, is over */
    struct sorted_set lease_timers;
    uint64_t timer_serial; /* breaks ties */
    struct meters meters; /* of resources that have a rate */
    struct tenure tenures[MAX_DATABASES]; /* database 1 first */
    size_t n_tenures; /* the others have had no lease yet */

    struct news news; /* for those who follow */
    struct tallies tallies;
    struct accounts accounts;
    struct client detached; /* has the leases that live without a connection */
    struct client absent; /* has the leases whose clients are expected back, until grace_until */
    struct table once; /* leases by `once` */
    nanoseconds grace_until;
    bool is_closed; /* until then, only earlier leases come back */
    const char *closed_why; /* core_close()'s; or NULL */

    uint64_t first_id; /* smaller ones are of earlier runs */
    uint64_t last_id, last_token, last_client;
    uint64_t last_ticket; /* no number is smaller while anybody waits: core/fair.c */
    uint64_t random;
    size_t n_held, n_waiting;
    core_waiter_filter *judge; /* or NULL */
    void *waiter_filter_context;
    bool draining;
    struct decision drain_decision;
    bool drain_reported;
    struct awaited {
        uint64_t *ids; /* grace_await()'s */
        size_t n;
        nanoseconds until; /* of all; 0: none, or all are back */
    } awaited;
};

/* ---- registry.c: resources and templates by name ---- */

/* The template that governs a name, or has it. */
struct template *registry_find_template(const struct core *core, const char *name);
/* Finds a defined or live resource, or makes an instance and charges it to the uid `payer`; NULL is
 * an operator, whom no bound holds up, or what was there before. OUTCOME_UNKNOWN, OUTCOME_QUOTA. */
enum outcome registry_get(
    struct core *core, const char *name, const uint32_t *payer, struct resource **resourcep);
struct resource *registry_add(
    struct core *core, const char *name, const struct definition *definition);
/* The definition is about to go away: the resource lives on with a copy. */
void registry_keep_remains(struct resource *resource);
/* Call after an operator or a reload may have changed the result of resource_is_changed(). */
void registry_list_changed(struct core *core, struct resource *resource);
/* Frees an idle instance, or a resource no longer defined, that nothing keeps. An instance that
 * stays is charged to a user who has a claim. */
void registry_settle(struct core *core, struct resource *resource);
struct template *registry_add_template(struct core *core, const struct definition *definition);
/* No instance points to them any more. */
void registry_free_templates(struct templates *templates);
void registry_free(struct core *core);

/* ---- levels.c ---- */

/* core_add_levels() to a copy, if there are levels: then *askp is *expanded. */
enum outcome levels_find(struct core *core, uint64_t id, uint32_t uid,
    const struct acquire_request **askp, struct acquire_request *expanded, const char **at_faultp);

/* ---- share.c ---- */

/* Whether what the asker wants of that name is a share. */
bool share_is_found(struct core *core, const struct lease *asker,
    const struct acquire_request *ask, const char *name);

/* Which of the wants the lease above shares with it: then *askp is *sorted, whose .of, .sharer and
 * .asked are set, with the shares behind the others. Else OUTCOME_ANCESTOR, OUTCOME_IMPOSSIBLE, or
 * OUTCOME_GRACE if the lease above may still come back. */
enum outcome shares_find(struct core *core, uint64_t id, uint32_t uid,
    const struct acquire_request **askp, struct acquire_request *sorted, const char **at_faultp);
/* The same as these claims say. OUTCOME_LOST, OUTCOME_GRACE. */
enum outcome shares_prove(struct core *core, uint32_t uid, const struct acquire_request **askp,
    const struct saved_claim claims[], struct acquire_request *sorted);
/* False if any lease with their units is being stopped, or over. */
bool shares_may_go_on(const struct lease *lease);
/* They may not, and the lease is over with them. (One that was granted may still run, and then has
 * to be stopped.) */
bool shares_are_over(const struct lease *lease, bool was_held);
/* Copies of the claims, with shares behind the others, and .asked set. Returns how many are shares.
 */
size_t shares_sort_saved(
    const struct saved_claim claims[], size_t n, struct saved_claim sorted[]);
/* The claim of which the saved one is a share; NULL: there is none any more. */
struct claim *share_find_claim(
    struct core *core, uint32_t uid, const struct saved_claim *saved);
/* The lease is linked; it is held; it is unlinked. */
void shares_enter(struct lease *lease);
void shares_hold(struct lease *lease);
void shares_leave(struct core *core, struct lease *lease, bool was_held);
/* The claim has got another token. */
void shares_take_token(const struct claim *claim);
/* The max-hold of those that it shares. */
nanoseconds shares_hold_until(const struct lease *lease);

/* ---- lease_end.c ---- */

/* Takes a lease out of everything and hands it to `effects` to be freed. Appends no effect, pumps
 * no queue. `why` is counted; OUTCOME_OK is not. Others may share its units: lease_over(). */
void core_unlink_lease(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);

/* ---- settle.c ---- */

/* Marks every queue to be looked at. */
void core_mark_all_dirty(struct core *core);
/* Ends every operation: grants what can be granted, forgets what is idle. */
void core_settle(struct core *core, nanoseconds now, struct effects *effects);

/* ---- identity.c ---- */

/* At most one lease has an identity on a resource: lease_has_identity(). Others may wait for it.
 * These do nothing for one without. */
void identity_add(struct core *core, struct claim *claim);
void identity_remove(struct core *core, struct claim *claim);
/* The next lease that has the identity or waits for it; *nodep is NULL at first. */
struct lease *identity_next(const struct core *core, const struct resource *resource, uint32_t uid,
    const char *holder, struct table_node **nodep);

/* The claim of the lease that has the identity of this one, whose lease waits for that; or NULL. */
const struct claim *claim_identity_ahead(const struct core *core, const struct claim *claim);

/* ---- newest.c ---- */

/* Whether an older request waits whose place the lease will take; it need not be linked yet. */
bool newest_finds_older(const struct core *core, const struct lease *lease);
/* The first claim where too many would wait for its identity, if it waits, too; NULL: none. */
const struct claim *newest_crowd(const struct core *core, const struct lease *lease);
/* If the waiting or held lease replaces: the older ones that wait end, and it takes their place. */
void newest_replaces(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);

/* ---- time_limit.c: leases whose time is limited ---- */

/* A lease was granted. */
void lease_timer_start(struct core *core, struct lease *lease);
/* It was made again with what it was given then: whatever max-hold is by now. */
void lease_timer_resume(
    struct core *core, struct lease *lease, nanoseconds until, nanoseconds hold_until);
void lease_timer_end(struct core *core, struct lease *lease);
/* Its database has no good word for it any more: it was good until then. False: that is known. */
bool lease_timer_note_good_until(struct lease *lease, nanoseconds good_until);
/* The lease's time is over then, or the next step of its stop is due. */
void lease_timer_set(struct core *core, struct lease *lease, nanoseconds at);
/* At its end its client only gets an event: no job is stopped. */
bool lease_is_notify_only(const struct lease *lease);

/* ---- stop.c ---- */

/* Ends a waiting lease: effect and unlink. */
void core_deny(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);
/* Handles the first lease that is due. */
void lease_timer_is_due(struct core *core, nanoseconds now, struct effects *effects);
/* The same of those whose database could not be reached in time. */
void tenure_is_due(struct core *core, nanoseconds now, struct effects *effects);
/* Begins to stop the lease's job, with SIGKILL early enough that the job is gone by then, even if
 * `now` is late. */
void stop_begin_by(struct core *core, struct lease *lease, enum outcome why, nanoseconds gone_by,
    nanoseconds now, struct effects *effects);
/* Resumes a stop that began in an earlier run, with the time that was left. The record was written
 * before anybody was told to stop the job: that is not said twice, except to a client that comes
 * back. */
void stop_resume(struct core *core, struct lease *lease, const struct saved_lease *saved,
    nanoseconds now, struct effects *effects);
/* Whether the lease is not being stopped, or only by its own user, or waits for shares that are:
 * which does not suffice for others. */
static inline bool stop_may_begin(const struct lease *lease, enum outcome why)
{
    bool is_by_user = lease->stopping == OUTCOME_WITHDRAWN ||
        (lease->is_ending &&
            (lease->stopping == OUTCOME_RELEASED || lease->stopping == OUTCOME_EXPIRED));
    return lease->stopping == OUTCOME_OK || (is_by_user && why != OUTCOME_WITHDRAWN);
}
/* The lease is over, as core_unlink_lease() says. A held one first has its shares stopped, and is
 * .is_ending until the last of them is gone: its units are not free before. */
void lease_over(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);
/* It was so before a restart. */
void stop_begin_ending(struct core *core, struct lease *lease, enum outcome why);
/* A restored share is to be stopped, as far as its lease has rights to. */
void stop_restored_share(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* The client has gone while its lease is being stopped. */
void stop_on_client_gone(struct lease *lease, struct effects *effects);

/* ---- tenure.c: until when the leases of a database are good ---- */

void tenures_init(struct core *core);
/* Called when a fleet lease is linked, and when it has ended. */
void tenure_enter(struct core *core, struct lease *lease);
void tenure_leave(struct lease *lease);
/* Called when a fleet lease becomes held, and when any lease is stopped (other than by its own
 * user). */
void tenure_holds(struct lease *lease);
void tenure_stops(struct lease *lease);
nanoseconds tenure_next_deadline(const struct core *core);
const struct tenure *tenure_of(const struct core *core, uint8_t database);
struct tenure *tenure_get(struct core *core, uint8_t database);
/* The tenure from which a lease must be stopped first; which one, and when (NEVER: none). */
const struct tenure *tenure_first(const struct core *core);
struct lease *tenure_first_to_stop(const struct tenure *tenure);
nanoseconds tenure_stop_at(const struct tenure *tenure);

/* ---- fleet_answers.c: leases that a database grants ---- */

/* Whether a new lease's database is asked: OUTCOME_PENDING, or a refusal. */
enum outcome fleet_begin(
    struct core *core, struct lease *lease, bool wants_now, struct effects *effects);
/* Granting was suspended or resumed: takes requests back, or asks for those that wait. */
/* Call after lease.is_away of a waiting lease has changed. */
void fleet_look_at(struct core *core, struct lease *lease, struct effects *effects);
void fleet_look_at_all(struct core *core, nanoseconds now, struct effects *effects);

/* ---- detached.c: leases without a client ---- */

/* The client of a held lease has gone: the lease ends, or lives on alone. */
void detached_client_is_gone(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* In a closed grace: proven shares of fleet scope wait for that lease. If it does not come back,
 * their jobs can be gone by then. */
void grace_await(struct core *core, uint64_t id, nanoseconds until);
/* The grace is over. */
void detached_is_due(struct core *core, nanoseconds now, struct effects *effects);

/* ---- restore.c ---- */

/* First finds the leases that hold these units wrongly, then checks whether this one may have them,
 * as one with a record may, and only then takes anything away. OUTCOME_LOST, OUTCOME_QUOTA. */
enum outcome reclaim_units(struct core *core, struct lease *lease,
    const struct saved_claim claims[], bool is_recorded, nanoseconds now, struct effects *effects);
/* Later tokens are larger than this one. */
void raise_token(struct core *core, uint8_t database, uint64_t token);
/* Those of its units that are free are not until then. False: none is. */
bool rest_claim(struct core *core, const struct saved_claim *claim, nanoseconds until);

/* ---- lease_watch.c ---- */

/* Asks for a watch on the process, once. */
void detached_watch(struct lease *lease, struct effects *effects);
/* No more, unless that is needed still. */
void detached_unwatch(struct lease *lease, struct effects *effects);

/* ---- identity.c: repeated requests ---- */

/* The lease is in the table for as long as it lives. */
void once_enter(struct core *core, struct lease *lease);
void once_leave(struct core *core, struct lease *lease);

/* ---- lookup.c ---- */

/* Whether nothing is granted at present. */
bool core_is_granting_suspended(const struct core *core);

/* ---- operator.c ---- */

/* OUTCOME_OK if the claim's lease may go on waiting, else why not. */
typedef enum outcome waiter_judge(const struct core *core, const struct claim *claim);
/* Denies the resource's waiters that may not. */
void operator_deny_waiters(struct core *core, struct resource *resource, waiter_judge *judge,
    nanoseconds now, struct effects *effects);
/* Call after a resource's rules have changed: denies waiters that can never be granted any more and
 * sorts the others again. core_settle() then grants. */
void operator_changed(
    struct core *core, struct resource *resource, nanoseconds now, struct effects *effects);

/* Forgets what the resource has been given by itself and would be so without that. */
void operator_drop_moot(struct resource *resource);

/* Ends all that operators have changed, in host scope. */
void operator_end_changes(struct core *core, struct resource *resource);

/* ---- acquire.c ---- */

/* Finds or makes the resources, and refuses requests that can never be met. With `has_proof` the
 * lease was held before: its instances are made whatever the bounds on them, and its identities may
 * also be another lease's, as with a recorded lease. */
enum outcome acquire_resolve(struct core *core, const struct acquire_request *ask, bool has_proof,
    struct lease *lease, const char **at_faultp);
/* Whether so many can ever be given. The database may have an exact definition of an instance, from
 * another host's file, which governs. */
bool acquire_may_be_given(const struct resource *resource, const struct requested_resource *want);
/* Links the lease into the tables and the client's list, waiting but in no queue yet. */
void acquire_link(struct core *core, struct client *client, struct lease *lease, uint64_t id);
/* May the lease wait, and does it want to? */
enum outcome acquire_wait(struct core *core, struct lease *lease, const struct acquire_request *ask,
    struct effects *effects, const char **at_faultp);
/* core_settle() for an operation whose result is this lease's outcome: returns the outcome
 * afterwards. A grant that settling brings about is part of the result, and no effect; so is the
 * denial if the lease is in a circle (circle.h). */
enum outcome acquire_settle(struct core *core, const struct lease *lease, enum outcome outcome,
    nanoseconds now, struct effects *effects);
/* The same for a new lease, unless *leasep is NULL; counts it among those that wait if it does. */
enum outcome acquire_finish(struct core *core, const struct acquire_request *ask,
    enum outcome outcome, nanoseconds now, struct effects *effects, struct lease **leasep,
    const char **at_faultp);
/* Of an acquire: there is a lease, held or not yet. */
bool outcome_has_lease(enum outcome outcome);

/* ---- adopt.c: particular units ---- */

/* Makes a slot that nobody has used yet. NULL if there is no such item or slot; in fleet scope, if
 * nobody here holds it. */
struct unit *adopt_find(struct resource *resource, const struct saved_unit *wanted);
/* The leases that must end because others claim their units with larger tokens. */
struct preempted_leases {
    struct lease **leases; /* .is_preempted: each once, in the order of the units */
    size_t n;
};
/* Finds these leases, and changes nothing. False if the units cannot be had: one is named twice or
 * does not exist, or its holder's token is as large. Deinitialize `ousted` in any case. */
bool adopt_is_possible(struct preempted_leases *preempted, const struct lease *lease,
    const struct saved_claim claims[]);
void preempted_leases_deinit(struct preempted_leases *preempted);
/* How many of the resource's units that user's hold. */
uint32_t preempted_leases_units(
    const struct preempted_leases *preempted, const struct resource *resource, uint32_t uid);
uint32_t preempted_leases_count(const struct preempted_leases *preempted, uint32_t uid);
/* Ends them, and tells their clients. */
void preempted_leases_end(struct core *core, const struct preempted_leases *preempted,
    nanoseconds now, struct effects *effects);
/* Gives these units and tokens to all of the lease's claims or to none: false if another lease
 * holds one, or there is no such slot. The caller decides whether the lease may have them. */
bool adopt_units(struct core *core, struct lease *lease, const struct saved_claim claims[]);
