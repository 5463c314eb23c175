/* backoff.h - when to try to connect again: soon at first, then after twice the time, never after
 * more than 5 s; jittered, so that hosts that lost one server together do not come back together.
 * Pure: chance is passed in. */
#ifndef BERTH_REDIS_BACKOFF_H
#define BERTH_REDIS_BACKOFF_H

#include "base/time.h"

#define BACKOFF_FIRST (NANOSECONDS_PER_SECOND / 10)
#define BACKOFF_LONGEST (5 * NANOSECONDS_PER_SECOND)

struct backoff {
    nanoseconds pause; /* the longest before the next try; 0: the first one */
    nanoseconds longest; /* of all; 0: BACKOFF_LONGEST. Short where leases do not last long. */
};

nanoseconds backoff_longest(const struct backoff *backoff);
/* Between half the pause and all of it. */
nanoseconds backoff_pause(struct backoff *backoff, uint64_t random);

#endif
