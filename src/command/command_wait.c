/* command_wait.c - requests that wait for something: until nothing is held, or for each change of
 * what is held and waited for. */
#include "admission/followers.h"
#include "admission/idle_wait.h"
#include "admission/server.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "status/answer_lines.h"

#include <string.h>

/* ---- wait ---- */

/* False after an answer. */
static bool may_wait_for(struct call *call, const char *name)
{
    if (!call_check_resource(call, name, NULL)) {
        return false;
    }
    const struct definition *definition = core_find_definition(call->server->core, name);
    if (definition && definition->database != 0) {
        answer_error_saying(call->out, CODE_KIND,
            "%s: only its database knows when nothing is held: ask for its status", name);
        return false;
    }
    return true;
}

static void answer_busy(struct call *call, size_t n_held)
{
    text_add(call->out, "ok");
    text_add_number_key(call->out, "held", n_held);
    text_add(call->out, "\n");
}

static void wait_for_lease(struct call *call, const char *lease)
{
    struct server *server = call->server;
    uint64_t id;
    if (remote_is_elsewhere(server, lease)) {
        answer_error_saying(call->out, CODE_KIND,
            "%s: only its database knows when it ends: ask why now and then", lease);
        return;
    }
    if (!remote_parse_own(server, lease, &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
        return;
    }
    answer_busy(call, core_find_lease(server->core, id) != NULL);
    idle_wait_for_lease(&server->idle_waits, &call->conn->idle_waiter, id);
}

void command_wait(struct call *call)
{
    struct server *server = call->server;
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease];
    if ((request->n_arguments == 0) != (lease != NULL)) {
        call_refuse(call, CODE_MALFORMED, "NAME or lease");
        return;
    }
    if (lease) {
        wait_for_lease(call, lease);
        return;
    }
    for (size_t i = 0; i < request->n_arguments; i++) {
        if (!may_wait_for(call, request->arguments[i])) {
            return;
        }
    }
    answer_busy(call, idle_wait_count(server->core, request->arguments, request->n_arguments));
    idle_wait_for_names(&server->idle_waits, &call->conn->idle_waiter, request->arguments,
        request->n_arguments);
}

/* ---- watch ---- */

void command_watch(struct call *call)
{
    const char *ended = call->request->keys[KEY_INDEX_ended];
    bool wants_ended = ended && strcmp(ended, "1") == 0;
    if (ended && !wants_ended && strcmp(ended, "0") != 0) {
        call_refuse(call, CODE_BAD_VALUE, "ended");
        return;
    }
    struct conn *conn = call->conn;
    conn->followed = followers_enter(&call->server->followers, conn, wants_ended);
    if (follower_has_news(&conn->followed->follower)) { /* else a database is asked first */
        conn_begin_long(conn, &conn->followed->follower.answer);
    }
}
