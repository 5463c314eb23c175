/* core.h - everything that decides who gets what when, on one host. Pure: no clock, no sockets, no
 * logging. Every operation takes `now`, appends to a list of effects, and leaves the next instant
 * at which something is due in core_next_deadline().
 *
 * Guarantees kept here (DESIGN.md 2): never over the limit, in order, all or nothing, bounded per
 * uid, tokens only grow.
 *
 * Order: every queue has the same order, (bigger priority, smaller ticket). Under `fifo` only the
 * head of a queue may be granted; a lease that wants several resources is granted only when it may
 * be in each of its queues, and keeps those behind it waiting until then. A waiter that cannot go
 * for a reason that is not the queue's (its user's quota; another resource that it wants is paused
 * or closed) is set aside and delays nobody; its place counts again when the reason is gone. */
#ifndef BERTH_CORE_CORE_H
#define BERTH_CORE_CORE_H

#include "core/client.h"
#include "core/definition.h"
#include "core/effects.h"
#include "core/lease.h"
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
 * between semaphore and pool; then nothing has changed. `definitions` must outlive the next call. */
enum outcome core_define(struct core *core, const struct definition *definitions, size_t n,
    const struct user_bounds *bounds, nanoseconds now, struct effects *effects,
    const char **refusedp);

/* ---- clients ---- */

/* A client is who asks: in the daemon, one connection. The caller owns the memory. OUTCOME_QUOTA
 * if that uid has too many (then the client must not be used). */
enum outcome core_client_init(struct core *core, struct client *client, uint32_t uid);
/* Its waiting leases leave their queues first, then its held ones are released. No effect names a
 * lease of this client. */
void core_client_end_leases(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects);
/* The same, and the client is gone. */
void core_client_deinit(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects);

/* ---- leases ---- */

struct want {
    const char *name;
    uint32_t count;
};

struct ask {
    struct want wants[MAX_RESOURCES_PER_LEASE];
    size_t n_wants;
    nanoseconds wait; /* a span; 0 = not at all, NEVER = for ever */
    int32_t priority;
    const char *holder, *reason, *program; /* NULL if not given; copied */
    int32_t pid;
    uint64_t parent; /* 0 = none */
};

/* OUTCOME_OK (granted: *leasep is held) and OUTCOME_WAITING set *leasep; anything else is a
 * refusal, with the resource it is about in *aboutp (the name as given; NULL if about none).
 * A grant that this operation brings about for *other* leases is an effect.
 *
 * Rights are not checked here. */
enum outcome core_acquire(struct core *core, struct client *client, const struct ask *ask,
    nanoseconds now, struct effects *effects, struct lease **leasep, const char **aboutp);

/* Held: releases. Waiting: leaves the queues. `by` is the client that asks: if it is not the
 * lease's own, the lease's own client is told by an effect (lost: released; denied: cancelled). */
void core_end(struct core *core, struct lease *lease, const struct client *by, nanoseconds now,
    struct effects *effects);

struct lease *core_find_lease(struct core *core, uint64_t id);
/* By identity: among those of `uid`, or of all if the resource shares identities. */
struct lease *core_find_identity(
    struct core *core, struct resource *resource, uint32_t uid, const char *holder);

/* ---- resources ---- */

/* Defined resources and live instances of templates; never makes one. */
struct resource *core_find_resource(struct core *core, const char *name);
/* The definition that governs a name, whether or not its resource is alive. NULL: unknown. */
const struct definition *core_find_definition(struct core *core, const char *name);

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

/* Makes the instance of a template if it is not alive: a pause must last. */
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
size_t core_n_held(const struct core *core);
size_t core_n_waiting(const struct core *core);
size_t core_n_resources(const struct core *core);

/* Its place among all who wait for that resource, aside or not; 1 is the first. */
uint32_t claim_position(const struct claim *claim);

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
void core_check(const struct core *core);

#endif
