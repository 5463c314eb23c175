#include "berthctl/lease_table.h"

#include "berthctl/cell_text.h"
#include "berthctl/shown_columns.h"

#include <string.h>

static const struct column fixed_lease_columns[] = {
    {.title = "PLACE"},
    {.title = "UNITS", .min_width = 8},
    {.title = "AGE", .is_right = true},
    {.title = "LEFT", .is_right = true, .is_optional = true},
    {.title = "PID", .is_right = true},
    {.title = "HOST", .is_optional = true, .min_width = 8},
    {.title = "USER", .min_width = 8},
    {.title = "PROGRAM", .is_optional = true, .min_width = 8},
    {.title = "PRIO", .is_right = true, .is_optional = true},
    {.title = "BLOCKED", .is_optional = true, .min_width = 8},
    {.title = "BOUND", .is_optional = true},
    {.title = "STATE", .is_optional = true, .min_width = 8},
    {.title = "LEASE"},
    {.title = "HOLDER", .is_optional = true, .min_width = 8},
};

enum { N_FIXED_LEASE_COLUMNS = sizeof fixed_lease_columns / sizeof fixed_lease_columns[0] };

_Static_assert(N_FIXED_LEASE_COLUMNS + N_SHOWN <= MAX_COLUMNS, "each attribute may have a column");

size_t lease_table_columns(struct column columns[MAX_COLUMNS])
{
    memcpy(columns, fixed_lease_columns, sizeof fixed_lease_columns);
    return shown_add_columns(columns, N_FIXED_LEASE_COLUMNS);
}

static void add_units(struct grid *grid, const struct words *units, bool is_pool)
{
    struct text cell = TEXT_INIT;
    text_add_units(&cell, units, is_pool);
    grid_add(grid, &cell);
}

static void add_times(
    struct grid *grid, const struct status *status, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_age(&cell, status_since(status, &lease->since));
    grid_add(grid, &cell);
    text_add(&cell, "");
    if (lease->until.is_given) {
        text_add_age(&cell, status_until(status, &lease->until));
    }
    grid_add(grid, &cell);
}

/* Adds nothing for a lease that lasts as long as a process, or has its client. */
static void add_life(struct grid *grid, const struct status_lease *lease)
{
    bool is_usual = lease->bound && strcmp(lease->bound, "process") == 0;
    struct text state = TEXT_INIT;
    grid_add_string(grid, is_usual ? NULL : lease->bound);
    text_add_lease_state(&state, lease);
    grid_add(grid, &state);
    grid_colour(grid, COLOUR_NOTICE);
}

static void add_blocked(
    struct grid *grid, const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_blocked(&cell, resource, lease);
    grid_add(grid, &cell);
    grid_colour(grid, COLOUR_NOTICE);
}

static void add_program(struct grid *grid, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_program(&cell, lease);
    grid_add(grid, &cell);
}

/* What holders and waiters have in common. */
static void add_who(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    add_times(grid, status, lease);
    grid_add_number(grid, lease->pid);
    grid_add_string(grid, lease->host);
    if (lease->user) {
        grid_add_string(grid, lease->user);
    } else {
        grid_add_number(grid, lease->uid);
    }
    add_program(grid, lease);
    text_add(&cell, "");
    if (lease->priority != 0) {
        text_add_format(&cell, "%lld", (long long)lease->priority);
    }
    grid_add(grid, &cell);
    add_blocked(grid, resource, lease);
    add_life(grid, lease);
    grid_add_string(grid, lease->id);
    grid_add_string(grid, lease->holder);
    shown_add_cells(grid, lease->shown);
}

static void add_holder(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct status_lease *lease)
{
    grid_add_string(grid, "held");
    add_units(grid, &lease->units, status_is_pool(resource));
    add_who(grid, status, resource, lease);
}

static void add_waiter(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_format(&cell, "#%llu", (unsigned long long)lease->position);
    grid_add(grid, &cell);
    text_add_format(&cell, "wants %llu", (unsigned long long)lease->wants);
    grid_add(grid, &cell);
    add_who(grid, status, resource, lease);
}

static size_t n_shown(const struct status_leases *leases, const struct table_style *style)
{
    return style->max_leases > 0 && leases->n > style->max_leases ? style->max_leases
                                                                    : leases->n;
}

void lease_table_add(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct table_style *style)
{
    for (size_t i = 0; i < n_shown(&resource->holders, style); i++) {
        add_holder(grid, status, resource, &resource->holders.list[i]);
    }
    for (size_t i = 0; i < n_shown(&resource->waiters, style); i++) {
        add_waiter(grid, status, resource, &resource->waiters.list[i]);
    }
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
