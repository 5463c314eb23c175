/* latency.h - how fast something answers: the last time, and the median and the 99th percentile of
 * the last minute. Pure.
 *
 * Times are counted in buckets, of this half of a minute and of the one before: so the last minute
 * is 30 to 60 s long. A percentile is the upper end of its bucket, at most an eighth above the true
 * one, and never above the longest time. A call that is given
 * up counts as if it had been answered then: latency_note() of how long it had waited. */
#pragma once

#include "base/time.h"

#include <stddef.h>
#include <stdint.h>

/* 8 in each power of two, up to 2^33 us, which is more than two hours. */
enum { LATENCY_BUCKETS = 248 };

struct latency_half {
    uint64_t number; /* of this half of a minute, on the clock */
    uint64_t longest; /* microseconds, as all times here */
    uint32_t n; /* times in it */
    uint32_t buckets[LATENCY_BUCKETS];
};

struct latency {
    uint64_t last;
    struct latency_half halves[2];
};

struct latency_view {
    uint64_t last; /* however long ago; 0: there was none */
    uint64_t n; /* times in the last minute; 0: these are not known */
    uint64_t median, p99;
};

void latency_note(struct latency *latency, nanoseconds now, uint64_t microseconds);
struct latency_view latency_look(const struct latency *latency, nanoseconds now);
