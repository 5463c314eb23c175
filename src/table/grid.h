/* grid.h - aligned columns of text, which a terminal may colour. Pure, but that it knows from the
 * environment whether there is colour.
 *
 * All cells are added first, so that rows printed far from each other line up. */
#pragma once

#include "view/printable.h"
#include "view/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- looks ---- */

/* Colours are optional: whatever a look says, words say as well. */
enum look {
    LOOK_PLAIN,
    LOOK_STRONG, /* a title */
    LOOK_QUIET, /* a title inside another table */
    LOOK_NOTICE, /* what an operator should look at */
    LOOK_ALARM,
    N_LOOKS
};

/* Whether the user wants colour on a terminal: the rule of all commands, as https://no-color.org
 * has it. */
bool look_wants_colour(void);

/* The codes that begin a look, and that end any. */
const char *look_begin(enum look look);
const char *look_end(void);

/* ---- columns ---- */

enum { MAX_COLUMNS = 32 };

/* What a cell may need besides a row of an answer to `status` or `hosts`. */
struct cell_context {
    const struct status *status;
    const struct status_resource *resource; /* of a lease */
};

/* What stands in it is a member of the row, unless .cell adds that. */
struct column {
    const char *title;
    size_t offset; /* of the member */
    enum field_type type; /* of the member: FIELD_TEXT, or another that column_add_cell() knows */
    bool is_until; /* an instant that is to come; else it was before */
    /* Adds escaped text, or nothing; or NULL. `context` is that of grid_add_row(): a struct
     * cell_context, where a member is an instant. */
    void (*cell)(struct text *text, const void *row, const void *context);
    enum look (*look)(const void *row, const void *context); /* NULL: plain */
    bool is_right; /* aligned */
    bool is_optional; /* omitted if all its cells are empty */
    bool is_cut_inside; /* rather than at the end */
    size_t min_width; /* columns of the terminal to leave when it is cut; 0: never cut */
    /* Left out where lines would be too long, the largest first; at most MAX_COLUMNS. 0: never. */
    size_t gives_way;
};

/* Of struct column. */
#define COLUMN_STRING(type, member) .offset = offsetof(type, member)
#define COLUMN_VALUE(record, member, kind) .offset = offsetof(record, member), .type = (kind)
#define COLUMN_AGE(record, member)                                                                 \
    COLUMN_VALUE(record, member, FIELD_INSTANT), .is_right = true
#define COLUMN_NUMBER(record, member)                                                              \
    COLUMN_VALUE(record, member, FIELD_NUMBER), .is_right = true

void column_add_cell(
    const struct column *column, struct text *text, const void *row, const void *context);

struct grid_cell {
    char *text; /* owned, escaped */
    enum look look;
};

struct grid {
    const struct column *columns;
    size_t n_columns;
    size_t indent;
    size_t widths[MAX_COLUMNS]; /* of the longest cell */
    bool used[MAX_COLUMNS]; /* whether a cell is not empty */
    struct grid_cell *cells; /* row by row */
    size_t n_cells;
    size_t max; /* columns of the terminal; 0: lines may be of any length */
    bool is_coloured;
};

void grid_init(struct grid *grid, const struct column *columns, size_t n_columns, size_t indent);
void grid_deinit(struct grid *grid);

/* Adds a cell of each column. */
void grid_add_row(struct grid *grid, const void *row, const void *context);

/* After all cells: leaves out columns that give way, where even columns cut as far as they may be
 * make lines longer than `max`. Then cuts the widest of the columns that may be cut, until lines
 * are at most that long or nothing more can be cut. What is still too long is cut at its end.
 * 0: lines may be of any length. */
void grid_fit(struct grid *grid, size_t max);

/* The same without a cut; and what has gone comes back if there is room for it in the end. */
void grid_leave_out(struct grid *grid, size_t max);

size_t grid_n_rows(const struct grid *grid);
void grid_print_titles(const struct grid *grid, struct text *out);
void grid_print_row(const struct grid *grid, size_t row, struct text *out);
void grid_print(const struct grid *grid, struct text *out); /* all of it */
