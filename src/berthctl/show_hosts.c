/* show_hosts.c - the table of `berthctl hosts`, what it says of databases, and its JSON; and
 * `berthctl found`, which shows who is connected, and asks the operator before it is done. */
#include "table/grid.h"
#include "berthctl/run.h"
#include "client/exit_status.h"
#include "view/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* doc/servers.md, Large fleets: us of each second; ms of the ttl for a host. */
enum { TOO_BUSY = 500000, NEEDED_TO_RETURN = 3 };

static void host_cell(struct text *text, const void *row, const void *context)
{
    const struct status_host *host = row;
    (void)context;
    text_add_safe(text, "%s%s", host->name, host->own ? " (this host)" : "");
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

/* A row is a struct status_host. */
static const struct column columns[] = {
    {"HOST", .cell = host_cell, .is_cut_inside = true, .min_width = 30},
    {"DATABASE", COLUMN_STRING(struct status_host, database), .min_width = 8},
    {"HEARD", COLUMN_AGE(struct status_host, heard_at)},
    {"HELD", COLUMN_NUMBER(struct status_host, held)},
    {"WAIT", COLUMN_NUMBER(struct status_host, waiting)},
    {"VERSION", .cell = version_cell, .gives_way = 1},
    {"LAYOUTS", .cell = layouts_cell, .gives_way = 2},
    {"SESSION", COLUMN_STRING(struct status_host, session)},
};

/* ---- what is said of each database below the hosts: one row each, in this order ---- */

struct shown_database {
    const struct status *status;
    const struct status_database *database; /* of it */
};

/* Adds the text of its row, or nothing. */
typedef void add_note(struct text *out, const struct shown_database *shown);

static void add_server(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    if (database->server && database->redis_version) {
        bool is_named = strncmp(database->redis_version, "Valkey ", 7) == 0;
        text_add_safe(out, "%s%s at ", is_named ? "" : "Redis ", database->redis_version);
    }
    text_add_safe(out, "%s", database->server);
}

static void add_lacks(struct text *out, const struct shown_database *shown)
{
    text_add_words(out, &shown->database->lacks, ", ");
}

static void add_warning(struct text *out, const struct shown_database *shown)
{
    text_add_safe(out, "%s", shown->database->warning);
}

/* Of a second, microseconds. */
static void add_percent(struct text *out, uint64_t share)
{
    text_add_format(out, share < 100000 ? "%.1f %%" : "%.0f %%", (double)share / 10000);
}

static void add_busy(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    if (database->busy_us_per_s.is_given) {
        add_percent(out, database->busy_us_per_s.number);
        text_add_format(out, " with Berth, %.1f calls a second",
            (double)database->calls_per_1000_s.number / 1000);
    }
    if (database->busy_us_per_s.is_given && database->cpu_us_per_s.is_given) {
        text_add(out, "; ");
        add_percent(out, database->cpu_us_per_s.number);
        text_add(out, " in total");
    }
}

/* Given in microseconds. */
static void add_time(struct text *out, const struct optional *time)
{
    double milliseconds = (double)time->number / 1000;
    text_add_format(out, milliseconds < 10 ? "%.2f ms" : milliseconds < 1000 ? "%.0f ms" : "%.1f s",
        milliseconds < 1000 ? milliseconds : milliseconds / 1000);
}

static void add_answers(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    bool is_down = strcmp(database->state, "down") == 0 && database->answered_at.is_given;
    if (is_down && database->answer_last_us.is_given) {
        text_add(out, "none for ");
        text_add_age(out, status_since(shown->status, &database->answered_at));
        text_add(out, " (the last took ");
        add_time(out, &database->answer_last_us);
        text_add(out, ")");
    } else if (database->answer_last_us.is_given) {
        add_time(out, &database->answer_last_us);
        text_add(out, " the last");
    }
    if (database->answer_median_us.is_given) {
        text_add(out, ", ");
        add_time(out, &database->answer_median_us);
        text_add(out, " median, ");
        add_time(out, &database->answer_p99_us);
        text_add_format(out, " p99 of %llu in the last minute",
            (unsigned long long)database->answers.number);
    }
}

static void add_too_slow(struct text *out, const struct shown_database *shown)
{
    if (shown->database->slow) {
        text_add(out, "Redis, or the way to it, is slow: see fleet.md, When something is wrong");
    }
}

static void add_too_busy(struct text *out, const struct shown_database *shown)
{
    const struct optional *busy = &shown->database->busy_us_per_s;
    if (busy->is_given && busy->number >= TOO_BUSY) {
        text_add(out, "the database is ");
        add_percent(out, busy->number);
        text_add(out, " busy with Berth: see servers.md, Large fleets");
    }
}

static bool is_of(const struct status_host *host, const struct status_database *database)
{
    return strcmp(host->database, database->name) == 0;
}

/* Where a host can read a newer layout than the data have. */
static void add_upgrade(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    unsigned long long layout = database->layout.number;
    struct text hindering = TEXT_INIT; /* the hosts that cannot */
    bool is_any = false;
    for (size_t i = 0; database->layout.is_given && i < shown->status->n_hosts; i++) {
        const struct status_host *host = &shown->status->hosts[i];
        bool knows = host->layout_to > layout;
        if (is_of(host, database) && !knows) {
            text_add_safe(&hindering, "%s%s", hindering.length > 0 ? ", " : "", host->name);
        }
        is_any |= is_of(host, database) && knows;
    }
    if (is_any && hindering.length > 0) {
        text_add_format(
            out, "%llu; %s cannot read layout %llu", layout, hindering.bytes, layout + 1);
    } else if (is_any) {
        text_add_safe(out, "%llu; all hosts can read layout %llu: berthctl finish-upgrade %s",
            layout, layout + 1, database->name);
    }
    text_deinit(&hindering);
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
            const struct optional *other = &status->hosts[k].failover_lag;
            n += is_of(&status->hosts[k], database) && other->is_given &&
                other->number == failover_lag;
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
        text_add_safe(out, "%s%s (%s = %llums)",
            out->length > 0 ? ", " : "the files of hosts differ: ", host->name, key,
            (unsigned long long)time->number);
    }
}

static void add_other_times(struct text *out, const struct shown_database *shown)
{
    const struct status_database *database = shown->database;
    uint64_t failover_lag = usual_lag(shown->status, database);
    for (size_t i = 0; i < shown->status->n_hosts; i++) {
        const struct status_host *host = &shown->status->hosts[i];
        if (is_of(host, database)) {
            add_other(out, host, "ttl", &host->ttl, database->ttl);
            add_other(out, host, "failover-lag", &host->failover_lag, failover_lag);
        }
    }
}

static void add_too_many(struct text *out, const struct shown_database *shown)
{
    const struct optional *sessions = &shown->database->sessions;
    if (sessions->is_given && sessions->number > shown->database->ttl / NEEDED_TO_RETURN) {
        text_add_safe(out,
            "%llu hosts may come back too late for their jobs after a restart of Redis: "
            "see servers.md, Large fleets",
            (unsigned long long)sessions->number);
    }
}

static const struct {
    const char *label;
    add_note *add;
} notes[] = {
    {"server", add_server},
    {"lacks", add_lacks},
    {"answers", add_answers},
    {"busy", add_busy},
    {"layout", add_upgrade},
    {"warning", add_warning},
    {"warning", add_too_slow},
    {"warning", add_too_busy},
    {"warning", add_too_many},
    {"warning", add_other_times},
};

/* "batch3: gone 4m03s ago, held 1 (db), freed 3m33s ago" */
static void add_gone(struct text *out, const struct status *status, const struct status_gone *gone)
{
    text_add_safe(out, "  %s: gone ", gone->name);
    text_add_age(out, status_since(status, &gone->heard_at));
    text_add_format(out, " ago, held %llu", (unsigned long long)gone->held);
    if (gone->resources.n > 0) {
        text_add(out, " (");
        text_add_words(out, &gone->resources, ", ");
        text_add(out, ")");
    }
    if (gone->held > 0) {
        text_add(out, ", freed ");
        text_add_age(out, status_since(status, &gone->freed_at));
        text_add(out, " ago");
    }
    text_add(out, "\n");
}

/* The hosts of one that is not up are not shown. */
static void print_database(
    struct text *out, const struct status *status, const struct status_database *database)
{
    text_add_safe(out, "database %s %s%s%s\n", database->name, database->state,
        database->why ? ": " : "", database->why);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        struct text note = TEXT_INIT;
        notes[i].add(&note, &(struct shown_database){status, database});
        if (note.length > 0) {
            text_add_format(out, "  %s: %s\n", notes[i].label, note.bytes);
        }
        text_deinit(&note);
    }
    for (size_t i = 0; i < status->n_gone; i++) {
        if (strcmp(status->gone[i].database, database->name) == 0) {
            add_gone(out, status, &status->gone[i]);
        }
    }
}

static void print_table(const struct status *status, struct text *out)
{
    const struct cell_context at = {.status = status};
    struct grid grid;
    grid_init(&grid, columns, sizeof columns / sizeof columns[0], 0);
    for (size_t i = 0; i < status->n_hosts; i++) {
        grid_add_row(&grid, &status->hosts[i], &at);
    }
    if (status->n_databases == 0) {
        text_add(out, "this host's configuration has no [redis] section\n");
    }
    if (status->n_hosts > 0) {
        grid_fit(&grid, show_width());
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
    struct status status = {0};
    struct text out = TEXT_INIT;
    int exit_status = EXIT_SUCCESS;
    if (call_take(call, status_take, &status)) {
        (is_json ? json_print_hosts : print_table)(&status, &out);
        exit_status = show_print(&out);
    } else {
        exit_status = call->exit_status;
    }
    status_deinit(&status);
    return exit_status;
}

/* ---- found ---- */

/* A row is a struct status_host. */
static const struct column found_columns[] = {
    {"HOST", COLUMN_STRING(struct status_host, name)},
    {"HERE FOR", COLUMN_AGE(struct status_host, since)},
    {"HELD", COLUMN_NUMBER(struct status_host, held)},
    {"WAIT", COLUMN_NUMBER(struct status_host, waiting)},
    {"VERSION", COLUMN_STRING(struct status_host, version)},
};

static void add_hosts(struct text *out, const struct status *status, const char *database)
{
    const struct cell_context at = {.status = status};
    struct grid grid;
    grid_init(&grid, found_columns, sizeof found_columns / sizeof found_columns[0], 2);
    for (size_t i = 0; i < status->n_hosts; i++) {
        if (strcmp(status->hosts[i].database, database) == 0) {
            grid_add_row(&grid, &status->hosts[i], &at);
        }
    }
    grid_print(&grid, out);
    grid_deinit(&grid);
}

/* What an operator must know, on stderr. */
static void explain(const struct status *status, const struct status_database *database)
{
    struct text out = TEXT_INIT;
    text_add_safe(&out, "database %s is new: for another ", database->name);
    text_add_age(&out, status_until(status, &database->grace_until));
    text_add(&out, " it grants nothing, because hosts may hold leases\nthat it has no record of.\n"
                   "These hosts are connected, and have listed none:\n");
    add_hosts(&out, status, database->name);
    text_add(&out, "If Redis has lost its data, or has been replaced by another one, a host\n"
                   "that is cut off now may run jobs whose units would be granted to others:\n"
                   "then wait.\n");
    fwrite(out.bytes, 1, out.length, stderr);
    text_deinit(&out);
}

/* False after a message. */
static bool asks_for_sure(struct call *call)
{
    char answer[16] = "";
    if (!isatty(STDIN_FILENO)) {
        message("found: nothing was done: cannot ask for confirmation, as stdin is not a terminal;"
                 " --yes says that the database never held anything");
        call->exit_status = STATUS_USAGE;
        return false;
    }
    fprintf(stderr, "Has this database never held anything? [y/N] ");
    bool is_sure = fgets(answer, sizeof answer, stdin) &&
        (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
    if (!is_sure) {
        message("found: nothing was done");
        call->exit_status = STATUS_NOT_ACQUIRED;
    }
    return is_sure;
}

/* Whether to go on. Where there is nothing to ask, berthd says what is wrong. */
static bool is_meant(struct call *call, const char *name)
{
    struct status status = {0};
    call_set(call, COMMAND_hosts, NULL, 0);
    bool goes_on = call_take(call, status_take, &status);
    const struct status_database *database =
        goes_on ? status_record_named(&status, LINE_DATABASE, name) : NULL;
    if (database && database->new && database->grace_until.is_given) {
        explain(&status, database);
        goes_on = asks_for_sure(call);
    }
    status_deinit(&status);
    return goes_on;
}

int run_found(struct call *call, const struct line *line)
{
    const char *name = call->request.arguments[0];
    if (!(line->options & OPTION_YES) && !is_meant(call, name)) {
        return call->exit_status;
    }
    call_set(call, COMMAND_found, NULL, 0);
    call->request.database = name;
    call->request.reason = line->reason;
    return show_answer(call, NULL);
}
