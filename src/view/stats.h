/* stats.h - what `berthctl stats` says, computed from the answers to `history` and `status`. Pure.
 *
 * Durations are milliseconds. */
#pragma once

#include "view/past.h"
#include "view/status.h"

/* ---- many durations: median, 95th percentile, maximum ---- */

struct durations {
    uint64_t *list; /* owned */
    size_t n;
};

void durations_add(struct durations *durations, uint64_t milliseconds);
void durations_deinit(struct durations *durations);

/* The smallest duration that at least `percent` (1 to 100) of a hundred of them do not exceed: the
 * nearest rank, so that each figure is one that has occurred. `sorted` has `n` of them, at least 1.
 */
uint64_t nearest_rank(const uint64_t sorted[], size_t n, unsigned percent);

struct percentiles {
    size_t n; /* of how many; 0: the others mean nothing */
    uint64_t median, percentile_95, longest,
        sum; /* as the durations; the sum is at most UINT64_MAX */
};

/* Sorts the durations. */
struct percentiles percentiles_of(struct durations *durations);

/* ---- all ---- */

/* Of leases and waits that have ended in the span, and of the waits that go on. */
struct figures {
    uint64_t n_leases; /* that were granted */
    uint64_t n_refused; /* waits that ended without a grant */
    uint64_t n_waiting; /* now */
    struct percentiles waits; /* of all three; those that go on: so far */
    struct percentiles holds; /* of the leases */
    /* Times a unit was held in the span, also by leases that are still held; not given: for some it
     * is not known how many units they had. */
    struct optional unit_time;
    /* That, in thousandths of what it would be if all units of the resource had been held all the
     * time; of a user, of that of all users. Not given: it is not known, as the limit may have been
     * another one, or the resource is of fleet scope, and the history of this host alone. */
    struct optional permille;
};

/* Of one user, or of one user's leases on one resource. */
struct stats_user {
    struct figures figures;
    struct shown_user user;
};

struct stats_resource {
    struct figures figures;
    const char *name; /* the past's or the status' */
    struct stats_user *users;
    size_t n_users;
};

struct stats {
    uint64_t from, to; /* the span: milliseconds since 1970 */
    struct stats_resource *resources; /* by name */
    size_t n_resources;
    struct stats_user *users; /* who waited longest in all first */
    size_t n_users;
    size_t n_ended; /* leases and waits; 0: at most running ones are counted */
    struct optional unit_time; /* of all users */
};

/* .since, .uid (only rows of this user; .unit_time is still that of all) and .names count. The
 * answers are of all users. The span ends when the history was asked for. It begins at .since,
 * or when the oldest lease that berthd remembers was asked for, whichever is later. `status` was
 * asked for before `past`: what has ended in between is in both. Both must outlive the stats. */
struct stats stats_of(
    const struct past *past, const struct status *status, const struct past_choice *choice);
void stats_deinit(struct stats *stats);
