/* command.c - one line of a client: its rights, its function, its answer counted and logged. */
#include "admission/server.h"
#include "base/clock.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "record/request_log.h"
#include "status/answer_lines.h"

#include <assert.h>
#include <string.h>

typedef void command_function(struct call *call);

static command_function *const command_functions[N_COMMANDS] = {
#define COMMAND(word, min, max, keys, right, help) [COMMAND_##word] = command_##word,
#include "wire/commands.def"
#undef COMMAND
};

/* ---- rights ---- */

static bool may_administer_resource(struct call *call)
{
    const char *name = call->request->arguments[0];
    if (!template_name_is_valid(name) && !call_check_name(call, name)) {
        return false;
    }
    const struct definition *definition = core_find_definition(call->server->core, name);
    if (!definition) {
        call_refuse_unknown(call, name, rights_admin_of);
        return false;
    }
    return call_may_administer(call, definition, name);
}

static bool may_try(struct call *call)
{
    (void)call;
    return true;
}

/* Checks made before the function runs. A right without a row would crash: a test looks. */
static bool (*const right_checks[])(struct call *call) = {
    [RIGHT_ANYONE] = may_try,
    [RIGHT_HISTORY] = call_keeps_history,
    [RIGHT_USE] = may_try,
    [RIGHT_OWNER] = may_try,
    [RIGHT_LEASE_ADMIN] = may_try,
    [RIGHT_RESOURCE_ADMIN] = may_administer_resource,
    [RIGHT_DAEMON_ADMIN] = call_administers_daemon,
};

/* ---- one line ---- */

/* Requests that take or keep a lease. All others are short, and berthctl's. */
static const bool is_for_jobs[N_COMMANDS] = {
    [COMMAND_acquire] = true,
    [COMMAND_reclaim] = true,
    [COMMAND_bind] = true,
    [COMMAND_renew] = true,
    [COMMAND_release] = true,
    [COMMAND_cancel] = true,
    [COMMAND_away] = true,
    [COMMAND_back] = true,
};

static void log_if_it_changes_something(const struct call *call, bool refused)
{
    if (!call->is_logged_later && call_is_operators(call)) {
        request_log_end(call_log(call, 0), !refused, refused ? ": refused" : "");
    }
}

/* Whether something that the request does is left when its connection has ended. */
static bool outlives_conn(const struct conn *conn, const struct request *request)
{
    bool is_by_once = request->command == COMMAND_cancel && request->keys[KEY_INDEX_once];
    enum right right = command_table[request->command].right;
    return request->command == COMMAND_acquire
        ? request->keys[KEY_INDEX_pid] || request->keys[KEY_INDEX_ttl]
        : is_by_once ? !LIST_EMPTY(&conn->client.leases)
                     : right != RIGHT_ANYONE && right != RIGHT_HISTORY;
}

/* An answer that begins with "error CODE". */
static void count_refused(struct daemon_counts *counts, const char *answer)
{
    char word[32];
    const char *code = answer + strcspn(answer, " ");
    size_t length = code[0] != '\0' ? strcspn(++code, " \n") : 0;
    length = length < sizeof word ? length : sizeof word - 1;
    memcpy(word, code, length);
    word[length] = '\0';
    counts->refusals[code_find(word)]++;
}

bool command_run(struct conn *conn, char *line, size_t length)
{
    static char as_sent[LINE_BYTES];
    struct request request;
    const char *detail;
    assert(length < sizeof as_sent);
    memcpy(as_sent, line, length + 1);
    enum code code = request_parse(line, length, &request, &detail);
    code = conn->followed ? CODE_STATE : code;
    if (conn->state.peer == PEER_WRITE_FAILED &&
        (code != CODE_NONE || !outlives_conn(conn, &request))) {
        return false;
    }
    bool is_repeated = conn_is_repeated(conn);
    if (!is_repeated) {
        scheduler_charge_request(&conn->server->scheduler, conn->member.fair_user);
    }
    if (code != CODE_NONE) {
        answer_error(conn_answers(conn), code, conn->followed ? NULL : detail);
        conn->server->counts.refusals[code]++;
        return true;
    }
    conn->server->counts.requests[request.command] += !is_repeated;
    struct call call = {
        .conn = conn,
        .server = conn->server,
        .request = &request,
        .line = as_sent,
        .now = clock_now(),
        .out = conn_answers(conn),
    };
    if (conn->is_operators && is_for_jobs[request.command]) {
        conn->server->counts.refusals[CODE_BUSY]++;
        answer_error_saying(call.out, CODE_BUSY,
            "too many connections: the remaining ones are reserved for operators' requests");
        conn_end_input(conn);
        return true;
    }
    size_t answer_from = call.out->length;
    bool may = right_checks[command_table[request.command].right](&call);
    if (may) {
        command_functions[request.command](&call);
    }
    bool refused = text_has_at(call.out, answer_from, "error ");
    if (may) {
        log_if_it_changes_something(&call, refused);
    }
    if (refused) {
        count_refused(&conn->server->counts, call.out->bytes + answer_from);
    }
    return true;
}
