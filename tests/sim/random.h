/* random.h - the simulator's own numbers: the same for the same seed, everywhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 ... n-1 */
static inline uint32_t random_below(struct random *random, uint32_t n)
{
    return (uint32_t)((random_next(random) >> 32) * n >> 32);
}

static inline bool random_percent(struct random *random, uint32_t percent)
{
    return random_below(random, 100) < percent;
}

static inline uint32_t random_pick(struct random *random, const uint32_t *list, uint32_t n)
{
    return list[random_below(random, n)];
}

#define PICK(random, ...)                                                                          \
    random_pick(random, (const uint32_t[]){__VA_ARGS__},                                           \
        sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
