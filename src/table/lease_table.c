#include "table/lease_table.h"

#include "table/cell_text.h"

#include <string.h>

/* ---- cells ---- */

static void place_cell(struct text *text, const void *row, const void *context)
{
    const struct lease_context *at = context;
    const struct status_lease *lease = row;
    if (at->is_held) {
        text_add(text, lease->stopping ? "stops" : "held");
    } else if (at->place > 0) {
        text_add_format(text, "#%llu", (unsigned long long)at->place);
    } else {
        text_add(text, "waits"); /* its database has not said yet where */
    }
}

static enum look place_look(const void *row, const void *context)
{
    (void)context;
    return ((const struct status_lease *)row)->stopping ? LOOK_NOTICE : LOOK_PLAIN;
}

static enum look notice_look(const void *row, const void *context)
{
    (void)row, (void)context;
    return LOOK_NOTICE;
}

static void units_cell(struct text *text, const void *row, const void *context)
{
    const struct lease_context *at = context;
    const struct status_lease *lease = row;
    if (at->is_held) {
        text_add_units(text, &lease->units, status_is_pool(at->resource));
    } else {
        text_add_format(text, "wants %llu", (unsigned long long)lease->wants);
    }
}

static void age_cell(struct text *text, const void *row, const void *context)
{
    const struct lease_context *at = context;
    text_add_age(text, status_since(at->status, &((const struct status_lease *)row)->since));
}

static void left_cell(struct text *text, const void *row, const void *context)
{
    const struct lease_context *at = context;
    const struct status_lease *lease = row;
    if (lease->until.is_given) {
        text_add_age(text, status_until(at->status, &lease->until));
    }
}

static void user_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_user(text, ((const struct status_lease *)row)->uid);
}

static void program_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_program(text, row);
}

static void priority_cell(struct text *text, const void *row, const void *context)
{
    const struct status_lease *lease = row;
    (void)context;
    if (lease->priority != 0) {
        text_add_format(text, "%lld", (long long)lease->priority);
    }
}

static void blocked_cell(struct text *text, const void *row, const void *context)
{
    text_add_blocked(text, ((const struct lease_context *)context)->resource, row);
}

/* Nothing for a lease that lasts as long as a process. */
static void bound_cell(struct text *text, const void *row, const void *context)
{
    const struct status_lease *lease = row;
    (void)context;
    if (lease->bound && strcmp(lease->bound, "process") != 0) {
        text_add_escaped(text, lease->bound);
    }
}

static void state_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_lease_state(text, row);
}

#define STRING(member) COLUMN_STRING(struct status_lease, member)

const struct column lease_columns[N_LEASE_COLUMNS] = {
    [LEASE_PLACE] = {"PLACE", .cell = place_cell, .look = place_look},
    [LEASE_UNITS] = {"UNITS", .cell = units_cell, .min_width = 8},
    [LEASE_AGE] = {"AGE", .cell = age_cell, .is_right = true},
    [LEASE_LEFT] = {"LEFT", .cell = left_cell, .is_right = true, .is_optional = true,
        .gives_way = 4},
    [LEASE_PID] = {"PID", COLUMN_NUMBER(struct status_lease, pid), .gives_way = 5},
    [LEASE_HOST] = {"HOST", STRING(host), .is_optional = true, .min_width = 8, .gives_way = 3},
    [LEASE_USER] = {"USER", .cell = user_cell, .min_width = 8},
    [LEASE_PROGRAM] = {"PROGRAM", .cell = program_cell, .is_optional = true, .min_width = 8},
    [LEASE_PRIORITY] = {"PRIO", .cell = priority_cell, .is_right = true, .is_optional = true,
        .gives_way = 2},
    [LEASE_BLOCKED] = {"BLOCKED", .cell = blocked_cell, .look = notice_look, .is_optional = true,
        .min_width = 8},
    [LEASE_BOUND] = {"BOUND", .cell = bound_cell, .is_optional = true, .gives_way = 6},
    [LEASE_STATE] = {"STATE", .cell = state_cell, .look = notice_look, .is_optional = true,
        .min_width = 8},
    [LEASE_ID] = {"LEASE", STRING(id), .gives_way = 1},
    [LEASE_HOLDER] = {"HOLDER", STRING(holder), .is_optional = true, .min_width = 8},
};

_Static_assert(N_LEASE_COLUMNS + N_SHOWN <= MAX_COLUMNS, "each attribute may have a column");

/* ---- rows ---- */

size_t lease_table_columns(struct column columns[MAX_COLUMNS])
{
    memcpy(columns, lease_columns, sizeof lease_columns);
    return add_shown_columns(columns, N_LEASE_COLUMNS, offsetof(struct status_lease, shown));
}

static size_t n_shown(const struct status_leases *leases, const struct table_style *style)
{
    return style->max_leases > 0 && leases->n > style->max_leases ? style->max_leases
                                                                    : leases->n;
}

static void add_leases(struct grid *grid, struct lease_context at,
    const struct status_leases *leases, const struct table_style *style)
{
    for (size_t i = 0; i < n_shown(leases, style); i++) {
        at.place = leases->list[i].position;
        grid_add_row(grid, &leases->list[i], &at);
    }
}

void lease_table_add(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct table_style *style)
{
    struct lease_context at = {.status = status, .resource = resource, .is_held = true};
    add_leases(grid, at, &resource->holders, style);
    at.is_held = false;
    add_leases(grid, at, &resource->waiters, style);
}

void lease_table_print(const struct grid *grid, size_t *rowp, const struct status_leases *leases,
    const char *what, const struct table_style *style, struct text *out)
{
    size_t n = n_shown(leases, style);
    for (size_t i = 0; i < n; i++) {
        grid_print_row(grid, (*rowp)++, out);
    }
    if (n < leases->n) {
        text_add_repeated(out, ' ', grid->indent);
        text_add_format(
            out, "... and %zu more %s: name the resource to see all\n", leases->n - n, what);
    }
}
