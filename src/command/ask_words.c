#include "command/ask_words.h"

#include "admission/server.h"
#include "base/words.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "job/process.h"
#include "status/answer_lines.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- a process that a client names by its pid ---- */

/* Out of a resource that has nothing to do with the process. */
static bool could_not_look(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

static enum conn_pids conn_look_at_pids(struct conn *conn)
{
    if (conn->pids == PIDS_NOT_KNOWN) {
        errno = 0;
        bool shares = process_shares_our_namespace(conn->pid);
        conn->pids = shares ? PIDS_OURS : could_not_look(errno) ? PIDS_NOT_KNOWN : PIDS_OTHERS;
    }
    return conn->pids;
}

/* A client that names itself is looked up only once: if its pid should be another process by now,
 * the start time shows that. */
static enum process_check identify(struct conn *conn, pid_t pid, struct process *process)
{
    uint32_t uid = conn->client.uid;
    if (pid == conn->pid && conn->started != 0) {
        *process = (struct process){.pid = pid, .started = conn->started};
        return PROCESS_OK;
    }
    if (pid == getpid()) {
        return PROCESS_NOT_YOURS; /* it would stop us */
    }
    struct process_place place;
    enum process_check check = process_identify(pid, uid, uid == 0, process, &place);
    if (check == PROCESS_OK && pid == conn->pid) {
        conn->started = process->started;
    }
    bool shows_client = conn->pid > 0 && (pid == conn->pid || place.parent == conn->pid);
    if (place.is_here && shows_client) {
        conn->pids = PIDS_OURS; /* as berth run is the parent of its job: no second look at /proc */
    }
    return check;
}

bool named_process_shares_pid_ns(struct call *call)
{
    enum conn_pids pids = conn_look_at_pids(call->conn);
    if (pids == PIDS_NOT_KNOWN) {
        answer_error_saying(call->out, CODE_NO_MEMORY, "%s", strerror(errno));
    } else if (pids == PIDS_OTHERS) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "pid: of another PID namespace");
    }
    return pids == PIDS_OURS;
}

bool named_process_find(
    struct call *call, const char *pid, enum binding *bindingp, struct process *process)
{
    uint64_t number;
    *bindingp = BOUND_CONNECTION;
    *process = (struct process){.pid = call->conn->pid};
    if (!number_parse(pid, INT32_MAX, &number) || number == 0) {
        call_refuse(call, CODE_BAD_VALUE, "pid");
        return false;
    }
    enum process_check check = PROCESS_NONE;
    struct process found;
    if (call->conn->pids != PIDS_OTHERS) {
        check = identify(call->conn, (pid_t)number, &found);
    }
    int error = errno;
    enum conn_pids pids = conn_look_at_pids(call->conn);
    if (pids == PIDS_NOT_KNOWN) {
        answer_error_saying(call->out, CODE_NO_MEMORY, "%s", strerror(errno));
        return false;
    }
    if (pids == PIDS_OTHERS) {
        return true;
    }
    switch (check) {
    case PROCESS_OK:
        *bindingp = BOUND_PROCESS;
        *process = found;
        return true;
    case PROCESS_NONE:
        answer_error_saying(call->out, could_not_look(error) ? CODE_NO_MEMORY : CODE_BAD_VALUE,
            "%s", could_not_look(error) ? strerror(error) : "pid: no such process");
        return false;
    case PROCESS_NOT_YOURS:
        break;
    }
    answer_error_saying(call->out, CODE_FORBIDDEN, "pid: not your process");
    return false;
}

bool named_process_peer(struct call *call, enum binding *bindingp, struct process *process)
{
    const char *bind = call->request->keys[KEY_INDEX_bind];
    struct conn *conn = call->conn;
    *bindingp = conn->pid > 0 ? BOUND_PROCESS : BOUND_CONNECTION;
    *process = (struct process){.pid = conn->pid};
    if (strcmp(bind, "peer") != 0) {
        call_refuse(call, CODE_BAD_VALUE, "bind");
        return false;
    }
    if (conn->pid > 0 && !conn_bind_to_peer(conn, process)) {
        answer_error_saying(call->out, could_not_look(errno) ? CODE_NO_MEMORY : CODE_BAD_VALUE,
            "bind: the process that has connected is gone, or cannot be seen");
        return false;
    }
    return true;
}

/* ---- an ask ---- */

/* A count that is a number, but too large for anything, is for the core to refuse. */
static bool parse_count(const char *text, uint32_t *countp)
{
    uint64_t count;
    if (!number_parse(text, UINT64_MAX, &count)) {
        return false;
    }
    *countp = count < UNBOUNDED ? (uint32_t)count : UNBOUNDED;
    return true;
}

/* "NAME[:COUNT]" or, with `unitsp`, "NAME:COUNT[:UNITS]", where COUNT may be "all" or "shared",
 * parsed in place: arguments point into the line, which is ours. */
static bool parse_want(const char *argument, struct requested_resource *want, char **unitsp)
{
    char *colon = strchr((char *)argument, ':');
    *want = (struct requested_resource){.name = argument, .count = 1};
    if (colon) {
        *colon = '\0';
        char *second = unitsp ? strchr(colon + 1, ':') : NULL;
        if (second) {
            *second = '\0';
            *unitsp = second + 1;
        }
        bool is_word = colon[1] >= 'a'; /* numbers are frequent */
        want->is_all = is_word && strcmp(colon + 1, "all") == 0;
        want->is_shared = is_word && strcmp(colon + 1, "shared") == 0;
        if (!want->is_all && !want->is_shared && !parse_count(colon + 1, &want->count)) {
            return false;
        }
    }
    return name_is_valid(argument);
}

bool ask_parse_wants(struct call *call, const char *const arguments[], size_t n,
    struct acquire_request *ask, char **units)
{
    ask->n_wants = n;
    for (size_t i = 0; i < n; i++) {
        struct requested_resource *want = &ask->wants[i];
        if (!parse_want(arguments[i], want, units ? &units[i] : NULL)) {
            answer_error_saying(
                call->out, CODE_BAD_VALUE, "not NAME, NAME:COUNT, NAME:all or NAME:shared");
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(ask->wants[k].name, want->name) == 0) {
                answer_error_saying(call->out, CODE_MALFORMED,
                    "%s: named twice; ask for %s:COUNT", want->name, want->name);
                return false;
            }
        }
    }
    return true;
}

static const enum request_key attribute_keys[N_ATTRIBUTES] = {
#define ATTRIBUTE(word, ...) [ATTRIBUTE_##word] = KEY_INDEX_##word,
#include "base/attributes.def"
#undef ATTRIBUTE
};

static bool refuse_value(struct call *call, enum request_key key)
{
    call_refuse(call, CODE_BAD_VALUE, request_key_table[key].word);
    return false;
}

static bool parse_attributes(struct call *call, struct acquire_request *ask)
{
    const char *const *keys = call->request->keys;
    for (enum attribute i = 0; i < N_ATTRIBUTES; i++) {
        const char *value = keys[attribute_keys[i]];
        if (value && !lease_attributes_parse(&ask->attributes, i, value)) {
            return refuse_value(call, attribute_keys[i]);
        }
    }
    if (ask->attributes.replace != REPLACE_NOTHING && !ask->attributes.holder) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "replace: needs holder");
        return false;
    }
    if (ask->attributes.share && !name_is_valid(ask->attributes.share)) {
        return refuse_value(call, KEY_INDEX_share);
    }
    ask->has_kill_after = keys[KEY_INDEX_kill_after] != NULL;
    ask->has_on_lost = keys[KEY_INDEX_on_lost] != NULL;
    return true;
}

static bool parse_keys(struct call *call, struct acquire_request *ask)
{
    const char *wait = call->request->keys[KEY_INDEX_wait];
    const char *ttl = call->request->keys[KEY_INDEX_ttl];
    const char *nested = call->request->keys[KEY_INDEX_nested];
    if (wait && !duration_parse(wait, &ask->wait)) {
        return refuse_value(call, KEY_INDEX_wait);
    }
    ask->nested = NESTED_NOT_SAID;
    if (nested && !word_look_up(nested_words, nested, &ask->nested)) {
        return refuse_value(call, KEY_INDEX_nested);
    }
    if (ttl && !(duration_parse(ttl, &ask->ttl) && ask->ttl > 0)) {
        return refuse_value(call, KEY_INDEX_ttl);
    }
    return parse_attributes(call, ask);
}

/* The process that keeps the lease when the job's process has ended, if berthd can see it. */
static bool parse_wrapper(struct call *call, struct acquire_request *ask)
{
    const char *pid = call->request->keys[KEY_INDEX_wrapper];
    enum binding binding;
    return !pid || ask->binding != BOUND_PROCESS ||
        named_process_find(call, pid, &binding, &ask->wrapper);
}

/* What the lease is to be bound to. */
static bool parse_binding(struct call *call, struct acquire_request *ask)
{
    const char *pid = call->request->keys[KEY_INDEX_pid];
    const char *bind = call->request->keys[KEY_INDEX_bind];
    if (pid && (bind || ask->ttl != 0)) {
        call_refuse(call, CODE_MALFORMED, bind ? "pid and bind" : "pid and ttl");
        return false;
    }
    if (!pid && call->request->keys[KEY_INDEX_wrapper]) {
        call_refuse(call, CODE_MALFORMED, "wrapper without pid");
        return false;
    }
    if (!pid) {
        ask->attributes.signal = 0; /* there is no job */
        ask->binding = ask->ttl != 0 ? BOUND_TIME : BOUND_CONNECTION;
        return !bind || named_process_peer(call, &ask->binding, &ask->process);
    }
    ask->attributes.signal = ask->attributes.signal != 0 ? ask->attributes.signal : SIGTERM;
    return named_process_find(call, pid, &ask->binding, &ask->process) && parse_wrapper(call, ask);
}

void ask_settle_want(struct requested_resource *want)
{
    want->is_all |= definition_is_shared(want->definition) && !want->is_shared;
}

bool ask_may_have_programs(struct call *call, const struct acquire_request *ask, size_t from)
{
    for (size_t i = from; i < ask->n_wants; i++) {
        const struct definition *definition = ask->wants[i].definition;
        if (definition && definition->refuses_programs && !call->request->keys[KEY_INDEX_pid]) {
            call_refuse(call, CODE_JOBS_ONLY, ask->wants[i].name);
            core_count_refused(call->server->core, ask, OUTCOME_JOBS_ONLY);
            return false;
        }
    }
    return true;
}

/* Afterwards, all names are known to have definitions. */
static bool may_use_all(struct call *call, struct acquire_request *ask)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct requested_resource *want = &ask->wants[i];
        if (!core_find_want(call->server->core, want)) {
            call_refuse_unknown(call, want->name, rights_use);
            return false;
        }
        ask_settle_want(want);
        if (!call_may_use(call, want->definition, want->name)) {
            core_count_refused(call->server->core, ask, OUTCOME_FORBIDDEN);
            return false;
        }
    }
    return ask_may_have_programs(call, ask, 0);
}

bool ask_parse_attributes(struct call *call, struct acquire_request *ask)
{
    ask->wait = NEVER;
    ask->pid = call->conn->pid;
    ask->attributes.program = call->conn->program;
    if (!parse_keys(call, ask) || !may_use_all(call, ask) || !parse_binding(call, ask)) {
        return false;
    }
    if (ask->binding == BOUND_PROCESS) {
        ask->pid = ask->process.pid;
    }
    return true;
}
