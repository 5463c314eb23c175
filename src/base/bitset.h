/* bitset.h - a set of small integers, one bit each. Adding and removing takes O(1); finding the
 * first member, or counting members, reads one counter per 4096 numbers and at most 64 words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bitset {
    uint64_t *words; /* owned */
    uint32_t *n_in_block; /* members in each block of words; owned */
    uint32_t size; /* members are smaller */
    uint32_t n_ranges; /* adjacent members are one range */
};

#define BITSET_INIT {0}

void bitset_deinit(struct bitset *set);
/* From now on there is room for members below `size`, which is not smaller than before. */
void bitset_grow(struct bitset *set, uint32_t size);
bool bitset_has(const struct bitset *set, uint32_t number);
/* `member` is below the size, and not in the set yet. */
void bitset_add(struct bitset *set, uint32_t member);
/* `member` is in the set. */
void bitset_remove(struct bitset *set, uint32_t member);
/* The set is not empty. */
uint32_t bitset_first(const struct bitset *set);
/* The first number from `from` on that is in the set, or, if not `is_member`, that is not; `end` if
 * there is none before it. `end` is at most the size. */
uint32_t bitset_find(const struct bitset *set, uint32_t from, uint32_t end, bool is_member);
/* The number of members below `end`, which is at most the size. */
uint32_t bitset_count(const struct bitset *set, uint32_t end);
