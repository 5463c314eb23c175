/* test_sorted_set.c - the ordered set against a sorted array: keys, ties, ranks, first, removal. */
#include "../sim/random.h"
#include "base/sorted_set.h"
#include "seed.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MANY = 300 };

/* The model: the same nodes in an array, sorted. */
struct sorted {
    struct sorted_set_node *nodes[MANY];
    size_t n;
};

static bool is_less(const struct sorted_set_node *a, uint64_t major, uint64_t minor)
{
    return a->major != major ? a->major < major : a->minor < minor;
}

static size_t sorted_place(const struct sorted *sorted, uint64_t major, uint64_t minor)
{
    size_t i = 0;
    while (i < sorted->n && is_less(sorted->nodes[i], major, minor)) {
        i++;
    }
    return i;
}

static void sorted_insert(struct sorted *sorted, struct sorted_set_node *node)
{
    size_t place = sorted_place(sorted, node->major, node->minor);
    for (size_t i = sorted->n++; i > place; i--) {
        sorted->nodes[i] = sorted->nodes[i - 1];
    }
    sorted->nodes[place] = node;
}

static void sorted_remove(struct sorted *sorted, size_t place)
{
    sorted->n--;
    for (size_t i = place; i < sorted->n; i++) {
        sorted->nodes[i] = sorted->nodes[i + 1];
    }
}

static void expect_same(const struct sorted_set *order, const struct sorted *sorted)
{
    cr_assert_eq(sorted_set_size(order), sorted->n);
    cr_assert_eq(sorted_set_is_empty(order), sorted->n == 0);
    struct sorted_set_node *node = sorted_set_first(order);
    for (size_t i = 0; i < sorted->n; i++) {
        cr_assert_eq(node, sorted->nodes[i]);
        cr_assert(sorted_set_contains(node));
        cr_assert_eq(sorted_set_at(order, (uint32_t)i), node);
        cr_assert_eq(sorted_set_count_below(order, node->major, node->minor), i);
        node = sorted_set_next(node);
    }
    cr_assert_null(node);
}

Test(order, empty)
{
    struct sorted_set order = SORTED_SET_INIT;
    struct sorted_set_node node = {0};
    cr_expect(sorted_set_is_empty(&order));
    cr_expect_eq(sorted_set_size(&order), 0);
    cr_expect_null(sorted_set_first(&order));
    cr_expect_eq(sorted_set_count_below(&order, 7, 7), 0);
    cr_expect_not(sorted_set_contains(&node));
    sorted_set_insert(&order, &node, 0, 0);
    cr_expect(sorted_set_contains(&node));
    sorted_set_remove(&order, &node);
    cr_expect_not(sorted_set_contains(&node));
    cr_expect(sorted_set_is_empty(&order));
    cr_expect_null(sorted_set_first(&order));
}

Test(order, major_before_minor_and_minor_breaks_ties)
{
    struct sorted_set order = SORTED_SET_INIT;
    struct sorted_set_node a = {0}, b = {0}, c = {0}, d = {0};
    sorted_set_insert(&order, &d, UINT64_MAX, 0);
    sorted_set_insert(&order, &b, 1, 9);
    sorted_set_insert(&order, &c, 2, 1);
    sorted_set_insert(&order, &a, 1, 8);
    struct sorted expected = {.nodes = {&a, &b, &c, &d}, .n = 4};
    expect_same(&order, &expected);
}

Test(order, count_below_of_keys_that_are_not_in_it)
{
    struct sorted_set order = SORTED_SET_INIT;
    struct sorted_set_node nodes[10] = {{0}};
    for (size_t i = 0; i < 10; i++) {
        sorted_set_insert(&order, &nodes[i], 5, 10 * i);
    }
    cr_expect_eq(sorted_set_count_below(&order, 4, UINT64_MAX), 0);
    cr_expect_eq(sorted_set_count_below(&order, 5, 0), 0);
    cr_expect_eq(sorted_set_count_below(&order, 5, 1), 1);
    cr_expect_eq(sorted_set_count_below(&order, 5, 35), 4);
    cr_expect_eq(sorted_set_count_below(&order, 5, UINT64_MAX), 10);
    cr_expect_eq(sorted_set_count_below(&order, 6, 0), 10);
}

/* A whole set of keys in rising and in falling order, as tickets come: neither list nor stack. */
Test(order, sorted_input)
{
    static struct sorted_set_node nodes[MANY];
    for (int falling = 0; falling < 2; falling++) {
        struct sorted_set order = SORTED_SET_INIT;
        struct sorted sorted = {.n = 0};
        for (size_t i = 0; i < MANY; i++) {
            sorted_set_insert(&order, &nodes[i], 0, falling ? MANY - i : i);
            sorted_insert(&sorted, &nodes[i]);
        }
        expect_same(&order, &sorted);
        while (sorted.n > 0) {
            sorted_set_remove(&order, sorted.nodes[0]);
            sorted_remove(&sorted, 0);
        }
        expect_same(&order, &sorted);
    }
}

Test(order, random_insertions_and_removals)
{
    static struct sorted_set_node nodes[MANY];
    for (uint64_t seed = seed_of_test(), end = seed + 20; seed < end; seed++) {
        struct sorted_set order = SORTED_SET_INIT;
        struct sorted sorted = {.n = 0};
        struct random random = {.state = seed};
        for (uint64_t step = 0; step < 600; step++) {
            size_t i = random_below(&random, MANY);
            if (sorted_set_contains(&nodes[i])) {
                sorted_remove(&sorted, sorted_place(&sorted, nodes[i].major, nodes[i].minor));
                sorted_set_remove(&order, &nodes[i]);
            } else {
                sorted_set_insert(&order, &nodes[i], random_below(&random, 5), step);
                sorted_insert(&sorted, &nodes[i]);
            }
            if (step % 10 == 0 || sorted.n < 4) {
                expect_same(&order, &sorted);
            }
        }
        while (sorted.n > 0) {
            size_t place = random_below(&random, (uint32_t)sorted.n);
            sorted_set_remove(&order, sorted.nodes[place]);
            sorted_remove(&sorted, place);
            if (sorted.n % 16 == 0) {
                expect_same(&order, &sorted);
            }
        }
        cr_assert(sorted_set_is_empty(&order));
    }
}

static size_t depth(const struct sorted_set_node *node)
{
    if (!node) {
        return 0;
    }
    size_t left = depth(node->left), right = depth(node->right);
    return 1 + (left > right ? left : right);
}

/* 100 000 tickets in a row: a balanced set, not a chain (about 2 ln n is usual, 17 the least). */
Test(order, stays_shallow)
{
    enum { TICKETS = 100000 };
    struct sorted_set_node *nodes = calloc(TICKETS, sizeof *nodes);
    struct sorted_set order = SORTED_SET_INIT;
    for (uint64_t i = 0; i < TICKETS; i++) {
        sorted_set_insert(&order, &nodes[i], 1000, i);
    }
    cr_expect_lt(depth(order.root), 64);
    for (uint64_t i = 0; i < TICKETS - 100; i++) {
        sorted_set_remove(&order, sorted_set_first(&order));
    }
    cr_expect_lt(depth(order.root), 32);
    cr_expect_eq(sorted_set_size(&order), 100);
    cr_expect_eq(sorted_set_first(&order), &nodes[TICKETS - 100]);
    free(nodes);
}
