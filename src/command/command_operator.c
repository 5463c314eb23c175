/* command_operator.c - operators' requests: changes at runtime, drain, reload. command.c has
 * checked the rights. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/words.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "conn/disk_wait.h"
#include "database/client_events.h"
#include "setup/reload.h"
#include "setup/settings.h"
#include "status/answer_lines.h"

#include <stdio.h>
#include <string.h>

/* The meaning of "kind" for each change. */
static const char *const kind_texts[N_CHANGES] = {
    [CHANGE_LIMIT] = "a lock's limit is at most 1, or what shared says; a pool's is its items: "
                     "add, remove, reserve",
    [CHANGE_ADD] = "add ends the reservation of a slot; limit adds more slots",
    [CHANGE_REMOVE] = "only a pool has items to remove; a semaphore has a limit",
};

static void refuse_kind(struct text *out, const char *name, enum change_kind kind)
{
    answer_error_saying(out, CODE_KIND, "%s: %s", name,
        kind_texts[kind] ? kind_texts[kind] : code_table[CODE_KIND].meaning);
}

/* `was`: what the item has been. */
static void answer_added(struct conn *conn, const char *was)
{
    struct text *out = conn_answers(conn);
    text_add(out, "ok");
    text_add_key(out, "was", was[0] ? was : NULL);
    text_add(out, "\n");
}

/* ---- in fleet scope: a database keeps the change, for all hosts ---- */

static bool fleet_change_done(
    struct conn *conn, struct remote *remote, struct session_result *result)
{
    enum change_kind kind = (enum change_kind)remote->number;
    if (result->outcome == OUTCOME_KIND) {
        refuse_kind(conn_answers(conn), remote->words[1], kind);
    } else if (result->outcome == OUTCOME_OK && kind == CHANGE_ADD) {
        answer_added(conn, result->detail);
    } else {
        remote_answer(conn, remote->database, result);
    }
    return true;
}

/* ---- in host scope ---- */

static void answer_ok(struct conn *conn, const char *was)
{
    (void)was;
    text_add(conn_answers(conn), "ok\n");
}

/* What an item is that is to be added. An idle instance has those of its template. */
static const char *what_is(
    struct core *core, const char *name, const struct definition *definition, const char *item)
{
    const struct resource *resource = core_find_resource(core, name);
    const struct unit *unit = resource ? resource_find_unit(resource, item) : NULL;
    bool is_of_idle = !resource && definition && definition_has_item(definition, item);
    return is_of_idle    ? "present"
        : !unit          ? "absent"
        : unit->removed  ? "draining"
        : unit->reserved ? "reserved"
                         : "present";
}

/* NULL: there is no such thing. */
static const char *what_was(
    struct call *call, const struct definition *definition, const struct change *change)
{
    struct core *core = call->server->core;
    const char *name = call->request->arguments[0];
    if (change->kind == CHANGE_LIMIT || change->kind == CHANGE_RESET) {
        snprintf(call->was_room, sizeof call->was_room, "%u", core_limit(core, name));
        return call->was_room;
    }
    return change->kind == CHANGE_ADD ? what_is(core, name, definition, change->item) : NULL;
}

/* A reset that has put a limit back. */
static void note_limit_reset(struct call *call)
{
    uint32_t limit = core_limit(call->server->core, call->request->arguments[0]);
    snprintf(call->is_room, sizeof call->is_room, "%u", limit);
    bool is_same = strcmp(call->is_room, call->was_room) == 0;
    call->is = is_same ? NULL : call->is_room;
    call->was = is_same ? NULL : call->was;
}

/* Who asks for it, when and why. */
static void take_said(const struct call *call, struct change *change)
{
    change->by = call_actor(call);
    change->at = milliseconds(clock_wall_now());
    change->reason = call->request->keys[KEY_INDEX_reason];
}

static void run_change(struct call *call, struct change change)
{
    struct server *server = call->server;
    const char *name = call->request->arguments[0];
    const struct definition *definition = core_find_definition(call->server->core, name);
    take_said(call, &change);
    if (definition && definition->database != 0) {
        remote_ask(call, definition->database, name, fleet_change_done)->number = change.kind;
        return;
    }
    if (!disk_wait_has_room(call)) {
        return;
    }
    change.is_charged = !call_may(call, rights_daemon, NULL);
    change.payer = call->conn->client.uid;
    call->was = what_was(call, definition, &change);
    enum outcome outcome = core_change(server->core, name, &change, call->now, &server->effects);
    if (outcome == OUTCOME_OK) {
        if (change.kind == CHANGE_RESET) {
            note_limit_reset(call);
        }
        settings_note_changes(call->server);
        bool adds = change.kind == CHANGE_ADD; /* then .was is static */
        disk_wait_answer_later(call, adds ? answer_added : answer_ok, adds ? call->was : NULL);
    } else if (outcome == OUTCOME_UNKNOWN && change.item) {
        call_refuse_unknown_item(call, name, change.item);
    } else if (outcome == OUTCOME_KIND) {
        refuse_kind(call->out, name, change.kind);
    } else if (outcome == OUTCOME_QUOTA) {
        answer_error_saying(call->out, CODE_QUOTA,
            "the change would keep one instance too many (max-instances, max-instances-per-user)");
    } else {
        call_refuse(call, outcome_code(outcome), name);
    }
}

static void run_item_change(struct call *call, enum change_kind kind)
{
    const char *item = call->request->arguments[1];
    if (call_check_name(call, call->request->arguments[0]) && call_check_item(call, item)) {
        run_change(call, (struct change){.kind = kind, .item = item});
    }
}

void command_limit(struct call *call)
{
    const char *word = call->request->arguments[1];
    uint64_t limit;
    if (!number_parse(word, MAX_LIMIT, &limit)) {
        answer_error_saying(call->out, CODE_BAD_VALUE,
            "a limit is a number from 0 to %d, not %.32s", MAX_LIMIT, word);
        return;
    }
    run_change(call, (struct change){.kind = CHANGE_LIMIT, .limit = (uint32_t)limit});
}

void command_add(struct call *call)
{
    run_item_change(call, CHANGE_ADD);
}

void command_remove(struct call *call)
{
    run_item_change(call, CHANGE_REMOVE);
}

void command_reserve(struct call *call)
{
    run_item_change(call, CHANGE_RESERVE);
}

void command_pause(struct call *call)
{
    run_change(call, (struct change){.kind = CHANGE_PAUSE});
}

void command_resume(struct call *call)
{
    run_change(call, (struct change){.kind = CHANGE_RESUME});
}

void command_reset(struct call *call)
{
    run_change(call, (struct change){.kind = CHANGE_RESET});
}

static void answer_drain(struct conn *conn, const char *was)
{
    (void)was;
    struct text *out = conn_answers(conn);
    text_add(out, "ok");
    text_add_number_key(out, "held", core_n_held(conn->server->core));
    text_add(out, "\n");
}

/* The connection may be closed by now. */
static void answer_drain_and_wait(struct conn *conn, const char *was)
{
    const struct core *core = conn->server->core;
    answer_drain(conn, was);
    if (!core_is_draining(core)) {
        answer_event(conn_events(conn), EVENT_UNDRAINED);
    } else if (core_is_drained(core)) {
        answer_event(conn_events(conn), EVENT_DRAINED);
    } else {
        conn->wants_drained = true;
    }
}

static void drain(struct call *call, bool draining, storing_answer *answer)
{
    struct server *server = call->server;
    if (disk_wait_has_room(call)) {
        if (!draining) {
            client_events_to_drainers(&server->conns, EVENT_UNDRAINED);
        }
        struct change said = {0};
        take_said(call, &said);
        core_note_drain(server->core, draining ? &said : NULL);
        core_drain(server->core, draining, call->now, &server->effects);
        settings_note_changes(server);
        disk_wait_answer_later(call, answer, NULL);
    }
}

void command_drain(struct call *call)
{
    const char *wait = call->request->keys[KEY_INDEX_wait];
    uint64_t wants = 0;
    if (wait && !number_parse(wait, 1, &wants)) {
        call_refuse(call, CODE_BAD_VALUE, "wait");
        return;
    }
    drain(call, true, wants == 1 ? answer_drain_and_wait : answer_drain);
}

void command_undrain(struct call *call)
{
    drain(call, false, answer_ok);
}

void command_reload(struct call *call)
{
    const struct actor by = call_actor(call);
    reload_for(call->conn, &by);
}
