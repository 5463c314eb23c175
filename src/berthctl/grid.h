/* grid.h - aligned columns of text, which a terminal may colour. Pure.
 *
 * All cells are added first, so that rows printed far from each other line up. */
#ifndef BERTH_BERTHCTL_GRID_H
#define BERTH_BERTHCTL_GRID_H

#include "view/printable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_COLUMNS = 32 };

enum colour {
    COLOUR_NONE,
    COLOUR_TITLE,
    COLOUR_SUBTITLE, /* of a table inside another one */
    COLOUR_NOTICE, /* what an operator should look at */
    COLOUR_ALARM,
};

struct column {
    const char *title;
    bool is_right; /* aligned */
    bool is_optional; /* omitted if all its cells are empty */
    bool is_cut_inside; /* rather than at the end */
    size_t min_width; /* columns of the terminal to leave when it is cut; 0: never cut */
};

struct grid_cell {
    char *text; /* owned, escaped */
    enum colour colour;
};

struct grid {
    const struct column *columns;
    size_t n_columns;
    size_t indent;
    size_t widths[MAX_COLUMNS]; /* of the longest cell */
    bool used[MAX_COLUMNS]; /* whether a cell is not empty */
    struct grid_cell *cells; /* row by row */
    size_t n_cells, size;
    size_t max; /* columns of the terminal; 0: lines may be of any length */
    bool is_coloured;
};

void grid_init(struct grid *grid, const struct column *columns, size_t n_columns, size_t indent);
void grid_deinit(struct grid *grid);

/* Adds the next cell, from left to right; takes the contents of `cell`. */
void grid_add(struct grid *grid, struct text *cell);
/* Escapes the string; NULL is an empty cell. */
void grid_add_string(struct grid *grid, const char *string);
void grid_add_number(struct grid *grid, uint64_t number);
/* The cell added last has this colour, if the grid is coloured. */
void grid_colour(struct grid *grid, enum colour colour);

/* After all cells: cuts the widest of the columns that may be cut, until lines are at most `max`
 * columns long or nothing more can be cut. Then what is too long is cut at its end. */
void grid_fit(struct grid *grid, size_t max);

size_t grid_n_rows(const struct grid *grid);
void grid_print_titles(const struct grid *grid, struct text *out);
/* The codes that begin a colour, and that end any. */
const char *colour_begin(enum colour colour);
const char *colour_end(void);
void grid_print_row(const struct grid *grid, size_t row, struct text *out);

#endif
