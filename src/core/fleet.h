/* fleet.h - leases whose units somebody else gives out: a database that grants for all hosts.
 *
 * The core keeps everything else of them as it does for the host's own: clients, bindings, quotas,
 * waits that end, max-hold, stopping. Such a lease waits in no queue of the core; EFFECT_ASK and
 * EFFECT_GIVE_BACK say what the database must be told, and the functions here what it has said.
 * Their units are those that this host holds, whatever the limit.
 *
 * All leases of a database are good until the same instant (its one session there). One whose
 * job must be stopped by then begins to be stopped early enough for that: its budget K before. */
#ifndef BERTH_CORE_FLEET_H
#define BERTH_CORE_FLEET_H

#include "core/core.h"

/* The database has granted it: it has these units. `remembered->claims` (in the lease's order) have
 * tokens and units; ticket as given. False, and nothing is changed, if it cannot be true (it was
 * not asked for, other resources or counts, units that this host holds already): peer input. Of one
 * that is held it may be said again; one that was reclaimed learns its tokens so. */
bool core_fleet_granted(struct core *core, struct lease *lease, uint64_t ticket,
    const struct remembered_claim claims[], nanoseconds now, struct effects *effects);
/* It waits there, in that place (0: not known). Denied if it did not want to. */
void core_fleet_waits(struct core *core, struct lease *lease, uint64_t ticket, uint32_t position,
    struct effects *effects);
/* It does not want it: a waiting lease is denied. */
void core_fleet_refused(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects);
/* A held lease is not its any more: the job is stopped (or told so), `why` OUTCOME_LOST. Nothing
 * comes of it for one that waits, or that is being stopped. */
void core_fleet_lost(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects);

/* Of all its held leases. Does not move backwards the deadline of those that are being stopped. */
void core_fleet_good_until(struct core *core, uint8_t database, nanoseconds until, nanoseconds now,
    struct effects *effects);
nanoseconds core_fleet_deadline(const struct core *core, uint8_t database);
/* From the instant when its job is asked to end until it is certainly gone: kill_after and a
 * margin; 0 where no job is stopped. */
nanoseconds lease_stop_budget(const struct lease *lease);
/* When its job must be asked to end if nothing better is heard; NEVER for one of host scope. */
nanoseconds lease_stop_at(const struct lease *lease);

/* Those who hold something of a database, oldest first; `function` may end none. */
void core_fleet_for_each_holder(struct core *core, uint8_t database,
    void (*function)(struct lease *lease, void *context), void *context);
bool core_fleet_has_holders(const struct core *core, uint8_t database);
/* Those who wait, in their order; `function` may end none but its own. */
void core_fleet_for_each_waiter(struct core *core, uint8_t database,
    void (*function)(struct lease *lease, void *context), void *context);
size_t core_fleet_n_waiting(const struct core *core, uint8_t database);

/* Units of claim i's resource that the lease's ancestors hold. */
uint32_t core_fleet_ancestral(struct core *core, const struct lease *lease, size_t i);
/* The lease under which `below`, the lease itself or one of its ancestors, runs, if it is held, is
 * of the lease's user and was granted before the lease was asked for; or NULL. */
const struct lease *core_fleet_above(
    struct core *core, const struct lease *lease, const struct lease *below);

#endif
