/* test_fleet_figures.c - sums that a database gives, as figures of `metrics`; and whatever else its
 * rows may say. */
#include "core/core.h"
#include "core/definition.h"
#include "row_help.h"
#include "status/metric_rows.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_NUMBER "99999999999999999999"

static struct core *core;
static struct effects effects;
static struct text text, out;

static struct definition definitions[] = {
    {.name = (char[]){"etl"}, .kind = KIND_SEMAPHORE, .limit = 4, .database = 1},
    {.name = (char[]){"here"}, .kind = KIND_LOCK, .limit = 1},
    {.name = (char[]){"market/*"}, .kind = KIND_SEMAPHORE, .limit = 2, .database = 1},
    {.name = (char[]){"other"}, .kind = KIND_LOCK, .limit = 1, .database = 2},
};

static void begin(void)
{
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    core = core_new(0);
    core_begin_numbers(core, 100);
    cr_assert_eq(core_define(core, definitions, sizeof definitions / sizeof definitions[0], &bounds,
                     0, &effects, &refused),
        OUTCOME_OK);
    effects_clear(&effects);
}

static void end(void)
{
    core_free(core);
    effects_deinit(&effects);
    text_deinit(&out);
}

TestSuite(fleet_figures, .init = begin, .fini = end);

#define ROW(...) ADD_ROW(&text, __VA_ARGS__)

/* Returns the next number. */
static size_t write_figures(size_t from, size_t n)
{
    struct fleet_rows *rows = fleet_rows_new(&text);
    metrics_hosts(&out, rows, "main");
    const struct metrics_sums sums = {rows, 1, "main"};
    size_t next = metrics_resources(&out, core, &sums, from, n, 0);
    fleet_rows_free(rows);
    return next;
}

#define FIGURE(name, resource, value)                                                              \
    "figure berth_fleet_" name " resource=" resource " database=main value=" value "\n"
#define FIGURES(resource, limit, held, free, waiting)                                              \
    FIGURE("limit", resource, limit)                                                               \
    FIGURE("held", resource, held)                                                                 \
    FIGURE("free", resource, free) FIGURE("waiting", resource, waiting)

Test(fleet_figures, pages_are_added)
{
    ROW("sum", "etl", "4", "3", "1", "0");
    ROW("sum", "market/*", "100", "60", "40", "5");
    ROW("sum", "unheard", "1", "1", "0", "0");
    ROW("sum", "market/*", "20", "1", "19", "2");
    ROW("sessions", "7", "2");
    cr_expect_eq(write_figures(0, 16), 0);
    cr_expect_str_eq(out.bytes,
        "figure berth_fleet_hosts database=main value=7\n"
        "figure berth_fleet_hosts_gone database=main value=2\n" FIGURES("etl", "4", "3", "1", "0")
            FIGURES("market/*", "120", "61", "59", "7"));
}

Test(fleet_figures, some_at_a_time)
{
    size_t next = write_figures(0, 1);
    cr_expect_str_eq(out.bytes, FIGURES("etl", "0", "0", "0", "0"));
    text_deinit(&out);
    cr_assert_neq(next, 0);
    cr_expect_eq(write_figures(next, 1), 0);
    cr_expect_str_eq(out.bytes, FIGURES("market/*", "0", "0", "0", "0"));
}

Test(fleet_figures, what_makes_no_sense_is_skipped)
{
    ROW("sum");
    ROW("sum", "etl", "4", "3", "1");
    ROW("sum", "etl", "-1", HUGE_NUMBER, "1e9", "");
    ROW("sum", "etl", "4", "3", "1", "0", "of a later version");
    ROW("sum", "", "4", "3", "1", "0");
    ROW("sessions");
    ROW("sessions", "many", "0");
    ROW("sessions", "7", "-1");
    ROW("");
    write_figures(0, 1);
    cr_expect_str_eq(out.bytes, FIGURES("etl", "4", "3", "1", "0"));
}
