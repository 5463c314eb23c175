/* ranges.h - finds out whether a waiting claim can have its slots, and picks them. Adjacent slots
 * are one word of a line, "0-499", and a grant has to fit on one line: so a lease may have many
 * slots, but in few ranges. */
#pragma once

#include "core/resource.h"

/* How many words always suffice to name the slots: two single slots take no more room than a
 * range. */
uint32_t slots_max_words(uint32_t count, size_t n_claims);
/* Whether any claim has its units if there are enough. */
bool ranges_are_few(const struct resource *resource);
/* Whether the claim could have its units now, order and pause apart. */
bool claim_has_units(const struct claim *claim);
/* Gives the claim its units, which claim_has_units() must allow: the lowest slots, or the longest
 * ranges where those lie too scattered. */
void claim_take_units(struct claim *claim, uint64_t *random);
