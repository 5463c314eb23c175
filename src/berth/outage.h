/* outage.h - berthd, or its database, cannot be reached: since when, why, and saying so once. */
#ifndef BERTH_BERTH_OUTAGE_H
#define BERTH_BERTH_OUTAGE_H

#include "base/clock.h"

#include <stdbool.h>

/* Between two tries to reach berthd. */
#define OUTAGE_FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define OUTAGE_LONGEST_PAUSE NANOSECONDS_PER_SECOND

struct outage {
    nanoseconds since; /* NEVER: there is none */
    bool is_of_database; /* berthd is there */
    bool was_said;
    char why[512]; /* in words; "": nothing speaks against the request that is on its way */
};

#define OUTAGE_NONE ((struct outage){.since = NEVER})

/* What is known of the last try. */
void outage_set(struct outage *outage, bool is_of_database, const char *why);
/* It failed. If there was no outage yet, this one began at `since`. */
void outage_goes_on(struct outage *outage, nanoseconds since);
/* On stderr, unless it was said before, or is too young to be worth it. `was_queued`: the place in the
 * queue is in danger. */
void outage_say(struct outage *outage, bool was_queued, nanoseconds now);

#endif
