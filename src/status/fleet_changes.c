#include "status/fleet_changes.h"

#include <string.h>

/* Whether they are the same but for one field; SIZE_MAX: for none. In one pass: fields are short,
 * and there are many. */
static bool are_equal(const struct fleet_row *a, const struct fleet_row *b, size_t but)
{
    if (a->n != b->n) {
        return false;
    }
    const char *of_a = a->fields, *of_b = b->fields;
    for (size_t i = 0; i < a->n; i++) {
        while (*of_a != '\0' && *of_a == *of_b) {
            of_a++;
            of_b++;
        }
        if (i != but && *of_a != *of_b) {
            return false;
        }
        of_a += *of_a != '\0' ? strlen(of_a) + 1 : 1;
        of_b += *of_b != '\0' ? strlen(of_b) + 1 : 1;
    }
    return true;
}

/* What passes by itself. */
static size_t passing_field(enum fleet_lease kind)
{
    return kind == FLEET_HOLDER ? (size_t)HOLDER_HELD_FOR : (size_t)WAITER_POSITION;
}

/* One resource in two listings; in one of them it may be NULL. */
struct compared {
    const struct listing *before, *now;
    const struct fleet_resource *was, *is;
    const struct fleet_changes_heard *heard;
};

static const struct fleet_row *row_of(
    const struct listing *listing, const struct fleet_resource *resource)
{
    return &listing->rows->rows[resource->row];
}

/* What this host has of it counts as the core has it: so what others have may be different although
 * the sums are the same. */
static bool has_same_own(const struct compared *one)
{
    const struct listed_own *was = &one->before->own[one->was - one->before->rows->resources];
    const struct listed_own *is = &one->now->own[one->is - one->now->rows->resources];
    return was->held == is->held && was->waiting == is->waiting;
}

static void compare_resource(const struct compared *one)
{
    const struct fleet_row *was = one->was ? row_of(one->before, one->was) : NULL;
    const struct fleet_row *is = one->is ? row_of(one->now, one->is) : NULL;
    if (!was || !is || !are_equal(was, is, SIZE_MAX) || !has_same_own(one)) {
        const struct fleet_row *either = is ? is : was;
        one->heard->resource(one->heard->context, fleet_field(either, RESOURCE_NAME),
            fleet_field(either, RESOURCE_DEFINITION));
    }
}

static void compare_present(const struct compared *one)
{
    for (size_t i = one->is->row + 1; i < one->is->end; i++) {
        const struct fleet_row *row = &one->now->rows->rows[i];
        enum fleet_lease kind = fleet_row_kind(row, one->is);
        if (kind == FLEET_NEITHER || listing_is_own(one->now, row)) {
            continue;
        }
        const char *key = fleet_field(row, ROW_KEY);
        const struct fleet_row *was = one->was ? listing_find(one->before, one->was, key) : NULL;
        if (!was || !are_equal(was, row, passing_field(kind))) {
            one->heard->lease(one->heard->context, one->is->name, key);
        }
    }
}

static void look_for_gone(const struct compared *one)
{
    bool is_torn = one->is && one->now->is_torn[one->is - one->now->rows->resources];
    for (size_t i = one->was->row + 1; i < one->was->end; i++) {
        const struct fleet_row *row = &one->before->rows->rows[i];
        const char *key = fleet_field(row, ROW_KEY);
        if (fleet_row_kind(row, one->was) == FLEET_NEITHER || listing_is_own(one->now, row) ||
            (one->is && listing_find(one->now, one->is, key))) {
            continue;
        }
        (is_torn ? one->heard->missing : one->heard->lease)(
            one->heard->context, one->was->name, key);
    }
}

static void compare(const struct compared *one)
{
    compare_resource(one);
    if (one->is) {
        compare_present(one);
    }
    if (one->was) {
        look_for_gone(one);
    }
}

void fleet_changes_find(const struct listing *before, const struct listing *now,
    const struct fleet_changes_heard *heard)
{
    size_t n_before = before ? before->rows->n_resources : 0, n_now = now->rows->n_resources;
    for (size_t i = 0, j = 0; i < n_before || j < n_now;) {
        const struct fleet_resource *was = i < n_before ? &before->rows->resources[i] : NULL;
        const struct fleet_resource *is = j < n_now ? &now->rows->resources[j] : NULL;
        int order = was && is ? strcmp(was->name, is->name) : (is != NULL) - (was != NULL);
        const struct compared one = {
            .before = before,
            .now = now,
            .was = order <= 0 ? was : NULL,
            .is = order >= 0 ? is : NULL,
            .heard = heard,
        };
        compare(&one);
        i += one.was != NULL;
        j += one.is != NULL;
    }
}
