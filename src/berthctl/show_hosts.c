/* show_hosts.c - the table of `berthctl hosts`, what it says of databases, and its JSON. */
#include "table/grid.h"
#include "berthctl/run.h"
#include "view/json.h"

#include <stdlib.h>
#include <string.h>

/* doc/servers.md, Large fleets: us of each second; ms of the ttl for a host. */
enum { TOO_BUSY = 500000, NEEDED_TO_RETURN = 3 };

static void host_cell(struct text *text, const void *row, const void *context)
{
    const struct status_host *host = row;
    (void)context;
    text_add_safe(text, "%s%s", host->name, host->own ? " (this host)" : "");
}

static void heard_cell(struct text *text, const void *row, const void *context)
{
    text_add_age(text, status_since(context, &((const struct status_host *)row)->heard_at));
}

static void version_cell(struct text *text, const void *row, const void *context)
{
    const struct status_host *host = row;
    (void)context;
    text_add_escaped(text, host->version ? host->version : "-");
}

static void layouts_cell(struct text *text, const void *row, const void *context)
{
    const struct status_host *host = row;
    (void)context;
    if (host->layout_from < host->layout_to) {
        text_add_safe(text, "%llu-", (unsigned long long)host->layout_from);
    }
    text_add_number(text, host->layout_to);
}

/* A row is a struct status_host, its context the struct status. */
static const struct column columns[] = {
    {"HOST", .cell = host_cell},
    {"DATABASE", COLUMN_STRING(struct status_host, database)},
    {"HEARD", .cell = heard_cell, .is_right = true},
    {"HELD", COLUMN_NUMBER(struct status_host, held)},
    {"WAIT", COLUMN_NUMBER(struct status_host, waiting)},
    {"VERSION", .cell = version_cell},
    {"LAYOUTS", .cell = layouts_cell},
    {"SESSION", COLUMN_STRING(struct status_host, session)},
};

/* ---- what is said of each database below the hosts: one row each, in this order ---- */

struct shown_database {
    const struct status *status;
    const struct status_database *database; /* of it */
};

/* Adds the text of its row; false: there is nothing to say. */
typedef bool add_note(struct text *out, const struct shown_database *shown);

static bool add_escaped(struct text *out, const char *text)
{
    text_add_escaped(out, text ? text : "");
    return text;
}

static bool add_server(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    if (!database->server) {
        return false;
    }
    if (database->redis_version) {
        bool is_named = strncmp(database->redis_version, "Valkey ", 7) == 0;
        text_add_safe(out, "%s%s at ", is_named ? "" : "Redis ", database->redis_version);
    }
    return add_escaped(out, database->server);
}

static bool add_lacks(struct text *out, const struct shown_database *shown)
{
    text_add_words(out, &shown->database->lacks, ", ");
    return shown->database->lacks.n > 0;
}

static bool add_warning(struct text *out, const struct shown_database *shown)
{
    return add_escaped(out, shown->database->warning);
}

/* Of a second, microseconds. */
static void add_percent(struct text *out, uint64_t share)
{
    text_add_format(out, share < 100000 ? "%.1f %%" : "%.0f %%", (double)share / 10000);
}

static bool add_busy(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    if (!database->busy_us_per_s.is_given) {
        return false;
    }
    add_percent(out, database->busy_us_per_s.number);
    text_add_format(out, " with Berth, %.1f calls a second",
        (double)database->calls_per_1000_s.number / 1000);
    if (database->cpu_us_per_s.is_given) {
        text_add(out, "; ");
        add_percent(out, database->cpu_us_per_s.number);
        text_add(out, " in total");
    }
    return true;
}

static bool add_too_busy(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    if (!database->busy_us_per_s.is_given || database->busy_us_per_s.number < TOO_BUSY) {
        return false;
    }
    text_add(out, "the database is ");
    add_percent(out, database->busy_us_per_s.number);
    text_add(out, " busy with Berth: see servers.md, Large fleets");
    return true;
}

static bool is_of(const struct status_host *host, const struct status_database *database)
{
    return strcmp(host->database, database->name) == 0;
}

/* Whether a host knows a newer layout than the data have. */
static bool may_go_on(const struct status *status, const struct status_database *database)
{
    bool knows = false;
    for (size_t i = 0; database->layout.is_given && i < status->n_hosts; i++) {
        const struct status_host *host = &status->hosts[i];
        knows |= is_of(host, database) && host->layout_to > database->layout.number;
    }
    return knows;
}

/* The hosts that know no newer one, as "h1, h2"; returns how many. */
static size_t add_hindering(
    struct text *out, const struct status *status, const struct status_database *database)
{
    size_t n = 0;
    for (size_t i = 0; i < status->n_hosts; i++) {
        const struct status_host *host = &status->hosts[i];
        if (is_of(host, database) && host->layout_to <= database->layout.number) {
            text_add_safe(out, "%s%s", n++ > 0 ? ", " : "", host->name);
        }
    }
    return n;
}

static bool add_upgrade(struct text *out, const struct shown_database *shown)
{
    const struct status *status = shown->status;
    const struct status_database *database = shown->database;
    struct text hindering = TEXT_INIT;
    if (!may_go_on(status, database)) {
        return false;
    }
    unsigned long long layout = database->layout.number;
    size_t n = add_hindering(&hindering, status, database);
    text_add_format(out, "%llu; ", layout);
    if (n > 0) {
        text_add_format(out, "%s cannot read layout %llu", hindering.bytes, layout + 1);
    } else {
        text_add_safe(out, "all hosts can read layout %llu: berthctl finish-upgrade %s", layout + 1,
            database->name);
    }
    text_deinit(&hindering);
    return true;
}

/* Whether that host's file says it too. */
static bool says_lag(const struct status_host *host, const struct status_database *database,
    uint64_t failover_lag)
{
    return strcmp(host->database, database->name) == 0 && host->failover_lag.is_given &&
        host->failover_lag.number == failover_lag;
}

/* What most of the files say. */
static uint64_t usual_lag(const struct status *status, const struct status_database *database)
{
    uint64_t usual = 0;
    size_t most = 0;
    for (size_t i = 0; i < status->n_hosts; i++) {
        uint64_t failover_lag = status->hosts[i].failover_lag.number;
        size_t n = 0;
        for (size_t k = 0; k < status->n_hosts; k++) {
            n += says_lag(&status->hosts[k], database, failover_lag);
        }
        usual = n > most ? failover_lag : usual;
        most = n > most ? n : most;
    }
    return usual;
}

static void add_other(struct text *out, const struct status_host *host, const char *key,
    const struct optional *time, uint64_t usual)
{
    if (time->is_given && time->number != usual) {
        text_add_safe(out, "%s%s (%s = %llums)", out->length > 0 ? ", " : "", host->name, key,
            (unsigned long long)time->number);
    }
}

static bool add_other_times(struct text *out, const struct shown_database *shown)
{
    const struct status *status = shown->status;
    const struct status_database *database = shown->database;
    struct text others = TEXT_INIT;
    uint64_t failover_lag = usual_lag(status, database);
    for (size_t i = 0; i < status->n_hosts; i++) {
        const struct status_host *host = &status->hosts[i];
        if (strcmp(host->database, database->name) == 0) {
            add_other(&others, host, "ttl", &host->ttl, database->ttl);
            add_other(&others, host, "failover-lag", &host->failover_lag, failover_lag);
        }
    }
    bool is_any = others.length > 0;
    if (is_any) {
        text_add_format(out, "the files of hosts differ: %s", others.bytes);
    }
    text_deinit(&others);
    return is_any;
}

static bool add_too_many(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    if (!database->sessions.is_given ||
        database->sessions.number <= database->ttl / NEEDED_TO_RETURN) {
        return false;
    }
    text_add_safe(out,
        "%llu hosts may come back too late for their jobs after a restart of Redis: "
        "see servers.md, Large fleets",
        (unsigned long long)database->sessions.number);
    return true;
}

static const struct {
    const char *label;
    add_note *add;
} notes[] = {
    {"server", add_server},
    {"lacks", add_lacks},
    {"busy", add_busy},
    {"layout", add_upgrade},
    {"warning", add_warning},
    {"warning", add_too_busy},
    {"warning", add_too_many},
    {"warning", add_other_times},
};

/* The hosts of one that is not up are not shown. */
static void print_database(
    struct text *out, const struct status *status, const struct status_database *database)
{
    text_add_safe(out, "database %s %s%s%s\n", database->name, database->state,
        database->why ? ": " : "", database->why);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        struct text note = TEXT_INIT;
        if (notes[i].add(&note, &(struct shown_database){status, database})) {
            text_add_format(out, "  %s: %s\n", notes[i].label, note.bytes);
        }
        text_deinit(&note);
    }
}

static void print_table(const struct status *status, struct text *out)
{
    struct grid grid;
    grid_init(&grid, columns, sizeof columns / sizeof columns[0], 0);
    for (size_t i = 0; i < status->n_hosts; i++) {
        grid_add_row(&grid, &status->hosts[i], status);
    }
    if (status->n_databases == 0) {
        text_add(out, "this host's configuration has no [redis] section\n");
    }
    if (status->n_hosts > 0) {
        grid_print(&grid, out);
    }
    for (size_t i = 0; i < status->n_databases; i++) {
        print_database(out, status, &status->databases[i]);
    }
    grid_deinit(&grid);
}

int run_hosts(struct call *call, const struct line *line)
{
    bool is_json = line->options & OPTION_JSON;
    struct status status = STATUS_INIT;
    struct text out = TEXT_INIT;
    int exit_status = EXIT_SUCCESS;
    if (show_ask_status(call, &status)) {
        (is_json ? json_print_hosts : print_table)(&status, &out);
        exit_status = show_print(&out);
    } else {
        exit_status = call->exit_status;
    }
    status_deinit(&status);
    return exit_status;
}
