/* test_fleet_changes.c - what is different between two listings of a database. */
#include "base/words.h"
#include "row_help.h"
#include "status/listing.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMOTE "0123456789abcdef/"
#define HERE "fedcba9876543210"

static struct text text, heard;

#define ROW(...) ADD_ROW(&text, __VA_ARGS__)

static void resource(const char *name, const char *in_use)
{
    ROW("resource", name, "semaphore", "4", in_use, "1", "1", "0", "0", "", name, "", "", "",
        "0", "0", "", "");
}

static void holder(const char *name, const char *key, const char *unit, const char *held_for)
{
    ROW("holder", name, key, "11", "0", "7", "", "pid=7", "1", "90", unit, "db1", held_for);
}

static void waiter(const char *name, const char *key, const char *position, const char *kept)
{
    ROW("waiter", name, key, "12", "0", "7", "", "pid=8", "1", position, "db1", kept, "", "");
}

static struct listing *listed(void)
{
    return listing_new(fleet_rows_new(&text), HERE, 0);
}

static void hear(const char *word, const char *a, const char *b)
{
    text_add_format(&heard, "%s %s %s\n", word, a, b);
}

static void hear_resource(void *context, const char *name, const char *definition)
{
    (void)context;
    hear("resource", name, definition);
}

static void hear_lease(void *context, const char *name, const char *key)
{
    hear(context, name, key + 17);
}

static void hear_missing(void *context, const char *name, const char *key)
{
    (void)context;
    hear("missing", name, key + 17);
}

/* Frees both. */
static void check(struct listing *before, struct listing *now, const char *expected)
{
    static char word[] = "lease";
    const struct fleet_changes_heard functions = {word, hear_resource, hear_lease, hear_missing};
    text_deinit(&heard);
    text_add(&heard, "");
    fleet_changes_find(before, now, &functions);
    cr_expect_str_eq(heard.bytes, expected, "got:\n%s", heard.bytes);
    text_deinit(&heard);
    listing_free(before);
    listing_free(now);
}

static void two(const char *held_for, const char *position)
{
    ROW("mark", "7");
    resource("a", "1");
    holder("a", REMOTE "1", "0", held_for);
    holder("a", HERE "/9", "1", held_for);
    waiter("a", REMOTE "2", position, "0");
    resource("b", "0");
}

Test(fleet_changes, ages_and_places_are_none)
{
    two("10", "1");
    struct listing *before = listed();
    two("2000", "4");
    check(before, listed(), "");
}

Test(fleet_changes, the_first_listing_is_new_but_for_own_leases)
{
    two("10", "1");
    check(NULL, listed(), "resource a a\nlease a 1\nlease a 2\nresource b b\n");
}

Test(fleet_changes, what_has_come_gone_or_changed)
{
    two("10", "1");
    struct listing *before = listed();
    resource("a", "2");
    holder("a", REMOTE "2", "0", "1");
    holder("a", REMOTE "3", "2", "1");
    resource("c", "0");
    check(before, listed(),
        "resource a a\nlease a 2\nlease a 3\nlease a 1\nresource b b\nresource c c\n");
}

/* This host may have taken the resource into use since it was listed. */
Test(fleet_changes, leases_go_with_their_resource)
{
    two("10", "1");
    struct listing *before = listed();
    resource("b", "0");
    check(before, listed(), "resource a a\nlease a 1\nlease a 2\n");
}

Test(fleet_changes, what_is_kept_for_a_waiter_is_a_change)
{
    resource("a", "0");
    waiter("a", REMOTE "2", "1", "0");
    struct listing *before = listed();
    resource("a", "0");
    waiter("a", REMOTE "2", "1", "1");
    check(before, listed(), "lease a 2\n");
}

/* The sums are the same, but what others have is not. */
Test(fleet_changes, what_this_host_has_counts_for_the_resource)
{
    resource("a", "2");
    holder("a", HERE "/1", "0", "1");
    holder("a", REMOTE "2", "1", "1");
    struct listing *before = listed();
    resource("a", "2");
    holder("a", REMOTE "2", "1", "1");
    holder("a", REMOTE "3", "0", "1");
    check(before, listed(), "resource a a\nlease a 3\n");
}

static struct listing *of_two_pages(const char *second_mark)
{
    ROW("mark", "7");
    resource("a", "1");
    holder("a", REMOTE "3", "0", "1");
    holder("a", HERE "/9", "1", "1");
    ROW("mark", second_mark);
    waiter("a", REMOTE "4", "1", "0");
    resource("b", "0");
    return listed();
}

Test(fleet_changes, a_lease_may_have_been_missed_between_two_pages)
{
    two("10", "1");
    struct listing *before = listed();
    check(before, of_two_pages("8"),
        "lease a 3\nlease a 4\nmissing a 1\nmissing a 2\n");
    two("10", "1");
    before = listed();
    check(before, of_two_pages("7"),
        "lease a 3\nlease a 4\nlease a 1\nlease a 2\n");
}

Test(fleet_changes, a_lease_that_is_listed_twice_is_as_it_came_last)
{
    ROW("mark", "7");
    resource("a", "1");
    holder("a", REMOTE "3", "0", "1");
    ROW("mark", "8");
    waiter("a", REMOTE "3", "1", "0");
    struct listing *listing = listed();
    const struct fleet_row *row =
        listing_find(listing, fleet_rows_find(listing->rows, "a"), REMOTE "3");
    cr_assert(row);
    cr_expect_str_eq(fleet_field(row, ROW_WORD), "waiter");
    cr_expect_str_eq(listing->mark, "7");
    cr_expect_null(listing_find(listing, fleet_rows_find(listing->rows, "a"), REMOTE "4"));
    listing_free(listing);
}

Test(fleet_changes, an_answer_that_nothing_has_changed)
{
    ROW("unchanged");
    cr_expect(listing_is_unchanged(&text));
    text_deinit(&text);
    cr_expect_not(listing_is_unchanged(&text));
    ROW("mark", "unchanged");
    cr_expect_not(listing_is_unchanged(&text));
    text_deinit(&text);
}

/* Rows that make no sense, cut off anywhere. */
Test(fleet_changes, anything_may_be_in_the_rows)
{
    two("10", "1");
    ROW("mark");
    ROW("holder", "a");
    ROW("mark", "");
    struct text whole = text;
    text = (struct text)TEXT_INIT;
    for (size_t n = 0; n <= whole.length; n++) {
        text_add_bytes(&text, whole.bytes, n);
        struct listing *before = listed();
        text_add_bytes(&text, whole.bytes, whole.length - n);
        struct listing *now = listed();
        const struct fleet_changes_heard functions = {
            (char *)"lease", hear_resource, hear_lease, hear_missing};
        fleet_changes_find(before, now, &functions);
        fleet_changes_find(NULL, before, &functions);
        listing_free(before);
        listing_free(now);
    }
    text_deinit(&whole);
    text_deinit(&heard);
}
