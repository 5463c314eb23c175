#include "base/sorted_set.h"

#include "base/table.h"

#include <assert.h>

/* The treap is a heap by this. The factor is odd and random: keys whose parts grow together differ
 * in it, too. */
static uint64_t heap_rank(const struct sorted_set_node *node)
{
    return hash_number(node->major + node->minor * UINT64_C(0xd1342543de82ef95));
}

static uint32_t size_of(const struct sorted_set_node *node)
{
    return node ? node->size : 0;
}

static uint32_t sum_of(const struct sorted_set_node *node)
{
    return node ? node->sum : 0;
}

static uint32_t weight_of(const struct sorted_set_node *node)
{
    return node->sum - sum_of(node->left) - sum_of(node->right);
}

static void node_update(struct sorted_set_node *node, uint32_t weight)
{
    node->size = 1 + size_of(node->left) + size_of(node->right);
    node->sum = weight + sum_of(node->left) + sum_of(node->right);
}

static struct sorted_set_node **link_to(struct sorted_set *set, struct sorted_set_node *node)
{
    if (!node->parent) {
        return &set->root;
    }
    return node->parent->left == node ? &node->parent->left : &node->parent->right;
}

/* Lifts `node` above its parent; the order of keys stays. */
static void rotate_up(struct sorted_set *set, struct sorted_set_node *node)
{
    struct sorted_set_node *parent = node->parent;
    struct sorted_set_node *moved;
    uint32_t weight = weight_of(node), parent_weight = weight_of(parent);
    *link_to(set, parent) = node;
    if (parent->left == node) {
        moved = node->right;
        parent->left = moved;
        node->right = parent;
    } else {
        moved = node->left;
        parent->right = moved;
        node->left = parent;
    }
    if (moved) {
        moved->parent = parent;
    }
    node->parent = parent->parent;
    parent->parent = node;
    node_update(parent, parent_weight);
    node_update(node, weight);
}

void sorted_set_insert_weighted(struct sorted_set *set, struct sorted_set_node *node,
    uint64_t major, uint64_t minor, uint32_t weight)
{
    assert(!sorted_set_contains(node));
    *node = (struct sorted_set_node){.major = major, .minor = minor, .size = 1, .sum = weight};
    struct sorted_set_node **linkp = &set->root;
    while (*linkp) {
        node->parent = *linkp;
        node->parent->size++;
        node->parent->sum += weight;
        linkp = sorted_set_node_is_before(node, *linkp) ? &(*linkp)->left : &(*linkp)->right;
    }
    *linkp = node;
    if (!set->first || sorted_set_node_is_before(node, set->first)) {
        set->first = node;
    }
    uint64_t rank = node->parent ? heap_rank(node) : 0;
    while (node->parent && rank > heap_rank(node->parent)) {
        rotate_up(set, node);
    }
}

void sorted_set_insert(
    struct sorted_set *set, struct sorted_set_node *node, uint64_t major, uint64_t minor)
{
    sorted_set_insert_weighted(set, node, major, minor, 0);
}

void sorted_set_remove(struct sorted_set *set, struct sorted_set_node *node)
{
    assert(sorted_set_contains(node));
    uint32_t weight = weight_of(node);
    if (set->first == node) {
        set->first = sorted_set_next(node);
    }
    while (node->left && node->right) {
        bool is_left = heap_rank(node->left) > heap_rank(node->right);
        rotate_up(set, is_left ? node->left : node->right);
    }
    struct sorted_set_node *child = node->left ? node->left : node->right;
    *link_to(set, node) = child;
    if (child) {
        child->parent = node->parent;
    }
    for (struct sorted_set_node *above = node->parent; above; above = above->parent) {
        above->size--;
        above->sum -= weight;
    }
    *node = (struct sorted_set_node){0};
}

void sorted_set_discard(struct sorted_set *set, struct sorted_set_node *node)
{
    if (sorted_set_contains(node)) {
        sorted_set_remove(set, node);
    }
}

struct sorted_set_node *sorted_set_next(const struct sorted_set_node *node)
{
    if (node->right) {
        struct sorted_set_node *next = node->right;
        while (next->left) {
            next = next->left;
        }
        return next;
    }
    while (node->parent && node->parent->right == node) {
        node = node->parent;
    }
    return node->parent;
}

struct sorted_set_node *sorted_set_last(const struct sorted_set *set)
{
    struct sorted_set_node *last = set->root;
    while (last && last->right) {
        last = last->right;
    }
    return last;
}

struct sorted_set_node *sorted_set_previous(const struct sorted_set_node *node)
{
    if (node->left) {
        struct sorted_set_node *previous = node->left;
        while (previous->right) {
            previous = previous->right;
        }
        return previous;
    }
    while (node->parent && node->parent->left == node) {
        node = node->parent;
    }
    return node->parent;
}

uint32_t sorted_set_count_below(const struct sorted_set *set, uint64_t major, uint64_t minor)
{
    const struct sorted_set_node key = {.major = major, .minor = minor};
    uint32_t below = 0;
    const struct sorted_set_node *node = set->root;
    while (node) {
        bool is_below = sorted_set_node_is_before(node, &key);
        below += is_below ? 1 + size_of(node->left) : 0;
        node = is_below ? node->right : node->left;
    }
    return below;
}

uint32_t sorted_set_sum_below(const struct sorted_set *set, uint64_t major, uint64_t minor)
{
    const struct sorted_set_node key = {.major = major, .minor = minor};
    uint32_t below = 0;
    const struct sorted_set_node *node = set->root;
    while (node) {
        bool is_below = sorted_set_node_is_before(node, &key);
        below += is_below ? node->sum - sum_of(node->right) : 0;
        node = is_below ? node->right : node->left;
    }
    return below;
}

struct sorted_set_node *sorted_set_at(const struct sorted_set *set, uint32_t rank)
{
    assert(rank < sorted_set_size(set));
    struct sorted_set_node *node = set->root;
    while (rank != size_of(node->left)) {
        uint32_t left = size_of(node->left);
        bool is_left = rank < left;
        rank -= is_left ? 0 : left + 1;
        node = is_left ? node->left : node->right;
    }
    return node;
}

struct sorted_set_node *sorted_set_from(
    const struct sorted_set *set, uint64_t major, uint64_t minor)
{
    uint32_t rank = sorted_set_count_below(set, major, minor);
    return rank < sorted_set_size(set) ? sorted_set_at(set, rank) : NULL;
}
