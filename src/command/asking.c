#include "command/asking.h"

#include "admission/server.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "status/database_line.h"
#include "status/resource_row.h"

#include <stdlib.h>

void asking_free(struct asking *asking)
{
    if (asking->kind->deinit) {
        asking->kind->deinit(asking);
    }
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        if (asking->parts[i].view) {
            view_release(asking->parts[i].view);
        }
    }
    free(asking);
}

nanoseconds asking_age(const struct lease *lease, nanoseconds now)
{
    return earlier(now - lease->asked_at, ASKING_OLD_ENOUGH);
}

/* ---- databases ---- */

void asking_set_scene(const struct asking *asking, const struct server *server, uint8_t database,
    struct scene *scene)
{
    const struct asked_part *part = &asking->parts[database];
    scene->database = fleet_name_of(&server->databases, database);
    scene->session = fleet_session_id(server->fleet, database);
    scene->state = part->why;
    scene->rows = part->view ? part->view->rows : NULL;
    scene->listed_at = part->view ? part->view->made_at : scene->now;
}

/* Its state; NULL: it is up. */
static const char *why_not_asked(const struct conn *conn, uint8_t database)
{
    const struct session_view session = fleet_look(conn->server->fleet, database);
    return session.state == SESSION_UP ? NULL : database_state_word(session.state);
}

static void set_view(struct conn *conn, struct asking *asking, struct view *view)
{
    const char *why = view->rows ? NULL : why_not_asked(conn, asking->database);
    asking->parts[asking->database] = (struct asked_part){
        .view = view->rows ? view : NULL,
        .why = view->rows ? NULL
            : why         ? why
                          : view->why,
    };
    if (!view->rows) {
        view_release(view);
    }
}

/* False: its answer is awaited. */
static bool ask_database(struct conn *conn, struct asking *asking)
{
    struct asked_part *part = &asking->parts[asking->database];
    const char *names[MAX_ARGUMENTS];
    size_t n = asking->kind->names(asking, asking->database, names);
    if (part->why || n == NOT_ASKED) {
        return true;
    }
    part->why = why_not_asked(conn, asking->database);
    struct view *view = part->why ? NULL
                                  : views_ask(conn->server->views, &asking->asker,
                                        asking->database, n, names, asking->age);
    if (view) {
        set_view(conn, asking, view);
    }
    return view || part->why;
}

/* True when all have been asked. */
static bool ask_next(struct conn *conn, struct asking *asking)
{
    while (asking->database < conn->server->databases.n) {
        asking->database++;
        if (!ask_database(conn, asking)) {
            return false;
        }
    }
    return true;
}

/* ---- while the connection is parked ---- */

static void leave(void *state)
{
    struct asking *asking = state;
    views_leave(&asking->asker);
    user_names_leave(&asking->names_waiter);
    if (!asking->rest) {
        asking_free(asking);
    }
}

static void on_names(struct conn *conn);

static void await_names(struct conn *conn, struct asking *asking)
{
    asking->names_waiter = (struct names_waiter){.conn = conn, .done = on_names};
    user_names_await(&conn->server->user_names, &asking->names_waiter);
}

static void on_names(struct conn *conn)
{
    struct asking *asking = parked_state(conn);
    if (!asking->kind->answer(conn, asking)) {
        await_names(conn, asking);
        return;
    }
    struct long_answer *rest = asking->rest;
    parked_end(conn);
    if (rest) {
        conn_begin_long(conn, rest);
    }
}

static void on_view(struct conn *conn, struct view *view)
{
    struct asking *asking = parked_state(conn);
    set_view(conn, asking, view);
    if (ask_next(conn, asking)) {
        on_names(conn);
    }
}

static void on_late(struct conn *conn)
{
    struct asking *asking = parked_state(conn);
    asking->is_late = true;
    if (asking->names_waiter.conn) {
        user_names_timed_out(&conn->server->user_names);
    } else {
        for (uint8_t i = asking->database; i <= conn->server->databases.n; i++) {
            const char *why = why_not_asked(conn, i);
            asking->parts[i].why = why ? why : VIEW_NO_ANSWER;
        }
    }
    on_names(conn);
}

void asking_begin(struct call *call, struct asking *asking)
{
    static const struct parked_ops ops = {.late = on_late, .free = leave};
    struct conn *conn = call->conn;
    asking->asker = (struct view_asker){.conn = conn, .done = on_view};
    bool has_asked = ask_next(conn, asking);
    if (!has_asked || !asking->kind->answer(conn, asking)) {
        parked_begin(conn, &ops, asking);
        if (has_asked) {
            await_names(conn, asking);
        }
    } else if (asking->rest) {
        conn_begin_long(conn, asking->rest);
    } else {
        asking_free(asking);
    }
}
