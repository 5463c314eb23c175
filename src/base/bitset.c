#include "base/bitset.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 64, BLOCK = 64 * WORD };

void bitset_deinit(struct bitset *set)
{
    free(set->words);
    free(set->n_in_block);
    *set = (struct bitset)BITSET_INIT;
}

/* Returns `array`, with room for n of `size` bytes instead of n_before; new ones are zero. */
static void *grown(void *array, uint32_t n_before, uint32_t n, size_t size)
{
    array = memory_resize(array, n, size);
    memset((char *)array + n_before * size, 0, (n - n_before) * size);
    return array;
}

static uint32_t pieces(uint32_t size, uint32_t of)
{
    return (size + of - 1) / of;
}

void bitset_grow(struct bitset *set, uint32_t size)
{
    set->words = grown(
        set->words, pieces(set->size, WORD), pieces(size, WORD), sizeof set->words[0]);
    set->n_in_block = grown(
        set->n_in_block, pieces(set->size, BLOCK), pieces(size, BLOCK), sizeof set->n_in_block[0]);
    set->size = size;
}

bool bitset_has(const struct bitset *set, uint32_t number)
{
    return number < set->size && (set->words[number / WORD] >> number % WORD & 1) != 0;
}

/* By how many the ranges grow if this number, which is no member, becomes one: between two members
 * it turns two ranges into one. Modulo 2^32. */
static uint32_t new_ranges(const struct bitset *set, uint32_t number)
{
    return 1u - (number > 0 && bitset_has(set, number - 1)) - bitset_has(set, number + 1);
}

void bitset_add(struct bitset *set, uint32_t member)
{
    assert(member < set->size && !bitset_has(set, member));
    set->n_ranges += new_ranges(set, member);
    set->words[member / WORD] |= UINT64_C(1) << member % WORD;
    set->n_in_block[member / BLOCK]++;
}

void bitset_remove(struct bitset *set, uint32_t member)
{
    assert(bitset_has(set, member));
    set->words[member / WORD] &= ~(UINT64_C(1) << member % WORD);
    set->n_in_block[member / BLOCK]--;
    set->n_ranges -= new_ranges(set, member);
}

uint32_t bitset_first(const struct bitset *set)
{
    uint32_t block = 0;
    while (set->n_in_block[block] == 0) {
        block++;
    }
    uint32_t word = block * (BLOCK / WORD);
    while (set->words[word] == 0) {
        word++;
    }
    return word * WORD + (uint32_t)__builtin_ctzll(set->words[word]);
}

uint32_t bitset_find(const struct bitset *set, uint32_t from, uint32_t end, bool is_member)
{
    while (from < end) {
        uint64_t word = set->words[from / WORD];
        word = (is_member ? word : ~word) >> from % WORD;
        if (word != 0) {
            from += (uint32_t)__builtin_ctzll(word);
            return from < end ? from : end;
        }
        from = (from / WORD + 1) * WORD;
    }
    return end;
}

uint32_t bitset_count(const struct bitset *set, uint32_t end)
{
    uint32_t n = 0, block = 0, word = end / BLOCK * (BLOCK / WORD);
    for (; block < end / BLOCK; block++) {
        n += set->n_in_block[block];
    }
    for (; word < end / WORD; word++) {
        n += (uint32_t)__builtin_popcountll(set->words[word]);
    }
    uint64_t below = (UINT64_C(1) << end % WORD) - 1;
    return below == 0 ? n : n + (uint32_t)__builtin_popcountll(set->words[word] & below);
}
