#include "fleet/latency.h"

#define HALF_A_MINUTE (30 * NANOSECONDS_PER_SECOND)
#define LONGEST ((UINT64_C(1) << 33) - 1)

enum { PARTS = 8 }; /* of a power of two */

static uint64_t half_of(nanoseconds instant)
{
    return (uint64_t)(instant / HALF_A_MINUTE);
}

/* Below 2 PARTS, each number has a bucket of its own. */
static size_t bucket_of(uint64_t microseconds)
{
    uint64_t rest = microseconds < LONGEST ? microseconds : LONGEST;
    size_t n_halved = 0;
    while (rest >= (uint64_t)2 * PARTS) {
        rest /= 2;
        n_halved++;
    }
    return PARTS * n_halved + (size_t)rest;
}

static uint64_t end_of(size_t bucket)
{
    size_t n_halved = bucket < (size_t)2 * PARTS ? 0 : bucket / PARTS - 1;
    return ((bucket - PARTS * n_halved + 1) << n_halved) - 1;
}

void latency_note(struct latency *latency, nanoseconds now, uint64_t microseconds)
{
    uint64_t number = half_of(now);
    struct latency_half *half = &latency->halves[number % 2];
    if (half->number != number) {
        *half = (struct latency_half){.number = number};
    }
    latency->last = microseconds;
    half->longest = microseconds > half->longest ? microseconds : half->longest;
    half->buckets[bucket_of(microseconds)]++;
    half->n++;
}

struct latency_view latency_look(const struct latency *latency, nanoseconds now)
{
    struct latency_view view = {.last = latency->last};
    const struct latency_half *seen[2]; /* those of the last minute */
    size_t n_seen = 0;
    uint64_t longest = 0, n_below = 0;
    for (size_t i = 0; i < 2; i++) {
        const struct latency_half *half = &latency->halves[i];
        if (half_of(now) - half->number <= 1) {
            seen[n_seen++] = half;
            view.n += half->n;
            longest = half->longest > longest ? half->longest : longest;
        }
    }
    for (size_t bucket = 0; n_below < view.n; bucket++) {
        uint64_t before = n_below, end = end_of(bucket);
        uint64_t value = end < longest ? end : longest;
        for (size_t i = 0; i < n_seen; i++) {
            n_below += seen[i]->buckets[bucket];
        }
        view.median = before * 2 < view.n ? value : view.median;
        view.p99 = before * 100 < view.n * 99 ? value : view.p99;
    }
    return view;
}
