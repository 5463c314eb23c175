/* seed.h - the seed of all that unit tests draw at random: always the same, unless $BERTH_SEED sets
 * another. */
#ifndef BERTH_TESTS_SEED_H
#define BERTH_TESTS_SEED_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t seed_of_test(void)
{
    const char *text = getenv("BERTH_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

#endif
