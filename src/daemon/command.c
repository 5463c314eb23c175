#include "daemon/command.h"

#include "base/clock.h"
#include "base/words.h"
#include "daemon/asker.h"
#include "daemon/lease_log.h"
#include "daemon/request_log.h"
#include "daemon/seat.h"
#include "daemon/server.h"
#include "status/answer_lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef void command_function(struct call *call);

static command_function *const command_functions[N_COMMANDS] = {
#define COMMAND(word, fewest, most, keys, right, help) [COMMAND_##word] = command_##word,
#include "wire/commands.def"
#undef COMMAND
};

/* ---- answers ---- */

void call_ok(struct call *call)
{
    text_add(call->out, "ok\n");
}

void call_refuse(struct call *call, enum code code, const char *about)
{
    answer_error(call->out, code, about);
    lease_log_refused(call, code, about);
}

bool call_check_name(struct call *call, const char *name)
{
    bool valid = name_is_valid(name);
    if (!valid) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not the name of a resource");
    }
    return valid;
}

bool call_check_item(struct call *call, const char *item)
{
    bool valid = item_is_valid(item);
    if (!valid) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not the name of an item");
    }
    return valid;
}

/* ---- rights ---- */

static bool call_may(struct call *call, rights_function *may, const struct rights *rights)
{
    struct asker asker;
    asker_init(&asker, call->conn, &call->server->admins);
    bool allowed = asker_may(&asker, may, rights);
    asker_deinit(&asker);
    return allowed;
}

bool call_may_use(struct call *call, const struct definition *definition, const char *name)
{
    bool allowed = call_may(call, rights_use, &definition->rights);
    if (!allowed) {
        call_refuse(call, CODE_FORBIDDEN, name);
    }
    return allowed;
}

bool call_owns_of(
    struct call *call, uint32_t uid, const struct definition *definition, const char *name)
{
    bool allowed =
        uid == call->conn->client.uid || call_may(call, rights_admin_of, &definition->rights);
    if (!allowed) {
        call_refuse(call, CODE_FORBIDDEN, name);
    }
    return allowed;
}

bool call_administers(struct call *call, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct resource *resource = lease->claims[i].resource;
        if (!call_may(call, rights_admin_of, &resource->definition->rights)) {
            return false;
        }
    }
    return true;
}

bool call_owns(struct call *call, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct resource *resource = lease->claims[i].resource;
        if (!call_owns_of(call, lease->uid, resource->definition, resource->name)) {
            return false;
        }
    }
    return true;
}

bool call_administers_daemon(struct call *call)
{
    bool allowed = call_may(call, rights_daemon, NULL);
    if (!allowed) {
        call_refuse(call, CODE_FORBIDDEN, NULL);
    }
    return allowed;
}

static bool may_administer_resource(struct call *call)
{
    const char *name = call->request->arguments[0];
    if (!call_check_name(call, name)) {
        return false;
    }
    const struct definition *definition = core_find_definition(call->server->core, name);
    if (!definition) {
        call_refuse(call, CODE_UNKNOWN, name);
        return false;
    }
    bool allowed = call_may(call, rights_admin_of, &definition->rights);
    if (!allowed) {
        call_refuse(call, CODE_FORBIDDEN, name);
    }
    return allowed;
}

static bool may_try(struct call *call)
{
    (void)call;
    return true;
}

/* What is checked before the function runs. A right without a row would crash: a test looks. */
static bool (*const right_checks[])(struct call *call) = {
    [RIGHT_ANYONE] = may_try,
    [RIGHT_USE] = may_try,
    [RIGHT_OWNER] = may_try,
    [RIGHT_RESOURCE_ADMIN] = may_administer_resource,
    [RIGHT_DAEMON_ADMIN] = call_administers_daemon,
};

/* ---- one line ---- */

void command_refuse_too_long(struct conn *conn)
{
    answer_error(conn_answers(conn), CODE_TOO_LONG, NULL);
}

/* Answered from `from` on; in fleet scope its database has yet to say. */
static bool is_refused(const struct call *call, size_t from)
{
    static const char error[] = "error ";
    return call->out->length > from + sizeof error - 1 &&
        memcmp(call->out->bytes + from, error, sizeof error - 1) == 0;
}

static void log_if_it_changes_something(const struct call *call, size_t answer_from)
{
    if (!call->is_logged_later) {
        request_log_end(request_log_new(call), is_refused(call, answer_from) ? ": refused" : "");
    }
}

void command_run(struct conn *conn, char *line, size_t length)
{
    static char as_sent[LINE_BYTES];
    struct request request;
    const char *detail;
    assert(length < sizeof as_sent);
    memcpy(as_sent, line, length + 1);
    enum code code = request_parse(line, length, &request, &detail);
    if (code != CODE_NONE) {
        answer_error(conn_answers(conn), code, detail);
        return;
    }
    struct call call = {
        .conn = conn,
        .server = conn->server,
        .request = &request,
        .line = as_sent,
        .now = clock_now(),
        .out = conn_answers(conn),
    };
    if (!seat_is_for(conn, request.command)) {
        answer_error_saying(call.out, CODE_BUSY, "too many connections: the rest are for operators' requests");
        conn_end_input(conn);
        return;
    }
    if (right_checks[command_table[request.command].right](&call)) {
        size_t answer_from = call.out->length;
        command_functions[request.command](&call);
        log_if_it_changes_something(&call, answer_from);
    }
}
