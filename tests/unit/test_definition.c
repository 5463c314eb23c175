/* test_definition.c - deep copies of definitions. */
#include "core/definition.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct id_set id_set(uint32_t first, size_t n)
{
    struct id_set set = {.n = n, .ids = n > 0 ? calloc(n, sizeof *set.ids) : NULL};
    for (uint32_t i = 0; i < n; i++) {
        set.ids[i] = first + i;
    }
    return set;
}

static void expect_same_ids(const struct id_set *a, const struct id_set *b)
{
    cr_assert_eq(a->n, b->n);
    cr_assert(
        a->n == 0 || (a->ids != b->ids && memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0));
}

Test(definition, copies_are_deep)
{
    struct definition original = {.name = strdup("gpus"),
        .kind = KIND_POOL,
        .limit = 3,
        .n_items = 2,
        .cooldown = 5,
        .max_waiters = 7,
        .identity_shared = true,
        .shows_to_owner_only = true};
    original.items = calloc(2, sizeof original.items[0]);
    original.items[0] = strdup("a");
    original.items[1] = strdup("b");
    original.rights = (struct rights){id_set(1, 3), id_set(10, 0), id_set(40, 2), id_set(50, 1),
        id_set(20, 1), id_set(30, 2)};
    struct definition *copy = definition_copy(&original);
    cr_assert(copy->name != original.name && copy->items != original.items);
    cr_expect_str_eq(copy->name, "gpus");
    cr_expect_eq(copy->n_items, 2);
    cr_expect_str_eq(copy->items[0], "a");
    cr_expect_str_eq(copy->items[1], "b");
    cr_expect(copy->items[0] != original.items[0]);
    cr_expect_eq(copy->max_waiters, 7);
    cr_expect(copy->identity_shared);
    cr_expect(copy->shows_to_owner_only);
    expect_same_ids(&copy->rights.allow_users, &original.rights.allow_users);
    expect_same_ids(&copy->rights.allow_groups, &original.rights.allow_groups);
    expect_same_ids(&copy->rights.deny_users, &original.rights.deny_users);
    expect_same_ids(&copy->rights.deny_groups, &original.rights.deny_groups);
    expect_same_ids(&copy->rights.admin_users, &original.rights.admin_users);
    expect_same_ids(&copy->rights.admin_groups, &original.rights.admin_groups);
    definition_deinit(&original);
    cr_expect_str_eq(copy->items[1], "b");
    definition_free(copy);
    definition_free(NULL);
}

Test(definition, of_nothing)
{
    struct definition original = {.name = strdup("d"), .kind = KIND_LOCK, .limit = 1};
    struct definition *copy = definition_copy(&original);
    definition_deinit(&original);
    cr_expect_str_eq(copy->name, "d");
    cr_expect_null(copy->items);
    definition_free(copy);
}

Test(definition, whose_a_name_is)
{
    const struct definition own = {.has_own_names = true}, anybody_s = {.has_own_names = false};
    cr_expect(definition_leaves_name(&own, "flock/1000-x", 1000));
    cr_expect(definition_leaves_name(&own, "a/b/0-1-2", 0));
    cr_expect_not(definition_leaves_name(&own, "flock/1000-x", 100));
    cr_expect_not(definition_leaves_name(&own, "flock/1000-x", 10001));
    cr_expect_not(definition_leaves_name(&own, "flock/01000-x", 1000));
    cr_expect_not(definition_leaves_name(&own, "flock/1000", 1000));
    cr_expect_not(definition_leaves_name(&own, "flock/x", 0));
    cr_expect_not(definition_leaves_name(&own, "1000-x/flock", 1000));
    cr_expect(definition_leaves_name(&own, "flock/4294967295-x", UINT32_MAX));
    cr_expect(definition_leaves_name(&anybody_s, "flock/x", 1000));
}
