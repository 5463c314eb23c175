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
