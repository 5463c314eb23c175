#include "status/database_line.h"

#include "base/memory.h"
#include "core/timing.h"
#include "wire/status_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_words[] = {
    [SESSION_DOWN] = "down",
    [SESSION_LISTING] = "listing",
    [SESSION_UP] = "up",
    [SESSION_REPLACED] = "replaced",
};

const char *database_state_word(enum session_state state)
{
    return state_words[state];
}

/* What servers and other hosts say is cut: a line has its bounds. */
enum { ADDRESS_BYTES = 160, VERSION_BYTES = 32, MAX_TEXT = REASON_BYTES };

struct rooms {
    char server[MAX_TEXT + 1], version[MAX_TEXT + 1], warning[MAX_TEXT + 1];
    char lacks[MAX_TEXT + 1], why[MAX_TEXT + 1];
};

static void fill_load(struct status_database *line, const struct load_view *load)
{
    line->sessions = (struct optional){load->sessions > 0, load->sessions};
    line->calls_per_1000_s = (struct optional){load->is_known, load->rate};
    line->busy_us_per_s = (struct optional){load->is_known, load->busy};
    line->cpu_us_per_s = (struct optional){load->has_cpu, load->cpu};
}

static void fill_latency(struct status_database *line, const struct latency_view *latency)
{
    line->answer_last_us = (struct optional){latency->last > 0, latency->last};
    line->answers = (struct optional){latency->n > 0, latency->n};
    line->answer_median_us = (struct optional){latency->n > 0, latency->median};
    line->answer_p99_us = (struct optional){latency->n > 0, latency->p99};
}

/* As in the url: HOST:PORT/2, or /PATH?db=2. */
static void add_number(char server[MAX_TEXT + 1], uint32_t number)
{
    size_t n = strlen(server);
    snprintf(server + n, MAX_TEXT + 1 - n, server[0] == '/' ? "?db=%" PRIu32 : "/%" PRIu32, number);
}

static void fill_server(struct status_database *line, struct rooms *room,
    const struct redis_url *url, const struct link_info *info)
{
    line->server = fleet_bounded(room->server, info->address, ADDRESS_BYTES);
    if (line->server && url->db != 0) {
        add_number(room->server, url->db);
    }
    line->redis_version = fleet_bounded(room->version, info->version, VERSION_BYTES);
    line->warning = fleet_bounded(room->warning, info->warning, MAX_TEXT);
    line->lacks.joined = fleet_bounded(room->lacks, info->lacks, ADDRESS_BYTES);
}

void database_line_write(struct text *out, const struct database *database,
    const struct session_view *view, const struct latency_view *latency,
    const struct link_info *info, const struct load_view *load)
{
    struct rooms room;
    struct status_database line = {
        .state = state_words[view->state],
        .ttl = milliseconds(view->ttl),
        .incarnation = view->incarnation,
        .differing = view->n_differing,
        .calls = view->n_calls,
        .layout = {view->state == SESSION_UP, view->layout},
    };
    if (view->grace_until != NEVER) {
        line.grace_until = instant_of(view->grace_until);
        line.new = view->is_new;
    }
    if (view->good_until != 0) {
        line.good_until = instant_of(view->good_until);
    }
    if (view->answered_at != 0) {
        line.answered_at = instant_of(view->answered_at);
    }
    fill_latency(&line, latency);
    nanoseconds slow = timing_slow_renewal(view->ttl);
    line.slow = view->is_slow || latency->p99 > microseconds(slow);
    if (load) {
        fill_load(&line, load);
    }
    if (info) {
        fill_server(&line, &room, &database->url, info);
    }
    if (view->state != SESSION_UP) {
        line.why = fleet_bounded(room.why, view->why, MAX_TEXT);
    }
    status_line_write(out, LINE_DATABASE, database->name, &line);
}

/* ---- its hosts ---- */

/* A row `session`. */
enum session_field {
    SESSION_WORD,
    SESSION_ID,
    SESSION_HOST,
    SESSION_LEFT, /* milliseconds until it ends, unless it is heard from */
    SESSION_INCARNATION,
    SESSION_VERSION,
    SESSION_FROM,
    SESSION_TO,
    SESSION_TTL,
    SESSION_LAG,
    N_SESSION_FIELDS,
    SESSION_SINCE = N_SESSION_FIELDS /* in the first grace */
};

void session_host(
    char host[static REASON_BYTES + 1], const struct fleet_rows *rows, const char *key)
{
    const struct fleet_row *row;
    host[0] = '\0';
    for (size_t at = 0; (row = fleet_rows_next(rows, "session", N_SESSION_FIELDS, &at));) {
        if (strncmp(fleet_field(row, SESSION_ID), key, SESSION_ID_SIZE - 1) == 0) {
            fleet_bounded(host, fleet_field(row, SESSION_HOST), REASON_BYTES);
        }
    }
}

/* Milliseconds. */
#define MAX_SPAN (NEVER / 4 / NANOSECONDS_PER_MILLISECOND)

static struct instant before(nanoseconds instant, uint64_t milliseconds)
{
    return instant_of(instant - (nanoseconds)milliseconds * NANOSECONDS_PER_MILLISECOND);
}

/* False: the row makes no sense. */
static bool database_line_take_host(struct status_host *host, const struct fleet_row *row,
    const char *database, uint64_t ttl, nanoseconds listed_at)
{
    uint64_t left, since;
    *host = (struct status_host){
        .name = fleet_field(row, SESSION_HOST),
        .session = fleet_field(row, SESSION_ID),
        .database = database,
        .version = fleet_field(row, SESSION_VERSION),
        .ttl.is_given = true,
        .failover_lag.is_given = true,
    };
    bool is_host = fleet_number(row, SESSION_LEFT, MAX_SPAN, &left) &&
        fleet_number(row, SESSION_FROM, UINT32_MAX, &host->layout_from) &&
        fleet_number(row, SESSION_TO, UINT32_MAX, &host->layout_to) &&
        fleet_number(row, SESSION_TTL, INT64_MAX, &host->ttl.number) &&
        fleet_number(row, SESSION_LAG, INT64_MAX, &host->failover_lag.number);
    if (is_host) {
        host->heard_at = before(listed_at, ttl > left ? ttl - left : 0);
    }
    if (is_host && fleet_number(row, SESSION_SINCE, MAX_SPAN, &since)) {
        host->since = before(listed_at, since);
    }
    return is_host;
}

static int compare_sessions(const void *left, const void *right)
{
    const struct status_host *a = left, *b = right;
    return strcmp(a->session, b->session);
}

static int compare_names(const void *left, const void *right)
{
    const struct status_host *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : compare_sessions(left, right);
}

/* A lease on several resources counts for each of them. */
static void count_lease(struct status_host *hosts, size_t n, const struct fleet_row *row,
    const struct fleet_resource *resource)
{
    char session[SESSION_ID_SIZE];
    enum fleet_lease kind = fleet_row_kind(row, resource);
    if (kind == FLEET_NEITHER) {
        return;
    }
    snprintf(session, sizeof session, "%s", fleet_field(row, ROW_KEY));
    const struct status_host wanted = {.session = session};
    struct status_host *host = bsearch(&wanted, hosts, n, sizeof *hosts, compare_sessions);
    if (host) {
        host->held += kind == FLEET_HOLDER;
        host->waiting += kind == FLEET_WAITER;
    }
}

static const char *bounded(char room[static MAX_TEXT + 1], const char *value)
{
    const char *text = fleet_bounded(room, value, MAX_TEXT);
    return text ? text : "?";
}

static void write_host(struct text *out, struct status_host *host)
{
    char name[MAX_TEXT + 1], session[MAX_TEXT + 1], version[MAX_TEXT + 1];
    host->session = bounded(session, host->session);
    host->version = bounded(version, host->version);
    status_line_write(out, LINE_HOST, bounded(name, host->name), host);
}

/* A row `gone`. */
enum gone_field {
    GONE_WORD,
    GONE_SESSION,
    GONE_HOST,
    GONE_HEARD, /* milliseconds ago */
    GONE_FREED,
    GONE_HELD,
    GONE_NAMES,
    N_GONE_FIELDS
};

/* Names, and "..."; no host may make a line of its own of them. */
static const char *names_of(char room[static MAX_TEXT + 1], const struct fleet_row *row)
{
    const char *names = fleet_field(row, GONE_NAMES);
    size_t n = strlen(names);
    if (n == 0 || percent_plain(names) != n) {
        return NULL;
    }
    names_cut(room, MAX_TEXT + 1, names);
    return room;
}

static void gone_lines_write(
    struct text *out, const struct fleet_rows *rows, const char *database, nanoseconds listed_at)
{
    char name[MAX_TEXT + 1], session[MAX_TEXT + 1], names[MAX_TEXT + 1];
    const struct fleet_row *row;
    for (size_t at = 0; (row = fleet_rows_next(rows, "gone", N_GONE_FIELDS, &at));) {
        struct status_gone gone = {
            .session = bounded(session, fleet_field(row, GONE_SESSION)),
            .database = database,
            .resources.joined = names_of(names, row),
        };
        uint64_t heard, freed;
        if (fleet_number(row, GONE_HEARD, MAX_SPAN, &heard) &&
            fleet_number(row, GONE_FREED, MAX_SPAN, &freed) &&
            fleet_number(row, GONE_HELD, INT64_MAX, &gone.held)) {
            gone.heard_at = before(listed_at, heard);
            gone.freed_at = before(listed_at, freed);
            status_line_write(out, LINE_GONE, bounded(name, fleet_field(row, GONE_HOST)), &gone);
        }
    }
}

void host_lines_write(struct text *out, const struct fleet_rows *rows, const char *database,
    const char *own_session, uint64_t ttl, nanoseconds listed_at)
{
    size_t n = 0;
    struct status_host *hosts = NULL, host;
    const struct fleet_row *row;
    for (size_t at = 0; (row = fleet_rows_next(rows, "session", N_SESSION_FIELDS, &at));) {
        if (database_line_take_host(&host, row, database, ttl, listed_at)) {
            host.own = strcmp(host.session, own_session) == 0;
            hosts = memory_grow(hosts, n, sizeof *hosts);
            hosts[n++] = host;
        }
    }
    gone_lines_write(out, rows, database, listed_at);
    if (n == 0) {
        return;
    }
    qsort(hosts, n, sizeof *hosts, compare_sessions);
    for (size_t i = 0; i < rows->n_resources; i++) {
        const struct fleet_resource *resource = &rows->resources[i];
        for (size_t k = resource->row + 1; k < resource->end; k++) {
            count_lease(hosts, n, &rows->rows[k], resource);
        }
    }
    qsort(hosts, n, sizeof *hosts, compare_names);
    for (size_t i = 0; i < n; i++) {
        write_host(out, &hosts[i]);
    }
    free(hosts);
}
