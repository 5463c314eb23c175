/* tenure.c - until when the leases of a database are good, and which of them must be stopped first.
 * All leases of a database are good until the same instant, so the cost of a renewal does not
 * depend on their number. */
#include "base/memory.h"
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>

void tenures_init(struct core *core)
{
    for (size_t i = 0; i < MAX_DATABASES; i++) {
        TAILQ_INIT(&core->tenures[i].waiting);
        TAILQ_INIT(&core->tenures[i].held);
    }
}

const struct tenure *tenure_of(const struct core *core, uint8_t database)
{
    assert(database >= 1 && database <= MAX_DATABASES);
    return &core->tenures[database - 1];
}

struct tenure *tenure_get(struct core *core, uint8_t database)
{
    return (struct tenure *)tenure_of(core, database);
}

/* ---- its leases ---- */

void tenure_enter(struct core *core, struct lease *lease)
{
    struct tenant *tenant = memory_new(sizeof *tenant);
    tenant->lease = lease;
    tenant->tenure = tenure_get(core, lease->database);
    core->n_tenures = lease->database > core->n_tenures ? lease->database : core->n_tenures;
    TAILQ_INSERT_TAIL(&tenant->tenure->waiting, tenant, link);
    tenant->tenure->n_waiting++;
    lease->tenant = tenant;
}

static struct tenants *list_of(const struct lease *lease)
{
    struct tenure *tenure = lease->tenant->tenure;
    return lease->state == LEASE_WAITING ? &tenure->waiting : &tenure->held;
}

void tenure_leave(struct lease *lease)
{
    tenure_stops(lease);
    lease->tenant->tenure->n_waiting -= lease->state == LEASE_WAITING;
    TAILQ_REMOVE(list_of(lease), lease->tenant, link);
    free(lease->tenant);
    lease->tenant = NULL;
}

void tenure_holds(struct lease *lease)
{
    struct tenant *tenant = lease->tenant;
    struct tenure *tenure = tenant->tenure;
    uint64_t largest_first = (uint64_t)(NEVER - lease_stop_budget(lease));
    tenure->n_waiting--;
    TAILQ_REMOVE(&tenure->waiting, tenant, link);
    TAILQ_INSERT_TAIL(&tenure->held, tenant, link);
    sorted_set_insert(&tenure->by_budget, &tenant->budget_node, largest_first, lease->id);
}

void tenure_stops(struct lease *lease)
{
    struct tenant *tenant = lease->tenant;
    if (tenant) {
        sorted_set_discard(&tenant->tenure->by_budget, &tenant->budget_node);
    }
}

/* ---- deadlines ---- */

nanoseconds lease_stop_at(const struct lease *lease)
{
    const struct tenure *tenure = lease->tenant ? lease->tenant->tenure : NULL;
    bool is_limited =
        tenure && stop_may_begin(lease, OUTCOME_DEADLINE) && tenure->good_until != 0;
    return is_limited ? tenure->good_until - lease_stop_budget(lease) : NEVER;
}

struct lease *tenure_first_to_stop(const struct tenure *tenure)
{
    struct sorted_set_node *node = sorted_set_first(&tenure->by_budget);
    return node ? container_of(node, struct tenant, budget_node)->lease : NULL;
}

nanoseconds tenure_stop_at(const struct tenure *tenure)
{
    const struct lease *first = tenure_first_to_stop(tenure);
    return first ? lease_stop_at(first) : NEVER;
}

const struct tenure *tenure_first(const struct core *core)
{
    const struct tenure *first = &core->tenures[0];
    for (size_t i = 1; i < core->n_tenures; i++) {
        first =
            tenure_stop_at(&core->tenures[i]) < tenure_stop_at(first) ? &core->tenures[i] : first;
    }
    return first;
}

nanoseconds tenure_next_deadline(const struct core *core)
{
    return core->n_tenures == 0 ? NEVER : tenure_stop_at(tenure_first(core));
}

nanoseconds core_fleet_deadline(const struct core *core, uint8_t database)
{
    return tenure_of(core, database)->good_until;
}

nanoseconds core_fleet_stop_at(const struct core *core, uint8_t database)
{
    return tenure_stop_at(tenure_of(core, database));
}

size_t core_fleet_n_waiting(const struct core *core, uint8_t database)
{
    return tenure_of(core, database)->n_waiting;
}
