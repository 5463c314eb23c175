/* time.h - instants and spans. Reading the clock is clock.h's business. */
#pragma once

#include <stdint.h>

/* Instants on the caller's clock (CLOCK_BOOTTIME in the programs), and spans between them. */
typedef int64_t nanoseconds;

#define NEVER INT64_MAX
#define NANOSECONDS_PER_SECOND INT64_C(1000000000)
#define NANOSECONDS_PER_MILLISECOND INT64_C(1000000)

static inline nanoseconds earlier(nanoseconds a, nanoseconds b)
{
    return a < b ? a : b;
}

/* Of a span; a negative one is 0. */
static inline uint64_t microseconds(nanoseconds span)
{
    return span > 0 ? (uint64_t)span / 1000 : 0;
}

static inline uint64_t milliseconds(nanoseconds span)
{
    return span > 0 ? (uint64_t)(span / NANOSECONDS_PER_MILLISECOND) : 0;
}

/* How long a timer in milliseconds runs until that instant: never too short. */
static inline uint64_t milliseconds_until(nanoseconds instant, nanoseconds now)
{
    return instant > now ? milliseconds(instant - now) + 1 : 0;
}

/* Spans come from clients and files: no sum overflows. NEVER stays NEVER. */
static inline nanoseconds instant_after(nanoseconds instant, nanoseconds span)
{
    return span >= NEVER - 1 - instant ? NEVER : instant + span;
}

static inline nanoseconds later(nanoseconds a, nanoseconds b)
{
    return a > b ? a : b;
}
