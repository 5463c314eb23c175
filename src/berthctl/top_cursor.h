/* top_cursor.h - which row of `berthctl top` is chosen, and which rows are seen. Pure.
 *
 * The choice is of a lease or a resource, not of a line: it moves with its row, and passes to the
 * next row when that is gone. */
#ifndef BERTH_BERTHCTL_TOP_CURSOR_H
#define BERTH_BERTHCTL_TOP_CURSOR_H

#include "berthctl/top_rows.h"

struct top_cursor {
    size_t at; /* the row chosen */
    size_t first; /* the row in the first line */
    char *name, *lease; /* of the row chosen, owned; NULL: none */
};

void top_cursor_deinit(struct top_cursor *cursor);

/* After rows were made: finds the row again, and sees to it that it is among `height` lines. */
void top_cursor_follow(struct top_cursor *cursor, const struct top_rows *rows, size_t height);

/* Chooses the row so many rows below; the first or the last, if there are less. */
void top_cursor_move(
    struct top_cursor *cursor, const struct top_rows *rows, ptrdiff_t by, size_t height);

/* The row chosen; NULL if there is none. */
const struct top_row *top_cursor_row(const struct top_cursor *cursor, const struct top_rows *rows);

#endif
