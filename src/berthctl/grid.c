#include "berthctl/grid.h"

#include <stdlib.h>

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
        free(grid->cells[i]);
    }
    free(grid->cells);
    *grid = (struct grid){0};
}

void grid_add(struct grid *grid, struct text *cell)
{
    if (grid->n_cells == grid->size) {
        grid->size = grid->size ? grid->size * 2 : 64;
        grid->cells = memory_resized(grid->cells, grid->size, sizeof grid->cells[0]);
    }
    char *string = text_take(cell);
    size_t column = grid->n_cells % grid->n_columns;
    size_t width = text_width(string);
    if (width > grid->widths[column]) {
        grid->widths[column] = width;
    }
    grid->used[column] |= width > 0;
    grid->cells[grid->n_cells++] = string;
}

void grid_add_string(struct grid *grid, const char *string)
{
    struct text cell = TEXT_INIT;
    text_add_escaped(&cell, string ? string : "");
    grid_add(grid, &cell);
}

void grid_add_number(struct grid *grid, uint64_t number)
{
    struct text cell = TEXT_INIT;
    text_add_format(&cell, "%llu", (unsigned long long)number);
    grid_add(grid, &cell);
}

static size_t grid_width(const struct grid *grid)
{
    size_t sum = grid->indent;
    for (size_t i = 0; i < grid->n_columns; i++) {
        sum += grid->used[i] ? grid->widths[i] + GAP : 0;
    }
    return sum - GAP;
}

void grid_fit(struct grid *grid, size_t max)
{
    while (grid_width(grid) > max) {
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

/* Prints blanks only before text: `*owedp` blanks are due before the next cell. */
static void print_cell(
    const struct grid *grid, size_t column, const char *cell, size_t *owedp, struct text *out)
{
    if (!grid->used[column]) {
        return;
    }
    size_t width = text_width(cell);
    size_t padding = width < grid->widths[column] ? grid->widths[column] - width : 0;
    if (width == 0) {
        *owedp += padding + GAP;
        return;
    }
    if (grid->columns[column].is_right) {
        *owedp += padding;
        padding = 0;
    }
    text_add_repeated(out, ' ', *owedp);
    text_add_cut(out, cell, grid->widths[column]);
    *owedp = padding + GAP;
}

void grid_print_titles(const struct grid *grid, struct text *out)
{
    size_t owed = grid->indent;
    for (size_t i = 0; i < grid->n_columns; i++) {
        print_cell(grid, i, grid->columns[i].title, &owed, out);
    }
    text_add(out, "\n");
}

void grid_print_row(const struct grid *grid, size_t row, struct text *out)
{
    size_t owed = grid->indent;
    for (size_t i = 0; i < grid->n_columns; i++) {
        print_cell(grid, i, grid->cells[row * grid->n_columns + i], &owed, out);
    }
    text_add(out, "\n");
}
