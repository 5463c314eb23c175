/* clock.h - the one clock: CLOCK_BOOTTIME, which goes on during suspend and never steps. */
#pragma once

#include "base/time.h"

#include <time.h>

static inline nanoseconds clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

/* By how much that is ahead of the machine's own, which the protocol's deadlines are on: the offset
 * of our time namespace. 0 if the kernel has none, or does not say. */
nanoseconds clock_namespace_offset(void);

/* The time of day, since 1970: it may step. */
static inline nanoseconds clock_wall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}
