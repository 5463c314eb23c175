/* order.h - an intrusive ordered set: insert and remove in O(log n), first in O(1), rank and
 * selection by rank in O(log n). Queues, timers and free units are all such sets.
 *
 * Keys are pairs of integers, and no two nodes of a set have the same key: `minor` breaks every
 * tie. Nodes may have weights; the sum of the weights before a key also takes O(log n).
 *
 * The set is a treap (Aragon & Seidel 1989) whose priorities are a hash of the key. It needs no
 * random state and no allocation, and nobody outside can choose the keys freely. */
#ifndef BERTH_BASE_ORDER_H
#define BERTH_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_node {
    struct order_node *parent, *left, *right;
    uint64_t major, minor; /* the key: major first */
    uint32_t size; /* of the subtree; 0 = in no set */
    uint32_t sum; /* of the subtree's weights */
};

struct order {
    struct order_node *root;
    struct order_node *first;
};

#define ORDER_INIT {0}

static inline bool order_is_empty(const struct order *order)
{
    return !order->root;
}

static inline uint32_t order_size(const struct order *order)
{
    return order->root ? order->root->size : 0;
}

/* The sum of all weights. */
static inline uint32_t order_sum(const struct order *order)
{
    return order->root ? order->root->sum : 0;
}

static inline bool order_contains(const struct order_node *node)
{
    return node->size != 0;
}

void order_insert(
    struct order *order, struct order_node *node, uint64_t major, uint64_t minor);
void order_insert_weighted(struct order *order, struct order_node *node, uint64_t major,
    uint64_t minor, uint32_t weight);
void order_remove(struct order *order, struct order_node *node);

static inline struct order_node *order_first(const struct order *order)
{
    return order->first;
}

struct order_node *order_next(const struct order_node *node); /* NULL after the last */
struct order_node *order_last(const struct order *order);
struct order_node *order_previous(const struct order_node *node); /* NULL before the first */
/* The nodes may be in different sets. */
static inline bool order_node_is_before(const struct order_node *a, const struct order_node *b)
{
    return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}
/* The number of nodes before `node` in its set. */
uint32_t order_rank(const struct order_node *node);
/* The number of nodes with a smaller key. */
uint32_t order_count_below(const struct order *order, uint64_t major, uint64_t minor);
/* The sum of the weights of nodes with a smaller key. */
uint32_t order_sum_below(const struct order *order, uint64_t major, uint64_t minor);
/* The node with `rank` nodes before it; rank < order_size(). */
struct order_node *order_at(const struct order *order, uint32_t rank);

#endif
