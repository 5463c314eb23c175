/* table.h - an intrusive hash table with chaining. It grows and shrinks with use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_node {
    struct table_node *next;
    uint64_t hash;
};

struct table {
    struct table_node **buckets;
    size_t n_buckets; /* 0 or a power of 2 */
    size_t n;
};

#define TABLE_INIT {0}

void table_deinit(struct table *table); /* asserts that the table is empty */
void table_insert(struct table *table, struct table_node *node, uint64_t hash);
void table_remove(struct table *table, struct table_node *node);
/* Finds a node with this hash; table_find_next() continues from it. The caller compares keys. */
struct table_node *table_find(const struct table *table, uint64_t hash);
struct table_node *table_find_next(const struct table_node *node);

/* Walks a table piece by piece while it changes: *cursorp begins at 0, and is 0 after the last
 * piece. Returns the first of some nodes, NULL if there are none; the others follow by .next. A
 * node that is in the table all the time comes at least once. */
struct table_node *table_walk(const struct table *table, uint64_t *cursorp);

/* These two are also written down: they are the same in all versions and on all machines. */
uint64_t hash_number(uint64_t number);
uint64_t hash_string(const char *string, uint64_t seed);
/* In a table of numbers: each has a hash of its own. */
struct table_node *table_find_number(const struct table *table, uint64_t number);
/* For tables: eight bytes in the time that hash_string() takes for one. */
uint64_t hash_bytes(const char *bytes, size_t n, uint64_t seed);
uint64_t hash_name(const char *name);
