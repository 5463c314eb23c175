#include "berthctl/past_table.h"

#include "table/cell_text.h"
#include "table/grid.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <string.h>

enum {
    PID_COLUMN = 4,
    PROGRAM_COLUMN = 5,
    WAITED_COLUMN = 6,
    HOW_COLUMN = 8,
    LEASE_COLUMN = 9,
    HOW_WIDTH = 32, /* columns of the terminal for which those behind LEASE give way */
    FEW = 20, /* rows, each of which may have a second line */
};

/* ---- cells: a row is a struct past_lease, its context the struct past ---- */

static void ended_cell(struct text *text, const void *row, const void *context)
{
    const struct past *past = context;
    text_add_datetime(text, (int64_t)((const struct past_lease *)row)->ended, (int64_t)past->now);
}

static void names_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_claims(text, row);
}

static void units_cell(struct text *text, const void *row, const void *context)
{
    const struct past_lease *lease = row;
    (void)context;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct past_claim *claim = &lease->claims[i];
        text_add(text, i > 0 ? "; " : "");
        if (claim->wanted.is_given) {
            text_add_safe(text, "wanted %llu", (unsigned long long)claim->wanted.number);
        }
        text_add_words(text, &claim->units, ",");
    }
}

static void user_cell(struct text *text, const void *row, const void *context)
{
    const struct past_lease *lease = row;
    (void)context;
    text_add_who(text, &lease->user, &lease->login);
}

static void how_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_how(text, row);
}

#define STRING(member) COLUMN_STRING(struct past_lease, member)
#define VALUE(member, kind) COLUMN_VALUE(struct past_lease, member, kind)

static const struct column fixed_columns[] = {
    {"ENDED", .cell = ended_cell},
    {"RESOURCE", .cell = names_cell, .min_width = 8},
    {"UNITS", .cell = units_cell, .min_width = 5},
    {"USER", .cell = user_cell, .min_width = 8},
    [PID_COLUMN] = {"PID", VALUE(pid, FIELD_OPTIONAL), .is_right = true},
    [PROGRAM_COLUMN] = {"PROGRAM", STRING(shown[SHOWN_program]), .is_optional = true,
        .min_width = 8},
    [WAITED_COLUMN] = {"WAITED", VALUE(waited, FIELD_SPAN), .is_right = true},
    {"HELD", VALUE(held, FIELD_OPTIONAL_SPAN), .is_right = true},
    [HOW_COLUMN] = {"HOW", .cell = how_cell, .min_width = 10},
    [LEASE_COLUMN] = {"LEASE", STRING(id)},
    {"HOLDER", STRING(holder), .is_optional = true, .min_width = 8},
};

enum { N_FIXED_COLUMNS = sizeof fixed_columns / sizeof fixed_columns[0] };

_Static_assert(N_FIXED_COLUMNS + N_SHOWN + 2 <= MAX_COLUMNS, "each attribute may have a column");

static size_t fill_columns(struct column columns[MAX_COLUMNS])
{
    memcpy(columns, fixed_columns, sizeof fixed_columns);
    size_t n = add_shown_columns(columns, N_FIXED_COLUMNS, offsetof(struct past_lease, shown));
    columns[n++] =
        (struct column){"CGROUP", STRING(cgroup), .is_optional = true, .min_width = 12};
    columns[n++] =
        (struct column){"ARGUMENTS", STRING(args), .is_optional = true, .min_width = 12};
    for (size_t i = LEASE_COLUMN + 1; i < n; i++) {
        columns[i].gives_way = i;
    }
    return n;
}

/* ---- what is not there ---- */

void past_add_note(
    const struct past *past, size_t n_shown, const struct past_choice *choice, struct text *out)
{
    bool is_of_some =
        choice->n_names > 0 || choice->uid.is_given || choice->lease || choice->until.is_given;
    bool knows_all = choice->since.is_given && past->since.is_given &&
        past->since.number <= choice->since.number;
    uint64_t since = knows_all ? choice->since.number : past->since.number;
    if (!past->since.is_given) {
        text_add(
            out, "no history: nothing has ended yet, or berthd's file has history = 0\n");
    } else if (n_shown == 0) {
        text_add_format(out, "nothing %shas ended since ", is_of_some ? "of that " : "");
        text_add_datetime(out, (int64_t)since, (int64_t)past->now);
        text_add(out, knows_all ? "\n" : "; berthd's history does not go back further\n");
    } else if (choice->since.is_given && !knows_all) {
        text_add(out, "berthd's history does not go back beyond ");
        text_add_datetime(out, (int64_t)since, (int64_t)past->now);
        text_add(out, "\n");
    }
}

/* A line that is broken by the terminal is hard to read: columns give way also to how a lease
 * ended, but for the id, by which more can be asked for. `columns` are the grid's. */
static void fit(struct grid *grid, struct column columns[], size_t max)
{
    size_t least = columns[HOW_COLUMN].min_width;
    columns[HOW_COLUMN].min_width = HOW_WIDTH;
    grid_fit(grid, max);
    columns[HOW_COLUMN].min_width = least;
    columns[PID_COLUMN].gives_way = 4;
    columns[PROGRAM_COLUMN].gives_way = 3;
    columns[WAITED_COLUMN].gives_way = 2;
    columns[LEASE_COLUMN].gives_way = 1;
    grid_fit(grid, max);
}

/* How it ended, if the row shows only a part. */
static void print_whole_how(const struct grid *grid, size_t row, struct text *out)
{
    const char *how = grid->cells[row * grid->n_columns + HOW_COLUMN].text;
    if (text_width(how) > grid->widths[HOW_COLUMN]) {
        text_add_format(out, "    how: %s\n", how);
    }
}

void past_table_print(
    const struct past *past, const struct past_choice *choice, size_t width, struct text *out)
{
    struct column columns[MAX_COLUMNS];
    struct grid grid;
    grid_init(&grid, columns, fill_columns(columns), 0);
    for (size_t i = 0; i < past->n; i++) {
        grid_add_row(&grid, &past->leases[i], past);
    }
    fit(&grid, columns, width);
    if (past->n > 0) {
        grid_print_titles(&grid, out);
    }
    for (size_t i = 0; i < past->n; i++) {
        grid_print_row(&grid, i, out);
        if (past->n <= FEW) {
            print_whole_how(&grid, i, out);
        }
    }
    past_add_note(past, past->n, choice, out);
    grid_deinit(&grid);
}

/* ---- stats: a row is a struct stats_resource or stats_user, which begins with its figures ---- */

#define AGE(name, spread, member)                                                                  \
    static void name##_cell(struct text *text, const void *row, const void *context)               \
    {                                                                                              \
        const struct figures *figures = row;                                                       \
        (void)context;                                                                             \
        text_add_given_age(text, figures->spread.n > 0, figures->spread.member);                   \
    }
AGE(wait, waits, median)
AGE(wait_95, waits, percentile_95)
AGE(wait_longest, waits, longest)
AGE(wait_sum, waits, sum)
AGE(hold, holds, median)
AGE(hold_95, holds, percentile_95)
AGE(hold_longest, holds, longest)
#undef AGE

static void percent_cell(struct text *text, const void *row, const void *context)
{
    const struct optional *permille = &((const struct figures *)row)->permille;
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
        {"WAITING", COLUMN_NUMBER(struct figures, n_waiting)},                                     \
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
    {"RESOURCE", COLUMN_STRING(struct stats_resource, name), .min_width = 20},
    WAITS,
    HOLDS,
    {"USE", .cell = percent_cell, .is_right = true},
};

static const struct column stats_user_columns[] = {
    {"USER", COLUMN_VALUE(struct stats_user, user, FIELD_USER), .min_width = 8},
    WAITS,
    {"IN ALL", .cell = wait_sum_cell, .is_right = true},
    HOLDS,
    {"SHARE", .cell = percent_cell, .is_right = true},
};

/* Prints `n` rows, `size` bytes each. `width`: of the terminal, or 0. */
static void print_stats(const struct column *columns, size_t n_columns, const void *rows, size_t n,
    size_t size, size_t width, struct text *out)
{
    struct grid grid;
    grid_init(&grid, columns, n_columns, 0);
    for (size_t i = 0; i < n; i++) {
        grid_add_row(&grid, (const char *)rows + i * size, NULL);
    }
    grid_fit(&grid, width);
    grid_print(&grid, out);
    grid_deinit(&grid);
}

void stats_table_print(const struct stats *stats, size_t width, struct text *out)
{
    if (stats->n_resources == 0) {
        return;
    }
    text_add(out, "leases and waits that ended from ");
    text_add_datetime(out, (int64_t)stats->from, (int64_t)stats->to);
    text_add(out, " to ");
    text_add_datetime(out, (int64_t)stats->to, (int64_t)stats->to);
    text_add(out, " (");
    text_add_age(out, stats->to - stats->from);
    text_add(out, "),\nand waits so far: median, 95th percentile and longest\n\n");
    print_stats(stats_resource_columns,
        sizeof stats_resource_columns / sizeof stats_resource_columns[0], stats->resources,
        stats->n_resources, sizeof stats->resources[0], width, out);
    text_add(out, "\n");
    print_stats(stats_user_columns, sizeof stats_user_columns / sizeof stats_user_columns[0],
        stats->users, stats->n_users, sizeof stats->users[0], width, out);
}
