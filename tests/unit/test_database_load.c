/* test_database_load.c - how busy a database is, from what its server has counted; and what servers
 * and strangers may say instead. */
#include "row_help.h"
#include "status/database_load.h"
#include "status/metric_rows.h"

#include <criterion/criterion.h>

#define SECOND NANOSECONDS_PER_SECOND
#define RATE 400000 /* 400 calls a second */

static struct database_load load;

/* False: the row was not taken. */
#define SAY(seconds, ...) say(seconds, (const char *const[]){"load", __VA_ARGS__, NULL})
static bool say(double seconds, const char *const fields[])
{
    struct text text = TEXT_INIT;
    struct load_sample sample;
    add_row(&text, fields);
    struct fleet_rows *rows = fleet_rows_new(&text);
    bool is_read = load_read(rows, (nanoseconds)(seconds * (double)SECOND), &sample);
    if (is_read) {
        load_note(&load, &sample);
    }
    fleet_rows_free(rows);
    return is_read;
}

/* What most tests begin with. */
static bool say_first(void)
{
    return SAY(100, "7", "1000", "50000", "80000");
}

static struct load_view seen(void)
{
    return load_view(&load, RATE);
}

static void begin(void)
{
    load = (struct database_load){0};
}

TestSuite(database_load, .init = begin);

Test(database_load, nothing_is_known_at_first)
{
    cr_assert_not(seen().is_known);
    cr_assert(say_first());
    struct load_view view = load_view(&load, 0);
    cr_assert(!view.is_known && !view.has_cpu);
    cr_assert_eq(view.sessions, 7);
}

Test(database_load, one_moment_is_enough)
{
    say_first();
    struct load_view view = seen();
    cr_assert(view.is_known && !view.has_cpu);
    cr_assert_eq(view.rate, RATE);
    cr_assert_eq(view.busy, 20000); /* 50 us for each call, so far */
}

Test(database_load, two_moments_tell_of_the_time_between)
{
    say_first();
    SAY(110, "7", "2000", "150000", "1080000");
    struct load_view view = seen();
    cr_assert_eq(view.busy, 40000); /* 100 us for each, of late */
    cr_assert(view.has_cpu);
    cr_assert_eq(view.cpu, 100000);
}

Test(database_load, many_may_ask_at_the_same_time)
{
    say_first();
    say_first();
    SAY(100.9, "7", "1090", "59000", "170000");
    cr_assert_not(seen().has_cpu);
    SAY(101.8, "7", "1180", "68000", "260000");
    struct load_view view = seen();
    cr_assert_eq(view.cpu, 100000);
    cr_assert_eq(view.busy, 40000);
}

Test(database_load, the_earlier_moment_moves_on)
{
    say_first();
    SAY(150, "7", "2000", "150000", "1080000");
    SAY(170, "7", "3000", "450000", "3080000");
    struct load_view view = seen();
    cr_assert_eq(view.cpu, 100000); /* of the last 20 s */
    cr_assert_eq(view.busy, 120000);
}

Test(database_load, another_server_begins_again)
{
    say_first();
    SAY(110, "7", "2000", "150000", "1080000");
    SAY(120, "7", "100", "7000", "9000");
    struct load_view view = seen();
    cr_assert_not(view.has_cpu);
    cr_assert_eq(view.busy, 28000);
    SAY(121, "7", "100", "7000", "9000");
    cr_assert_eq(seen().busy, 28000); /* nothing was called in between */
}

Test(database_load, what_was_long_ago_is_not_now)
{
    say_first();
    SAY(5000, "7", "2000", "150000", "1080000");
    struct load_view view = seen();
    cr_assert_not(view.has_cpu);
    cr_assert_eq(view.busy, 30000);
}

Test(database_load, a_server_need_not_know_its_main_thread)
{
    SAY(100, "7", "1000", "50000", "0");
    SAY(110, "7", "2000", "150000", "0");
    struct load_view view = seen();
    cr_assert(view.is_known && !view.has_cpu);
}

Test(database_load, nonsense_is_not_taken)
{
    cr_assert_not(SAY(100, "7", "1000", "50000"));
    cr_assert_not(SAY(100, "7", "", "50000", "80000"));
    cr_assert_not(SAY(100, "-7", "1000", "50000", "80000"));
    cr_assert_not(SAY(100, "7", "0", "0", "80000"));
    cr_assert_not(SAY(100, "7", "99999999999999999999", "50000", "80000"));
    cr_assert_not(seen().is_known);
}

Test(database_load, is_a_figure_where_it_is_known)
{
    struct text out = TEXT_INIT;
    say_first();
    struct load_view view = load_view(&load, 0);
    metrics_load(&out, &view, "main");
    cr_assert_eq(out.length, 0);
    view = seen();
    metrics_load(&out, &view, "main");
    cr_assert_str_eq(out.bytes, "figure berth_fleet_busy_ratio database=main value=0.020000\n");
    text_deinit(&out);
}
