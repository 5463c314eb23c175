/* test_table.c - the hash table: equal hashes, growing, shrinking. */
#include "base/table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
    struct table_node node;
    uint64_t key;
};

static struct entry *find(const struct table *table, uint64_t hash, uint64_t key)
{
    struct table_node *node = table_find(table, hash);
    while (node && ((struct entry *)node)->key != key) {
        node = table_find_next(node);
    }
    return (struct entry *)node;
}

Test(table, empty)
{
    struct table table = TABLE_INIT;
    cr_expect_null(table_find(&table, 0));
    cr_expect_eq(table.n, 0);
    table_deinit(&table);
    table_deinit(&table);
}

Test(table, entries_with_equal_hashes)
{
    struct table table = TABLE_INIT;
    struct entry entries[40];
    for (uint64_t i = 0; i < 40; i++) {
        entries[i].key = i;
        table_insert(&table, &entries[i].node, i % 2);
    }
    for (uint64_t i = 0; i < 40; i++) {
        cr_expect_eq(find(&table, i % 2, i), &entries[i]);
        cr_expect_null(find(&table, (i + 1) % 2, i));
    }
    size_t n = 0;
    for (struct table_node *node = table_find(&table, 1); node; node = table_find_next(node)) {
        n++;
    }
    cr_expect_eq(n, 20);
    for (uint64_t i = 0; i < 40; i += 2) {
        table_remove(&table, &entries[i].node);
    }
    cr_expect_null(table_find(&table, 0));
    cr_expect_eq(table.n, 20);
    for (uint64_t i = 39; i < 40; i -= 2) {
        cr_expect_eq(find(&table, 1, i), &entries[i]);
        table_remove(&table, &entries[i].node);
    }
    table_deinit(&table);
}

/* Same bucket, other hash. */
Test(table, other_hashes_of_a_bucket_are_not_found)
{
    struct table table = TABLE_INIT;
    struct entry one, other;
    table_insert(&table, &one.node, 3);
    table_insert(&table, &other.node, 3 + (UINT64_C(1) << 40));
    cr_expect_eq(table_find(&table, 3), &one.node);
    cr_expect_null(table_find_next(&one.node));
    cr_expect_null(table_find_next(&other.node));
    cr_expect_null(table_find(&table, 3 + (UINT64_C(1) << 41)));
    table_remove(&table, &one.node);
    table_remove(&table, &other.node);
    table_deinit(&table);
}

Test(table, grows_and_shrinks)
{
    enum { MANY = 5000 };
    struct table table = TABLE_INIT;
    struct entry *entries = calloc(MANY, sizeof *entries);
    for (uint64_t i = 0; i < MANY; i++) {
        entries[i].key = i;
        table_insert(&table, &entries[i].node, hash_number(i));
    }
    cr_expect_eq(table.n, MANY);
    cr_expect_geq(table.n_buckets, MANY / 4);
    for (uint64_t i = 0; i < MANY; i++) {
        cr_assert_eq(find(&table, hash_number(i), i), &entries[i]);
        cr_assert_null(find(&table, hash_number(i + MANY), i + MANY));
    }
    for (uint64_t i = 0; i < MANY - 10; i++) {
        table_remove(&table, &entries[i].node);
        cr_assert_null(find(&table, hash_number(i), i));
        cr_assert_eq(find(&table, hash_number(MANY - 1), MANY - 1), &entries[MANY - 1]);
    }
    cr_expect_lt(table.n_buckets, 256, "%zu buckets for 10", table.n_buckets);
    for (uint64_t i = MANY - 10; i < MANY; i++) {
        cr_assert_eq(find(&table, hash_number(i), i), &entries[i]);
        table_remove(&table, &entries[i].node);
    }
    cr_expect_eq(table.n, 0);
    table_deinit(&table);
    free(entries);
}

/* Inserting and removing at a threshold must not rehash each time. */
Test(table, does_not_thrash)
{
    struct table table = TABLE_INIT;
    struct entry entries[64], one;
    for (uint64_t i = 0; i < 64; i++) {
        table_insert(&table, &entries[i].node, hash_number(i));
        table_insert(&table, &one.node, hash_number(99));
        size_t grown = table.n_buckets;
        table_remove(&table, &one.node);
        cr_expect_eq(table.n_buckets, grown);
    }
    for (uint64_t i = 0; i < 64; i++) {
        table_remove(&table, &entries[i].node);
        size_t shrunk = table.n_buckets;
        table_insert(&table, &one.node, hash_number(99));
        cr_expect_eq(table.n_buckets, shrunk);
        table_remove(&table, &one.node);
    }
    table_deinit(&table);
}

Test(table, hashes_spread)
{
    unsigned int buckets[64] = {0};
    for (uint64_t i = 0; i < 6400; i++) {
        char name[32];
        snprintf(name, sizeof name, "market/%ju", (uintmax_t)i);
        buckets[hash_string(name, 0) & 63]++;
        buckets[hash_number(i << 20) & 63]++;
        buckets[hash_name(name) & 63]++;
    }
    for (size_t i = 0; i < 64; i++) {
        cr_expect(buckets[i] > 200 && buckets[i] < 400, "%u", buckets[i]);
    }
    cr_expect_neq(hash_string("a", 1), hash_string("a", 2));
    cr_expect_eq(hash_string("a", 1), hash_string("a", 1));
    cr_expect_neq(hash_bytes("a", 1, 1), hash_bytes("a", 1, 2));
    cr_expect_neq(hash_bytes("", 0, 1), hash_bytes("", 0, 2));
}

Test(table, each_byte_counts_in_a_hash)
{
    char bytes[40] = {0};
    for (size_t n = 1; n <= sizeof bytes; n++) {
        uint64_t hash = hash_bytes(bytes, n, 0);
        cr_expect_neq(hash, hash_bytes(bytes, n - 1, 0), "length %zu", n);
        for (size_t i = 0; i < n; i++) {
            bytes[i] = 1;
            cr_expect_neq(hash, hash_bytes(bytes, n, 0), "byte %zu of %zu", i, n);
            bytes[i] = 0;
        }
    }
}

/* ---- a walk ---- */

/* The hash of a key is not the key itself: neighbours are far from each other. */
static void put(struct table *table, struct entry entries[], uint64_t key)
{
    entries[key].key = key;
    table_insert(table, &entries[key].node, hash_number(key));
}

/* Some pieces; counts how often each key comes. */
static void walk(const struct table *table, uint64_t *cursorp, int n_pieces, unsigned times[])
{
    do {
        struct table_node *node = table_walk(table, cursorp);
        for (; node; node = node->next) {
            times[((struct entry *)node)->key]++;
        }
    } while (*cursorp != 0 && --n_pieces > 0);
}

Test(table, a_walk_of_an_empty_table_is_over)
{
    struct table table = TABLE_INIT;
    uint64_t cursor = 0;
    cr_expect_null(table_walk(&table, &cursor));
    cr_expect_eq(cursor, 0);
    table_deinit(&table);
}

Test(table, each_comes_once_in_a_table_that_stays)
{
    enum { MANY = 1000 };
    static struct entry entries[MANY];
    static unsigned times[MANY];
    struct table table = TABLE_INIT;
    uint64_t cursor = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        put(&table, entries, i);
    }
    walk(&table, &cursor, INT32_MAX, times);
    for (uint64_t i = 0; i < MANY; i++) {
        cr_expect_eq(times[i], 1, "%ju: %u", i, times[i]);
        table_remove(&table, &entries[i].node);
    }
    table_deinit(&table);
}

/* The first STAY are there all the time, and come whatever the others do. */
static void walk_while_others(size_t n_before, size_t n_meanwhile, int pieces_before)
{
    enum { STAY = 300, MANY = 5000 };
    static struct entry entries[MANY];
    unsigned *times = calloc(MANY, sizeof *times);
    struct table table = TABLE_INIT;
    uint64_t cursor = 0;
    for (uint64_t i = 0; i < STAY + n_before; i++) {
        put(&table, entries, i);
    }
    walk(&table, &cursor, pieces_before, times);
    for (uint64_t i = STAY; i < STAY + n_before; i++) {
        table_remove(&table, &entries[i].node);
    }
    for (uint64_t i = STAY; i < STAY + n_meanwhile; i++) {
        put(&table, entries, i);
    }
    if (cursor != 0) {
        walk(&table, &cursor, INT32_MAX, times);
    }
    for (uint64_t i = 0; i < STAY; i++) {
        cr_expect_geq(times[i], 1, "%ju", i);
        table_remove(&table, &entries[i].node);
    }
    for (uint64_t i = STAY; i < STAY + n_meanwhile; i++) {
        table_remove(&table, &entries[i].node);
    }
    table_deinit(&table);
    free(times);
}

Test(table, who_stays_comes_in_a_walk_while_it_grows)
{
    for (int pieces = 1; pieces < 512; pieces += 17) {
        walk_while_others(0, 4000, pieces);
    }
}

Test(table, who_stays_comes_in_a_walk_while_it_shrinks)
{
    for (int pieces = 1; pieces < 8192; pieces += 171) {
        walk_while_others(4000, 0, pieces);
    }
}
