#include "table/grid.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- looks ---- */

bool look_wants_colour(void)
{
    const char *terminal = getenv("TERM"), *none = getenv("NO_COLOR");
    return terminal && strcmp(terminal, "dumb") != 0 && !(none && none[0] != '\0');
}

const char *look_begin(enum look look)
{
    static const char *const codes[N_LOOKS] = {
        [LOOK_PLAIN] = "",
        [LOOK_STRONG] = "\x1b[1m",
        [LOOK_QUIET] = "\x1b[2m",
        [LOOK_NOTICE] = "\x1b[33m",
        [LOOK_ALARM] = "\x1b[31m",
    };
    return codes[look];
}

const char *look_end(void)
{
    return "\x1b[0m";
}

/* ---- cells ---- */

enum { GAP = 2 }; /* between columns */

void grid_init(struct grid *grid, const struct column *columns, size_t n_columns, size_t indent)
{
    *grid = (struct grid){.columns = columns, .n_columns = n_columns, .indent = indent};
    for (size_t i = 0; i < n_columns; i++) {
        grid->widths[i] = text_width(columns[i].title);
        grid->used[i] = !columns[i].is_optional;
    }
}

void grid_deinit(struct grid *grid)
{
    for (size_t i = 0; i < grid->n_cells; i++) {
        free(grid->cells[i].text);
    }
    free(grid->cells);
    *grid = (struct grid){0};
}

static void add_cell(struct grid *grid, size_t column, struct text *cell, enum look look)
{
    grid->cells = memory_grow(grid->cells, grid->n_cells, sizeof grid->cells[0]);
    size_t width = text_width(cell->bytes);
    if (width > grid->widths[column]) {
        grid->widths[column] = width;
    }
    grid->used[column] |= width > 0;
    grid->cells[grid->n_cells++] = (struct grid_cell){.text = text_take(cell), .look = look};
}

static void add_instant(struct text *text, const struct instant *instant, bool is_until,
    const struct cell_context *context)
{
    if (!is_until) {
        text_add_given_age(text, instant->is_given, status_since(context->status, instant));
    } else if (instant->is_given) {
        text_add_age(text, status_until(context->status, instant));
    }
}

/* What is not given is nothing; a span, or a time since then: "-". */
static void add_member(struct text *text, const struct column *column, const void *member,
    const void *context)
{
    const struct optional *optional = member;
    switch (column->type) {
    case FIELD_NUMBER:
        text_add_number(text, *(const uint64_t *)member);
        break;
    case FIELD_OPTIONAL:
        if (optional->is_given) {
            text_add_number(text, optional->number);
        }
        break;
    case FIELD_SPAN:
        text_add_age(text, *(const uint64_t *)member);
        break;
    case FIELD_OPTIONAL_SPAN:
        text_add_given_age(text, optional->is_given, optional->number);
        break;
    case FIELD_INSTANT:
        add_instant(text, member, column->is_until, context);
        break;
    case FIELD_USER:
        text_add_user(text, ((const struct shown_user *)member)->uid.number);
        break;
    default:
        assert(column->type == FIELD_TEXT);
        text_add_safe(text, "%s", *(const char *const *)member);
    }
}

void column_add_cell(
    const struct column *column, struct text *text, const void *row, const void *context)
{
    text_add(text, "");
    if (column->cell) {
        column->cell(text, row, context);
    } else {
        add_member(text, column, (const char *)row + column->offset, context);
    }
}

void grid_add_row(struct grid *grid, const void *row, const void *context)
{
    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct column *column = &grid->columns[i];
        struct text cell = TEXT_INIT;
        column_add_cell(column, &cell, row, context);
        add_cell(grid, i, &cell, column->look ? column->look(row, context) : LOOK_PLAIN);
    }
}

/* Of lines; or once each column is cut as far as it may be. */
static size_t grid_width(const struct grid *grid, bool is_cut)
{
    size_t sum = grid->indent;
    for (size_t i = 0; i < grid->n_columns; i++) {
        size_t min = grid->columns[i].min_width, width = grid->widths[i];
        width = is_cut && min > 0 && min < width ? min : width;
        sum += grid->used[i] ? width + GAP : 0;
    }
    return sum - GAP;
}

/* False: no column gives way any more. */
static bool leave_one_out(struct grid *grid)
{
    size_t most = 0, column = 0;
    for (size_t i = 0; i < grid->n_columns; i++) {
        if (grid->used[i] && grid->columns[i].gives_way > most) {
            most = grid->columns[i].gives_way;
            column = i;
        }
    }
    if (most == 0) {
        return false;
    }
    grid->used[column] = false;
    return true;
}

/* Where a wide column had to go after narrow ones, those may have room again: the last to have
 * gone comes first. */
static void put_back(struct grid *grid, size_t max, const bool was_used[])
{
    for (size_t rank = 1; rank <= MAX_COLUMNS; rank++) {
        for (size_t i = grid->n_columns; i-- > 0;) {
            if (was_used[i] && !grid->used[i] && grid->columns[i].gives_way == rank) {
                grid->used[i] = true;
                grid->used[i] = grid_width(grid, true) <= max;
            }
        }
    }
}

void grid_leave_out(struct grid *grid, size_t max)
{
    bool was_used[MAX_COLUMNS];
    memcpy(was_used, grid->used, sizeof was_used);
    max = max > 0 ? max : SIZE_MAX;
    while (grid_width(grid, true) > max && leave_one_out(grid)) {
    }
    put_back(grid, max, was_used);
}

void grid_fit(struct grid *grid, size_t max)
{
    grid->max = max;
    max = max > 0 ? max : SIZE_MAX;
    while (grid_width(grid, true) > max && leave_one_out(grid)) {
    }
    while (grid_width(grid, false) > max) {
        size_t *widest = NULL;
        for (size_t i = 0; i < grid->n_columns; i++) {
            if (grid->used[i] && grid->columns[i].min_width > 0 &&
                grid->widths[i] > grid->columns[i].min_width &&
                (!widest || grid->widths[i] > *widest)) {
                widest = &grid->widths[i];
            }
        }
        if (!widest) {
            return;
        }
        --*widest;
    }
}

size_t grid_n_rows(const struct grid *grid)
{
    return grid->n_cells / grid->n_columns;
}

/* ---- printing ---- */

/* A line being printed: blanks come only before text. */
struct grid_line {
    size_t at; /* columns printed */
    size_t owed; /* blanks due before the next text */
};

static void print_coloured(const struct grid *grid, size_t column, const char *cell,
    enum look look, size_t width, struct text *out)
{
    bool is_coloured = grid->is_coloured && look != LOOK_PLAIN;
    text_add(out, is_coloured ? look_begin(look) : "");
    if (grid->columns[column].is_cut_inside) {
        text_add_cut_inside(out, cell, width);
    } else {
        text_add_cut(out, cell, width);
    }
    text_add(out, is_coloured ? look_end() : "");
}

/* There is no room for a cell: shows that something is missing, unless the line is full. */
static void mark_end(const struct grid *grid, struct grid_line *line, struct text *out)
{
    if (line->at < grid->max) {
        text_add_repeated(out, ' ', grid->max - 1 - line->at);
        text_add_cut(out, "..", 1);
        line->at = grid->max;
    }
}

static void print_cell(const struct grid *grid, size_t column, const char *cell,
    enum look look, struct grid_line *line, struct text *out)
{
    if (!grid->used[column]) {
        return;
    }
    size_t width = text_width(cell), most = grid->widths[column];
    size_t padding = width < most ? most - width : 0;
    if (grid->columns[column].is_right && width > 0) {
        line->owed += padding;
        padding = 0;
    }
    size_t start = line->at + line->owed;
    size_t room = grid->max == 0 ? SIZE_MAX : start < grid->max ? grid->max - start : 0;
    if (width == 0) {
        line->owed += padding + GAP;
        return;
    }
    if (room == 0) {
        mark_end(grid, line, out);
        return;
    }
    width = width < most ? width : most;
    width = width < room ? width : room;
    text_add_repeated(out, ' ', line->owed);
    print_coloured(grid, column, cell, look, width, out);
    line->at = start + width;
    line->owed = padding + GAP;
}

void grid_print_titles(const struct grid *grid, struct text *out)
{
    struct grid_line line = {.owed = grid->indent};
    for (size_t i = 0; i < grid->n_columns; i++) {
        enum look look = grid->indent > 0 ? LOOK_QUIET : LOOK_STRONG;
        print_cell(grid, i, grid->columns[i].title, look, &line, out);
    }
    text_add(out, "\n");
}

void grid_print_row(const struct grid *grid, size_t row, struct text *out)
{
    struct grid_line line = {.owed = grid->indent};
    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct grid_cell *cell = &grid->cells[row * grid->n_columns + i];
        print_cell(grid, i, cell->text, cell->look, &line, out);
    }
    text_add(out, "\n");
}

void grid_print(const struct grid *grid, struct text *out)
{
    grid_print_titles(grid, out);
    for (size_t i = 0; i < grid_n_rows(grid); i++) {
        grid_print_row(grid, i, out);
    }
}
