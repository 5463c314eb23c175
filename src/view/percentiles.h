/* percentiles.h - summarises durations: median, 95th percentile, maximum. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
