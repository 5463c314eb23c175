/* test_bitset.c - the set of small integers against an array of booleans. */
#include "base/bitset.h"
#include "seed.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MANY = 3 * 4096 + 100 }; /* several blocks, the last one not whole */

static uint32_t find(const bool is_in[], uint32_t from, uint32_t end, bool is_member)
{
    while (from < end && is_in[from] != is_member) {
        from++;
    }
    return from;
}

static uint32_t count(const bool is_in[], uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < end; i++) {
        n += is_in[i];
    }
    return n;
}

static void require_same(const struct bitset *set, const bool is_in[], uint32_t size)
{
    uint32_t n = count(is_in, size), first = find(is_in, 0, size, true);
    uint32_t from = (uint32_t)rand() % size, end = from + (uint32_t)rand() % (size - from + 1);
    cr_assert_eq(bitset_count(set, size), n);
    cr_assert_eq(bitset_count(set, end), count(is_in, end));
    cr_assert(n == 0 || bitset_first(set) == first);
    cr_assert_eq(bitset_find(set, from, end, true), find(is_in, from, end, true));
    cr_assert_eq(bitset_find(set, from, end, false), find(is_in, from, end, false));
    cr_assert_eq(bitset_has(set, from), is_in[from]);
}

static void change(struct bitset *set, bool is_in[], uint32_t member)
{
    if (is_in[member]) {
        bitset_remove(set, member);
    } else {
        bitset_add(set, member);
    }
    is_in[member] = !is_in[member];
}

/* Now few members, now many, all over the set and close together. */
Test(bitset, as_an_array_of_booleans)
{
    static bool is_in[MANY];
    struct bitset set = BITSET_INIT;
    srand((unsigned int)seed_of_test());
    bitset_grow(&set, MANY);
    for (int i = 0; i < 3000; i++) {
        uint32_t from = (uint32_t)rand() % MANY, n = (uint32_t)rand() % (i % 100 == 0 ? MANY : 3);
        for (uint32_t k = from; k < from + n && k < MANY; k++) {
            change(&set, is_in, k);
        }
        require_same(&set, is_in, MANY);
    }
    bitset_deinit(&set);
}

Test(bitset, grows_with_its_members)
{
    static bool is_in[MANY];
    struct bitset set = BITSET_INIT;
    uint32_t size = 1;
    cr_expect_not(bitset_has(&set, 0));
    cr_expect_eq(bitset_count(&set, 0), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        if (i >= set.size) {
            size = size * 2 < MANY ? size * 2 : MANY;
            bitset_grow(&set, size);
            require_same(&set, is_in, size);
        }
        cr_assert_not(bitset_has(&set, i));
        change(&set, is_in, i);
    }
    cr_expect_eq(bitset_count(&set, MANY), MANY);
    cr_expect_not(bitset_has(&set, MANY));
    bitset_deinit(&set);
}

Test(bitset, the_first_of_a_later_block)
{
    struct bitset set = BITSET_INIT;
    bitset_grow(&set, MANY);
    bitset_add(&set, MANY - 1);
    cr_expect_eq(bitset_first(&set), MANY - 1);
    bitset_add(&set, 4096);
    cr_expect_eq(bitset_first(&set), 4096);
    bitset_remove(&set, 4096);
    cr_expect_eq(bitset_first(&set), MANY - 1);
    bitset_deinit(&set);
}
