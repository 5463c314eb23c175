#include "base/table.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A table of KEPT_BUCKETS or fewer never shrinks: one that is filled and emptied again and again
 * would be built again each time. */
enum { MIN_BUCKETS = 8, KEPT_BUCKETS = 64 };

void table_deinit(struct table *table)
{
    assert(table->n == 0);
    free(table->buckets);
    *table = (struct table)TABLE_INIT;
}

static struct table_node **table_bucket(const struct table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->n_buckets - 1)];
}

static void table_rehash(struct table *table, size_t n_buckets)
{
    struct table old = *table;
    table->n_buckets = n_buckets;
    table->buckets = n_buckets == 0 ? NULL : memory_new(n_buckets * sizeof *table->buckets);
    for (size_t i = 0; i < old.n_buckets; i++) {
        struct table_node *node = old.buckets[i];
        while (node) {
            struct table_node *next = node->next;
            struct table_node **bucket = table_bucket(table, node->hash);
            node->next = *bucket;
            *bucket = node;
            node = next;
        }
    }
    free(old.buckets);
}

void table_insert(struct table *table, struct table_node *node, uint64_t hash)
{
    if (table->n == table->n_buckets) {
        table_rehash(table, table->n_buckets == 0 ? MIN_BUCKETS : table->n_buckets * 2);
    }
    struct table_node **bucket = table_bucket(table, hash);
    *node = (struct table_node){.next = *bucket, .hash = hash};
    *bucket = node;
    table->n++;
}

void table_remove(struct table *table, struct table_node *node)
{
    struct table_node **linkp = table_bucket(table, node->hash);
    while (*linkp != node) {
        assert(*linkp);
        linkp = &(*linkp)->next;
    }
    *linkp = node->next;
    node->next = NULL;
    table->n--;
    if (table->n < table->n_buckets / 8 && table->n_buckets > KEPT_BUCKETS) {
        table_rehash(table, table->n_buckets / 4);
    }
}

static struct table_node *skip_others(struct table_node *node, uint64_t hash)
{
    while (node && node->hash != hash) {
        node = node->next;
    }
    return node;
}

struct table_node *table_find(const struct table *table, uint64_t hash)
{
    return table->n == 0 ? NULL : skip_others(*table_bucket(table, hash), hash);
}

struct table_node *table_find_next(const struct table_node *node)
{
    return skip_others(node->next, node->hash);
}

static uint64_t reverse_bits(uint64_t bits)
{
    uint64_t reversed = 0;
    for (int i = 0; i < 64; i++) {
        reversed = reversed << 1 | (bits >> i & 1);
    }
    return reversed;
}

/* The highest bit of a bucket's number counts first: when the table grows, the buckets that one has
 * become stand side by side in this order, and again when it shrinks. */
struct table_node *table_walk(const struct table *table, uint64_t *cursorp)
{
    if (table->n_buckets == 0) {
        *cursorp = 0;
        return NULL;
    }
    uint64_t mask = table->n_buckets - 1;
    struct table_node *first = table->buckets[*cursorp & mask];
    *cursorp = reverse_bits(reverse_bits(*cursorp | ~mask) + 1);
    return first;
}

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t hash_number(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

struct table_node *table_find_number(const struct table *table, uint64_t number)
{
    return table_find(table, hash_number(number));
}

/* FNV-1a, seeded and finished so that its low bits are good. */
uint64_t hash_string(const char *string, uint64_t seed)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (; *string; string++) {
        hash = (hash ^ (unsigned char)*string) * UINT64_C(0x100000001b3);
    }
    return hash_number(hash);
}

static uint64_t load_64(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t load_32(const char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The last 0 to 8 bytes as one word, without a loop; some of them may be in it twice. */
static uint64_t load_rest(const char *bytes, size_t n)
{
    if (n >= 4) {
        return load_32(bytes) << 32 | load_32(bytes + n - 4);
    }
    const unsigned char *few = (const unsigned char *)bytes;
    return n == 0 ? 0 : (uint64_t)few[0] << 16 | (uint64_t)few[n / 2] << 8 | few[n - 1];
}

/* Each step is a bijection of the word: two strings of one length that differ in one word have two
 * hashes. */
uint64_t hash_bytes(const char *bytes, size_t n, uint64_t seed)
{
    uint64_t hash = seed ^ n;
    for (; n > 8; n -= 8, bytes += 8) {
        hash = (hash ^ load_64(bytes)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash_number(hash ^ load_rest(bytes, n));
}

uint64_t hash_name(const char *name)
{
    return hash_bytes(name, strlen(name), 0);
}
