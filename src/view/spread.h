/* spread.h - many durations as a histogram: their number, sum, longest, and any percentile. Pure.
 *
 * Durations are milliseconds, at most INT64_MAX. Their bucket is exact below 128 ms; from there on
 * each power of 2 has 64 buckets, so that a figure is at most 1/64 off. Buckets have the same
 * numbers in all versions: they stand in answers (doc/protocol.md, stats). */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPREAD_GROUP = 64, /* buckets of a power of 2 */
    SPREAD_GROUPS = 58,
    SPREAD_BUCKETS = SPREAD_GROUP * SPREAD_GROUPS,
};

/* More than INT64_MAX is INT64_MAX. */
static inline uint64_t capped_sum(uint64_t a, uint64_t b)
{
    return b <= INT64_MAX - a ? a + b : INT64_MAX;
}

/* {0}: there are none. */
struct spread {
    uint64_t n;
    uint64_t sum; /* capped */
    uint64_t longest;
    uint64_t *groups[SPREAD_GROUPS]; /* how many are in each bucket; owned; NULL: none */
};

void spread_add(struct spread *spread, uint64_t milliseconds);
void spread_merge(struct spread *into, const struct spread *from);
void spread_deinit(struct spread *spread);

/* The smallest duration that at least `percent` (1 to 100) of a hundred of them do not exceed, of
 * at least one: the nearest rank. Of a bucket it is the roundest number; the longest is exact. */
uint64_t spread_percentile(const struct spread *spread, unsigned percent);

/* Adds "BUCKET:N,BUCKET:N" of the buckets from `first` on, as many as fit into `room` bytes.
 * Returns the first bucket that does not, or SPREAD_BUCKETS. */
unsigned spread_write(
    const struct spread *spread, unsigned first, size_t room, struct text *out);
/* Takes the buckets of such a text into a spread that has nothing but its .sum and .longest; NULL:
 * there are none. Modifies the text. False: nobody has written that. */
bool spread_read(struct spread *spread, char *buckets);
