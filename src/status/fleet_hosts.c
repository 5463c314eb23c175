#include "status/fleet_hosts.h"

#include "base/memory.h"
#include "wire/status_keys.h"

#include <stdlib.h>
#include <string.h>

/* A row `session`. */
enum session_field {
    SESSION_WORD,
    SESSION_ID,
    SESSION_HOST,
    SESSION_LEFT,
    SESSION_INCARNATION,
    SESSION_VERSION,
    SESSION_FROM,
    SESSION_TO,
    SESSION_TTL,
    SESSION_LAG,
    N_SESSION_FIELDS,
    SESSION_SINCE = N_SESSION_FIELDS /* in the first grace */
};

/* Milliseconds. */
#define MAX_SPAN (NEVER / 4 / NANOSECONDS_PER_MILLISECOND)

static bool take_session(const struct fleet_row *row, struct fleet_host *host)
{
    host->session = fleet_field(row, SESSION_ID);
    host->name = fleet_field(row, SESSION_HOST);
    host->version = fleet_field(row, SESSION_VERSION);
    if (row->n == N_SESSION_FIELDS || !fleet_number(row, SESSION_SINCE, MAX_SPAN, &host->since)) {
        host->since = UINT64_MAX;
    }
    return strcmp(row->fields, "session") == 0 && row->n >= N_SESSION_FIELDS &&
        fleet_number(row, SESSION_LEFT, MAX_SPAN, &host->left) &&
        fleet_number(row, SESSION_FROM, UINT32_MAX, &host->from) &&
        fleet_number(row, SESSION_TO, UINT32_MAX, &host->to) &&
        fleet_number(row, SESSION_TTL, INT64_MAX, &host->ttl) &&
        fleet_number(row, SESSION_LAG, INT64_MAX, &host->lag);
}

static int compare_sessions(const void *left, const void *right)
{
    const struct fleet_host *a = left, *b = right;
    return strcmp(a->session, b->session);
}

static int compare_names(const void *left, const void *right)
{
    const struct fleet_host *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : compare_sessions(left, right);
}

/* SESSION of a key SESSION/ID. */
static struct fleet_host *find(struct fleet_host *hosts, size_t n, const char *key)
{
    enum { MAX_SESSION = 64 };
    char session[MAX_SESSION];
    size_t length = strcspn(key, "/");
    if (length >= sizeof session) {
        return NULL;
    }
    memcpy(session, key, length);
    session[length] = '\0';
    const struct fleet_host wanted = {.session = session};
    return n > 0 ? bsearch(&wanted, hosts, n, sizeof *hosts, compare_sessions) : NULL;
}

static void count_leases(const struct fleet_rows *rows, const struct fleet_resource *resource,
    struct fleet_host *hosts, size_t n)
{
    for (size_t i = resource->row; i < resource->end; i++) {
        const struct fleet_row *row = &rows->rows[i];
        enum fleet_lease kind = fleet_row_kind(row, resource);
        struct fleet_host *host =
            kind != FLEET_NEITHER ? find(hosts, n, fleet_field(row, ROW_KEY)) : NULL;
        if (host) {
            host->held += kind == FLEET_HOLDER;
            host->waiting += kind == FLEET_WAITER;
        }
    }
}

size_t fleet_hosts_new(const struct fleet_rows *rows, struct fleet_host **hostsp)
{
    size_t n = 0;
    struct fleet_host *hosts = memory_new((rows->n_rows + 1) * sizeof *hosts);
    for (size_t i = 0; i < rows->n_rows; i++) {
        n += take_session(&rows->rows[i], &hosts[n]);
    }
    qsort(hosts, n, sizeof *hosts, compare_sessions);
    for (size_t i = 0; i < rows->n_resources; i++) {
        count_leases(rows, &rows->resources[i], hosts, n);
    }
    qsort(hosts, n, sizeof *hosts, compare_names);
    *hostsp = hosts;
    return n;
}

/* What other hosts have written is cut: a line has its bounds. */
enum { MAX_TEXT = 255 };

static const char *bounded(char room[static MAX_TEXT + 1], const char *value)
{
    size_t n = strnlen(value, MAX_TEXT);
    memcpy(room, value, n);
    room[n] = '\0';
    return n > 0 ? room : "?";
}

static struct instant before(nanoseconds instant, uint64_t milliseconds)
{
    return instant_of(instant - (nanoseconds)milliseconds * NANOSECONDS_PER_MILLISECOND);
}

static void write_host(struct text *out, const struct fleet_host *host, const char *database,
    uint64_t ttl, nanoseconds listed_at)
{
    char name[MAX_TEXT + 1], session[MAX_TEXT + 1], version[MAX_TEXT + 1];
    struct status_host line = {
        .session = bounded(session, host->session),
        .database = database,
        .heard_at = before(listed_at, ttl > host->left ? ttl - host->left : 0),
        .held = host->held,
        .waiting = host->waiting,
        .version = bounded(version, host->version),
        .layout_from = host->from,
        .layout_to = host->to,
        .ttl = {true, host->ttl},
        .failover_lag = {true, host->lag},
    };
    if (host->since != UINT64_MAX) {
        line.since = before(listed_at, host->since);
    }
    status_line_write(out, LINE_HOST, bounded(name, host->name), &line);
}

void fleet_hosts_write(struct text *out, const struct fleet_rows *rows, const char *database,
    uint64_t ttl, nanoseconds listed_at)
{
    struct fleet_host *hosts;
    size_t n = fleet_hosts_new(rows, &hosts);
    for (size_t i = 0; i < n; i++) {
        write_host(out, &hosts[i], database, ttl, listed_at);
    }
    free(hosts);
}
