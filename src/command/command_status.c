/* command_status.c - `status`: first asks the databases concerned, then makes the answer from what
 * they have said and what this host knows. */
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

/* What a database has said; or else what this host knows. */
struct database_part {
    struct view *view; /* or NULL */
    const char *why; /* why there is none; NULL: not asked */
};

/* The answer, made and sent piece by piece, so that neither a long list nor a slow reader costs
 * memory apart from the views of databases, which are shared. A piece shows one moment; what a
 * database says is of one moment. */
struct status_answer {
    struct long_answer answer; /* what follows the lines of databases */
    struct view_asker asker; /* while databases are being asked */
    struct server *server;
    struct walk_source source;
    struct status_walk walk;
    struct database_part parts[MAX_DATABASES + 1];
    nanoseconds age; /* how old the views may be */
    uint32_t wanted; /* bits 1 << database */
    uint8_t database; /* the one being asked */
    bool has_begun; /* all have been asked */
};

/* ---- life ---- */

static void set_database(void *context, uint8_t database, struct scene *scene)
{
    const struct status_answer *status = context;
    const struct database_part *part = &status->parts[database];
    scene->database = fleet_name_of(&status->server->databases, database);
    scene->session = fleet_session_id(status->server->fleet, database);
    scene->state = part->why;
    scene->rows = part->view ? part->view->rows : NULL;
    scene->listed_at = part->view ? part->view->made_at : scene->now;
}

static struct status_answer *status_of(struct long_answer *answer)
{
    return container_of(answer, struct status_answer, answer);
}

static bool make_piece(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    return status_walk_continue(&status_of(answer)->walk, moment, out, enough);
}

static uint32_t view_weight(const struct long_answer *answer)
{
    const size_t heavy = (size_t)8 << 20;
    const struct status_answer *status = container_of(answer, const struct status_answer, answer);
    size_t bytes = 0;
    bool has_views = false;
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        const struct view *view = status->parts[i].view;
        has_views |= view != NULL;
        bytes += view ? view->rows->n_bytes : 0;
    }
    return has_views + (uint32_t)(bytes / heavy);
}

static void free_answer(struct long_answer *answer)
{
    struct status_answer *status = status_of(answer);
    status_walk_end(&status->walk);
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        view_release(status->parts[i].view);
    }
    free(status);
}

static const struct long_answer_kind status_kind = {
    .more = make_piece, .view_weight = view_weight, .free = free_answer};

/* It is parked no longer: the connection closes, or continues the answer. */
static void leave_parked(struct conn *conn, void *state)
{
    struct status_answer *status = state;
    (void)conn;
    views_leave(&status->asker);
    if (!status->has_begun) {
        long_answer_free(&status->answer);
    }
}

/* All databases have been asked. */
static void begin_answer(struct conn *conn, struct status_answer *status)
{
    struct server *server = conn->server;
    struct text *out = conn_answers(conn);
    const struct status figures = host_figures_of(server->core, clock_now());
    host_figures_write(out, "ok", &figures);
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        struct session_view view;
        if (status->wanted & UINT32_C(1) << i) {
            fleet_look(server->fleet, i, &view);
            database_line_write(out, fleet_database(&server->databases, i), &view,
                fleet_server_info(server->fleet, i), NULL);
        }
    }
    status->has_begun = true;
}

/* ---- asking the databases ---- */

static void set_view(
    struct status_answer *status, uint8_t database, struct view *view, const char *why)
{
    status->parts[database] = (struct database_part){view, view ? NULL : why};
}

/* Those of its resources that are asked for; SIZE_MAX: none. Which ones match a pattern is for the
 * database to say. */
static size_t names_of_database(
    const struct status_answer *status, const char *names[MAX_ARGUMENTS])
{
    const struct asked_names *asked = &status->walk.asked;
    size_t n = 0;
    if (asked_names_search(asked)) {
        return 0;
    }
    for (size_t i = 0; i < asked->n_names; i++) {
        if (database_of_name(status->server->core, asked->names[i]) == status->database) {
            names[n++] = asked->names[i];
        }
    }
    return n > 0 ? n : SIZE_MAX;
}

/* NULL: it can be asked. */
static const char *why_not_asked(const struct status_answer *status, uint8_t database)
{
    struct session_view view;
    fleet_look(status->server->fleet, database, &view);
    return view.state == SESSION_UP ? NULL : database_state_word(view.state);
}

/* False: its answer is awaited. */
static bool ask_database(struct status_answer *status)
{
    const char *names[MAX_ARGUMENTS];
    size_t n = names_of_database(status, names);
    const char *why = why_not_asked(status, status->database);
    if (n == SIZE_MAX) {
        return true;
    }
    struct view *view = why ? NULL
                            : views_ask(status->server->views, &status->asker, status->database,
                                  n, names, status->age);
    if (why || view) {
        set_view(status, status->database, view, why);
    }
    return why || view;
}

/* True when all wanted databases have been asked. */
static bool ask_next(struct status_answer *status)
{
    while (status->database < status->server->databases.n) {
        status->database++;
        if (status->wanted & UINT32_C(1) << status->database && !ask_database(status)) {
            return false;
        }
    }
    return true;
}

/* The request was parked. conn_flush() makes and sends the rest. */
static void end_request(struct conn *conn, struct status_answer *status)
{
    begin_answer(conn, status);
    parked_end(conn);
    conn_begin_long(conn, &status->answer);
}

static void on_view(struct conn *conn, struct view *view)
{
    struct status_answer *status = parked_state(conn);
    const char *why = view->rows ? NULL : why_not_asked(status, status->database);
    set_view(status, status->database, view->rows ? view : NULL, why ? why : view->why);
    if (!view->rows) {
        view_release(view);
    }
    if (ask_next(status)) {
        end_request(conn, status);
    }
}

static void on_late(struct conn *conn)
{
    struct status_answer *status = parked_state(conn);
    for (uint8_t i = status->database; i <= conn->server->databases.n; i++) {
        const char *why = why_not_asked(status, i);
        set_view(status, i, NULL, why ? why : VIEW_NO_ANSWER);
    }
    end_request(conn, status);
}

/* ---- the request ---- */

static uint32_t wanted_databases(const struct status_answer *status)
{
    const struct asked_names *asked = &status->walk.asked;
    uint32_t wanted = asked_names_search(asked) ? UINT32_MAX : 0;
    for (size_t i = 0; i < asked->n_names; i++) {
        wanted |= UINT32_C(1) << database_of_name(status->server->core, asked->names[i]);
    }
    return wanted & ~UINT32_C(1); /* there is no database 0 */
}

static void begin(
    struct call *call, size_t n, const char *const names[], uint64_t only, nanoseconds age)
{
    static const struct parked_ops ops = {.late = on_late, .free = leave_parked};
    struct conn *conn = call->conn;
    struct server *server = call->server;
    struct status_answer *status = memory_new(sizeof *status);
    status->answer.kind = &status_kind;
    status->asker = (struct view_asker){.conn = conn, .done = on_view};
    status->server = server;
    status->source = (struct walk_source){
        .core = server->core,
        .n_databases = (uint8_t)server->databases.n,
        .context = status,
        .set_database = set_database,
    };
    status->age = age;
    status_walk_begin(&status->walk, &status->source, names, n, only);
    status->wanted = wanted_databases(status);
    if (conn->member.fair_user->view_weight >= MAX_KEPT_BY_USER) {
        for (uint8_t i = 1; i <= server->databases.n; i++) {
            set_view(status, i, NULL, user_has_enough);
        }
        status->database = (uint8_t)server->databases.n;
    }
    if (ask_next(status)) {
        begin_answer(conn, status);
        conn_begin_long(conn, &status->answer);
    } else {
        parked_begin(conn, &ops, status);
    }
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
    begin(call, lease->n_claims, names, lease->id,
        waits_for < OLD_ENOUGH ? waits_for : OLD_ENOUGH);
}

void command_status(struct call *call)
{
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease];
    if (lease && request->n_arguments > 0) {
        call_refuse(call, CODE_MALFORMED, "names and a lease");
    } else if (lease) {
        status_of_lease(call, lease);
    } else if (call_check_asked_names(call)) {
        begin(call, request->n_arguments, request->arguments, 0, 0);
    }
}
