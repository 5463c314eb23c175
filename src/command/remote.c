#include "command/remote.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "conn/conn.h"
#include "conn/parked.h"
#include "database/fleet_sessions.h"
#include "log/log.h"
#include "record/log_subject.h"
#include "status/answer_lines.h"
#include "status/fleet_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static void answer_of_database(struct conn *conn, uint8_t database, const char *what)
{
    char why[512];
    snprintf(why, sizeof why, "database %s: %s",
        fleet_database(&conn->server->databases, database)->name, what);
    answer_error_saying(conn_answers(conn), CODE_DOWN, why);
}

void remote_answer(struct conn *conn, uint8_t database, const struct session_result *result)
{
    const char *detail = result->detail[0] ? result->detail : NULL;
    enum code code = outcome_code(result->outcome);
    if (result->outcome == OUTCOME_OK) {
        text_add(conn_answers(conn), "ok\n");
    } else if (code == CODE_DOWN || code == CODE_NO_SPACE || code == CODE_NONE) {
        answer_of_database(conn, database, detail ? detail : code_table[CODE_DOWN].meaning);
    } else {
        answer_error(conn_answers(conn), code, detail);
    }
}

void remote_answer_late(struct conn *conn, uint8_t database)
{
    answer_of_database(conn, database, "no answer in time: the request may have been carried out");
}

void remote_abandon(struct conn *conn)
{
    fleet_forget(conn->server->fleet, conn);
}

/* ---- revoke, drop ---- */

/* For a lease whose database is not known: one after the other is asked. */
struct taking {
    char *word, *key;
    char *reason; /* encoded */
    char by[BY_WHOM_SIZE];
    uint8_t database; /* the one being asked */
    uint8_t was_down; /* one that could not be asked; 0: none */
    char why[sizeof((struct session_result *)0)->detail]; /* the reason for .was_down */
};

static void taking_free(struct conn *conn, void *state)
{
    struct taking *taking = state;
    (void)conn;
    free(taking->word);
    free(taking->key);
    free(taking->reason);
    free(taking);
}

static void taking_done(void *context, struct session_result *result);

static void taking_ask(struct conn *conn, const struct taking *taking)
{
    const char *const words[] = {taking->word, taking->key, "", taking->reason, taking->by};
    fleet_admin(conn->server->fleet, taking->database, conn, 5, words, taking_done);
}

static void taking_done(void *context, struct session_result *result)
{
    struct conn *conn = context;
    struct taking *taking = parked_state(conn);
    if (!result) {
        return;
    }
    if (result->outcome == OUTCOME_OK) {
        text_add(conn_answers(conn), "ok\n");
        parked_end(conn);
        return;
    }
    if (result->outcome != OUTCOME_UNKNOWN) {
        taking->was_down = taking->database;
        snprintf(taking->why, sizeof taking->why, "%s", result->detail);
    }
    if (taking->database < conn->server->databases.n) {
        taking->database++;
        taking_ask(conn, taking);
        return;
    }
    if (taking->was_down) {
        answer_of_database(conn, taking->was_down, taking->why);
    } else {
        answer_error(conn_answers(conn), CODE_LOST, NULL);
    }
    parked_end(conn);
}

static void taking_late(struct conn *conn)
{
    const struct taking *taking = parked_state(conn);
    remote_answer_late(conn, taking->database);
    parked_end(conn);
}

bool remote_is_here(const struct server *server, const char *key, uint64_t *idp)
{
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        const char *own = fleet_session_id(server->fleet, i);
        if (fleet_key_parse(key, idp) && strncmp(key, own, strlen(own)) == 0) {
            return true;
        }
    }
    return false;
}

static void log_asked(const struct call *call, const char *word, const char *key)
{
    char who[LOG_ASKER_SIZE];
    const char *reason = call->request->keys[KEY_INDEX_reason];
    struct log_subject subject = {
        .event = word[0] == 'r' ? "revoked" : "dropped", .asker = call_operator(call)};
    log_escape(subject.lease, sizeof subject.lease, key);
    log_message_on(LOG_LEVEL_INFO, &subject, "%s %s (of another host): asked by %s%s%s", word, key,
        log_subject_asker(who, &subject.asker), reason ? ": " : "", reason ? reason : "");
}

/* Owned by the caller; empty: none. */
static char *encoded_reason(const struct request *request)
{
    const char *reason = request->keys[KEY_INDEX_reason];
    struct text encoded = TEXT_INIT;
    text_add(&encoded, "");
    text_add_encoded(&encoded, reason ? reason : "");
    return text_take(&encoded);
}

void remote_revoke_or_drop(struct call *call)
{
    static const struct parked_ops ops = {
        .abandon = remote_abandon, .late = taking_late, .free = taking_free};
    const char *word = command_table[call->request->command].word;
    const char *key = call->request->arguments[0];
    uint64_t id;
    if (!fleet_key_parse(key, &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
    } else if (!call_administers_daemon(call)) {
        return;
    } else if (call->server->databases.n == 0) {
        call_refuse(call, CODE_LOST, NULL);
    } else {
        log_asked(call, word, key);
        struct taking *taking = memory_new(sizeof *taking);
        taking->word = memory_string(word);
        taking->key = memory_string(key);
        taking->reason = encoded_reason(call->request);
        const struct by_whom by = call_by_whom(call);
        by_whom_format(taking->by, &by);
        taking->database = 1;
        parked_begin(call->conn, &ops, taking);
        taking_ask(call->conn, taking);
    }
}

/* ---- release ---- */

/* By an identity: the database knows whose it is. By an item: it is first asked who has that. */
struct releasing {
    char *name;
    char *item; /* NULL: by an identity */
    char by[BY_WHOM_SIZE];
    uint8_t database;
};

static void releasing_free(struct conn *conn, void *state)
{
    struct releasing *releasing = state;
    (void)conn;
    free(releasing->name);
    free(releasing->item);
    free(releasing);
}

static void releasing_late(struct conn *conn)
{
    const struct releasing *releasing = parked_state(conn);
    remote_answer_late(conn, releasing->database);
    parked_end(conn);
}

/* The lease has just ended: released. */
static void releasing_done(void *context, struct session_result *result)
{
    struct conn *conn = context;
    const struct releasing *releasing = parked_state(conn);
    if (!result) {
        return;
    }
    if (result->outcome == OUTCOME_UNKNOWN) {
        text_add(conn_answers(conn), "ok\n");
    } else {
        remote_answer(conn, releasing->database, result);
    }
    parked_end(conn);
}

static void release_found(
    struct conn *conn, const struct releasing *releasing, const struct fleet_holder *found)
{
    const struct request request = {.command = COMMAND_release}; /* for the log */
    struct call call = {
        .conn = conn,
        .server = conn->server,
        .request = &request,
        .now = clock_now(),
        .out = conn_answers(conn),
    };
    const struct definition *definition = core_find_definition(conn->server->core, releasing->name);
    if (!definition) {
        call_refuse(&call, CODE_UNKNOWN, releasing->name);
        parked_end(conn);
    } else if (!call_owns_of(&call, found->uid, definition, releasing->name)) {
        parked_end(conn);
    } else {
        const char *const words[] = {"drop", found->key, "", "", releasing->by};
        fleet_admin(conn->server->fleet, releasing->database, conn, 5, words, releasing_done);
    }
}

/* Nobody has it. */
static void release_nothing(struct conn *conn, const struct releasing *releasing,
    const struct fleet_rows *rows, const struct fleet_resource *resource)
{
    struct text *out = conn_answers(conn);
    if (resource && !fleet_has_unit(rows, resource, releasing->item)) {
        answer_error(out, CODE_UNKNOWN, releasing->item);
    } else {
        text_add(out, "ok\n");
    }
    parked_end(conn);
}

static void releasing_looked(void *context, struct session_result *result)
{
    struct conn *conn = context;
    const struct releasing *releasing = parked_state(conn);
    struct fleet_holder found;
    if (!result) {
        return;
    }
    if (result->outcome != OUTCOME_OK) {
        remote_answer(conn, releasing->database, result);
        parked_end(conn);
        return;
    }
    struct fleet_rows *rows = fleet_rows_new(&result->rows);
    const struct fleet_resource *resource = fleet_rows_find(rows, releasing->name);
    if (resource && fleet_find_holder(rows, resource, releasing->item, &found)) {
        release_found(conn, releasing, &found);
    } else {
        release_nothing(conn, releasing, rows, resource);
    }
    fleet_rows_free(rows);
}

/* As a user; for an admin where identities are shared, as anybody ("*"). The script decides: by the
 * time of an answer another user may have the identity. */
static void release_identity(
    struct call *call, const struct definition *definition, const char *holder)
{
    const struct releasing *releasing = parked_state(call->conn);
    struct text encoded = TEXT_INIT;
    char uid[16] = "*";
    if (!definition->identity_shared || !call_may(call, rights_admin_of, &definition->rights)) {
        snprintf(uid, sizeof uid, "%u", call->conn->client.uid);
    }
    text_add_encoded(&encoded, holder);
    const char *const words[] = {"release", releasing->name, uid, "", encoded.bytes, releasing->by};
    fleet_admin(call->server->fleet, releasing->database, call->conn, 6, words, releasing_done);
    text_deinit(&encoded);
}

void remote_release(struct call *call, const char *holder, const char *item)
{
    static const struct parked_ops ops = {
        .abandon = remote_abandon, .late = releasing_late, .free = releasing_free};
    const struct request *request = call->request;
    const struct definition *definition =
        core_find_definition(call->server->core, request->arguments[0]);
    struct releasing *releasing = memory_new(sizeof *releasing);
    releasing->name = memory_string(request->arguments[0]);
    releasing->item = memory_string(item);
    const struct by_whom by = call_by_whom(call);
    by_whom_format(releasing->by, &by);
    releasing->database = definition->database;
    parked_begin(call->conn, &ops, releasing);
    if (holder) {
        release_identity(call, definition, holder);
    } else {
        const char *const names[] = {releasing->name};
        fleet_snapshot(
            call->server->fleet, releasing->database, call->conn, 1, names, releasing_looked);
    }
}
