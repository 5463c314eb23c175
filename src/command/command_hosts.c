/* command_hosts.c - `hosts`: asks one database after the other which hosts it has heard from. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "conn/parked.h"
#include "database/fleet_sessions.h"
#include "database/fleet_views.h"
#include "status/database_line.h"

#include <stdlib.h>

struct hosts_request {
    struct view_asker asker;
    struct text answer;
    uint8_t database; /* the one being asked */
};

static void request_free(struct conn *conn, void *state)
{
    struct hosts_request *request = state;
    (void)conn;
    views_leave(&request->asker);
    text_deinit(&request->answer);
    free(request);
}

/* The hosts are NULL, or have no rows, if the database has not answered. */
static void add_database(
    struct server *server, struct hosts_request *request, const struct view *hosts)
{
    struct session_view view;
    const struct database *database = fleet_database(&server->databases, request->database);
    bool is_answered = hosts && hosts->rows;
    struct load_view load = {0};
    if (is_answered) {
        load = views_load(server->views, request->database, hosts);
    }
    fleet_look(server->fleet, request->database, &view);
    database_line_write(&request->answer, database, &view,
        fleet_server_info(server->fleet, request->database), is_answered ? &load : NULL);
    if (is_answered) {
        host_lines_write(&request->answer, hosts->rows, database->name, milliseconds(view.ttl),
            hosts->made_at);
    }
}

/* True when all have been asked. */
static bool ask_next(struct server *server, struct hosts_request *request)
{
    while (request->database < server->databases.n) {
        request->database++;
        if (!fleet_is_up(server->fleet, request->database)) {
            add_database(server, request, NULL);
            continue;
        }
        struct view *view =
            views_ask(server->views, &request->asker, request->database, 0, NULL, 0);
        if (!view) {
            return false;
        }
        add_database(server, request, view);
        view_release(view);
    }
    return true;
}

static void add_answer(struct text *out, const struct hosts_request *request)
{
    text_add_format(out, "ok now=%lld\n", (long long)instant_of(clock_now()).at);
    text_add_bytes(out, request->answer.bytes, request->answer.length);
    text_add(out, "end\n");
}

static void end_request(struct conn *conn, const struct hosts_request *request)
{
    add_answer(conn_answers(conn), request);
    parked_end(conn);
}

static void on_view(struct conn *conn, struct view *view)
{
    struct hosts_request *request = parked_state(conn);
    add_database(conn->server, request, view);
    view_release(view);
    if (ask_next(conn->server, request)) {
        end_request(conn, request);
    }
}

static void on_late(struct conn *conn)
{
    struct hosts_request *request = parked_state(conn);
    for (; request->database <= conn->server->databases.n; request->database++) {
        add_database(conn->server, request, NULL);
    }
    end_request(conn, request);
}

void command_hosts(struct call *call)
{
    static const struct parked_ops ops = {.late = on_late, .free = request_free};
    struct hosts_request *request = memory_new(sizeof *request);
    request->asker = (struct view_asker){.conn = call->conn, .done = on_view};
    if (ask_next(call->server, request)) {
        add_answer(call->out, request);
        request_free(call->conn, request);
    } else {
        parked_begin(call->conn, &ops, request);
    }
}
