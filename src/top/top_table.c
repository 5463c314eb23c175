/* top_table.c - a row of the list of `berthctl top` as a line of any width. Pure. */
#include "table/cell_text.h"
#include "table/lease_table.h"
#include "top/top_internal.h"
#include "view/printable.h"

#include <string.h>

/* ---- resources ---- */

enum { LEAST_NAME = 8, LEAST_NUMBER = 4, MOST_UNITS = 66, FEW_UNITS = 8 };

static size_t at_least(size_t width, size_t least)
{
    return width > least ? width : least;
}

/* A name never takes more than two fifths of the line. */
static size_t name_width(const struct top *top)
{
    size_t widest = at_least(top->rows.name_width, LEAST_NAME), most = top->width * 2 / 5;
    return widest < most ? widest : at_least(most, LEAST_NAME);
}

void top_table_titles(const struct top *top, struct top_line *line)
{
    top_line_add(line, LOOK_QUIET, "    ");
    top_line_add_cell(line, LOOK_QUIET, "NAME", name_width(top), false);
    top_line_add_cell(line, LOOK_QUIET, "USED", at_least(top->rows.used_width, LEAST_NUMBER), true);
    top_line_add_cell(
        line, LOOK_QUIET, "WAIT", at_least(top->rows.waiting_width, LEAST_NUMBER), true);
    top_line_add(line, LOOK_QUIET, " UNITS");
}

/* ">" is where the cursor is; "-" open, "+" closed. */
static void add_margin(
    struct top_line *line, const struct top *top, const struct top_row *row)
{
    line->is_chosen = row == top_row(top);
    top_line_add(line, LOOK_PLAIN, line->is_chosen ? "> " : "  ");
    top_line_add(line, LOOK_PLAIN,
        row->lease             ? "    "
            : !row->has_leases ? "  "
            : row->is_open     ? "- "
                               : "+ ");
}

static void add_name(
    struct top_line *line, const struct top *top, enum look look, const char *name)
{
    struct text text = TEXT_INIT;
    text_add_escaped(&text, name);
    top_line_add_name(line, look, text.bytes, name_width(top));
    text_deinit(&text);
}

static void top_table_add_number(
    struct top_line *line, enum look look, struct text *number, size_t width)
{
    top_line_add_cell(line, look, number->bytes, at_least(width, LEAST_NUMBER), true);
    text_deinit(number);
}

/* The boxes leave to the state what it needs, if a few of them then have room. */
static void add_units(
    struct top_line *line, const struct top *top, const struct status_resource *resource)
{
    struct text state = TEXT_INIT, boxes = TEXT_INIT;
    text_add_resource_state(&state, top->status, resource);
    size_t room = top_line_room(line), needed = text_width(state.bytes);
    size_t most = room > FEW_UNITS * 3 / 2 ? room - FEW_UNITS : room / 3;
    size_t kept = needed == 0 ? 0 : needed + 2 < most ? needed + 2 : most;
    text_add(&boxes, "");
    if (!resource->is_template) {
        text_add_boxes(&boxes, resource, room - kept < MOST_UNITS ? room - kept : MOST_UNITS);
    }
    top_line_add(line, LOOK_PLAIN, boxes.bytes);
    if (needed > 0) {
        top_line_add(line, LOOK_PLAIN, boxes.length > 0 ? "  " : "");
        top_line_add(line, resource_state_look(resource), state.bytes);
    }
    text_deinit(&boxes);
    text_deinit(&state);
}

static void top_table_add_resource(
    const struct top *top, const struct top_row *row, struct top_line *line)
{
    const struct status_resource *resource = row->resource;
    struct text number = TEXT_INIT;
    add_margin(line, top, row);
    add_name(line, top, resource->in_use > 0 ? LOOK_STRONG : LOOK_PLAIN, resource->name);
    text_add_figure(&number, resource, resource->in_use);
    text_add_format(&number, "/%llu", (unsigned long long)resource->limit);
    top_table_add_number(line, LOOK_PLAIN, &number, top->rows.used_width);
    text_add_figure(&number, resource, resource->waiting);
    top_table_add_number(
        line, resource->waiting > 0 ? LOOK_NOTICE : LOOK_PLAIN, &number, top->rows.waiting_width);
    top_line_add(line, LOOK_PLAIN, " ");
    add_units(line, top, resource);
}

/* ---- leases ---- */

/* The columns from left to right. What has no column comes behind them. */
static const struct shown_column {
    enum lease_column column;
    size_t width, wide; /* where there is much room */
    int rank; /* where there is little, those of high rank are left out first */
} columns[] = {
    {LEASE_PLACE, 6, 6, 0},
    {LEASE_UNITS, 1, 1, 2}, /* as wide as need be */
    {LEASE_AGE, 6, 6, 3},
    {LEASE_USER, 8, 12, 1},
    {LEASE_HOST, 10, 16, 4}, /* only in a fleet */
    {LEASE_PID, 7, 7, 5},
    {LEASE_ID, 0, 1, 6}, /* as wide as need be */
};

enum {
    N_COLUMNS = sizeof columns / sizeof columns[0],
    LEASE_MARGIN = 6,
    LEAST_REST = 12, /* of what comes behind them */
    LEAST_UNITS = 7,
    MUCH_ROOM = 100,
};

static struct cell_context context_of(const struct top *top, const struct top_row *row)
{
    return (struct cell_context){
        .status = top->status,
        .resource = row->resource,
    };
}

/* Of those that are seen now; at least `widest`. */
static size_t widest_cell(const struct top *top, enum lease_column column, size_t widest)
{
    size_t first = top->cursor.first, n = top_layout(top).n_body;
    for (size_t i = first; i < first + n && i < top->rows.n; i++) {
        const struct top_row *row = &top->rows.list[i];
        if (row->lease) {
            struct text cell = TEXT_INIT;
            struct cell_context at = context_of(top, row);
            column_add_cell(&lease_columns[column], &cell, row->lease, &at);
            size_t width = text_width(cell.bytes);
            widest = width > widest ? width : widest;
            text_deinit(&cell);
        }
    }
    return widest;
}

void top_table_measure(struct top *top)
{
    size_t most = top->width / 5 > LEAST_UNITS ? top->width / 5 : LEAST_UNITS;
    size_t units = widest_cell(top, LEASE_UNITS, LEAST_UNITS);
    top->units_width = units < most ? units : most;
    top->id_width = widest_cell(top, LEASE_ID, 1);
}

static size_t width_of(const struct shown_column *column, const struct top *top)
{
    bool is_wide = top->width >= MUCH_ROOM;
    return column->column == LEASE_HOST && !top->rows.has_hosts ? 0
        : column->column == LEASE_UNITS                         ? top->units_width
        : column->column == LEASE_ID && is_wide                 ? top->id_width
        : is_wide                                               ? column->wide
                                                                : column->width;
}

/* The highest rank that is shown: 0 always. */
static int highest_rank(const struct top *top)
{
    size_t needed = LEASE_MARGIN + LEAST_REST;
    int rank = 0;
    for (int next = 0; next < N_COLUMNS; next++) {
        for (size_t i = 0; i < N_COLUMNS; i++) {
            size_t width = columns[i].rank == next ? width_of(&columns[i], top) : 0;
            needed += width > 0 ? width + 1 : 0;
        }
        rank = needed <= top->width ? next : rank;
    }
    return rank;
}

/* What the client has said, or what /proc says. */
static void add_program(
    struct text *text, const struct top_choice *choice, const struct status_lease *lease)
{
    const char *program = lease->shown[SHOWN_program];
    const char *found = choice->with_arguments || !program
        ? choice->process_of(choice->context, lease, choice->with_arguments)
        : NULL;
    if (found) {
        bool is_name = !program && !choice->with_arguments;
        text_add_safe(text, "%s%s%s", is_name ? "[" : "", found, is_name ? "]" : "");
    } else {
        text_add_safe(text, "%s", program);
    }
}

static void add_notes(struct text *text, const struct top *top, const struct top_row *row)
{
    const struct status_lease *lease = row->lease;
    text_add_lease_state(text, lease);
    if (lease->blocked || lease->blocker) {
        text_add(text, text->length > 0 ? ", blocked: " : "blocked: ");
        text_add_blocked(text, row->resource, lease);
    }
    if (lease->priority != 0) {
        text_add_format(text, "%spriority %lld", text->length > 0 ? ", " : "",
            (long long)lease->priority);
    }
    if (lease->until.is_given) {
        text_add(text, text->length > 0 ? ", " : "");
        text_add_age(text, status_until(top->status, &lease->until));
        text_add(text, " left");
    }
}

static void add_listed(struct text *text, const char *untrusted)
{
    if (untrusted) {
        text_add_safe(text, "%s%s", text->length > 0 ? ", " : "", untrusted);
    }
}

static void add_rest(const struct top *top, const struct top_row *row, struct top_line *line)
{
    struct text notes = TEXT_INIT, rest = TEXT_INIT;
    add_notes(&notes, top, row);
    add_program(&rest, &top->choice, row->lease);
    add_listed(&rest, row->lease->holder);
    for (enum shown_attribute i = 0; i < N_SHOWN; i++) {
        add_listed(&rest, i == SHOWN_program ? NULL : row->lease->shown[i]);
    }
    if (row->lease->hidden) {
        text_add(&rest, rest.length > 0 ? ", (hidden)" : "(hidden)");
    }
    bool are_both = notes.length > 0 && rest.length > 0;
    top_line_take(line, LOOK_NOTICE, &notes);
    top_line_add(line, LOOK_PLAIN, are_both ? "; " : "");
    top_line_take(line, LOOK_PLAIN, &rest);
}

static void add_lease(const struct top *top, const struct top_row *row, struct top_line *line)
{
    const struct cell_context at = context_of(top, row);
    int rank = highest_rank(top);
    add_margin(line, top, row);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const struct column *column = &lease_columns[columns[i].column];
        size_t width = width_of(&columns[i], top);
        if (columns[i].rank <= rank && width > 0) {
            struct text cell = TEXT_INIT;
            enum look look = column->look ? column->look(row->lease, &at) : LOOK_PLAIN;
            column_add_cell(column, &cell, row->lease, &at);
            top_line_add_cell(line, look, cell.bytes, width, column->is_right);
            text_deinit(&cell);
        }
    }
    add_rest(top, row, line);
}

void top_table_line(const struct top *top, const struct top_row *row, struct top_line *line)
{
    (row->lease ? add_lease : top_table_add_resource)(top, row, line);
}
