/* command_metrics.c - `metrics`: the figures, some definitions at a time, so that neither the
 * answer nor the time that it takes grows with their number. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "conn/parked.h"
#include "database/fleet_sessions.h"
#include "database/fleet_views.h"
#include "status/answer_lines.h"
#include "status/database_line.h"
#include "status/metric_rows.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { DEFINITIONS = 16 }; /* of one answer */

static const struct metrics_labels no_labels;

/* Of an instant; NEVER: none. */
static uint64_t microseconds_until(nanoseconds instant, nanoseconds now)
{
    return instant == NEVER ? 0 : microseconds(instant - now);
}

/* ---- berthd ---- */

static void add_requests(struct text *out, const struct daemon_counts *counts)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct metrics_labels labels = {.word = command_table[i].word};
        metrics_value(out, METRIC_DAEMON_requests, &labels, counts->requests[i]);
    }
    for (size_t i = 1; i < N_CODES; i++) { /* 0 is no code */
        const struct metrics_labels labels = {.word = code_table[i].word};
        metrics_value(out, METRIC_DAEMON_refusals, &labels, counts->refusals[i]);
    }
}

static uint64_t journal_bytes(const struct server *server)
{
    struct stat status;
    int fd = server->ledger.journal.fd;
    return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static void add_connections(struct text *out, const struct server *server)
{
    static const char *const causes[N_REFUSED_CAUSES] = {"full", "rate", "user"};
    const struct daemon_counts *counts = &server->counts;
    metrics_value(out, METRIC_DAEMON_connections, &no_labels, counts->connections[0]);
    for (size_t i = 0; i < N_REFUSED_CAUSES; i++) {
        const struct metrics_labels labels = {.word = causes[i]};
        metrics_value(
            out, METRIC_DAEMON_connections_refused, &labels, counts->connections_refused[i]);
    }
    metrics_value(out, METRIC_DAEMON_connections_open, &no_labels,
        server->seats.n_conns + server->seats.n_operators);
    metrics_value(out, METRIC_DAEMON_followers, &no_labels, server->followers.n);
}

static void add_daemon(struct text *out, const struct server *server, nanoseconds now)
{
    add_requests(out, &server->counts);
    add_connections(out, server);
    metrics_histogram(out, METRIC_DAEMON_turn, &no_labels, &server->counts.turn);
    metrics_value(out, METRIC_DAEMON_journal_bytes, &no_labels, journal_bytes(server));
    metrics_time(
        out, METRIC_DAEMON_uptime, &no_labels, microseconds(now - server->started_at));
    metrics_value(
        out, METRIC_DAEMON_draining, &no_labels, core_is_draining(server->core));
    metrics_time(out, METRIC_DAEMON_grace, &no_labels,
        microseconds_until(core_grace_until(server->core), now));
}

/* ---- databases ---- */

static void add_database(
    struct text *out, const struct server *server, uint8_t database, nanoseconds now)
{
    const struct database_counts *counts = &server->database_counts[database - 1];
    const char *name = fleet_name_of(&server->databases, database);
    const struct metrics_labels labels = {.database = name};
    struct session_view view;
    fleet_look(server->fleet, database, &view);
    text_add(out, "database ");
    text_add_encoded(out, name);
    text_add(out, "\n");
    for (enum session_state i = SESSION_DOWN; i <= SESSION_REPLACED; i++) {
        const struct metrics_labels state = {.database = name, .word = database_state_word(i)};
        metrics_value(out, METRIC_DATABASE_state, &state, view.state == i);
    }
    metrics_time(
        out, METRIC_DATABASE_good, &labels, microseconds_until(view.good_until, now));
    metrics_time(
        out, METRIC_DATABASE_grace, &labels, microseconds_until(view.grace_until, now));
    metrics_value(out, METRIC_DATABASE_differing, &labels, view.n_differing);
    metrics_value(out, METRIC_DATABASE_sessions, &labels, counts->sessions[0]);
    metrics_histogram(out, METRIC_DATABASE_renewals, &labels, &counts->renewals);
}

/* ---- what all hosts have in common ---- */

/* The age of sums, however many scrape; and all answers of one scrape have the same sums. */
#define OLD_ENOUGH NANOSECONDS_PER_SECOND

struct figures_request {
    struct view_asker asker;
    size_t from;
    uint8_t database;
};

static void request_free(struct conn *conn, void *state)
{
    struct figures_request *request = state;
    (void)conn;
    views_leave(&request->asker);
    free(request);
}

/* The view is NULL, or has no rows, if the database has not answered. */
static void answer_view(struct text *out, struct server *server,
    const struct figures_request *request, const struct view *view)
{
    uint8_t database = request->database;
    const struct metrics_sums sums = {
        view ? view->rows : NULL, database, fleet_name_of(&server->databases, database)};
    struct text figures = TEXT_INIT;
    if (!sums.rows) {
        char why[1024];
        fleet_why(why, sizeof why, server->fleet, database, NULL,
            fleet_is_up(server->fleet, database) ? OUTCOME_DEADLINE : OUTCOME_DOWN);
        answer_error_saying(out, CODE_DOWN, why);
        return;
    }
    if (request->from == 0) {
        struct load_view load = views_load(server->views, database, view);
        metrics_hosts(&figures, sums.rows, sums.database);
        metrics_load(&figures, &load, sums.database);
    }
    size_t next = metrics_resources(
        &figures, server->core, &sums, request->from, DEFINITIONS, clock_now());
    metrics_answer(out, &figures, next);
    text_deinit(&figures);
}

static void on_view(struct conn *conn, struct view *view)
{
    answer_view(conn_answers(conn), conn->server, parked_state(conn), view);
    view_release(view);
    parked_end(conn);
}

static void on_late(struct conn *conn)
{
    answer_view(conn_answers(conn), conn->server, parked_state(conn), NULL);
    parked_end(conn);
}

/* Answers, or parks the connection until the database has answered. */
static void answer_sums(struct call *call, uint8_t database, size_t from)
{
    static const struct parked_ops ops = {.late = on_late, .free = request_free};
    static const char *const names[] = {FLEET_SUMS};
    struct figures_request *request = memory_new(sizeof *request);
    struct view *view = NULL;
    *request = (struct figures_request){.asker = {.conn = call->conn, .done = on_view},
        .from = from,
        .database = database};
    if (fleet_is_up(call->server->fleet, database)) {
        view = views_ask(
            call->server->views, &request->asker, database, 1, names, OLD_ENOUGH);
        if (!view) {
            parked_begin(call->conn, &ops, request);
            return;
        }
    }
    answer_view(call->out, call->server, request, view);
    view_release(view);
    request_free(call->conn, request);
}

/* ---- the answer ---- */

static void answer_own(struct call *call, size_t from)
{
    struct server *server = call->server;
    struct text rows = TEXT_INIT;
    if (from == 0) {
        add_daemon(&rows, server, call->now);
        for (uint8_t i = 1; i <= server->databases.n; i++) {
            add_database(&rows, server, i, call->now);
        }
    }
    size_t next = metrics_resources(
        &rows, server->core, NULL, from, DEFINITIONS, call->now);
    metrics_answer(call->out, &rows, next);
    text_deinit(&rows);
}

void command_metrics(struct call *call)
{
    const char *key = call->request->keys[KEY_INDEX_from];
    const char *name = call->request->keys[KEY_INDEX_database];
    uint8_t database = name ? fleet_find(&call->server->databases, name) : 0;
    uint64_t from = 0;
    if (key && !number_parse(key, UINT32_MAX, &from)) {
        call_refuse(call, CODE_BAD_VALUE, "from");
    } else if (name && database == 0) {
        call_refuse(call, CODE_UNKNOWN, "database");
    } else if (name) {
        answer_sums(call, database, from);
    } else {
        answer_own(call, from);
    }
}
