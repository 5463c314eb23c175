#include "conn/command_call.h"

#include "admission/server.h"
#include "base/closest_match.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "base/words.h"
#include "conn/conn.h"
#include "job/process.h"
#include "record/fleet_names.h"
#include "record/history.h"
#include "record/lease_log.h"
#include "record/request_log.h"
#include "status/answer_lines.h"
#include "status/suggest.h"

#include <stdlib.h>
#include <string.h>

/* ---- the user who asks ---- */

struct log_process call_asker(const struct call *call)
{
    return log_process_of(call->conn->client.uid, call->conn->pid);
}

struct log_process call_operator(const struct call *call)
{
    struct log_process asker = call_asker(call);
    asker.by.has_login = process_login(asker.pid, &asker.by.login);
    return asker;
}

struct actor call_actor(const struct call *call)
{
    struct actor by = call_operator(call).by;
    by.has_login = by.has_login && by.login != by.uid;
    return by;
}

void call_init_asker(struct call *call, struct asker *asker)
{
    asker_init(asker, call->conn->fd, call->conn->client.uid, &call->server->admins);
    asker_names_users(asker, &call->server->user_names, call->now);
}

struct request_log *call_log(const struct call *call, uint8_t database)
{
    const struct request *request = call->request;
    if (!call_is_operators(call)) {
        return NULL;
    }
    const struct definition *definition = database == 0 && request->n_arguments > 0
        ? core_find_definition(call->server->core, request->arguments[0])
        : NULL;
    database = definition ? definition->database : database;
    const struct request_asked asked = {
        .asker = call_operator(call),
        .by = call_actor(call),
        .at = call->now,
        .database = fleet_name_of(&call->server->databases, database),
        .was = call->was,
        .is = call->is,
    };
    return request_log_new(request, &asked, call->server->history);
}

void call_record_did(const struct call *call, const struct lease *lease, const char *new)
{
    char id[LEASE_ID_SIZE];
    struct text others = TEXT_INIT;
    lease_id_format(id, lease->id);
    struct did did = {
        .verb = command_table[call->request->command].word,
        .resource = lease->claims[0].resource->name,
        .target = id,
        .new = new,
        .by = call_actor(call),
        .reason = call->request->keys[KEY_INDEX_reason],
    };
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct resource *resource = lease->claims[i].resource;
        did.hiding |= (uint16_t)(resource->definition->shows_to_owner_only << i);
        if (i > 0) {
            text_add(&others, i > 1 ? " " : "");
            text_add(&others, resource->name);
        }
    }
    did.others = others.bytes;
    history_add_did(call->server->history, &did, call->now);
    text_deinit(&others);
}

/* ---- a request that is held back for a name ---- */

static void awaiting_free(void *state)
{
    user_names_leave(state);
    free(state);
}

static void awaiting_late(struct conn *conn)
{
    user_names_timed_out(&conn->server->user_names);
    parked_again(conn);
}

bool call_awaits_name(struct call *call, uint32_t uid)
{
    static const struct parked_ops ops = {
        .late = awaiting_late, .free = awaiting_free, .outlives_peer = true};
    struct user_names *names = &call->server->user_names;
    if (user_names_find(names, uid, call->now) || !user_names_are_coming(names)) {
        return false;
    }
    struct names_waiter *waiter = memory_new(sizeof *waiter);
    *waiter = (struct names_waiter){.conn = call->conn, .done = parked_again};
    user_names_await(names, waiter);
    parked_hold_back(call->conn, call->line, &ops, waiter);
    return true;
}

/* ---- answers ---- */

void call_ok(struct call *call)
{
    text_add(call->out, "ok\n");
}

void call_refuse(struct call *call, enum code code, const char *subject)
{
    answer_error(call->out, code, subject);
    lease_log_refused(call_asker(call), call->request->command, code, subject);
}

void call_refuse_unknown_lease(struct call *call)
{
    bool is_bare = !strchr(call->request->arguments[0], '/'); /* then another host's may be meant */
    answer_error_saying(call->out, CODE_LOST, "%s%s", ANSWER_NO_LEASE,
        is_bare && call->server->databases.n > 0
            ? "; a lease of another host is SESSION/LEASE: berthctl status"
            : "");
    lease_log_refused(call_asker(call), call->request->command, CODE_LOST, NULL);
}

/* The user whose request names something unknown, and the right that it needs. */
struct suggesting {
    struct asker asker;
    rights_function *may;
};

static bool may_be_suggested(void *context, const struct definition *definition)
{
    struct suggesting *suggesting = context;
    return !suggesting->may ||
        asker_may(&suggesting->asker, suggesting->may, &definition->rights);
}

void call_refuse_unknown(struct call *call, const char *name, rights_function *may)
{
    const struct conf *conf = call->server->conf;
    struct suggesting suggesting = {.may = may};
    char suggestion[SUGGESTION_SIZE];
    call_init_asker(call, &suggesting.asker);
    bool is_near = suggest_name(suggestion, name, conf->definitions, conf->n_definitions,
        may_be_suggested, &suggesting);
    asker_deinit(&suggesting.asker);
    answer_error_saying(call->out, CODE_UNKNOWN, "%s: no such resource%s%s%s", name,
        is_near ? "; did you mean " : "", is_near ? suggestion : "", is_near ? "?" : "");
    lease_log_refused(call_asker(call), call->request->command, CODE_UNKNOWN, name);
}

enum { MAX_ITEMS_COMPARED = 1000 };

void call_refuse_unknown_item(struct call *call, const char *name, const char *item)
{
    const struct definition *definition = core_find_definition(call->server->core, name);
    bool is_pool = definition && definition_is_pool(definition);
    struct closest_match nearest = CLOSEST_MATCH_INIT(item);
    for (size_t i = 0; is_pool && i < definition->n_items && i < MAX_ITEMS_COMPARED; i++) {
        closest_match_try(&nearest, definition->items[i]);
    }
    answer_error_saying(call->out, CODE_UNKNOWN, "%s: %s has no such %s%s%s%s", item, name,
        is_pool ? "item" : "slot", nearest.best ? "; did you mean " : "",
        nearest.best ? nearest.best : "", nearest.best ? "?" : "");
    lease_log_refused(call_asker(call), call->request->command, CODE_UNKNOWN, item);
}

bool call_check_name(struct call *call, const char *name)
{
    bool valid = name_is_valid(name);
    if (!valid) {
        answer_error_saying(call->out, CODE_BAD_VALUE,
            template_name_is_valid(name) ? "a template: name one of the resources below it"
                                         : "not the name of a resource");
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

bool call_check_resource(struct call *call, const char *name, rights_function *may)
{
    struct core *core = call->server->core;
    if (!call_check_name(call, name)) {
        return false;
    }
    bool exists = core_find_resource(core, name) || core_find_definition(core, name);
    if (!exists) {
        call_refuse_unknown(call, name, may);
    }
    return exists;
}

struct lease *call_find_lease(struct call *call, const char *id)
{
    uint64_t number;
    bool is_id = lease_id_parse(id, &number);
    struct lease *lease = is_id ? core_find_lease(call->server->core, number) : NULL;
    if (!lease) {
        call_refuse(call, is_id ? CODE_UNKNOWN : CODE_BAD_VALUE, "lease");
    }
    return lease;
}

bool call_check_asked_names(struct call *call)
{
    const struct request *request = call->request;
    for (size_t i = 0; i < request->n_arguments; i++) {
        const char *name = request->arguments[i];
        if (strchr(name, '*')) {
            if (pattern_is_valid(name)) {
                continue;
            }
            answer_error_saying(call->out, CODE_BAD_VALUE, "not a name with at most 3 stars");
            return false;
        }
        if (!call_check_resource(call, name, NULL)) {
            return false;
        }
    }
    return true;
}

/* ---- rights ---- */

/* As a rule the uid alone decides, and there is nothing to prepare. */
bool call_may(struct call *call, rights_function *may, const struct rights *rights)
{
    const struct credentials without_groups = {.uid = call->conn->client.uid};
    if (may(&without_groups, &call->server->admins, rights)) {
        return true;
    }
    struct asker asker;
    call_init_asker(call, &asker);
    bool allowed = asker_may(&asker, may, rights);
    asker_deinit(&asker);
    return allowed;
}

/* `name`: of the resource that needs the right; or NULL. */
static bool answer_right(struct call *call, bool is_allowed, const char *name)
{
    if (!is_allowed) {
        call_refuse(call, CODE_FORBIDDEN, name);
    }
    return is_allowed;
}

bool call_may_use(struct call *call, const struct definition *definition, const char *name)
{
    bool is_left = definition_leaves_name(definition, name, call->conn->client.uid) ||
        call_may(call, rights_daemon, NULL);
    return answer_right(call, is_left && call_may(call, rights_use, &definition->rights), name);
}

bool call_may_administer(
    struct call *call, const struct definition *definition, const char *name)
{
    return answer_right(call, call_may(call, rights_admin_of, &definition->rights), name);
}

bool call_owns_of(
    struct call *call, uint32_t uid, const struct definition *definition, const char *name)
{
    return uid == call->conn->client.uid || call_may_administer(call, definition, name);
}

bool call_administers(struct call *call, const struct lease *lease)
{
    for (size_t i = 0; i < lease_n_named(lease); i++) {
        const struct resource *resource = lease_asked(lease, i)->resource;
        if (!call_may(call, rights_admin_of, &resource->definition->rights)) {
            return false;
        }
    }
    return true;
}

bool call_owns(struct call *call, const struct lease *lease)
{
    for (size_t i = 0; i < lease_n_named(lease); i++) {
        const struct resource *resource = lease_asked(lease, i)->resource;
        if (!call_owns_of(call, lease->uid, resource->definition, resource->name)) {
            return false;
        }
    }
    return true;
}

bool call_administers_daemon(struct call *call)
{
    return answer_right(call, call_may(call, rights_daemon, NULL), NULL);
}

bool call_keeps_history(struct call *call)
{
    const struct daemon_admins *admins = &call->server->admins;
    const struct credentials asker = {.uid = call->conn->client.uid};
    if (rights_history(&asker, admins, NULL)) {
        return true;
    }
    if (call_awaits_name(call, asker.uid)) {
        return false;
    }
    const char *name = user_names_find(&call->server->user_names, asker.uid, call->now);
    if (!user_names_is_known(&call->server->user_names, asker.uid)) {
        answer_error_saying(call->out, CODE_BUSY, "the name service does not answer");
        return false;
    }
    return answer_right(call, rights_history(&asker, admins, name), NULL);
}
