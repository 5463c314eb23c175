/* tenure.c - until when the leases of a database are good, and how those that could not be kept
 * alive there are stopped in time. All leases of a database are good until the same instant, so the
 * cost of a renewal does not depend on their number. */
#include "base/memory.h"
#include "core/internal.h"

#include <assert.h>

void tenures_init(struct core *core)
{
    for (size_t i = 0; i < MAX_DATABASES; i++) {
        TAILQ_INIT(&core->tenures[i].waiting);
        TAILQ_INIT(&core->tenures[i].held);
    }
}

static struct tenure *tenure_of(struct core *core, uint8_t database)
{
    assert(database >= 1 && database <= MAX_DATABASES);
    return &core->tenures[database - 1];
}

/* ---- its leases ---- */

void tenure_enter(struct core *core, struct lease *lease)
{
    lease->tenure = tenure_of(core, lease->database);
    TAILQ_INSERT_TAIL(&lease->tenure->waiting, lease, database_link);
}

static struct tenure_list *list_of(const struct lease *lease)
{
    return lease->state == LEASE_WAITING ? &lease->tenure->waiting : &lease->tenure->held;
}

void tenure_leave(struct lease *lease)
{
    tenure_stops(lease);
    TAILQ_REMOVE(list_of(lease), lease, database_link);
    lease->tenure = NULL;
}

void tenure_holds(struct lease *lease)
{
    uint64_t largest_first = (uint64_t)(NEVER - lease_stop_budget(lease));
    TAILQ_REMOVE(&lease->tenure->waiting, lease, database_link);
    TAILQ_INSERT_TAIL(&lease->tenure->held, lease, database_link);
    order_insert(&lease->tenure->by_budget, &lease->budget_node, largest_first, lease->id);
}

void tenure_stops(struct lease *lease)
{
    if (order_contains(&lease->budget_node)) {
        order_remove(&lease->tenure->by_budget, &lease->budget_node);
    }
}

/* ---- deadlines ---- */

nanoseconds lease_stop_at(const struct lease *lease)
{
    bool is_limited =
        lease->tenure && stop_may_begin(lease, OUTCOME_DEADLINE) && lease->tenure->good_until != 0;
    return is_limited ? lease->tenure->good_until - lease_stop_budget(lease) : NEVER;
}

static struct lease *first_to_stop(const struct tenure *tenure)
{
    struct order_node *node = order_first(&tenure->by_budget);
    return node ? container_of(node, struct lease, budget_node) : NULL;
}

static nanoseconds next_of(const struct tenure *tenure)
{
    const struct lease *first = first_to_stop(tenure);
    return first ? lease_stop_at(first) : NEVER;
}

static void stop_first(
    struct core *core, struct tenure *tenure, nanoseconds now, struct effects *effects)
{
    stop_begin_by(core, first_to_stop(tenure), OUTCOME_DEADLINE, tenure->good_until, now, effects);
}

static const struct tenure *first_tenure(const struct core *core)
{
    const struct tenure *first = &core->tenures[0];
    for (size_t i = 1; i < MAX_DATABASES; i++) {
        first = next_of(&core->tenures[i]) < next_of(first) ? &core->tenures[i] : first;
    }
    return first;
}

nanoseconds tenure_next_deadline(const struct core *core)
{
    return next_of(first_tenure(core));
}

void tenure_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    stop_first(core, &core->tenures[first_tenure(core) - core->tenures], now, effects);
}

void core_fleet_good_until(struct core *core, uint8_t database, nanoseconds until, nanoseconds now,
    struct effects *effects)
{
    struct tenure *tenure = tenure_of(core, database);
    tenure->good_until = until;
    while (next_of(tenure) <= now) {
        stop_first(core, tenure, now, effects);
    }
    core_settle(core, now, effects);
}

nanoseconds core_fleet_deadline(const struct core *core, uint8_t database)
{
    assert(database >= 1 && database <= MAX_DATABASES);
    return core->tenures[database - 1].good_until;
}

size_t core_fleet_n_waiting(const struct core *core, uint8_t database)
{
    assert(database >= 1 && database <= MAX_DATABASES);
    return core->tenures[database - 1].n_waiting;
}
