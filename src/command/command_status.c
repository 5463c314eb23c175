/* command_status.c - `status` and `hosts`: first ask the databases concerned, then make the answer
 * from what they have said and what this host knows. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "command/asking.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "status/database_line.h"
#include "status/status_walk.h"

#include <stdlib.h>
#include <string.h>

/* The unread answers of one user's clients have views of this weight at most: the next answer has
 * none. */
enum { MAX_KEPT_BY_USER = 8 };

/* Why a database has not been asked: its state, or this. */
static const char user_has_enough[] = "busy";

/* The answer, made and sent piece by piece, so that neither a long list nor a slow reader costs
 * memory apart from the views of databases, which are shared. A piece shows one moment; what a
 * database says is of one moment. */
struct status_answer {
    struct asking asking; /* of databases */
    struct long_answer answer; /* what follows their lines */
    struct server *server;
    struct walk_source source;
    struct status_walk walk;
    uint32_t wanted; /* bits 1 << database */
};

/* ---- life ---- */

static void set_database(void *context, uint8_t database, struct scene *scene)
{
    const struct status_answer *status = context;
    asking_set_scene(&status->asking, status->server, database, scene);
}

static struct status_answer *status_of(struct long_answer *answer)
{
    return container_of(answer, struct status_answer, answer);
}

static bool command_status_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
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
        const struct view *view = status->asking.parts[i].view;
        has_views |= view != NULL;
        bytes += view ? view->rows->n_bytes : 0;
    }
    return has_views + (uint32_t)(bytes / heavy);
}

static void free_answer(struct long_answer *answer)
{
    asking_free(&status_of(answer)->asking);
}

static const struct long_answer_kind status_kind = {
    .more = command_status_make_piece, .view_weight = view_weight, .free = free_answer};

/* ---- asking the databases ---- */

/* The lines of the databases; the rest follows piece by piece. */
static bool begin_answer(struct conn *conn, struct asking *asking)
{
    struct status_answer *status = container_of(asking, struct status_answer, asking);
    struct server *server = conn->server;
    struct text *out = conn_answers(conn);
    const struct status figures = host_figures_of(server->core, clock_now());
    host_figures_write(out, "ok", &figures);
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        if (status->wanted & UINT32_C(1) << i) {
            fleet_write_line(server->fleet, i, NULL, out);
        }
    }
    asking->rest = &status->answer;
    return true;
}

/* Those of its resources that are asked for. Which ones match a pattern is for the database to
 * say. */
static size_t names_of_database(
    const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS])
{
    const struct status_answer *status =
        container_of(asking, const struct status_answer, asking);
    const struct asked_names *asked = &status->walk.asked;
    size_t n = 0;
    if (asked_names_search(asked)) {
        return 0;
    }
    for (size_t i = 0; i < asked->n_names; i++) {
        if (database_of_name(status->server->core, asked->names[i]) == database) {
            names[n++] = asked->names[i];
        }
    }
    return n > 0 ? n : NOT_ASKED;
}

static void end_walk(struct asking *asking)
{
    status_walk_end(&container_of(asking, struct status_answer, asking)->walk);
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

static void command_status_begin(
    struct call *call, size_t n, const char *const names[], uint64_t only, nanoseconds age)
{
    static const struct asking_kind kind = {
        .names = names_of_database, .answer = begin_answer, .deinit = end_walk};
    struct server *server = call->server;
    struct status_answer *status = memory_new(sizeof *status);
    status->answer.kind = &status_kind;
    status->asking.kind = &kind;
    status->asking.age = age;
    status->server = server;
    status->source = (struct walk_source){
        .core = server->core,
        .n_databases = (uint8_t)server->databases.n,
        .context = status,
        .set_database = set_database,
    };
    status_walk_begin(&status->walk, &status->source, names, n, only);
    status->wanted = wanted_databases(status);
    bool has_enough = call->conn->member.fair_user->view_weight >= MAX_KEPT_BY_USER;
    for (uint8_t i = 1; has_enough && i <= server->databases.n; i++) {
        status->asking.parts[i].why = user_has_enough;
    }
    asking_begin(call, &status->asking);
}

static void status_of_lease(struct call *call, const char *text)
{
    const char *names[MAX_RESOURCES_PER_LEASE];
    const struct lease *lease = call_find_lease(call, text);
    if (!lease) {
        return;
    }
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        names[i] = lease->claims[i].resource->name;
    }
    command_status_begin(call, lease_n_all(lease), names, lease->id, asking_age(lease, call->now));
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
        command_status_begin(call, request->n_arguments, request->arguments, 0, 0);
    }
}

/* ---- hosts: one database after the other is asked which hosts it has heard from ---- */

static size_t ask_for_everything(
    const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS])
{
    (void)asking, (void)database, (void)names;
    return 0; /* everything: no resource has the hosts */
}

static void command_hosts_add_database(
    struct text *out, struct server *server, uint8_t number, const struct view *hosts)
{
    if (!hosts) {
        fleet_write_line(server->fleet, number, NULL, out);
        return;
    }
    const struct load_view load = views_load(server->views, number, hosts);
    const struct session_view session = fleet_look(server->fleet, number);
    fleet_write_line(server->fleet, number, &load, out);
    host_lines_write(out, hosts->rows, fleet_name_of(&server->databases, number),
        fleet_session_id(server->fleet, number), milliseconds(session.ttl), hosts->made_at);
}

static bool command_hosts_answer(struct conn *conn, struct asking *asking)
{
    struct text *out = conn_answers(conn);
    text_add_format(out, "ok now=%lld\n", (long long)instant_of(clock_now()).at);
    for (uint8_t i = 1; i <= conn->server->databases.n; i++) {
        command_hosts_add_database(out, conn->server, i, asking->parts[i].view);
    }
    text_add(out, "end\n");
    return true;
}

void command_hosts(struct call *call)
{
    static const struct asking_kind kind = {
        .names = ask_for_everything, .answer = command_hosts_answer};
    struct asking *asking = memory_new(sizeof *asking);
    asking->kind = &kind;
    asking_begin(call, asking);
}
