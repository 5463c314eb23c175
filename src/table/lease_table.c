#include "table/lease_table.h"

#include "table/cell_text.h"

#include <string.h>

/* ---- cells ---- */

static void place_cell(struct text *text, const void *row, const void *context)
{
    const struct status_lease *lease = row;
    (void)context;
    if (lease->is_held) {
        text_add(text, lease->stopping ? "stops" : lease->shares ? "shares" : "held");
    } else if (lease->position > 0) {
        text_add_format(text, "#%llu", (unsigned long long)lease->position);
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
    const struct cell_context *at = context;
    const struct status_lease *lease = row;
    if (lease->is_held) {
        text_add_units(text, &lease->units, status_is_pool(at->resource));
        text_add(text, lease->all ? " (all)" : "");
    } else if (lease->all) {
        text_add(text, "wants all");
    } else {
        text_add_format(text, "wants %llu", (unsigned long long)lease->wants);
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
    text_add_blocked(text, ((const struct cell_context *)context)->resource, row);
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

/* In the order in which columns give way: the id, by which an operator does something, is the last,
 * as it is never cut. */
enum {
    LEASE_GOES_LAST = 1,
    PROGRAM_GOES,
    HOST_GOES,
    BLOCKED_GOES,
    SHOWN_GO,
    HOLDER_GOES,
    PRIORITY_GOES,
    LEFT_GOES,
    PID_GOES,
    BOUND_GOES_FIRST,
};

const struct column lease_columns[N_LEASE_COLUMNS] = {
    [LEASE_PLACE] = {"PLACE", .cell = place_cell, .look = place_look},
    [LEASE_UNITS] = {"UNITS", .cell = units_cell, .min_width = 8},
    [LEASE_AGE] = {"AGE", COLUMN_AGE(struct status_lease, since)},
    [LEASE_LEFT] = {"LEFT", COLUMN_AGE(struct status_lease, until), .is_until = true,
        .is_optional = true, .gives_way = LEFT_GOES},
    [LEASE_PID] = {"PID", COLUMN_NUMBER(struct status_lease, pid), .gives_way = PID_GOES},
    [LEASE_HOST] = {"HOST", STRING(host), .is_optional = true, .min_width = 8,
        .gives_way = HOST_GOES},
    [LEASE_USER] = {"USER", .cell = user_cell, .min_width = 8},
    [LEASE_PROGRAM] = {"PROGRAM", .cell = program_cell, .is_optional = true, .min_width = 8,
        .gives_way = PROGRAM_GOES},
    [LEASE_PRIORITY] = {"PRIO", .cell = priority_cell, .is_right = true, .is_optional = true,
        .gives_way = PRIORITY_GOES},
    [LEASE_BLOCKED] = {"BLOCKED", .cell = blocked_cell, .look = notice_look, .is_optional = true,
        .min_width = 8, .gives_way = BLOCKED_GOES},
    [LEASE_BOUND] = {"BOUND", .cell = bound_cell, .is_optional = true,
        .gives_way = BOUND_GOES_FIRST},
    [LEASE_STATE] = {"STATE", .cell = state_cell, .look = notice_look, .is_optional = true,
        .min_width = 8},
    [LEASE_ID] = {"LEASE", STRING(id), .gives_way = LEASE_GOES_LAST},
    [LEASE_HOLDER] = {"HOLDER", STRING(holder), .is_optional = true, .min_width = 8,
        .gives_way = HOLDER_GOES},
};

_Static_assert(N_LEASE_COLUMNS + N_SHOWN <= MAX_COLUMNS, "each attribute may have a column");

/* ---- rows ---- */

size_t lease_table_columns(struct column columns[MAX_COLUMNS])
{
    memcpy(columns, lease_columns, sizeof lease_columns);
    size_t n = add_shown_columns(columns, N_LEASE_COLUMNS, offsetof(struct status_lease, shown));
    for (size_t i = N_LEASE_COLUMNS; i < n; i++) {
        columns[i].gives_way = SHOWN_GO;
    }
    return n;
}

/* One more of a kind, of which `*np` came before, has a row. */
static bool is_shown(size_t *np, const struct table_style *style)
{
    return (*np)++ < style->max_leases || style->max_leases == 0;
}

void lease_table_add(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct table_style *style)
{
    const struct cell_context at = {.status = status, .resource = resource};
    size_t n[] = {[false] = 0, [true] = 0};
    for (size_t i = 0; i < resource->leases.n; i++) {
        const struct status_lease *lease = &resource->leases.list[i];
        if (is_shown(&n[lease->is_held], style)) {
            grid_add_row(grid, lease, &at);
        }
    }
}

void lease_table_print(const struct grid *grid, size_t *rowp, const struct status_leases *leases,
    const struct table_style *style, struct text *out)
{
    size_t counts[] = {[false] = 0, [true] = 0}, max = style->max_leases;
    for (size_t i = 0; i < leases->n; i++) {
        bool is_held = leases->list[i].is_held;
        bool is_last = i + 1 == leases->n || leases->list[i + 1].is_held != is_held;
        size_t *n = &counts[is_held];
        if (is_shown(n, style)) {
            grid_print_row(grid, (*rowp)++, out);
        }
        if (is_last && max > 0 && *n > max) {
            text_add_repeated(out, ' ', grid->indent);
            text_add_format(out, "... and %zu more %s: name the resource to see all\n", *n - max,
                is_held ? "held" : "waiting");
        }
    }
}
