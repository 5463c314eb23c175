#include "daemon/fleet_metrics.h"

#include "base/memory.h"
#include "daemon/conn.h"
#include "daemon/fleet_sessions.h"
#include "daemon/fleet_views.h"
#include "daemon/parked.h"
#include "daemon/server.h"
#include "status/answer_lines.h"
#include "status/fleet_figures.h"
#include "status/metric_rows.h"

#include <stdlib.h>

/* However many scrape; and all answers of one scrape have the same sums. */
#define OLD_ENOUGH NANOSECONDS_PER_SECOND

struct load_view fleet_load_take(struct server *server, uint8_t database, const struct view *view)
{
    struct database_load *load = &server->loads[database - 1];
    struct session_view session;
    struct load_sample sample;
    fleet_look(server->fleet, database, &session);
    if (!load_read(view->rows, view->made_at, &sample)) {
        return (struct load_view){0}; /* it does not say, or no longer */
    }
    load_note(load, &sample);
    return load_view(load, session.call_rate);
}

struct figures_request {
    struct view_asker asker;
    size_t from, n;
    uint8_t database;
};

static void request_free(struct conn *conn, void *state)
{
    struct figures_request *request = state;
    (void)conn;
    views_leave(&request->asker);
    free(request);
}

static void answer_that_none_came(
    struct text *out, const struct server *server, uint8_t database)
{
    char why[1024];
    fleet_why(why, sizeof why, server->fleet, database, NULL,
        fleet_is_up(server->fleet, database) ? OUTCOME_DEADLINE : OUTCOME_DOWN);
    answer_error_saying(out, CODE_DOWN, why);
}

/* The view is NULL, or has no rows, if the database has not answered. */
static void answer(struct text *out, struct server *server, const struct figures_request *request,
    const struct view *view)
{
    const struct fleet_rows *rows = view ? view->rows : NULL;
    const char *name = fleet_name_of(&server->databases, request->database);
    struct text figures = TEXT_INIT;
    if (!rows) {
        answer_that_none_came(out, server, request->database);
        return;
    }
    if (request->from == 0) {
        struct load_view load = fleet_load_take(server, request->database, view);
        fleet_figures_hosts(&figures, rows, name);
        fleet_figures_load(&figures, &load, name);
    }
    size_t next = fleet_figures_resources(
        &figures, rows, server->core, request->database, name, request->from, request->n);
    metrics_answer(out, &figures, next);
    text_deinit(&figures);
}

static void on_view(struct conn *conn, struct view *view)
{
    answer(conn_answers(conn), conn->server, parked_state(conn), view);
    view_release(view);
    parked_end(conn);
}

static void on_late(struct conn *conn)
{
    answer(conn_answers(conn), conn->server, parked_state(conn), NULL);
    parked_end(conn);
}

void fleet_metrics(struct call *call, uint8_t database, size_t from, size_t n)
{
    static const struct parked_ops ops = {.late = on_late, .free = request_free};
    static const char *const sums[] = {FLEET_SUMS};
    struct figures_request *request = memory_new(sizeof *request);
    struct view *view = NULL;
    *request = (struct figures_request){.asker = {.conn = call->conn, .done = on_view},
        .from = from,
        .n = n,
        .database = database};
    if (fleet_is_up(call->server->fleet, database)) {
        view = views_ask(
            call->server->views, &request->asker, database, 1, sums, OLD_ENOUGH);
        if (!view) {
            parked_begin(call->conn, &ops, request);
            return;
        }
    }
    answer(call->out, call->server, request, view);
    view_release(view);
    request_free(call->conn, request);
}
