/* tenure_expiry.c - stops leases in time when their database could not be reached. */
#include "core/internal.h"

static void stop_first(
    struct core *core, struct tenure *tenure, nanoseconds now, struct effects *effects)
{
    struct lease *lease = tenure_first_to_stop(tenure);
    stop_begin_by(core, lease, OUTCOME_DEADLINE, tenure->good_until, now, effects);
}

void tenure_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    stop_first(core, &core->tenures[tenure_first(core) - core->tenures], now, effects);
}

void core_fleet_good_until(struct core *core, uint8_t database, nanoseconds until, nanoseconds now,
    struct effects *effects)
{
    struct tenure *tenure = tenure_get(core, database);
    tenure->good_until = until;
    while (tenure_stop_at(tenure) <= now) {
        stop_first(core, tenure, now, effects);
    }
    core_settle(core, now, effects);
}
