#include "berthctl/status_table.h"

#include "berthctl/grid.h"
#include "berthctl/lease_table.h"

#include <string.h>

enum {
    INDENT = 2, /* of lines below a resource */
};

/* ---- resources ---- */

static const struct column resource_columns[] = {
    {.title = "NAME"},
    {.title = "KIND"},
    {.title = "SCOPE", .is_optional = true},
    {.title = "LIMIT", .is_right = true},
    {.title = "USED", .is_right = true},
    {.title = "FREE", .is_right = true},
    {.title = "WAIT", .is_right = true},
    {.title = "STATE"},
};

enum { N_RESOURCE_COLUMNS = sizeof resource_columns / sizeof resource_columns[0] };

/* Its database is in its grace, and grants nothing new yet. */
static bool is_in_grace(const struct status *status, const struct status_resource *resource)
{
    for (size_t i = 0; i < status->n_databases && resource->database; i++) {
        const struct status_database *database = &status->databases[i];
        if (strcmp(database->name, resource->database) == 0) {
            return database->grace.is_given;
        }
    }
    return false;
}

/* Everything that an operator would not expect of a working resource: one word each, so that the
 * column need not be cut; the lines below have the details. */
static void add_state(
    struct grid *grid, const struct status *status, const struct status_resource *resource)
{
    const struct {
        bool holds;
        const char *word;
    } states[] = {
        {resource->removed, "removed"},
        {resource->paused, "paused"},
        {resource->limit == 0, "closed"},
        {is_in_grace(status, resource), "grace"},
        {resource->in_use > resource->limit, "over limit"},
        {resource->reserved.n > 0, "reserved"},
        {resource->draining.n > 0, "draining"},
        {resource->cooling > 0, "cooling"},
        {resource->changed.n > 0, "changed"},
    };
    struct text cell = TEXT_INIT;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (states[i].holds) {
            text_add(&cell, cell.length > 0 ? ", " : "");
            text_add(&cell, states[i].word);
        }
    }
    if (resource->database_state) {
        text_add(&cell, cell.length > 0 ? ", database " : "database ");
        text_add_escaped(&cell, resource->database_state);
    }
    grid_add(grid, &cell);
}

static void add_resource(struct grid *grid, const struct status *status,
    const struct status_resource *resource, bool with_scope)
{
    grid_add_string(grid, resource->name);
    grid_add_string(grid, resource->kind);
    grid_add_string(grid, with_scope ? resource->scope : NULL);
    grid_add_number(grid, resource->limit);
    grid_add_number(grid, resource->in_use);
    grid_add_number(grid, resource->free);
    grid_add_number(grid, resource->waiting);
    add_state(grid, status, resource);
}

/* Nothing is granted of a template itself. */
static void add_template(struct grid *grid, const struct status_template *template, bool with_scope)
{
    struct text state = TEXT_INIT;
    grid_add_string(grid, template->name);
    grid_add_string(grid, template->kind);
    grid_add_string(grid, with_scope ? template->scope : NULL);
    grid_add_number(grid, template->limit);
    grid_add_string(grid, "-");
    grid_add_string(grid, "-");
    grid_add_string(grid, "-");
    text_add_format(&state, "template, %llu instance%s", (unsigned long long)template->instances,
        template->instances == 1 ? "" : "s");
    text_add(&state, template->paused ? ", paused" : "");
    text_add(&state, template->limit == 0 && template->changed.n > 0 ? ", closed" : "");
    text_add(&state, template->changed.n > 0 ? ", changed" : "");
    if (template->database_state) {
        text_add(&state, ", database ");
        text_add_escaped(&state, template->database_state);
    }
    grid_add(grid, &state);
}

/* ---- notes below a resource ---- */

static void print_note(struct text *out, const char *title, const char *rest)
{
    text_add_repeated(out, ' ', INDENT);
    text_add_format(out, "%s: %s\n", title, rest);
}

static void print_escaped_note(struct text *out, const char *title, const char *untrusted)
{
    if (untrusted) {
        struct text escaped = TEXT_INIT;
        text_add_escaped(&escaped, untrusted);
        print_note(out, title, escaped.bytes);
        text_deinit(&escaped);
    }
}

static void add_listed(struct text *list, const char *word)
{
    text_add(list, list->length > 0 ? ", " : "");
    text_add_escaped(list, word);
}

static void print_words(struct text *out, const char *title, const struct words *words)
{
    struct text list = TEXT_INIT;
    for (size_t i = 0; i < words->n; i++) {
        add_listed(&list, words->list[i]);
    }
    if (words->n > 0) {
        text_add(&list, words->is_cut ? ", ..." : "");
        print_note(out, title, list.bytes);
    }
    text_deinit(&list);
}

/* "gpu3, gpu0 (broken fan)": units without a reason first. */
static void print_reserved(struct text *out, const struct status_resource *resource)
{
    const struct words *reserved = &resource->reserved;
    struct text list = TEXT_INIT;
    for (size_t i = 0; i < reserved->n; i++) {
        if (!status_reserve_reason(resource, reserved->list[i])) {
            add_listed(&list, reserved->list[i]);
        }
    }
    for (size_t i = 0; i < resource->n_reserves; i++) {
        add_listed(&list, resource->reserves[i].item);
        text_add(&list, " (");
        text_add_escaped(&list, resource->reserves[i].reason);
        text_add(&list, ")");
    }
    if (list.length > 0) {
        text_add(&list, reserved->is_cut ? ", ..." : "");
        print_note(out, status_is_pool(resource) ? "reserved items" : "reserved slots", list.bytes);
    }
    text_deinit(&list);
}

static void print_notes(struct text *out, const struct status_resource *resource)
{
    print_escaped_note(out, "paused", resource->paused ? resource->reason : NULL);
    print_reserved(out, resource);
    print_words(out, "draining items", &resource->draining);
    if (resource->cooling > 0) {
        text_add_repeated(out, ' ', INDENT);
        text_add_format(out, "%llu unit%s cooling down\n", (unsigned long long)resource->cooling,
            resource->cooling == 1 ? "" : "s");
    }
    if (resource->keeper.is_given) {
        text_add_repeated(out, ' ', INDENT);
        text_add_format(out, "%llu kept for #%llu\n", (unsigned long long)resource->kept,
            (unsigned long long)resource->keeper.number);
    }
    print_words(out, "changed at runtime", &resource->changed);
}

/* ---- databases ---- */

static const struct column database_columns[] = {
    {.title = "DATABASE"},
    {.title = "STATE"},
    {.title = "TTL", .is_right = true},
    {.title = "GOOD FOR", .is_right = true, .is_optional = true},
    {.title = "GRACE", .is_right = true, .is_optional = true},
    {.title = "REDIS", .is_optional = true},
    {.title = "SERVER", .is_optional = true},
};

enum { N_DATABASE_COLUMNS = sizeof database_columns / sizeof database_columns[0] };

static void add_optional_age(struct grid *grid, const struct optional *span)
{
    struct text cell = TEXT_INIT;
    text_add(&cell, "");
    if (span->is_given) {
        text_add_age(&cell, span->number);
    }
    grid_add(grid, &cell);
}

static void add_database(struct grid *grid, const struct status_database *database)
{
    const struct optional ttl = {.is_given = true, .number = database->ttl};
    grid_add_string(grid, database->name);
    grid_add_string(grid, database->state);
    add_optional_age(grid, &ttl);
    add_optional_age(grid, &database->good);
    add_optional_age(grid, &database->grace);
    grid_add_string(grid, database->version);
    grid_add_string(grid, database->server);
}

static void print_databases(const struct status *status, struct text *out)
{
    struct grid grid;
    grid_init(&grid, database_columns, N_DATABASE_COLUMNS, 0);
    for (size_t i = 0; i < status->n_databases; i++) {
        add_database(&grid, &status->databases[i]);
    }
    text_add(out, "\n");
    grid_print_titles(&grid, out);
    for (size_t i = 0; i < status->n_databases; i++) {
        const struct status_database *database = &status->databases[i];
        grid_print_row(&grid, i, out);
        print_escaped_note(out, "why", database->why);
        print_escaped_note(out, "warning", database->warning);
        if (database->differing > 0) {
            text_add_repeated(out, ' ', INDENT);
            text_add_format(out,
                "differing: %llu %s from the fleet's\n", (unsigned long long)database->differing,
                database->differing == 1 ? "definition of this host's file differs"
                                         : "definitions of this host's file differ");
        }
    }
    grid_deinit(&grid);
}

/* ---- everything ---- */

static void print_resource(const struct status_resource *resource, const struct grid *leases,
    size_t *rowp, const struct table_style *style, struct text *out)
{
    print_notes(out, resource);
    if (resource->holders.n + resource->waiters.n > 0) {
        grid_print_titles(leases, out);
    }
    lease_table_print(leases, rowp, &resource->holders, "held", style, out);
    lease_table_print(leases, rowp, &resource->waiters, "waiting", style, out);
}

static bool has_fleet_scope(const struct status *status)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        if (status->resources[i].database) {
            return true;
        }
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        if (status->templates[i].database) {
            return true;
        }
    }
    return false;
}

void table_print(const struct status *status, const struct table_style *style, struct text *out)
{
    struct grid resources, leases;
    struct column lease_columns[MAX_COLUMNS];
    bool with_scope = has_fleet_scope(status);
    grid_init(&resources, resource_columns, N_RESOURCE_COLUMNS, 0);
    grid_init(&leases, lease_columns, lease_table_columns(lease_columns), INDENT);
    for (size_t i = 0; i < status->n_resources; i++) {
        add_resource(&resources, status, &status->resources[i], with_scope);
        lease_table_add(&leases, &status->resources[i], style);
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        add_template(&resources, &status->templates[i], with_scope);
    }
    if (style->width > 0) {
        grid_fit(&leases, style->width);
    }
    if (status->draining) {
        text_add_format(out, "draining: this host grants nothing; %llu lease%s held\n",
            (unsigned long long)status->held, status->held == 1 ? "" : "s");
    }
    if (status->grace.is_given) {
        text_add(out, "grace: berthd has restarted, and waits ");
        text_add_age(out, status->grace.number);
        text_add(out, " more for its earlier clients\n");
    }
    grid_print_titles(&resources, out);
    if (status->n_resources + status->n_templates == 0) {
        text_add(out, style->is_of_some ? "no resource and no template has such a name\n"
                                        : "no resources are defined yet\n");
    }
    size_t row = 0;
    for (size_t i = 0; i < status->n_resources; i++) {
        grid_print_row(&resources, i, out);
        print_resource(&status->resources[i], &leases, &row, style, out);
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        const struct status_template *template = &status->templates[i];
        grid_print_row(&resources, status->n_resources + i, out);
        print_escaped_note(out, "paused", template->paused ? template->reason : NULL);
        print_words(out, "changed at runtime", &template->changed);
    }
    if (status->n_databases > 0) {
        print_databases(status, out);
    }
    grid_deinit(&resources);
    grid_deinit(&leases);
}
