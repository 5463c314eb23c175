/* sorted_set.h - an intrusive ordered set: insert and remove in O(log n), first in O(1), rank and
 * selection by rank in O(log n). Queues, timers and free units are all such sets.
 *
 * Keys are pairs of integers, and no two nodes of a set have the same key: `minor` breaks every
 * tie. Nodes may have weights; the sum of the weights before a key also takes O(log n).
 *
 * The set is a treap (Aragon & Seidel 1989) whose priorities are a hash of the key. It needs no
 * random state and no allocation, and nobody outside can choose the keys freely. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sorted_set_node {
    struct sorted_set_node *parent, *left, *right;
    uint64_t major, minor; /* the key: major first */
    uint32_t size; /* of the subtree; 0 = in no set */
    uint32_t sum; /* of the subtree's weights */
};

struct sorted_set {
    struct sorted_set_node *root;
    struct sorted_set_node *first;
};

#define SORTED_SET_INIT                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

static inline bool sorted_set_is_empty(const struct sorted_set *set)
{
    return !set->root;
}

static inline uint32_t sorted_set_size(const struct sorted_set *set)
{
    return set->root ? set->root->size : 0;
}

/* The sum of all weights. */
static inline uint32_t sorted_set_sum(const struct sorted_set *set)
{
    return set->root ? set->root->sum : 0;
}

static inline bool sorted_set_contains(const struct sorted_set_node *node)
{
    return node->size != 0;
}

void sorted_set_insert(
    struct sorted_set *set, struct sorted_set_node *node, uint64_t major, uint64_t minor);
void sorted_set_insert_weighted(struct sorted_set *set, struct sorted_set_node *node,
    uint64_t major, uint64_t minor, uint32_t weight);
void sorted_set_remove(struct sorted_set *set, struct sorted_set_node *node);
/* The same, if it is in the set. */
void sorted_set_discard(struct sorted_set *set, struct sorted_set_node *node);

static inline struct sorted_set_node *sorted_set_first(const struct sorted_set *set)
{
    return set->first;
}

struct sorted_set_node *sorted_set_next(
    const struct sorted_set_node *node); /* NULL after the last */
struct sorted_set_node *sorted_set_last(const struct sorted_set *set);
struct sorted_set_node *sorted_set_previous(
    const struct sorted_set_node *node); /* NULL before the first */
/* The nodes may be in different sets. */
static inline bool sorted_set_node_is_before(
    const struct sorted_set_node *a, const struct sorted_set_node *b)
{
    return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}
/* Either may be NULL, for none. */
static inline struct sorted_set_node *sorted_set_node_earlier(
    struct sorted_set_node *a, struct sorted_set_node *b)
{
    return !a || (b && sorted_set_node_is_before(b, a)) ? b : a;
}
/* The number of nodes with a smaller key. */
uint32_t sorted_set_count_below(const struct sorted_set *set, uint64_t major, uint64_t minor);
/* The sum of the weights of nodes with a smaller key. */
uint32_t sorted_set_sum_below(const struct sorted_set *set, uint64_t major, uint64_t minor);
/* The node with `rank` nodes before it; rank < sorted_set_size(). */
struct sorted_set_node *sorted_set_at(const struct sorted_set *set, uint32_t rank);
/* The node with that key, or else the next; NULL: there is none. */
struct sorted_set_node *sorted_set_from(
    const struct sorted_set *set, uint64_t major, uint64_t minor);
