/* core.h - everything that decides who gets what when, on one host. Pure: no clock, no sockets, no
 * logging. Every operation takes `now`, appends to a list of effects, and leaves the next instant
 * at which something is due in core_next_deadline().
 *
 * Guarantees kept here: never over the limit, in order, all or nothing, bounded per
 * uid, tokens only grow.
 *
 * Order: every queue has the same order, (bigger priority, smaller ticket). doc/ordering.md says who
 * goes next, and what is kept for those who want several resources. A waiter that cannot go for a
 * reason that is not the queue's (its user's quota; a resource that it wants is paused or closed) is
 * set aside and delays nobody; its place counts again when the reason is gone. */
#ifndef BERTH_CORE_CORE_H
#define BERTH_CORE_CORE_H

#include "core/client.h"
#include "core/definition.h"
#include "core/effects.h"
#include "core/lease.h"
#include "core/remembered.h"
#include "core/resource.h"
#include "core/types.h"

struct core;

struct core_options {
    uint64_t first_id; /* lease ids and tickets count up from here: never reuse one */
    uint64_t first_token; /* below 2^63 */
    uint64_t seed; /* of select = random */
};

struct core *core_new(const struct core_options *options);
/* Asserts that no client is left. Returns NULL. */
struct core *core_free(struct core *core);

/* ---- definitions ---- */

/* Start and reload: from now on exactly these resources and templates exist. Takes nothing away
 * from a holder: a resource that is no longer defined drains, then goes; its waiters are denied
 * (unknown), and so are those that want more than can ever be (impossible).
 *
 * All or nothing: OUTCOME_KIND, with the name in *refusedp, if a resource in use would change
 * between semaphore and pool, or its scope or database; then nothing has changed. `definitions`
 * must outlive the next call. core_set_judge() says who of those who wait goes (forbidden). */
enum outcome core_define(struct core *core, const struct definition *definitions, size_t n,
    const struct user_bounds *bounds, nanoseconds now, struct effects *effects,
    const char **refusedp);

/* Rights are the caller's matter, and a reload may change them: whether that lease, which waits, may
 * wait for a resource with that definition. */
typedef bool core_judge(
    const struct lease *lease, const struct definition *definition, void *context);
/* Asked by core_define(), before anything is granted; NULL: they all may. */
void core_set_judge(struct core *core, core_judge *judge, void *context);

/* ---- clients ---- */

/* A client is who asks: in the daemon, one connection. The caller owns the memory. OUTCOME_QUOTA
 * if that uid has too many (then the client must not be used). */
enum outcome core_client_init(struct core *core, struct client *client, uint32_t uid);
/* The same of one that is not counted, and cannot be too many. */
void client_init_uncounted(struct client *client, uint32_t uid);
/* Its waiting leases leave their queues first; then its held ones are released, but for those that
 * a living process or time keeps: those are without a client from then on. */
void core_client_end_leases(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects);
/* The same, and the client is gone. */
void core_client_deinit(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects);

/* How many of that one user may have over all resources, if this one has as many; else UNBOUNDED. */
uint32_t core_user_bound_met(const struct core *core, uint32_t uid, enum account_slot slot);

/* ---- leases ---- */

struct want {
    const char *name;
    uint32_t count;
    const struct definition *definition; /* what governs the name; for units_most_bytes() alone */
};

struct ask {
    struct want wants[MAX_RESOURCES_PER_LEASE];
    size_t n_wants;
    nanoseconds wait; /* a span; 0 = not at all, NEVER = for ever */
    struct terms terms; /* copied; the caller has asked core_find_once() */
    int32_t pid; /* for status */
    enum binding binding;
    struct process process; /* BOUND_PROCESS: alive, and one that the asker may signal */
    struct process wrapper; /* BOUND_PROCESS: the same, or pid 0: none */
    nanoseconds ttl; /* BOUND_TIME; a span > 0 */
    bool has_kill_after, has_on_lost; /* in .terms; else the resources' */
};

/* OUTCOME_OK (granted: *leasep is held), OUTCOME_WAITING and (fleet scope: what its database says
 * is an effect, fleet.h) OUTCOME_PENDING set *leasep; anything else is a refusal, with the resource
 * it is about in *aboutp (the name as given; NULL if about none). The outcome is the lease's state
 * when the operation returns; a grant that it brings about for *other* leases is an effect. All
 * resources must be of one scope and database: OUTCOME_MIXED, about the first that differs.
 *
 * Rights are not checked here. */
enum outcome core_acquire(struct core *core, struct client *client, const struct ask *ask,
    nanoseconds now, struct effects *effects, struct lease **leasep, const char **aboutp);

/* Held: releases. Waiting: leaves the queues. `by` is the client that asks: if it is not the
 * lease's own, the lease's own client is told by an effect (lost: released; denied: cancelled). */
void core_end(struct core *core, struct lease *lease, const struct client *by, nanoseconds now,
    struct effects *effects);

/* Held: the job is stopped, and the lease is over when it is gone (term.c says how). Waiting: it is
 * denied. */
void core_revoke(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* The same by its own user: signals reach only what the user may signal. An operator's revoke,
 * max-hold and deadlines take over from there. */
void core_withdraw(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);
/* Held: over at once, and its client is told. Waiting: denied. */
void core_drop(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);

/* Lets the ttl begin anew; 0: its length stays. OUTCOME_LOST if it is not held, or being stopped;
 * OUTCOME_KIND for a ttl of a lease that is not bound to time, and for an opaque one. */
enum outcome core_renew(struct core *core, struct lease *lease, nanoseconds ttl, nanoseconds now,
    struct effects *effects);
/* The lease lasts as long as another process from now on; the caller lets go of its watch on the
 * old one before. OUTCOME_KIND if it is opaque or bound to time, or would be to a connection not
 * its own. */
enum outcome lease_bind(struct lease *lease, const struct client *by, enum binding binding,
    const struct process *process, struct effects *effects);
/* The process that keeps the lease is gone, lease_keeper(): the answer to EFFECT_WATCH, unless
 * EFFECT_UNWATCH came in between. */
void core_process_gone(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);

/* When a held lease begins to be stopped if nothing better is heard; NEVER if its time is not
 * limited, or it is being stopped. */
nanoseconds lease_until(const struct lease *lease);
/* The same by its own limits alone, max-hold and ttl: a database's deadline is put off again and
 * again. */
nanoseconds lease_own_until(const struct lease *lease);
/* By then its job is gone, and so is the lease. */
nanoseconds lease_gone_by(const struct lease *lease);

/* ---- leases without a client ---- */

/* Before the first client: leases of an earlier run. Those that a process or time keeps are
 * simply held. All others keep their units and places, and grant nothing to anybody behind them,
 * until they are reclaimed or the grace is over. With `closed`, some may be missing: nothing new is
 * granted until then, and core_reclaim_unknown() works. */
void core_begin_grace(struct core *core, bool closed, nanoseconds until);
/* NEVER: there is none, or all are back. */
nanoseconds core_grace_until(const struct core *core);
/* Ids and tokens given out from now on are larger than its. A lease that was held is held again,
 * whatever limits, quotas and identities say now, and if a lease with a smaller token has one of
 * its units that lease is lost. No lease: OUTCOME_KIND if one of its resources is of another kind,
 * scope or database now; OUTCOME_HELD if its id or a unit belongs to another with a larger token;
 * and if it waited and cannot be granted any more, OUTCOME_UNKNOWN or OUTCOME_IMPOSSIBLE. */
enum outcome core_restore(struct core *core, const struct remembered *remembered, nanoseconds now,
    struct effects *effects, struct lease **leasep);

/* Units of a lease that had ended (remembered.rested_at): those that nobody has had since go on
 * resting. Until when; 0 if none does. Its numbers count as those of a lease that had not. */
nanoseconds core_restore_rest(struct core *core, const struct remembered *remembered,
    nanoseconds now, struct effects *effects);

/* A lease without a client gets this one: OUTCOME_OK (held), OUTCOME_WAITING, or OUTCOME_PENDING if
 * its database has not told its place yet, as it is when the operation returns. OUTCOME_HELD if it
 * has one. The lease's owner is the caller's matter. */
enum outcome core_reclaim(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects);
/* One that nobody remembers, during a closed grace: checked like an acquire. `claims` are one for
 * each want; NULL if the lease was waiting. OUTCOME_LOST if it cannot be had back.
 *
 * Tokens that are not 0 are proven, all of them or none: then the lease keeps them, and whoever has one
 * of its units with a smaller one loses that lease, which counts in no limit, quota or bound any more.
 * Who has proven that is asked for no identity (a proof does not cover it), makes its instances anew
 * whatever the bounds on them, and has units that rest, since its job runs. Whoever is refused takes
 * nothing from anybody.
 *
 * Fleet scope: the database has the last word about the units, and gives a held one its tokens (none
 * until then); one that waits is asked for when the grace is over. */
enum outcome core_reclaim_unknown(struct core *core, struct client *client, const struct ask *ask,
    uint64_t id, const struct remembered_claim claims[], nanoseconds now,
    struct effects *effects, struct lease **leasep, const char **aboutp);
/* The lease that an acquire of that user with the same `once` has made, as long as it lives; the
 * newest if there are several, which only records and reclaims can bring about. */
struct lease *core_find_once(struct core *core, uint32_t uid, const char *once);
/* That acquire has come once more, from a client of the same user. Of its client and this one the
 * later has the lease from then on, and with it all that is told of it; OUTCOME_HELD: that is not
 * this one. Else as core_reclaim(), also of a lease that has a client. */
enum outcome core_repeat(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects);
/* No client has it at present. */
static inline bool lease_is_away(const struct lease *lease)
{
    return lease->client->is_nobody;
}

/* The caller stops: ends all leases without a client, without a word, so that the core can be
 * freed. */
void core_abandon(struct core *core, nanoseconds now, struct effects *effects);

struct lease *core_find_lease(struct core *core, uint64_t id);
/* By identity: among those of `uid`, or of all if the resource shares identities. */
struct lease *core_find_identity(
    struct core *core, struct resource *resource, uint32_t uid, const char *holder);

/* ---- resources ---- */

/* Defined resources and live instances of templates; never makes one. */
struct resource *core_find_resource(struct core *core, const char *name);
/* The definition that governs a name, whether or not its resource is alive. NULL: unknown. */
const struct definition *core_find_definition(struct core *core, const char *name);
/* How many of that template are alive. */
uint32_t core_n_instances(const struct core *core, const char *template);

/* Operator's changes at runtime. */
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
};

/* Makes the instance of a template if it is not alive: a pause must last. OUTCOME_KIND for one of
 * fleet scope: that is its database's matter. */
enum outcome core_change(struct core *core, const char *name, const struct change *change,
    nanoseconds now, struct effects *effects);

void core_drain(struct core *core, bool draining, nanoseconds now, struct effects *effects);

/* ---- time ---- */

/* Everything due at or before `now`: waits that end, units whose cooldown is over. */
void core_tick(struct core *core, nanoseconds now, struct effects *effects);
/* NEVER if nothing is due. */
nanoseconds core_next_deadline(const struct core *core);

/* ---- looking ---- */

bool core_is_draining(const struct core *core);
/* A closed grace: see core_begin_grace(). */
bool core_is_closed(const struct core *core);
/* No lease id or token that large has been given out. */
uint64_t core_next_number(const struct core *core);
/* Until the function returns false. It may end no lease. Whether it got through. */
bool core_for_each_lease(
    struct core *core, bool (*function)(struct lease *lease, void *context), void *context);
size_t core_n_held(const struct core *core);
size_t core_n_waiting(const struct core *core);
size_t core_n_resources(const struct core *core);
/* Those that an operator has changed, longest ago first; also those that are no longer defined. */
void core_for_each_changed(
    const struct core *core, void (*function)(const struct resource *, void *), void *context);

/* Its place among all who wait for that resource, aside or not; 1 is the first. */
uint32_t claim_position(const struct claim *claim);

enum wait_kind {
    WAIT_TURN, /* in a queue */
    WAIT_QUOTA, /* its user has as much as one may */
    WAIT_BLOCKED, /* paused, closed, or a limit smaller than what it wants */
};

/* What a lease waits for, of its host's resources; *resourcep is NULL if another request of its user
 * for the same things goes first, or a database decides. */
enum wait_kind lease_waits_for(struct lease *lease, const struct resource **resourcep);

/* Walks all resources in the order they were made (file order, then instances), safely over any
 * change between two calls. */
struct core_cursor {
    struct resource *next;
    struct core_cursor *next_cursor;
};
void core_cursor_init(struct core *core, struct core_cursor *cursor);
struct resource *core_cursor_next(struct core *core, struct core_cursor *cursor);
void core_cursor_deinit(struct core *core, struct core_cursor *cursor);

/* Recomputes every derived figure from the sets of leases and aborts where they disagree. For
 * tests; O(everything). */
void core_check(struct core *core);

#endif
