/* fleet.h - leases whose units a database gives out, for all hosts.
 *
 * The core keeps everything else about them as it does for the host's own: clients, bindings,
 * quotas, waits that end, max-hold, stopping. Such a lease waits in no queue of the core.
 * EFFECT_ASK and EFFECT_GIVE_BACK say what to tell the database; the functions here take its
 * answers. A resource has the units that this host holds, whatever the limit.
 *
 * All leases of a database are good until the same instant, as they share one session there. A
 * lease whose job must be stopped by then begins to be stopped earlier by its stop budget K. */
#pragma once

#include "core/core.h"

/* The database has granted the lease. `remembered->claims`, in the lease's order, have its tokens
 * and units. Returns false and changes nothing if the answer cannot be true (the lease was not
 * asked for; other resources or counts; units that this host holds already): it is peer input. The
 * grant of a held lease may be repeated, so that a reclaimed one learns its tokens. */
bool core_fleet_granted(struct core *core, struct lease *lease, uint64_t ticket,
    const struct saved_claim claims[], nanoseconds now, struct effects *effects);
/* The lease waits in the database, in that place (0: not known). One that does not want to wait is
 * denied. */
void core_fleet_waits(struct core *core, struct lease *lease, uint64_t ticket, uint32_t position,
    struct effects *effects);
/* The same after an operator has moved it: perhaps back. */
void core_fleet_moved(struct core *core, struct lease *lease, uint64_t ticket, uint32_t position,
    struct effects *effects);
/* The database refuses the lease: if it waits, it is denied. */
void core_fleet_refused(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);
/* A held lease is no longer good: stops the job (or only tells its client), `why` OUTCOME_LOST.
 * Ignored for a lease that waits or is being stopped. */
void core_fleet_lost(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);

/* For all held leases of the database; those that are being stopped keep their deadline. */
void core_fleet_good_until(struct core *core, uint8_t database, nanoseconds until, nanoseconds now,
    struct effects *effects);
nanoseconds core_fleet_deadline(const struct core *core, uint8_t database);
/* When the first job must be asked to end unless a renewal comes first; NEVER: none must. */
nanoseconds core_fleet_stop_at(const struct core *core, uint8_t database);
/* From the instant when the job is asked to end until it is certainly gone: kill_after and a
 * margin; 0 where no job is stopped. */
nanoseconds lease_stop_budget(const struct lease *lease);
/* When the job must be asked to end unless a renewal comes first; NEVER in host scope. */
nanoseconds lease_stop_at(const struct lease *lease);

/* Calls `function`, which may end no lease, for each held lease of a database, oldest first. */
void core_fleet_for_each_holder(struct core *core, uint8_t database,
    void (*function)(struct lease *lease, void *context), void *context);
bool core_fleet_has_holders(const struct core *core, uint8_t database);
/* Calls `function`, which may end only its own lease, for each waiting lease in their order. */
void core_fleet_for_each_waiter(struct core *core, uint8_t database,
    void (*function)(struct lease *lease, void *context), void *context);
size_t core_fleet_n_waiting(const struct core *core, uint8_t database);

/* How many leases run under each other, for us. */
enum { MAX_ANCESTORS = 64 };
/* The lease under which this one runs, or asks if it has no id yet; perhaps another user's, as
 * anybody can name any. NULL: none is held. */
struct lease *core_lease_above(struct core *core, const struct lease *below);
/* The same if it is still to end, and does not before this one: one that is ending waits for its
 * shares alone. */
struct lease *core_lease_held_up(struct core *core, const struct lease *by);
