#include "table/status_table.h"

#include "base/clock.h"
#include "table/cell_text.h"
#include "table/grid.h"
#include "table/lease_table.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <stdlib.h>
#include <string.h>

enum {
    INDENT = 2, /* of lines below a resource */
};

/* ---- resources ---- */

/* A row is a struct status_resource. */
static void used_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_figure(text, row, ((const struct status_resource *)row)->in_use);
}

static void free_cell(struct text *text, const void *row, const void *context)
{
    const struct cell_context *at = context;
    text_add_figure(text, row, status_grantable(at->status, row));
}

static void waiting_cell(struct text *text, const void *row, const void *context)
{
    (void)context;
    text_add_figure(text, row, ((const struct status_resource *)row)->waiting);
}

static enum look waiting_look(const void *row, const void *context)
{
    (void)context;
    return ((const struct status_resource *)row)->waiting > 0 ? LOOK_NOTICE : LOOK_PLAIN;
}

/* The lines below have the details. */
static void state_cell(struct text *text, const void *row, const void *context)
{
    text_add_resource_state(text, ((const struct cell_context *)context)->status, row);
}

static enum look state_look(const void *row, const void *context)
{
    (void)context;
    return resource_state_look(row);
}

#define STRING(member) COLUMN_STRING(struct status_resource, member)

enum { SCOPE_COLUMN = 2 };

static const struct column resource_columns[] = {
    {"NAME", STRING(name), .min_width = 12, .is_cut_inside = true},
    {"KIND", STRING(kind)},
    [SCOPE_COLUMN] = {"SCOPE", STRING(scope), .is_optional = true},
    {"LIMIT", COLUMN_NUMBER(struct status_resource, limit)},
    {"USED", .cell = used_cell, .is_right = true},
    {"FREE", .cell = free_cell, .is_right = true},
    {"WAIT", .cell = waiting_cell, .look = waiting_look, .is_right = true},
    {"STATE", .cell = state_cell, .look = state_look, .min_width = 10},
};

#undef STRING

enum { N_RESOURCE_COLUMNS = sizeof resource_columns / sizeof resource_columns[0] };

/* ---- notes below a resource ---- */

static void begin_note(struct text *out, const char *title)
{
    text_add_repeated(out, ' ', INDENT);
    text_add(out, title);
}

static void print_escaped_note(struct text *out, const char *title, const char *untrusted)
{
    if (untrusted) {
        begin_note(out, title);
        text_add_safe(out, ": %s\n", untrusted);
    }
}

static void print_words(struct text *out, const char *title, const struct words *words)
{
    if (words->n > 0) {
        begin_note(out, title);
        text_add(out, ": ");
        text_add_words(out, words, ", ");
        text_add(out, "\n");
    }
}

/* "gpu3, gpu0 (broken fan)": units without a reason first. */
static void print_reserved(struct text *out, const struct status_resource *resource)
{
    const struct words *reserved = &resource->reserved;
    const char *between = status_is_pool(resource) ? "  reserved items: " : "  reserved slots: ";
    size_t before = out->length;
    for (size_t i = 0; i < reserved->n; i++) {
        if (!status_reserve_reason(resource, reserved->list[i])) {
            text_add_safe(out, "%s%s", between, reserved->list[i]);
            between = ", ";
        }
    }
    for (size_t i = 0; i < resource->n_reserves; i++) {
        text_add_safe(out, "%s%s (%s)", between, resource->reserves[i].item,
            resource->reserves[i].reason);
        between = ", ";
    }
    if (out->length > before) {
        text_add(out, reserved->is_cut ? ", ...\n" : "\n");
    }
}

/* "paused since 02:03:11 by root (alice): new disks"; nothing if none of that is known. */
static void print_pause(struct text *out, const struct status_resource *resource)
{
    const struct shown_decision said = pause_said(resource);
    struct text how = TEXT_INIT;
    text_add_said(&how, &said);
    if (how.length > 0) {
        begin_note(out, "paused");
        text_add_format(out, "%s\n", how.bytes);
    }
    text_deinit(&how);
}

static void print_rate(
    struct text *out, const struct status *status, const struct status_resource *resource)
{
    text_add_format(out, "  rate %s, burst %llu", resource->rate,
        (unsigned long long)resource->burst.number);
    if (status_rate_holds(status, resource)) {
        text_add(out, "; the next unit goes in ");
        text_add_age(out, status_until(status, &resource->next) + 999);
    }
    text_add(out, "\n");
}

void table_print_notes(
    struct text *out, const struct status *status, const struct status_resource *resource)
{
    if (resource->paused) {
        print_pause(out, resource);
    }
    print_reserved(out, resource);
    print_words(out, "draining items", &resource->draining);
    if (resource->cooling > 0) {
        text_add_format(out, "  %llu unit%s cooling down\n", (unsigned long long)resource->cooling,
            resource->cooling == 1 ? "" : "s");
    }
    if (resource->rate) {
        print_rate(out, status, resource);
    }
    print_words(out, "also takes", &resource->also);
    if (resource->kept_for.is_given) {
        text_add_format(out, "  %llu kept for #%llu\n", (unsigned long long)resource->kept,
            (unsigned long long)resource->kept_for.number);
    }
    if (resource->changed.n > 0) {
        begin_note(out, "");
        text_add_change(out, resource);
        text_add(out, "\n");
    }
}

/* ---- databases ---- */

/* A row is a struct status_database. */
static enum look database_look(const void *row, const void *context)
{
    (void)context;
    return strcmp(((const struct status_database *)row)->state, "up") == 0 ? LOOK_PLAIN
                                                                           : LOOK_ALARM;
}

#define STRING(member) COLUMN_STRING(struct status_database, member)

static const struct column database_columns[] = {
    {"DATABASE", STRING(name), .min_width = 8},
    {"STATE", STRING(state), .look = database_look},
    {"TTL", COLUMN_VALUE(struct status_database, ttl, FIELD_SPAN), .is_right = true},
    {"GOOD FOR", COLUMN_AGE(struct status_database, good_until), .is_until = true,
        .is_optional = true},
    {"GRACE", COLUMN_AGE(struct status_database, grace_until), .is_until = true,
        .is_optional = true},
    {"REDIS", STRING(redis_version), .is_optional = true},
    {"SERVER", STRING(server), .is_optional = true, .min_width = 8},
};

enum { N_DATABASE_COLUMNS = sizeof database_columns / sizeof database_columns[0] };

/* The first grace: until when, why, and what an operator can do. */
static void print_new(
    struct text *out, const struct status *status, const struct status_database *database)
{
    int64_t now = clock_wall_now() / NANOSECONDS_PER_MILLISECOND;
    begin_note(out, "new: until ");
    text_add_datetime(out, now + (int64_t)status_until(status, &database->grace_until), now);
    text_add_safe(out,
        " it grants nothing, because hosts may hold leases it has no record of;"
        " if it never held anything: berthctl found %s\n",
        database->name);
}

static void print_databases(
    const struct status *status, const struct table_style *style, struct text *out)
{
    const struct cell_context at = {.status = status};
    struct grid grid;
    grid_init(&grid, database_columns, N_DATABASE_COLUMNS, 0);
    grid.is_coloured = style->is_coloured;
    for (size_t i = 0; i < status->n_databases; i++) {
        grid_add_row(&grid, &status->databases[i], &at);
    }
    grid_fit(&grid, style->width);
    text_add(out, "\n");
    grid_print_titles(&grid, out);
    for (size_t i = 0; i < status->n_databases; i++) {
        const struct status_database *database = &status->databases[i];
        grid_print_row(&grid, i, out);
        print_escaped_note(out, "why", database->why);
        print_escaped_note(out, "warning", database->warning);
        if (database->new && database->grace_until.is_given) {
            print_new(out, status, database);
        }
        if (database->differing > 0) {
            text_add_format(out, "  differing: %llu %s from the fleet's\n",
                (unsigned long long)database->differing,
                database->differing == 1 ? "definition of this host's file differs"
                                         : "definitions of this host's file differ");
        }
    }
    grid_deinit(&grid);
}

/* ---- everything ---- */

/* Of the whole host: what keeps everything waiting. */
static void print_notices(
    const struct status *status, const struct table_style *style, struct text *out)
{
    if (!status->draining && !status->grace_until.is_given && !status->closed) {
        return;
    }
    text_add(out, style->is_coloured ? look_begin(LOOK_NOTICE) : "");
    if (status->draining) {
        const struct shown_decision said = drain_said(status);
        text_add_format(out, "draining: this host grants nothing; %llu lease%s held",
            (unsigned long long)status->held, status->held == 1 ? "" : "s");
        text_add_noted(out, ";", &said);
        text_add(out, "\n");
    }
    if (status->closed) {
        text_add_safe(out, "closed: this host grants nothing: %s\n", status->closed);
    }
    if (status->grace_until.is_given) {
        text_add(out, "grace: berthd has restarted and waits ");
        text_add_age(out, status_until(status, &status->grace_until));
        text_add(out, " more for its earlier clients to reconnect\n");
    }
    text_add(out, style->is_coloured ? look_end() : "");
}

static void print_count(struct text *out, size_t n, const char *what)
{
    text_add_format(out, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static size_t count_leases(const struct status *status, bool held)
{
    const struct status_lease **leases;
    size_t n = status_each_lease(status, held, !held, &leases);
    free(leases);
    return n;
}

/* "3 of 12 resources, 1 template; 31 held, 4 waiting; draining" */
static void print_summary(const struct status *status, struct text *out)
{
    text_add(out, "\n");
    if (status->n_left_out > 0) {
        text_add_format(out, "%zu of ", status->n_resources);
    }
    print_count(out, status->n_resources + status->n_left_out, "resource");
    if (status->n_templates > 0) {
        text_add(out, ", ");
        print_count(out, status->n_templates, "template");
    }
    text_add_format(out, "; %zu held, %zu waiting%s%s\n", count_leases(status, true),
        count_leases(status, false), status->draining ? "; draining" : "",
        status->grace_until.is_given ? "; grace" : "");
}

static void print_resource(const struct status *status, const struct status_resource *resource,
    const struct grid *leases, size_t *rowp, const struct table_style *style, struct text *out)
{
    table_print_notes(out, status, resource);
    if (resource->leases.n > 0) {
        grid_print_titles(leases, out);
    }
    lease_table_print(leases, rowp, &resource->leases, style, out);
}

static bool has_fleet_scope(const struct status_resource *resource)
{
    return resource->database;
}

static void print_nothing(
    const struct status *status, const struct table_style *style, struct text *out)
{
    text_add(out, status->n_left_out > 0 ? "no matching resource is held or waited for\n"
            : style->is_of_some          ? "no resource or template matches that name\n"
                                         : "no resources are defined yet\n");
}

/* The tables of resources and of leases, which are printed in turn. */
struct tables {
    struct grid resources, leases;
    struct column lease_columns[MAX_COLUMNS];
};

static void fill_tables(struct tables *tables, const struct status *status,
    const struct status_resource *const rows[], const struct table_style *style)
{
    const struct cell_context at = {.status = status};
    grid_init(&tables->resources, resource_columns, N_RESOURCE_COLUMNS, 0);
    grid_init(&tables->leases, tables->lease_columns, lease_table_columns(tables->lease_columns),
        INDENT);
    tables->resources.is_coloured = tables->leases.is_coloured = style->is_coloured;
    for (size_t i = 0; i < status->n_resources + status->n_templates; i++) {
        grid_add_row(&tables->resources, rows[i], &at);
        lease_table_add(&tables->leases, status, rows[i], style);
    }
    tables->resources.used[SCOPE_COLUMN] &= status_first(status, has_fleet_scope) != NULL;
    grid_fit(&tables->resources, style->width);
    grid_fit(&tables->leases, style->width);
}

void table_print(const struct status *status, const struct table_style *style, struct text *out)
{
    struct tables tables;
    const struct status_resource **rows = status_rows(status, style->sort);
    size_t n = status->n_resources + status->n_templates, lease = 0;
    fill_tables(&tables, status, rows, style);
    print_notices(status, style, out);
    grid_print_titles(&tables.resources, out);
    if (n == 0) {
        print_nothing(status, style, out);
    }
    for (size_t i = 0; i < n; i++) {
        grid_print_row(&tables.resources, i, out);
        print_resource(status, rows[i], &tables.leases, &lease, style, out);
    }
    if (n > 1 || (n > 0 && status->n_left_out > 0)) {
        print_summary(status, out);
    }
    if (status->n_databases > 0) {
        print_databases(status, style, out);
    }
    grid_deinit(&tables.resources);
    grid_deinit(&tables.leases);
    free(rows);
}
