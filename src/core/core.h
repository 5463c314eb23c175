/* core.h - decides who gets what when, on one host. Pure: no clock, no sockets, no logging. Every
 * operation takes `now`, appends to a list of effects, and updates core_next_deadline(), the next
 * instant at which something is due.
 *
 * Guarantees kept here: never over the limit, in order, all or nothing, bounded per uid, tokens
 * only grow.
 *
 * Order: every queue has the same order, that of base/ticket.h. doc/ordering.md says who goes next,
 * and what is kept for requests for several resources. A waiter that cannot go for a reason outside
 * the queue (its user's quota; one of its resources is paused or closed) is set aside and delays
 * nobody; its place counts again when the reason is gone. */
#pragma once

#include "base/metrics.h"
#include "core/definition.h"
#include "core/effects.h"
#include "core/lease.h"
#include "core/resource.h"
#include "core/saved_lease.h"
#include "core/types.h"

struct core;
struct news;

/* Its lease ids, tickets and tokens begin at 1: see core_begin_numbers(). `seed`: for select =
 * random. */
struct core *core_new(uint64_t seed);
/* Asserts that no client is left. Returns NULL. */
struct core *core_free(struct core *core);

/* ---- definitions ---- */

/* Start and reload: from now on exactly these resources and templates exist. Holders keep what they
 * have: a resource that is no longer defined drains, then goes. Its waiters are denied (unknown),
 * and so are waiters that want more than they could ever have (impossible).
 *
 * All or nothing: returns OUTCOME_KIND, with the name in *refusedp, and changes nothing if a
 * resource in use would change between semaphore and pool, or its scope or database. `definitions`
 * must outlive the next call. core_set_waiter_filter() decides which waiters are denied. */
enum outcome core_define(struct core *core, const struct definition *definitions, size_t n,
    const struct user_bounds *bounds, nanoseconds now, struct effects *effects,
    const char **refusedp);

/* OUTCOME_OK if a waiting lease may wait for a resource with this definition, else why not. Rights
 * and the length of a line are the caller's matter, and a reload may change them. */
typedef enum outcome core_waiter_filter(
    const struct lease *lease, const struct definition *definition, void *context);
/* core_define() calls the judge before anything is granted. NULL: every waiter may stay. */
void core_set_waiter_filter(struct core *core, core_waiter_filter *judge, void *context);

/* ---- clients ---- */

/* A client is who asks: in the daemon, one connection. The caller owns the memory. OUTCOME_QUOTA if
 * that uid has too many clients (then this one must not be used). */
enum outcome core_client_init(struct core *core, struct client *client, uint32_t uid);
/* The same for a client that does not count towards the bound. */
void client_init_uncounted(struct client *client, uint32_t uid);
/* The client's waiting leases leave their queues first. Then its held leases are released, except
 * those that a living process or a ttl keeps: these go on without a client. */
void core_client_end_leases(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects);
/* The same, then ends the client. */
void core_client_deinit(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects);

/* The bound on what a user may have over all resources, if this uid has as much; else UNBOUNDED. */
uint32_t core_user_bound_met(const struct core *core, uint32_t uid, enum account_slot slot);

/* ---- leases ---- */

/* Sets *leasep on OUTCOME_OK (granted: the lease is held), OUTCOME_WAITING and OUTCOME_PENDING
 * (fleet scope: the database's answer comes as an effect, fleet.h). Any other outcome is a refusal;
 * *at_faultp is the resource at fault (the name as given; NULL if there is none). The outcome is
 * the lease's state when the operation returns; grants to *other* leases that it brings about are
 * effects. All resources must be of one scope and database, else OUTCOME_MIXED, about the first
 * that differs.
 *
 * The caller checks rights. */
enum outcome core_acquire(struct core *core, struct client *client,
    const struct acquire_request *ask, nanoseconds now, struct effects *effects,
    struct lease **leasep, const char **at_faultp);

/* Adds the levels of what is wanted, and of these, as `also` says: core_acquire() does so itself,
 * and nothing changes where that has been done. `id`: of a lease that is to come back; else 0.
 * OUTCOME_IMPOSSIBLE, about the first that is one too many. */
enum outcome core_add_levels(struct core *core, uint64_t id, uint32_t uid,
    struct acquire_request *ask, const char **at_faultp);

/* Why a request was denied with OUTCOME_CIRCLE: what it waits for is held by a lease whose own
 * nested request waits for the next, and so on; the last is held by the first one's ancestor. */
enum { MAX_CIRCLE_STEPS = 8 };
struct circle_step {
    char *resource; /* owned */
    uint64_t ahead; /* the request that stands before it there, and waits for the holder; 0: none */
    uint64_t holder;
};
struct circle {
    size_t claim; /* which of its resources the first one waits for */
    size_t n_steps; /* 0: they are too many, or not known */
    struct circle_step steps[MAX_CIRCLE_STEPS];
};
/* Of the request that was denied so last. */
const struct circle *core_last_circle(const struct core *core);
/* What the nearest lease above a request has of that resource; NULL if none has any. */
const struct claim *core_claim_above(
    struct core *core, uint32_t uid, const struct acquire_request *ask, const char *name);
/* Whether it would be answered without any of the resources' queues or databases: the request's
 * leases above have all that it wants, and share it. */
bool core_shares_all(struct core *core, uint32_t uid, const struct acquire_request *ask);

/* A held lease is released, a waiting one leaves its queues. `by` is the client that asks: if the
 * lease belongs to another client, an effect tells that one (lost: released; denied: cancelled).
 */
void core_end(struct core *core, struct lease *lease, const struct client *by, nanoseconds now,
    struct effects *effects);

/* The same by the lease's own client, which is refused for that reason: the lease cannot be written
 * down, or may no longer wait. */
void core_abort_acquire(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);

/* Denies a waiting lease. Stops the job of a held one, which is over when the job is gone
 * (time_limit.c): for an operator (`why`: OUTCOME_REVOKED), or for the lease's own user
 * (OUTCOME_WITHDRAWN), where signals reach only what that user may signal; an operator's revoke,
 * max-hold and deadlines take over from there. With OUTCOME_DROPPED a held lease ends at once, with
 * an effect for its client.
 *
 * `reason` has the words of whoever asks, or is NULL. The lease's client hears them, then and
 * whenever it hears of the stop again; its record has them while the lease lives. Ignored where
 * core_would_stop() is false: an owner could hide an operator's. */
void core_revoke(struct core *core, struct lease *lease, enum outcome why, const char *reason,
    nanoseconds now, struct effects *effects);
/* Whether core_revoke() would end the wait, begin the stop or stop the job harder. If not, that
 * stop is somebody else's already. Not for OUTCOME_DROPPED. */
bool core_would_stop(const struct lease *lease, enum outcome why);
/* The lease that a request of host scope (`replace=running`), which has just begun to wait, is to
 * have stopped; NULL: none, or that is so already. */
struct lease *core_replaced_holder(const struct core *core, const struct lease *lease);
/* An operator moves a waiting lease of host scope in all its queues: before all that wait now,
 * whatever their priority, or as if it had just asked. */
void core_move(struct core *core, struct lease *lease, bool is_first, nanoseconds now,
    struct effects *effects);
/* Somebody takes the lease away, now or soon; `reason` has their words, or is NULL. */
void lease_note_taker(struct lease *lease, const struct actor *by, const char *reason);
/* The words of who takes the lease away, or has; or NULL. */
const char *lease_stop_reason(const struct lease *lease);

/* The client of a waiting lease is about to be stopped (`is_away`), or goes on: meanwhile the lease
 * keeps its place and is granted nothing, and in fleet scope its database does not have it. A
 * reclaim or repeat also says that the client goes on. False, and nothing changes, if the lease is
 * held or is not this client's. */
bool core_set_away(struct core *core, struct lease *lease, const struct client *by, bool is_away,
    nanoseconds now, struct effects *effects);

/* Restarts the ttl; 0 keeps its length. OUTCOME_LOST if the lease is not held or is being stopped;
 * OUTCOME_KIND for a ttl of a lease that is not bound to time, and for an opaque lease. */
enum outcome core_renew(struct core *core, struct lease *lease, nanoseconds ttl, nanoseconds now,
    struct effects *effects);
/* From now on the lease lasts as long as another process; the caller first gives up its watch on
 * the old one. OUTCOME_KIND if the lease is opaque or bound to time, or would be bound to a
 * connection other than its own. */
enum outcome lease_bind(struct lease *lease, const struct client *by, enum binding binding,
    const struct process *process, struct effects *effects);
/* The process that keeps the lease, lease_bound_process(), is gone: the answer to EFFECT_WATCH,
 * unless EFFECT_UNWATCH came in between. */
void core_process_exited(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);

/* A program's process takes a held lease over: the client's, or with BOUND_CONNECTION none that can
 * be seen. OUTCOME_KIND also if it waits; OUTCOME_LOST if it is being stopped. */
enum outcome core_bind_program(struct core *core, struct client *client, struct lease *lease,
    enum binding binding, const struct process *process, nanoseconds now, struct effects *effects);

/* When a held lease begins to be stopped unless it is renewed; NEVER if its time is not limited, or
 * it is being stopped already. Of a program's, when that began. */
nanoseconds lease_until(const struct lease *lease);
/* The same by the lease's own limits alone, max-hold and ttl: each renewal moves a database's
 * deadline. */
nanoseconds lease_own_until(const struct lease *lease);
/* For how long it may be held in total: its max-hold, of a waiting lease as its resources have it
 * now; NEVER if there is none. */
nanoseconds lease_max_hold(const struct lease *lease);
/* By then the job is gone, and the lease with it; a program has given it back, or loses it. */
nanoseconds lease_gone_by(const struct lease *lease);

/* ---- leases without a client ---- */

/* Before the first client: adds the leases of an earlier run. Those that a process or a ttl keeps
 * are simply held. All others keep their units and places, and nothing is granted to those behind
 * them, until they are reclaimed or the grace ends. With `closed`, leases may be missing: nothing
 * new is granted until the grace ends, and core_reclaim_unknown() works. */
void core_begin_grace(struct core *core, bool closed, nanoseconds until);
/* From now on nothing new is granted, also when a grace has ended; and why, a text that outlives
 * the core. */
void core_close(struct core *core, const char *why);
/* NULL if core_close() was not called. */
const char *core_closed_why(const struct core *core);
/* At the start: what rates have let go until `now` is not known. So no rate lets more go at once
 * than from an empty start. */
void core_begin_rates(struct core *core, nanoseconds now);
/* When core_begin_rates() was called last; NEVER. */
nanoseconds core_rates_begun(const struct core *core);
/* NEVER if there is no grace, or all leases are back. */
nanoseconds core_grace_until(const struct core *core);
/* Makes a recorded lease again: all that were held before any that waited, which may be nested in
 * them. Later ids and tokens are larger than its own. A lease that was held is held again, whatever
 * limits, quotas and identities say now; a lease that has one of its units with a smaller token is
 * lost. Otherwise no lease is made: OUTCOME_KIND if one of its resources is now of another kind,
 * scope or database; OUTCOME_HELD if another lease has its id, or one of its units with a larger
 * token; OUTCOME_UNKNOWN or OUTCOME_IMPOSSIBLE if it waited and can no longer be granted. */
enum outcome core_restore(struct core *core, const struct saved_lease *saved, nanoseconds now,
    struct effects *effects, struct lease **leasep);

/* After the last of them: what shares units of a lease that is not back, or is over, is stopped.
 * Not before: that lease must be there for all who share it. */
void core_end_restoring(struct core *core, nanoseconds now, struct effects *effects);

/* Says in *saved when the lease ended and how long its units rest. Returns until when the last of
 * them rests; 0 if none does. */
nanoseconds core_note_rest(const struct lease *ended, struct saved_lease *saved);
/* Until when its record alone tells what rates have let go: a reload changes that. */
nanoseconds core_owes_until(const struct core *core, const struct saved_lease *ended);
/* Units of a lease that had ended (saved.rested_at): those that nobody has had since go on resting,
 * as long as *saved says. If it says nothing of that, then as long as the definitions say, and
 * *saved says it too. Returns until when; 0 if none rests. Later ids and tokens are larger than
 * this lease's, too. */
nanoseconds core_restore_cooldown(
    struct core *core, struct saved_lease *saved, nanoseconds now, struct effects *effects);

/* Gives a lease without a client this one: OUTCOME_OK (held), OUTCOME_WAITING, or OUTCOME_PENDING
 * if its database has not sent its place yet, as of the return. OUTCOME_HELD if it has a client
 * already. The caller checks who owns the lease. */
enum outcome core_reclaim(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects);
/* Reclaims a lease that nobody remembers, during a closed grace: checked like an acquire. `claims`
 * has one for each want; NULL if the lease was waiting. OUTCOME_LOST if the units cannot be had
 * back.
 *
 * Tokens other than 0 are proven, either all or none. A lease with a proof keeps its tokens;
 * another lease that has one of its units with a smaller token is lost, and no longer counts in any
 * limit, quota or bound. A proof also overrides identities (it does not cover them), the bounds on
 * instances, and units that rest, since the job runs. A refused reclaim takes nothing from anybody.
 *
 * Fleet scope: the database has the last word about the units, and gives a held lease its tokens
 * (it has none until then); for a waiting one it is asked when the grace is over. */
enum outcome core_reclaim_unknown(struct core *core, struct client *client,
    const struct acquire_request *ask, uint64_t id, const struct saved_claim claims[],
    nanoseconds now, struct effects *effects, struct lease **leasep, const char **at_faultp);
/* Whether a newer request of that user, which waits or is held, has taken the place of the one with
 * that id, perhaps while its client was away: that one waits no longer, whether or not anybody
 * remembers it. */
bool core_is_replaced(
    struct core *core, uint32_t uid, const struct acquire_request *ask, uint64_t id);
/* The living lease that an acquire of that user with the same `once` has made; the newest if there
 * are several, which only records and reclaims can bring about. */
struct lease *core_find_once(struct core *core, uint32_t uid, const char *once);
/* That acquire has come again, from a client of the same user. The later of its client and this one
 * owns the lease from then on, and gets its events; OUTCOME_HELD if that is not this one. Otherwise
 * as core_reclaim(), also for a lease that has a client. */
enum outcome core_repeat(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects);
/* The caller stops: nothing is granted any more. No lease ends by it. */
void core_grant_no_more(struct core *core);
/* Then: ends all leases without a client, silently, so that the core can be freed. */
void core_abandon(struct core *core, nanoseconds now, struct effects *effects);

struct lease *core_find_lease(struct core *core, uint64_t id);
/* Looks among the identities of `uid`, or among all if the resource shares them, for the lease that
 * has this one; else for a request that waits for it, to replace others. */
struct lease *core_find_identity(
    const struct core *core, const struct resource *resource, uint32_t uid, const char *holder);

/* ---- resources ---- */

/* Finds defined resources and live instances of templates; never makes one. */
struct resource *core_find_resource(const struct core *core, const char *name);
/* The definition that governs a name, whether or not its resource exists. NULL: unknown. */
const struct definition *core_find_definition(struct core *core, const char *name);
/* Finds both for the name that is wanted. False: unknown. The resource is good for a core_acquire()
 * before the core changes in any other way. */
bool core_find_want(const struct core *core, struct requested_resource *want);
/* The template of that name, star and all; NULL: there is none. */
struct template *core_find_template(const struct core *core, const char *name);

/* The limit in force of that resource, alive or not, or of each instance of that template; 0: there
 * is none. */
uint32_t core_limit(const struct core *core, const char *name);
/* The pause in force of that resource, alive or not; none is not on. */
const struct pause *core_pause(const struct core *core, const char *name);

/* Changes that operators make at runtime. */
enum change_kind {
    CHANGE_LIMIT,
    CHANGE_ADD,
    CHANGE_REMOVE,
    CHANGE_RESERVE,
    CHANGE_PAUSE,
    CHANGE_RESUME,
    CHANGE_RESET,
    N_CHANGES
};

struct change {
    enum change_kind kind;
    uint32_t limit;
    const char *item; /* of a semaphore: the slot's number */
    const char *reason; /* or NULL; copied */
    struct actor by;
    uint64_t at; /* milliseconds since 1970; 0: not known */
    bool is_charged; /* .payer pays for an instance that stays for the change; else nobody does */
    uint32_t payer;
    bool is_old; /* made again after a restart: its slot may lie above the limit by now */
};

/* Whether a change that was made at `then` is still in force when the file says `now`: over a
 * reload as over a restart. */
bool change_lasts(enum change_kind kind, const struct basis *then, const struct basis *now);

/* Makes the instance of a template if there is none: a pause must last. The name of a template (not
 * for items) stands for all its instances, those to come included: what an instance has been given
 * by itself goes before, and stays when the template's change ends. OUTCOME_KIND in fleet scope:
 * its database's matter. OUTCOME_QUOTA: the instance would be one too many for its payer.
 * What is so already may be said again: then only its reason is new. */
enum outcome core_change(struct core *core, const char *name, const struct change *change,
    nanoseconds now, struct effects *effects);

void core_drain(struct core *core, bool draining, nanoseconds now, struct effects *effects);
/* Who drains, when and why; NULL: nobody does any more. Before core_drain(). */
void core_note_drain(struct core *core, const struct change *change);
const struct decision *core_drain_decision(const struct core *core);

/* ---- time ---- */

/* Does everything due at or before `now`: waits end, cooldowns end. */
void core_tick(struct core *core, nanoseconds now, struct effects *effects);
/* NEVER if nothing is due. */
nanoseconds core_next_deadline(const struct core *core);

/* ---- what is counted for each definition, from zero ----
 *
 * The instances of a template count for the template. */

/* The counters and histograms of one definition, but for the time that its units were held. */
struct counts {
    uint64_t granted[N_GRANTED_HOW], denied[N_OUTCOMES], ended[N_OUTCOMES], reclaimed;
    struct metric_histogram wait, hold;
};

/* A request that was refused before the core was asked. Names without a definition count
 * nowhere. */
void core_count_refused(struct core *core, const struct acquire_request *ask, enum outcome why);
/* A lease of an earlier run that is over: it is not restored. `at`: when it ended. */
void core_count_ended_earlier(
    struct core *core, const struct saved_lease *saved, enum outcome why, nanoseconds at);

/* Slots, and so numbers that core_counts_at() takes. A definition keeps its number. */
size_t core_counts_size(const struct core *core);

struct counts_view {
    const char *name;
    const struct definition *definition;
    const struct counts *counts;
    uint64_t unit_seconds; /* until now; microseconds */
    uint32_t held; /* units */
    uint32_t waiting; /* requests; one for two instances of a template is two */
    nanoseconds oldest_wait, oldest_hold; /* since when; NEVER: none */
};

/* False: that slot is no definition's at present. */
bool core_counts_at(
    const struct core *core, size_t number, nanoseconds now, struct counts_view *view);

/* ---- looking ---- */

bool core_is_draining(const struct core *core);
/* Whether it is draining, and no lease is held or, in a closed grace, may still come back. */
bool core_is_drained(const struct core *core);
/* Whether a closed grace is on, or core_close() was called. */
bool core_is_closed(const struct core *core);
/* Until when databases must keep leases that nobody has here: NEVER in a closed grace, see
 * core_begin_grace(); then until the jobs that share them can be gone; 0: no longer. */
nanoseconds core_misses_leases_until(const struct core *core);
/* Before the first lease: lease ids, tickets and tokens count up from there, and none is used
 * again. Below 2^63. */
void core_begin_numbers(struct core *core, uint64_t first);
/* No lease id or token that large has been given out yet. */
uint64_t core_next_number(const struct core *core);
/* Calls `function`, which may end no lease, until it returns false. Returns whether it never
 * did. */
bool core_for_each_lease(
    struct core *core, bool (*function)(struct lease *lease, void *context), void *context);
/* The same for about `n` leases at a time, while leases come and go: *cursorp begins at 0, and is 0
 * again at the end. A lease that lives all the time comes at least once. */
void core_walk_leases(struct core *core, uint64_t *cursorp, size_t n,
    void (*function)(struct lease *lease, void *context), void *context);
size_t core_n_held(const struct core *core);
size_t core_n_waiting(const struct core *core);
/* The resources that operators have changed, longest ago first, including those no longer
 * defined. */
void core_for_each_changed(
    const struct core *core, void (*function)(const struct resource *, void *), void *context);
/* The templates that operators have changed, in the order of the file. */
void core_for_each_changed_template(
    const struct core *core, void (*function)(const struct template *, void *), void *context);

/* The claim's place among all waiters for that resource, aside or not; 1 is the first. */
uint32_t claim_position(const struct claim *claim);
/* The largest of a waiting lease's claims; 0 while its database has not sent it. */
uint32_t lease_position(const struct lease *lease);

enum wait_kind {
    WAIT_TURN, /* in a queue */
    WAIT_QUOTA, /* its user is at the quota */
    WAIT_BLOCKED, /* its resource is paused, closed, or limited to less than it wants */
    WAIT_AWAY, /* its client is stopped */
    WAIT_IDENTITY, /* another lease has its identity: core_identity_ahead() */
};

/* What a lease waits for, among its host's resources. *resourcep is NULL if an earlier request of
 * the same user for the same things goes first, a database decides, or its client is away. */
enum wait_kind lease_waits_for(
    const struct core *core, struct lease *lease, const struct resource **resourcep);
/* The claim of another lease that has the identity of this one, which waits for it to replace
 * others; NULL: none, or a database decides. */
const struct claim *core_identity_ahead(const struct core *core, const struct lease *lease);

/* An instance as it would be, of a template that has none of that name. The caller frees it by
 * resource_free(). */
struct resource *core_idle_instance(
    struct core *core, const char *name, const struct definition *definition);

/* What those who follow read, and where they say that they do. */
struct news *core_news(struct core *core);

/* Walks all resources in the order they were made (file order, then instances). Anything may change
 * between two calls. */
struct core_cursor {
    struct resource *next;
    struct core_cursor *next_cursor;
};
void core_cursor_init(struct core *core, struct core_cursor *cursor);
struct resource *core_cursor_next(struct core *core, struct core_cursor *cursor);
void core_cursor_deinit(struct core *core, struct core_cursor *cursor);
