/* backoff.h - when to try again: soon at first, then after pauses that double up to a bound. The
 * pauses are jittered, so that clients that lost one server together do not come back together.
 * Pure: chance is passed in. */
#ifndef BERTH_BASE_BACKOFF_H
#define BERTH_BASE_BACKOFF_H

#include "base/time.h"

#include <stdbool.h>

struct backoff {
    nanoseconds pause; /* the longest possible next pause; 0 before the first */
};

/* The next pause starts short again. */
void backoff_reset(struct backoff *backoff);

/* How long until the next try: at least half the pause, and less than all of it. The first pause is
 * `first`, and none is longer than `longest`. */
nanoseconds backoff_next(
    struct backoff *backoff, nanoseconds first, nanoseconds longest, uint64_t random);

/* What to wait in place of `pause` where many clients use one server, which they all try again
 * within `span` (0: few do). The first try may come at once, the later ones after half of the span
 * or more: so they stay as far apart as they are, however long the server is away. */
nanoseconds backoff_spread(nanoseconds pause, nanoseconds span, bool is_first, uint64_t random);

#endif
