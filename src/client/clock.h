/* clock.h - the one clock of the client: CLOCK_BOOTTIME, which counts suspended time and never
 * steps. */
#ifndef BERTH_CLIENT_CLOCK_H
#define BERTH_CLIENT_CLOCK_H

#include <stdint.h>
#include <time.h>

typedef int64_t nanoseconds; /* instants on that clock, and spans of it */

#define NEVER INT64_MAX
#define NANOSECONDS_PER_SECOND INT64_C(1000000000)
#define NANOSECONDS_PER_MILLISECOND INT64_C(1000000)

static inline nanoseconds clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

static inline nanoseconds earlier(nanoseconds a, nanoseconds b)
{
    return a < b ? a : b;
}

static inline nanoseconds later(nanoseconds a, nanoseconds b)
{
    return a > b ? a : b;
}

#endif
