/* top_state.c - everything that `berthctl top` knows and shows. Pure: what it draws, asks and reads
 * of /proc, others do for it. */
#include "top/top_internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void top_subject_deinit(struct top_subject *subject)
{
    free(subject->name);
    free(subject->lease);
    *subject = (struct top_subject){0};
}

void top_subject_set(struct top_subject *subject, const struct top_row *row)
{
    top_subject_deinit(subject);
    if (row) {
        subject->name = memory_string(row->resource->name);
        subject->lease = memory_string(top_row_lease(row));
    }
}

void top_subject_copy(struct top_subject *subject, const struct top_subject *other)
{
    subject->name = memory_string(other->name);
    subject->lease = memory_string(other->lease);
}

/* ---- the cursor: of a lease or a resource, not of a line. It moves with its row, and passes to
 * the next row when that is gone ---- */

size_t top_moved(size_t at, ptrdiff_t by, size_t last)
{
    size_t distance = by < 0 ? (size_t)0 - (size_t)by : (size_t)by;
    size_t room = by < 0 ? at : last > at ? last - at : 0;
    distance = distance < room ? distance : room;
    return by < 0 ? at - distance : at + distance;
}

static const struct top_row *top_cursor_row(
    const struct top_cursor *cursor, const struct top_rows *rows)
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

static void top_cursor_follow(struct top_cursor *cursor, const struct top_rows *rows, size_t height)
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

/* ---- all ---- */

void top_deinit(struct top *top)
{
    text_deinit(&top->trouble);
    text_deinit(&top->reasons);
    text_deinit(&top->message);
    top_folds_deinit(&top->folds);
    free(top->rows.list);
    top_subject_deinit(&top->cursor.row);
    top_subject_deinit(&top->subject);
    top_subject_deinit(&top->revoked);
    top_subject_deinit(&top->question.subject);
}

enum { LITTLE_HEIGHT = 4, LEAST_BODY = 2 };

struct top_layout top_layout(const struct top *top)
{
    struct top_layout layout = {0};
    size_t left = top->height, n_header = top_header_lines(top);
    if (left >= LITTLE_HEIGHT) {
        layout.n_titles = layout.n_last = 1;
        left -= 2;
    }
    size_t most = left > LEAST_BODY ? left - LEAST_BODY : left > 0;
    layout.n_header = n_header < most ? n_header : most;
    layout.n_body = left - layout.n_header;
    return layout;
}

void top_update(struct top *top)
{
    static const struct status nothing;
    const struct status *status = top->status ? top->status : &nothing;
    top_rows_make(&top->rows, status, &top->choice, &top->folds, top_layout(top).n_body);
    top_cursor_follow(&top->cursor, &top->rows, top_layout(top).n_body);
}

const struct top_row *top_row(const struct top *top)
{
    return top_cursor_row(&top->cursor, &top->rows);
}

void top_say(struct top *top, enum look look, const char *text)
{
    text_deinit(&top->message);
    text_add(&top->message, text);
    top->message_look = look;
}

const struct status_lease *top_find(const struct top *top, const struct top_subject *subject,
    const struct status_resource **resourcep)
{
    const struct status_resource *resource = NULL;
    if (top->status && subject->name) {
        resource = status_record_named(top->status, LINE_RESOURCE, subject->name);
        resource = resource
            ? resource
            : status_record_named(top->status, LINE_TEMPLATE, subject->name);
    }
    *resourcep = resource;
    return resource && subject->lease ? status_lease_find(resource, subject->lease) : NULL;
}
