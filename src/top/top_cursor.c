/* top_cursor.c - which row of `berthctl top` is chosen, and which rows are seen. Pure.
 *
 * The choice is of a lease or a resource, not of a line: it moves with its row, and passes to the
 * next row when that is gone. */
#include "top/top_internal.h"

#include <string.h>

size_t top_moved(size_t at, ptrdiff_t by, size_t last)
{
    size_t distance = by < 0 ? (size_t)0 - (size_t)by : (size_t)by;
    size_t room = by < 0 ? at : last > at ? last - at : 0;
    distance = distance < room ? distance : room;
    return by < 0 ? at - distance : at + distance;
}

const struct top_row *top_cursor_row(const struct top_cursor *cursor, const struct top_rows *rows)
{
    return cursor->at < rows->n ? &rows->list[cursor->at] : NULL;
}

static bool are_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_of(const struct top_cursor *cursor, const struct top_row *row)
{
    return are_equal(cursor->row.lease, top_row_lease(row)) &&
        are_equal(cursor->row.name, row->resource->name);
}

/* Looks near where it was at first: it is seldom elsewhere. */
static void top_cursor_find(struct top_cursor *cursor, const struct top_rows *rows)
{
    if (!cursor->row.name || (cursor->at < rows->n && is_of(cursor, &rows->list[cursor->at]))) {
        return;
    }
    for (size_t i = 0; i < rows->n; i++) {
        if (is_of(cursor, &rows->list[i])) {
            cursor->first += i - cursor->at; /* the same line of the screen */
            cursor->first = cursor->first > i ? 0 : cursor->first;
            cursor->at = i;
            return;
        }
    }
}

static void keep(struct top_cursor *cursor, const struct top_rows *rows)
{
    const struct top_row *row = top_cursor_row(cursor, rows);
    if (!row || !is_of(cursor, row)) {
        top_subject_set(&cursor->row, row);
    }
}

static void scroll(struct top_cursor *cursor, size_t n, size_t height)
{
    height = height > 0 ? height : 1;
    size_t last = n > height ? n - height : 0; /* nothing is empty that need not be */
    cursor->first = cursor->first > cursor->at ? cursor->at : cursor->first;
    cursor->first = cursor->first + height <= cursor->at ? cursor->at + 1 - height : cursor->first;
    cursor->first = cursor->first > last ? last : cursor->first;
}

void top_cursor_follow(struct top_cursor *cursor, const struct top_rows *rows, size_t height)
{
    top_cursor_find(cursor, rows);
    cursor->at = rows->n == 0 ? 0 : cursor->at < rows->n ? cursor->at : rows->n - 1;
    scroll(cursor, rows->n, height);
    keep(cursor, rows);
}

void top_cursor_move(
    struct top_cursor *cursor, const struct top_rows *rows, ptrdiff_t by, size_t height)
{
    cursor->at = top_moved(cursor->at, by, rows->n > 0 ? rows->n - 1 : 0);
    scroll(cursor, rows->n, height);
    keep(cursor, rows);
}
