/* watch_events.h - the lines of `berthctl watch`: what a copy of berthd's state is told, in words.
 * Pure. */
#pragma once

#include "base/text.h"
#include "view/json.h"
#include "view/live.h"

/* Which events, and in which form. */
struct watch_choice {
    char *const *names; /* of resources, or patterns; n_names 0: all */
    size_t n_names;
    bool with_ended; /* how leases have ended, in place of that they are given back */
    bool is_json; /* in place of a line in columns */
    /* Sets .process of a lease that says no program; or NULL. */
    void (*find_program)(struct status_lease *lease);
};

struct watch_events {
    struct watch_choice choice;
    struct live *live;
    struct live_watcher watcher;
    /* The caller sets these two before each live_take(). */
    nanoseconds now; /* as it gives to live_take() */
    int64_t wall; /* the same instant, in milliseconds since 1970 */
    struct text out; /* lines; the caller takes them away, and frees the rest */
};

/* Begins to watch the copy, which must end before the events do. */
void watch_events_init(
    struct watch_events *events, struct live *live, const struct watch_choice *choice);

/* The first name that is no pattern, no resource of the copy, and nothing that a template of the
 * copy could have; or NULL. */
const char *watch_events_unknown(const struct watch_events *events);
