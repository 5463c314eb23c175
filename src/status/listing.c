#include "status/listing.h"

#include "base/memory.h"
#include "base/table.h"
#include "fleet/session.h"

#include <stdlib.h>
#include <string.h>

static bool is_mark(const struct fleet_row *row)
{
    return strcmp(row->fields, "mark") == 0 && row->n == 2;
}

/* ---- found by resource and lease ---- */

static uint64_t hash_of(const struct fleet_resource *resource, const char *key)
{
    return hash_bytes(key, strlen(key), resource->row + 1);
}

static bool is_at(const struct listing *listing, uint32_t slot,
    const struct fleet_resource *resource, const char *key)
{
    size_t row = slot - 1;
    return row > resource->row && row < resource->end &&
        strcmp(fleet_field(&listing->rows->rows[row], ROW_KEY), key) == 0;
}

/* Where it is, or would be. */
static uint32_t *slot_of(
    const struct listing *listing, const struct fleet_resource *resource, const char *key)
{
    size_t i = (size_t)hash_of(resource, key) & (listing->n_slots - 1);
    while (listing->slots[i] != 0 && !is_at(listing, listing->slots[i], resource, key)) {
        i = (i + 1) & (listing->n_slots - 1);
    }
    return &listing->slots[i];
}

bool listing_is_own(const struct listing *listing, const struct fleet_row *row)
{
    return strncmp(fleet_field(row, ROW_KEY), listing->session, SESSION_ID_SIZE - 1) == 0;
}

static void count_own(
    struct fleet_resource *resource, const struct fleet_row *row, enum fleet_lease kind)
{
    uint64_t count = fleet_number_of(row, ROW_COUNT, FLEET_NUMBER_MAX);
    resource->own_held += kind == FLEET_HOLDER ? count : 0;
    resource->own_waiting += kind == FLEET_WAITER;
}

/* A lease that moved between two pages may be there twice: the later row is right. */
static void add_leases(struct listing *listing, struct fleet_resource *resource)
{
    for (size_t i = resource->row + 1; i < resource->end; i++) {
        const struct fleet_row *row = &listing->rows->rows[i];
        enum fleet_lease kind = fleet_row_kind(row, resource);
        if (kind == FLEET_NEITHER) {
            continue;
        }
        if (listing_is_own(listing, row)) {
            count_own(resource, row, kind);
        }
        *slot_of(listing, resource, fleet_field(row, ROW_KEY)) = (uint32_t)i + 1;
    }
}

const struct fleet_row *listing_find(
    const struct listing *listing, const struct fleet_resource *resource, const char *key)
{
    uint32_t slot = *slot_of(listing, resource, key);
    return slot != 0 ? &listing->rows->rows[slot - 1] : NULL;
}

/* ---- marks ---- */

/* The mark of the page that the row is in. */
static const char *mark_at(const struct listing *listing, size_t row)
{
    const struct fleet_row *rows = listing->rows->rows;
    if (!is_mark(&rows[0])) {
        return ""; /* then no page has one */
    }
    while (row > 0 && !is_mark(&rows[row])) {
        row--;
    }
    return is_mark(&rows[row]) ? fleet_field(&rows[row], 1) : "";
}

static bool has_other_mark(
    const struct listing *listing, const struct fleet_resource *resource, const char *mark)
{
    for (size_t i = resource->row + 1; i < resource->end; i++) {
        const struct fleet_row *row = &listing->rows->rows[i];
        if (is_mark(row) && strcmp(fleet_field(row, 1), mark) != 0) {
            return true;
        }
    }
    return false;
}

bool listing_is_unchanged(const struct text *rows)
{
    static const char word[] = "unchanged";
    return rows->length >= sizeof word && memcmp(rows->bytes, word, sizeof word) == 0;
}

/* ---- life ---- */

struct listing *listing_new(struct fleet_rows *rows, const char *session, nanoseconds now)
{
    struct listing *listing = memory_new(sizeof *listing);
    *listing = (struct listing){
        .rows = rows, .session = session, .made_at = now, .mark = "", .n_slots = 16};
    while (listing->n_slots < 2 * rows->n_rows) {
        listing->n_slots *= 2;
    }
    listing->slots = memory_new(listing->n_slots * sizeof listing->slots[0]);
    if (rows->n_rows > 0 && is_mark(&rows->rows[0])) {
        listing->mark = fleet_field(&rows->rows[0], 1);
    }
    for (size_t i = 0; i < rows->n_resources; i++) {
        struct fleet_resource *resource = &rows->resources[i];
        add_leases(listing, resource);
        resource->is_torn = has_other_mark(listing, resource, mark_at(listing, resource->row));
    }
    return listing;
}

struct listing *listing_free(struct listing *listing)
{
    if (listing) {
        fleet_rows_free(listing->rows);
        free(listing->slots);
        free(listing);
    }
    return NULL;
}

/* ---- changes ---- */

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
static void compare_resource(const struct compared *pair)
{
    const struct fleet_row *was = pair->was ? row_of(pair->before, pair->was) : NULL;
    const struct fleet_row *is = pair->is ? row_of(pair->now, pair->is) : NULL;
    if (!was || !is || !are_equal(was, is, SIZE_MAX) || pair->was->own_held != pair->is->own_held ||
        pair->was->own_waiting != pair->is->own_waiting) {
        const struct fleet_row *either = is ? is : was;
        pair->heard->resource(pair->heard->context, fleet_field(either, RESOURCE_NAME),
            fleet_field(either, RESOURCE_DEFINITION));
    }
}

static void compare_present(const struct compared *pair)
{
    for (size_t i = pair->is->row + 1; i < pair->is->end; i++) {
        const struct fleet_row *row = &pair->now->rows->rows[i];
        enum fleet_lease kind = fleet_row_kind(row, pair->is);
        if (kind == FLEET_NEITHER || listing_is_own(pair->now, row)) {
            continue;
        }
        const char *key = fleet_field(row, ROW_KEY);
        const struct fleet_row *was = pair->was ? listing_find(pair->before, pair->was, key) : NULL;
        if (!was || !are_equal(was, row, passing_field(kind))) {
            pair->heard->lease(pair->heard->context, pair->is->name, key);
        }
    }
}

static void look_for_gone(const struct compared *pair)
{
    bool is_torn = pair->is && pair->is->is_torn;
    for (size_t i = pair->was->row + 1; i < pair->was->end; i++) {
        const struct fleet_row *row = &pair->before->rows->rows[i];
        const char *key = fleet_field(row, ROW_KEY);
        if (fleet_row_kind(row, pair->was) == FLEET_NEITHER || listing_is_own(pair->now, row) ||
            (pair->is && listing_find(pair->now, pair->is, key))) {
            continue;
        }
        (is_torn ? pair->heard->missing : pair->heard->lease)(
            pair->heard->context, pair->was->name, key);
    }
}

static void listing_compare(const struct compared *pair)
{
    compare_resource(pair);
    if (pair->is) {
        compare_present(pair);
    }
    if (pair->was) {
        look_for_gone(pair);
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
        const struct compared pair = {
            .before = before,
            .now = now,
            .was = order <= 0 ? was : NULL,
            .is = order >= 0 ? is : NULL,
            .heard = heard,
        };
        listing_compare(&pair);
        i += pair.was != NULL;
        j += pair.is != NULL;
    }
}
