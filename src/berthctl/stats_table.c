#include "berthctl/stats_table.h"

#include "berthctl/past_table.h"
#include "table/grid.h"
#include "view/datetime.h"
#include "view/printable.h"

/* ---- cells: a row is a struct stats_row, or begins with one ---- */

#define AGE(name, spread, percent)                                                                 \
    static void name##_cell(struct text *text, const void *row, const void *context)               \
    {                                                                                              \
        const struct figures *figures = row;                                                       \
        (void)context;                                                                             \
        text_add_given_age(                                                                        \
            text, figures->spread.n > 0, spread_percentile(&figures->spread, percent));            \
    }
AGE(wait, waits, 50)
AGE(wait_95, waits, 95)
AGE(wait_longest, waits, 100)
AGE(hold, holds, 50)
AGE(hold_95, holds, 95)
AGE(hold_longest, holds, 100)
#undef AGE

static void waiting_cell(struct text *text, const void *row, const void *context)
{
    const struct stats *stats = context;
    if (stats->knows_no_running) {
        text_add(text, "-");
    } else {
        text_add_number(text, ((const struct figures *)row)->n_waiting);
    }
}

static void wait_sum_cell(struct text *text, const void *row, const void *context)
{
    const struct spread *waits = &((const struct stats_row *)row)->figures.waits;
    (void)context;
    text_add_given_age(text, waits->n > 0, waits->sum);
}

static void percent_cell(struct text *text, const void *row, const void *context)
{
    const struct optional *permille = &((const struct stats_row *)row)->permille;
    (void)context;
    if (permille->is_given) {
        text_add_format(text, "%llu.%llu%%", (unsigned long long)(permille->number / 10),
            (unsigned long long)(permille->number % 10));
    } else {
        text_add(text, "unknown");
    }
}

/* The columns of both tables. */
#define WAITS                                                                                      \
    {"LEASES", COLUMN_NUMBER(struct figures, n_leases)},                                           \
        {"REFUSED", COLUMN_NUMBER(struct figures, n_refused), .gives_way = 1},                     \
        {"WAITING", .cell = waiting_cell, .is_right = true},                                       \
        {"WAITED", .cell = wait_cell, .is_right = true},                                           \
        {"95%", .cell = wait_95_cell, .is_right = true, .gives_way = 2},                           \
    {                                                                                              \
        "LONGEST", .cell = wait_longest_cell, .is_right = true                                     \
    }
#define HOLDS                                                                                      \
    {"HELD", .cell = hold_cell, .is_right = true},                                                 \
        {"95%", .cell = hold_95_cell, .is_right = true, .gives_way = 4},                           \
    {                                                                                              \
        "LONGEST", .cell = hold_longest_cell, .is_right = true, .gives_way = 3                     \
    }

static const struct column stats_resource_columns[] = {
    {"RESOURCE", COLUMN_STRING(struct stats_row, name), .min_width = 20},
    WAITS,
    HOLDS,
    {"USE", .cell = percent_cell, .is_right = true},
};

static const struct column stats_user_columns[] = {
    {"USER", COLUMN_VALUE(struct stats_row, user, FIELD_USER), .min_width = 8},
    WAITS,
    {"IN ALL", .cell = wait_sum_cell, .is_right = true},
    HOLDS,
    {"SHARE", .cell = percent_cell, .is_right = true},
};

/* Prints `n` rows of the stats, `size` bytes each. `width`: of the terminal, or 0. */
static void print_rows(const struct stats *stats, const struct column *columns, size_t n_columns,
    const void *rows, size_t n, size_t size, size_t width, struct text *out)
{
    struct grid grid;
    grid_init(&grid, columns, n_columns, 0);
    for (size_t i = 0; i < n; i++) {
        grid_add_row(&grid, (const char *)rows + i * size, stats);
    }
    grid_fit(&grid, width);
    grid_print(&grid, out);
    grid_deinit(&grid);
}

void stats_table_print(
    const struct stats *stats, const struct past *past, size_t width, struct text *out)
{
    past_add_sources(past, &(struct past_choice){0}, out);
    past_add_gaps(past, out);
    if (stats->n_resources == 0) {
        return;
    }
    text_add(out, "leases and waits that ended from ");
    text_add_datetime(out, (int64_t)stats->from, (int64_t)past->now);
    text_add(out, stats->to < past->now ? " on, requested before " : " to ");
    text_add_datetime(out, (int64_t)stats->to, (int64_t)past->now);
    text_add(out, " (");
    text_add_age(out, stats->to - stats->from);
    text_add(out, stats->knows_no_running ? "):\n" : "),\nand waits so far: ");
    text_add(out, "median, 95th percentile and longest\n\n");
    print_rows(stats, stats_resource_columns,
        sizeof stats_resource_columns / sizeof stats_resource_columns[0], stats->resources,
        stats->n_resources, sizeof stats->resources[0], width, out);
    text_add(out, stats->n_users > 1 ? "\nby user, who waited longest in all first\n" : "\n");
    print_rows(stats, stats_user_columns,
        sizeof stats_user_columns / sizeof stats_user_columns[0], stats->users, stats->n_users,
        sizeof stats->users[0], width, out);
}
