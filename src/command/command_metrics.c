/* command_metrics.c - `metrics`: the figures, some definitions at a time, so that neither the
 * answer nor the time that it takes grows with their number. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/asking.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "record/history.h"
#include "status/answer_lines.h"
#include "status/database_line.h"
#include "status/metric_rows.h"

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
    metrics_value(out, METRIC_DAEMON_connections, &no_labels, counts->connections);
    for (size_t i = 0; i < N_REFUSED_CAUSES; i++) {
        const struct metrics_labels labels = {.word = causes[i]};
        metrics_value(
            out, METRIC_DAEMON_connections_refused, &labels, counts->connections_refused[i]);
    }
    metrics_value(out, METRIC_DAEMON_connections_open, &no_labels,
        server->admissions.n_conns + server->admissions.n_operators);
    metrics_value(out, METRIC_DAEMON_followers, &no_labels, server->followers.n);
}

static void add_daemon(struct text *out, const struct server *server, nanoseconds now)
{
    add_requests(out, &server->counts);
    add_connections(out, server);
    metrics_histogram(out, METRIC_DAEMON_turn, &no_labels, &server->counts.turn);
    metrics_value(out, METRIC_DAEMON_journal_bytes, &no_labels, journal_bytes(server));
    metrics_value(out, METRIC_DAEMON_history_overwritten, &no_labels,
        history_ring_overwritten(&server->history->ring));
    metrics_time(
        out, METRIC_DAEMON_uptime, &no_labels, microseconds(now - server->started_at));
    metrics_value(
        out, METRIC_DAEMON_draining, &no_labels, core_is_draining(server->core));
    metrics_time(out, METRIC_DAEMON_grace, &no_labels,
        microseconds_until(core_grace_until(server->core), now));
}

/* ---- databases ---- */

static void command_metrics_add_database(
    struct text *out, const struct server *server, uint8_t database, nanoseconds now)
{
    const struct database_counts *counts = &server->database_counts[database - 1];
    const char *name = fleet_name_of(&server->databases, database);
    const struct metrics_labels labels = {.database = name};
    const struct session_view view = fleet_look(server->fleet, database);
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
    metrics_value(out, METRIC_DATABASE_sessions, &labels, counts->sessions);
    metrics_histogram(out, METRIC_DATABASE_renewals, &labels, &counts->renewals);
}

/* ---- what all hosts have in common ---- */

struct figures_request {
    struct asking asking;
    size_t from;
    uint8_t database;
};

static size_t names_to_ask_for(
    const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS])
{
    names[0] = FLEET_SUMS;
    return database == container_of(asking, const struct figures_request, asking)->database
        ? 1
        : NOT_ASKED;
}

static bool answer_sums(struct conn *conn, struct asking *asking)
{
    const struct figures_request *request =
        container_of(asking, const struct figures_request, asking);
    struct server *server = conn->server;
    uint8_t database = request->database;
    const struct view *view = asking->parts[database].view;
    const char *name = fleet_name_of(&server->databases, database);
    struct text figures = TEXT_INIT;
    if (!view) {
        char why[1024];
        bool is_up = fleet_look(server->fleet, database).state == SESSION_UP;
        fleet_why(why, sizeof why, server->fleet, database, NULL,
            is_up ? OUTCOME_DEADLINE : OUTCOME_DOWN);
        answer_error_saying(conn_answers(conn), CODE_DOWN, "%s", why);
        return true;
    }
    const struct metrics_sums sums = {view->rows, database, name};
    if (request->from == 0) {
        struct load_view load = views_load(server->views, database, view);
        metrics_hosts(&figures, view->rows, name);
        metrics_load(&figures, &load, name);
    }
    size_t next = metrics_resources(
        &figures, server->core, &sums, request->from, DEFINITIONS, clock_now());
    metrics_answer(conn_answers(conn), &figures, next);
    text_deinit(&figures);
    return true;
}

static void ask_for_sums(struct call *call, uint8_t database, size_t from)
{
    static const struct asking_kind kind = {.names = names_to_ask_for, .answer = answer_sums};
    struct figures_request *request = memory_new(sizeof *request);
    request->asking.kind = &kind;
    request->asking.age = ASKING_OLD_ENOUGH; /* all answers of one scrape have the same sums */
    request->from = from;
    request->database = database;
    asking_begin(call, &request->asking);
}

/* ---- the answer ---- */

static void answer_own(struct call *call, size_t from)
{
    struct server *server = call->server;
    struct text rows = TEXT_INIT;
    if (from == 0) {
        add_daemon(&rows, server, call->now);
        for (uint8_t i = 1; i <= server->databases.n; i++) {
            command_metrics_add_database(&rows, server, i, call->now);
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
        ask_for_sums(call, database, from);
    } else {
        answer_own(call, from);
    }
}
