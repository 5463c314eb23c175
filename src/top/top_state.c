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

void top_deinit(struct top *top)
{
    text_deinit(&top->trouble);
    text_deinit(&top->reasons);
    text_deinit(&top->message);
    top_folds_deinit(&top->folds);
    top_rows_deinit(&top->rows);
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
