/* timing.h - the time formulas of doc/timing.md: how long a grant of a database is valid, and how
 * long before that a job must be told to stop. T is the database's ttl. */
#pragma once

#include "core/types.h"

enum { RENEWALS_PER_TTL = 6 };

/* More often where the ttl is long: a call moves the session clock on by at most 0.16 T + 250 ms,
 * and the renewals of one daemon must suffice to keep it right. */
static inline nanoseconds timing_renewal(nanoseconds ttl)
{
    nanoseconds part = ttl / RENEWALS_PER_TTL, max = ttl / 100 * 16 + NANOSECONDS_PER_SECOND / 5;
    return part < max ? part : max;
}

/* A renewal that takes longer is slow: many of these still fit, but operators should know. */
static inline nanoseconds timing_slow_renewal(nanoseconds ttl)
{
    return timing_renewal(ttl) / 10;
}

/* From sending a renewal until the leases are lost: a part of T, as both clocks may be slewed by a
 * twelfth, less a margin (doc/timing.md). */
static inline nanoseconds timing_good_for(nanoseconds ttl)
{
    return ttl / 100 * 84 - NANOSECONDS_PER_SECOND / 4;
}

/* How long a stop may take beyond kill-after until the job is certainly gone. */
static inline nanoseconds timing_stop_margin(nanoseconds kill_after)
{
    nanoseconds third = kill_after / 3;
    return third > NANOSECONDS_PER_SECOND ? third : NANOSECONDS_PER_SECOND;
}

/* By when a job is gone whose client, refused until `at`, hears then that it must end. */
static inline nanoseconds timing_gone_after(nanoseconds at, nanoseconds kill_after)
{
    nanoseconds longest_pause = NANOSECONDS_PER_SECOND; /* between two of its attempts */
    nanoseconds takes = timing_stop_margin(kill_after) + longest_pause;
    return instant_after(at, instant_after(kill_after, takes));
}
