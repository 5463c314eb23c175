/* outage.h - berthd, or its database, cannot be reached: since when and why; says so once. */
#ifndef BERTH_BERTH_OUTAGE_H
#define BERTH_BERTH_OUTAGE_H

#include "base/clock.h"

#include <stdbool.h>

/* Between two tries to reach berthd. */
#define OUTAGE_FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define OUTAGE_LONGEST_PAUSE NANOSECONDS_PER_SECOND

struct outage {
    nanoseconds since; /* NEVER: there is none */
    bool is_of_database; /* berthd itself is there */
    bool was_said;
    char why[512]; /* in words; "": no reason against the request that is on its way */
};

#define OUTAGE_NONE ((struct outage){.since = NEVER})

/* Sets the reason for the last failure. */
void outage_set(struct outage *outage, bool is_of_database, const char *why);
/* Another try failed. If there was no outage yet, this one began at `since`. */
void outage_goes_on(struct outage *outage, nanoseconds since);
/* Writes a message, unless it has been written, or the outage is too short to matter. `was_queued`:
 * the place in the queue is in danger. */
void outage_say(struct outage *outage, bool was_queued, nanoseconds now);

#endif
