#include "berthctl/lease_table.h"

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

/* "slot 0", "slots 0-3,5", "item gpu0", so that a slot's number does not look like a count. */
static void add_units(struct grid *grid, const struct words *units, bool is_pool)
{
    struct text cell = TEXT_INIT;
    bool is_one = units->n == 1 && !units->is_cut && (is_pool || !strchr(units->list[0], '-'));
    if (units->n > 0) {
        text_add_format(&cell, "%s%s ", is_pool ? "item" : "slot", is_one ? "" : "s");
    }
    for (size_t i = 0; i < units->n; i++) {
        text_add(&cell, i > 0 ? "," : "");
        text_add_escaped(&cell, units->list[i]);
    }
    text_add(&cell, units->is_cut ? ",..." : "");
    grid_add(grid, &cell);
}

static void add_times(struct grid *grid, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_age(&cell, lease->age);
    grid_add(grid, &cell);
    text_add(&cell, "");
    if (lease->left.is_given) {
        text_add_age(&cell, lease->left.number);
    }
    grid_add(grid, &cell);
}

/* A lease that lasts as long as a process, or for a time, needs no client; any other is lost unless
 * its client comes back soon. */
static bool is_missed(const struct status_lease *lease)
{
    return lease->away && (!lease->bound || strcmp(lease->bound, "connection") == 0);
}

/* Adds nothing for a lease that lasts as long as a process, or has its client. */
static void add_life(struct grid *grid, const struct status_lease *lease)
{
    bool is_usual = lease->bound && strcmp(lease->bound, "process") == 0;
    struct text state = TEXT_INIT;
    grid_add_string(grid, is_usual ? NULL : lease->bound);
    text_add(&state, "");
    if (lease->stopping) {
        text_add(&state, "stopping (");
        text_add_escaped(&state, lease->stopping);
        text_add(&state, ")");
    }
    if (is_missed(lease)) {
        text_add(&state, state.length > 0 ? ", away" : "away");
    }
    grid_add(grid, &state);
    grid_colour(grid, COLOUR_NOTICE);
}

/* Why it is passed over: another resource, what is wrong with this one, or a quota, of this
 * resource or of another. */
static void add_blocked(
    struct grid *grid, const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    bool is_quota = lease->blocked && strcmp(lease->blocked, "quota") == 0;
    bool is_this = lease->blocker && strcmp(lease->blocker, resource->name) == 0;
    text_add(&cell, "");
    if (!lease->blocker || (is_quota && is_this)) {
        text_add_escaped(&cell, lease->blocked ? lease->blocked : "");
    } else if (!is_this) {
        text_add(&cell, is_quota ? "quota of " : "");
        text_add_escaped(&cell, lease->blocker);
    } else {
        text_add(&cell, resource->paused ? "paused" : resource->limit == 0 ? "closed" : "limit");
    }
    grid_add(grid, &cell);
    grid_colour(grid, COLOUR_NOTICE);
}

/* What the client said; or, in brackets, the name of the process. */
static void add_program(struct grid *grid, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    bool is_said = lease->shown[SHOWN_program];
    bool is_found = !is_said && lease->process[0] != '\0';
    text_add(&cell, is_found ? "[" : "");
    text_add_escaped(&cell, is_said ? lease->shown[SHOWN_program] : lease->process);
    text_add(&cell, is_found ? "]" : "");
    grid_add(grid, &cell);
}

/* What holders and waiters have in common. */
static void add_who(
    struct grid *grid, const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    add_times(grid, lease);
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

static void add_holder(
    struct grid *grid, const struct status_resource *resource, const struct status_lease *lease)
{
    grid_add_string(grid, "held");
    add_units(grid, &lease->units, status_is_pool(resource));
    add_who(grid, resource, lease);
}

static void add_waiter(
    struct grid *grid, const struct status_resource *resource, const struct status_lease *lease)
{
    struct text cell = TEXT_INIT;
    text_add_format(&cell, "#%llu", (unsigned long long)lease->position);
    grid_add(grid, &cell);
    text_add_format(&cell, "wants %llu", (unsigned long long)lease->wants);
    grid_add(grid, &cell);
    add_who(grid, resource, lease);
}

static size_t n_shown(const struct status_leases *leases, const struct table_style *style)
{
    return style->max_leases > 0 && leases->n > style->max_leases ? style->max_leases
                                                                    : leases->n;
}

void lease_table_add(
    struct grid *grid, const struct status_resource *resource, const struct table_style *style)
{
    for (size_t i = 0; i < n_shown(&resource->holders, style); i++) {
        add_holder(grid, resource, &resource->holders.list[i]);
    }
    for (size_t i = 0; i < n_shown(&resource->waiters, style); i++) {
        add_waiter(grid, resource, &resource->waiters.list[i]);
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
