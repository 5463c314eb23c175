/* fleet_clock.c - clock rates in the simulated fleet: each host's clock and Redis' may be slewed.
 */
#include "fleet_internal.h"

#include <stdio.h>

#define LONGEST_SPAN (INT64_MAX / SLEW_UNIT)

static uint32_t random_rate(struct fleet *fleet, const struct slewed_clock *clock)
{
    enum { SLOWEST = SLEW_UNIT - MAX_SLEW, FASTEST = SLEW_UNIT + MAX_SLEW };
    uint32_t any = SLOWEST + random_below(&fleet->random, 2 * MAX_SLEW + 1);
    const uint32_t rates[N_SLEWS] = {
        [SLEWS_NONE] = SLEW_UNIT,
        [SLEWS_ANY] = PICK(&fleet->random, SLOWEST, FASTEST, SLEW_UNIT, any),
        [SLEWS_WORST] = clock == &fleet->server.clock ? FASTEST
                                                     : PICK(&fleet->random, SLOWEST, FASTEST),
    };
    return rates[fleet->slews];
}

void clock_begin(struct fleet *fleet, struct slewed_clock *clock)
{
    *clock = (struct slewed_clock){.since = fleet->now,
        .shown = chance(fleet, SECOND, 10000 * SECOND), /* since its boot */
        .rate = random_rate(fleet, clock)};
}

nanoseconds clock_at(const struct slewed_clock *clock, nanoseconds now)
{
    return clock->shown + (now - clock->since) * clock->rate / SLEW_UNIT;
}

nanoseconds clock_when(const struct slewed_clock *clock, nanoseconds shown)
{
    nanoseconds span = shown - clock->shown;
    if (span <= 0 || span > LONGEST_SPAN) {
        return span <= 0 ? clock->since : NEVER;
    }
    return clock->since + (span * SLEW_UNIT + clock->rate - 1) / clock->rate;
}

void clock_slew(struct fleet *fleet, struct slewed_clock *clock)
{
    *clock = (struct slewed_clock){.since = fleet->now,
        .shown = clock_at(clock, fleet->now),
        .rate = random_rate(fleet, clock)};
    fleet->figures[FIGURE_RATES] += fleet->slews == SLEWS_ANY;
    trace(fleet, "a clock goes at %u/%u", clock->rate, SLEW_UNIT);
}

nanoseconds host_now(const struct fleet *fleet, const struct host *host)
{
    return clock_at(&host->clock, fleet->now);
}

nanoseconds slow(nanoseconds span)
{
    return span / (SLEW_UNIT - MAX_SLEW) * SLEW_UNIT;
}

void clocks_print(const struct fleet *fleet)
{
    printf("# clocks, in 1/%u: Redis %u", SLEW_UNIT, fleet->server.clock.rate);
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        const struct host *host = &fleet->hosts[i];
        if (host->is_there) {
            printf(" %.16s %u", host->name, host->clock.rate);
        }
    }
    printf("\n");
}
