/* stats.h - what `berthctl stats` says, computed from what is over and from `status`. Pure.
 *
 * Durations are milliseconds. */
#pragma once

#include "view/sums.h"
#include "view/past.h"
#include "view/status.h"

/* Of one resource, of one user, or of one user's leases on one resource. */
struct stats_row {
    struct figures figures;
    /* Its .unit_time, in thousandths of what it would be if all units of the resource had been held
     * all the time; of a user, of that of all users. Not given: it is not known, as the limit may
     * have been another one, or the resource is of fleet scope. */
    struct optional permille;
    const char *name; /* the past's */
    struct shown_user user;
};

struct stats_resource {
    struct stats_row all;
    struct stats_row *users;
    size_t n_users;
};

struct stats {
    uint64_t from, to; /* the span: milliseconds since 1970 */
    struct stats_resource *resources; /* by name */
    size_t n_resources;
    struct stats_row *users; /* who waited longest in all first */
    size_t n_users;
    uint64_t n_ended; /* leases and waits; 0: at most running ones are counted */
    bool knows_no_running; /* nobody has said what is held or waits */
};

/* .since, .until, .uid (only rows of this user; a share is still one of the time of all) and .names
 * count. The past is of all users; its leases and what goes on are added to its sums. The span
 * ends at .until, or when the history was asked for. It begins at .since, or when the oldest lease
 * that is remembered was asked for, whichever is later. The past must outlive the stats. */
struct stats stats_of(
    struct past *past, const struct status *status, const struct past_choice *choice);
void stats_deinit(struct stats *stats);
