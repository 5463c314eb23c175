/* ranges.h - the units of a waiting claim: whether it could have them, and which it gets. Slots
 * that stand next to each other are one word of a line, "0-499", and a grant has to fit on one: so
 * a lease may have many slots, but in few ranges. */
#ifndef BERTH_CORE_RANGES_H
#define BERTH_CORE_RANGES_H

#include "core/resource.h"

/* In how many words its slots can always be named: two single slots take no more room than a
 * range. */
uint32_t slots_most_words(uint32_t count, size_t n_claims);
/* Any claim has its units if there are enough of them. */
bool ranges_are_few(const struct resource *resource);
/* Whether it could have its units now, order and pause apart. */
bool claim_has_units(const struct claim *claim);
/* Gives it its units, which claim_has_units() must allow: the lowest slots, or, where those lie too
 * scattered, the longest ranges. */
void claim_take_units(struct claim *claim, uint64_t *random);

#endif
