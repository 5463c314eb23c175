#include "berthctl/past_table.h"

#include "berthctl/cell_text.h"
#include "berthctl/grid.h"
#include "berthctl/shown_columns.h"
#include "view/when.h"
#include "view/who.h"

#include <string.h>

enum {
    HOW_COLUMN = 8,
    LEASE_COLUMN = 9,
    HOW_WIDTH = 32, /* columns of the terminal for which those from LEASE on give way */
    FEW = 20, /* rows, each of which may have a second line */
};

static const struct column fixed_columns[] = {
    {.title = "ENDED"},
    {.title = "RESOURCE", .min_width = 8},
    {.title = "UNITS", .min_width = 5},
    {.title = "USER", .min_width = 8},
    {.title = "PID", .is_right = true},
    {.title = "PROGRAM", .is_optional = true, .min_width = 8},
    {.title = "WAITED", .is_right = true},
    {.title = "HELD", .is_right = true},
    [HOW_COLUMN] = {.title = "HOW", .min_width = 10},
    [LEASE_COLUMN] = {.title = "LEASE"},
    {.title = "HOLDER", .is_optional = true, .min_width = 8},
};

enum { N_FIXED_COLUMNS = sizeof fixed_columns / sizeof fixed_columns[0] };

_Static_assert(N_FIXED_COLUMNS + N_SHOWN + 2 <= MAX_COLUMNS, "each attribute may have a column");

static size_t fill_columns(struct column columns[MAX_COLUMNS])
{
    memcpy(columns, fixed_columns, sizeof fixed_columns);
    size_t n = shown_add_columns(columns, N_FIXED_COLUMNS);
    columns[n++] = (struct column){.title = "CGROUP", .is_optional = true, .min_width = 12};
    columns[n++] = (struct column){.title = "ARGUMENTS", .is_optional = true, .min_width = 12};
    return n;
}

/* ---- cells ---- */

static void add_names(struct grid *grid, const struct past_lease *lease)
{
    struct text cell = TEXT_INIT;
    for (size_t i = 0; i < lease->n_claims; i++) {
        text_add(&cell, i > 0 ? ", " : "");
        text_add_escaped(&cell, lease->claims[i].name);
    }
    text_add(&cell, lease->has_more_claims ? ", ..." : "");
    grid_add(grid, &cell);
}

static void add_units(struct grid *grid, const struct past_lease *lease)
{
    struct text cell = TEXT_INIT;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct past_claim *claim = &lease->claims[i];
        text_add(&cell, i > 0 ? "; " : "");
        if (claim->wanted.is_given) {
            text_add(&cell, "wanted ");
            text_add_number(&cell, claim->wanted.number);
        }
        for (size_t j = 0; j < claim->units.n; j++) {
            text_add(&cell, j > 0 ? "," : "");
            text_add_escaped(&cell, claim->units.list[j]);
        }
        text_add(&cell, claim->units.is_cut ? ",..." : "");
    }
    grid_add(grid, &cell);
}

static void add_how(struct grid *grid, const struct past_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_how(&cell, lease);
    grid_add(grid, &cell);
}

static void add_age(struct grid *grid, bool is_given, uint64_t milliseconds)
{
    struct text cell = TEXT_INIT;
    if (is_given) {
        text_add_age(&cell, milliseconds);
    } else {
        text_add(&cell, "-");
    }
    grid_add(grid, &cell);
}

static void add_lease(struct grid *grid, const struct past *past, const struct past_lease *lease)
{
    struct text ended = TEXT_INIT, user = TEXT_INIT, pid = TEXT_INIT;
    text_add_when(&ended, (int64_t)lease->ended, (int64_t)past->now);
    grid_add(grid, &ended);
    add_names(grid, lease);
    add_units(grid, lease);
    text_add_who(&user, &lease->user, &lease->login);
    grid_add(grid, &user);
    text_add(&pid, "");
    if (lease->pid.is_given) {
        text_add_number(&pid, lease->pid.number);
    }
    grid_add(grid, &pid);
    grid_add_string(grid, lease->shown[SHOWN_program]);
    add_age(grid, true, lease->waited);
    add_age(grid, lease->held.is_given, lease->held.number);
    add_how(grid, lease);
    grid_add_string(grid, lease->id);
    grid_add_string(grid, lease->holder);
    shown_add_cells(grid, lease->shown);
    grid_add_string(grid, lease->cgroup);
    grid_add_string(grid, lease->args);
}

/* ---- what is not there ---- */

void past_add_note(
    const struct past *past, size_t n_shown, const struct past_style *style, struct text *out)
{
    bool knows_all =
        style->since.is_given && past->since.is_given && past->since.number <= style->since.number;
    uint64_t since = knows_all ? style->since.number : past->since.number;
    if (!past->since.is_given) {
        text_add(
            out, "no history: nothing has ended yet, or berthd's file has history = 0\n");
    } else if (n_shown == 0) {
        text_add_format(out, "nothing %shas ended since ", style->is_of_some ? "of that " : "");
        text_add_when(out, (int64_t)since, (int64_t)past->now);
        text_add(out, knows_all ? "\n" : "; berthd's history does not go back further\n");
    } else if (style->since.is_given && !knows_all) {
        text_add(out, "berthd's history does not go back beyond ");
        text_add_when(out, (int64_t)since, (int64_t)past->now);
        text_add(out, "\n");
    }
}

/* Of its lines, once each column is cut as far as it may be. */
static size_t least_width(const struct grid *grid)
{
    enum { GAP = 2 };
    size_t sum = 0;
    for (size_t i = 0; i < grid->n_columns; i++) {
        size_t min = grid->columns[i].min_width, width = grid->widths[i];
        sum += grid->used[i] ? GAP + (min > 0 && min < width ? min : width) : 0;
    }
    return sum - GAP;
}

/* A line that is broken by the terminal is hard to read: columns from LEASE on give way, also to
 * how a lease ended. `columns` are the grid's. */
static void fit(struct grid *grid, struct column columns[], size_t max)
{
    size_t *how_width = &columns[HOW_COLUMN].min_width, least = *how_width;
    *how_width = HOW_WIDTH;
    for (size_t i = grid->n_columns; i > LEASE_COLUMN && least_width(grid) > max; i--) {
        grid->used[i - 1] = false;
    }
    if (least_width(grid) > max) {
        *how_width = least;
    }
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

void past_table_print(const struct past *past, const struct past_style *style, struct text *out)
{
    struct column columns[MAX_COLUMNS];
    struct grid grid;
    grid_init(&grid, columns, fill_columns(columns), 0);
    for (size_t i = 0; i < past->n; i++) {
        add_lease(&grid, past, &past->leases[i]);
    }
    if (style->width > 0) {
        fit(&grid, columns, style->width);
    }
    if (past->n > 0) {
        grid_print_titles(&grid, out);
    }
    for (size_t i = 0; i < past->n; i++) {
        grid_print_row(&grid, i, out);
        if (past->n <= FEW) {
            print_whole_how(&grid, i, out);
        }
    }
    past_add_note(past, past->n, style, out);
    grid_deinit(&grid);
}
