/* seed.h - the seed of all that unit tests draw at random: always the same, unless $BERTH_SEED sets
 * another. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t seed_of_test(void)
{
    const char *text = getenv("BERTH_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}
