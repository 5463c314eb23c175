/* backoff.h - when to try again: soon at first, then after pauses that double up to a bound. The
 * pauses are jittered, so that clients that lost one server together do not come back together.
 * Pure: chance is passed in. */
#pragma once

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

/* The same for one of many clients of a server, who together need `span` to come back to it; 0:
 * few. `is_first`: they have just lost it, all at the same time, and each comes at any time within
 * the span. The pauses that follow begin at a quarter of it. */
nanoseconds backoff_next_spread(struct backoff *backoff, nanoseconds first, nanoseconds longest,
    nanoseconds span, bool is_first, uint64_t random);
