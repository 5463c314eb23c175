/* clock.h - the daemon's one clock: goes on during suspend, never steps. */
#ifndef BERTH_DAEMON_CLOCK_H
#define BERTH_DAEMON_CLOCK_H

#include "core/types.h"

#include <time.h>

static inline nanoseconds clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

#endif
