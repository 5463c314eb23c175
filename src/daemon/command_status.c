/* command_status.c - `status`: first asks the databases concerned, then makes the answer from what
 * they have said and what this host knows. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "base/words.h"
#include "daemon/command_call.h"
#include "daemon/conn.h"
#include "daemon/fleet_sessions.h"
#include "daemon/fleet_views.h"
#include "daemon/parked.h"
#include "daemon/server.h"
#include "status/answer_lines.h"
#include "status/database_line.h"
#include "status/host_figures.h"
#include "status/snapshot.h"
#include "status/status_walk.h"

#include <stdlib.h>
#include <string.h>

/* The unread answers of one user's clients have views of this weight at most: the next answer has
 * none. */
enum { MAX_KEPT_BY_USER = 8 };

/* The greatest age of the view that tells a waiting client its place; but no older than the
 * request. */
#define OLD_ENOUGH NANOSECONDS_PER_SECOND

/* Why a database has not been asked: its state, or this. */
static const char user_has_enough[] = "busy";

/* A request while databases are being asked. */
struct status_request {
    struct view_asker asker;
    struct snapshot *snapshot; /* the future answer */
    nanoseconds age; /* how old the views may be */
    char *names[MAX_ARGUMENTS]; /* owned */
    size_t n_names; /* 0: all */
    uint32_t wanted; /* bits 1 << database */
    uint8_t database; /* the one being asked */
};

/* ---- the answer ---- */

static void add_databases(struct text *out, const struct server *server, uint32_t wanted)
{
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        struct session_view view;
        if (wanted & UINT32_C(1) << i) {
            fleet_look(server->fleet, i, &view);
            database_line_write(out, fleet_database(&server->databases, i), &view,
                fleet_server_info(server->fleet, i), NULL);
        }
    }
}

/* Begins the answer; conn_begin_long() takes the rest. */
static struct snapshot *begin_answer(struct conn *conn, struct status_request *request)
{
    struct snapshot *rest = request->snapshot;
    struct text *out = conn_answers(conn);
    const struct status figures = host_figures_of(conn->server->core, clock_now());
    host_figures_write(out, "ok", &figures);
    add_databases(out, conn->server, request->wanted);
    request->snapshot = NULL;
    return rest;
}

/* ---- asking the databases ---- */

static void request_free(struct conn *conn, void *state)
{
    struct status_request *request = state;
    (void)conn;
    views_leave(&request->asker);
    snapshot_free(request->snapshot);
    for (size_t i = 0; i < request->n_names; i++) {
        free(request->names[i]);
    }
    free(request);
}

/* Those of its resources that the request names; SIZE_MAX: none. */
static size_t names_of_database(struct core *core, const struct status_request *request,
    const char *names[MAX_ARGUMENTS])
{
    size_t n = 0;
    for (size_t i = 0; i < request->n_names; i++) {
        if (database_of_name(core, request->names[i]) == request->database) {
            names[n++] = request->names[i];
        }
    }
    return n > 0 || request->n_names == 0 ? n : SIZE_MAX;
}

/* NULL: it can be asked. */
static const char *why_not_asked(const struct fleet *fleet, uint8_t database)
{
    struct session_view view;
    fleet_look(fleet, database, &view);
    return view.state == SESSION_UP ? NULL : database_state_word(view.state);
}

/* False: its answer is awaited. */
static bool ask_database(struct server *server, struct status_request *request)
{
    const char *names[MAX_ARGUMENTS];
    size_t n = names_of_database(server->core, request, names);
    const char *why = why_not_asked(server->fleet, request->database);
    if (n == SIZE_MAX) {
        return true;
    }
    if (why) {
        snapshot_set_view(request->snapshot, request->database, NULL, why);
        return true;
    }
    struct view *view =
        views_ask(server->views, &request->asker, request->database, n, names, request->age);
    if (view) {
        snapshot_set_view(request->snapshot, request->database, view, NULL);
    }
    return view;
}

/* True when all wanted databases have been asked. */
static bool ask_next(struct server *server, struct status_request *request)
{
    while (request->database < server->databases.n) {
        request->database++;
        if (request->wanted & UINT32_C(1) << request->database && !ask_database(server, request)) {
            return false;
        }
    }
    return true;
}

/* All have been asked. conn_flush() makes and sends the rest. */
static void end_request(struct conn *conn, struct status_request *request)
{
    struct snapshot *rest = begin_answer(conn, request);
    parked_end(conn);
    conn_begin_long(conn, snapshot_answer(rest));
}

static void on_view(struct conn *conn, struct view *view)
{
    struct status_request *request = parked_state(conn);
    if (view->rows) {
        snapshot_set_view(request->snapshot, request->database, view, NULL);
    } else {
        const char *why = why_not_asked(conn->server->fleet, request->database);
        snapshot_set_view(request->snapshot, request->database, NULL, why ? why : view->why);
        view_release(view);
    }
    if (ask_next(conn->server, request)) {
        end_request(conn, request);
    }
}

static const char *why_late(const struct fleet *fleet, uint8_t database)
{
    struct session_view view;
    fleet_look(fleet, database, &view);
    return view.state != SESSION_UP ? database_state_word(view.state)
        : view.is_telling           ? VIEW_TOO_LARGE
                                    : VIEW_SILENT;
}

static void on_late(struct conn *conn)
{
    struct status_request *request = parked_state(conn);
    for (uint8_t i = request->database; i <= conn->server->databases.n; i++) {
        snapshot_set_view(request->snapshot, i, NULL, why_late(conn->server->fleet, i));
    }
    end_request(conn, request);
}

/* ---- the request ---- */

static bool user_keeps_enough(const struct conn *asker)
{
    return asker->member.fair_user->view_weight >= MAX_KEPT_BY_USER;
}

static uint32_t databases_of(
    struct core *core, size_t n_databases, const char *const names[], size_t n_names)
{
    uint32_t wanted = 0;
    for (uint8_t i = 1; n_names == 0 && i <= n_databases; i++) {
        wanted |= UINT32_C(1) << i;
    }
    for (size_t i = 0; i < n_names; i++) {
        uint8_t database = database_of_name(core, names[i]);
        wanted |= database != 0 ? UINT32_C(1) << database : 0;
    }
    return wanted;
}

/* Takes `snapshot` over. */
static void begin(struct call *call, struct snapshot *snapshot, size_t n, const char *const names[],
    nanoseconds age)
{
    static const struct parked_ops ops = {.late = on_late, .free = request_free};
    struct conn *conn = call->conn;
    struct server *server = call->server;
    struct status_request *request = memory_new(sizeof *request);
    request->asker = (struct view_asker){.conn = conn, .done = on_view};
    request->snapshot = snapshot;
    request->age = age;
    request->wanted = databases_of(server->core, server->databases.n, names, n);
    for (size_t i = 0; i < n; i++) {
        request->names[request->n_names++] = memory_string(names[i]);
    }
    if (request->wanted != 0 && user_keeps_enough(conn)) {
        for (uint8_t i = 1; i <= server->databases.n; i++) {
            snapshot_set_view(snapshot, i, NULL, user_has_enough);
        }
        request->database = (uint8_t)server->databases.n;
    }
    if (ask_next(server, request)) {
        struct snapshot *rest = begin_answer(conn, request);
        request_free(conn, request);
        conn_begin_long(conn, snapshot_answer(rest));
    } else {
        parked_begin(conn, &ops, request);
    }
}

static struct snapshot_source source_of(const struct server *server)
{
    struct snapshot_source source = {.core = server->core};
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        source.databases[i - 1] = (struct snapshot_database){
            fleet_name_of(&server->databases, i), fleet_session_id(server->fleet, i)};
    }
    return source;
}

static void status_of_lease(struct call *call, const char *text)
{
    const char *names[MAX_RESOURCES_PER_LEASE];
    uint64_t id;
    if (!lease_id_parse(text, &id)) {
        call_refuse(call, CODE_BAD_VALUE, "lease");
        return;
    }
    const struct lease *lease = core_find_lease(call->server->core, id);
    if (!lease) {
        call_refuse(call, CODE_UNKNOWN, "lease");
        return;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        names[i] = lease->claims[i].resource->name;
    }
    nanoseconds waits_for = call->now - lease->asked_at;
    const struct snapshot_source source = source_of(call->server);
    begin(call, snapshot_new_of_lease(&source, lease), lease->n_claims, names,
        waits_for < OLD_ENOUGH ? waits_for : OLD_ENOUGH);
}

/* Which resources there are is for the databases to say. */
static bool has_pattern(const struct request *request)
{
    size_t i = 0;
    while (i < request->n_arguments && !pattern_is_valid(request->arguments[i])) {
        i++;
    }
    return i < request->n_arguments;
}

void command_status(struct call *call)
{
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease];
    size_t n = request->n_arguments;
    if (lease && n > 0) {
        call_refuse(call, CODE_MALFORMED, "names and a lease");
    } else if (lease) {
        status_of_lease(call, lease);
    } else if (call_check_asked_names(call)) {
        const struct snapshot_source source = source_of(call->server);
        begin(call,
            snapshot_new_of(&source, request->arguments, n),
            has_pattern(request) ? 0 : n, request->arguments, 0);
    }
}
