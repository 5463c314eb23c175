/* backoff.h - when to try again: soon at first, then after twice the time, never after more than a
 * second, or what its owner says. Pure: time and chance are passed in. */
#ifndef BERTH_BERTH_BACKOFF_H
#define BERTH_BERTH_BACKOFF_H

#include "base/clock.h"

#include <stdint.h>

struct backoff {
    nanoseconds pause; /* the longest before the next try; 0: the first one */
    nanoseconds longest; /* 0: a second */
};

/* The next pause is a short one again. */
void backoff_reset(struct backoff *backoff);

/* The instant of the next try. */
nanoseconds backoff_next(struct backoff *backoff, nanoseconds now, uint64_t random);

#endif
