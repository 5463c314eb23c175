#include "command/remote.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "log/log.h"
#include "record/log_subject.h"
#include "record/request_log.h"
#include "status/answer_lines.h"
#include "status/database_line.h"
#include "status/fleet_rows.h"
#include "status/lease_row.h"
#include "status/reasons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a request of a database ---- */

static void answer_of_database(struct conn *conn, uint8_t database, const char *what)
{
    answer_error_saying(conn_answers(conn), CODE_DOWN, "database %s: %s",
        fleet_name_of(&conn->server->databases, database), what);
}

bool remote_answer(struct conn *conn, uint8_t database, const struct session_result *result)
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
    return true;
}

static void on_result(void *context, struct session_result *result)
{
    struct conn *conn = context;
    struct remote *remote = parked_state(conn);
    size_t from = conn_answers(conn)->length;
    if (remote->done(conn, remote, result)) {
        bool refused = text_has_at(conn_answers(conn), from, "error ");
        request_log_end(remote->log, !refused, refused ? ": refused" : "");
        remote->log = NULL;
        parked_end(conn);
    }
}

static void remote_late(struct conn *conn)
{
    const struct remote *remote = parked_state(conn);
    answer_of_database(
        conn, remote->database, "no answer in time: the request may have been carried out");
    parked_end(conn);
}

static void remote_free(void *state)
{
    struct remote *remote = state;
    fleet_forget(remote->conn->server->fleet, remote->conn);
    for (size_t i = 0; i < remote->n_words; i++) {
        free(remote->words[i]);
    }
    request_log_end(remote->log, false, ": its outcome is unknown");
    free(remote->why);
    free(remote);
}

/* Without a call yet. */
static struct remote *remote_begin(struct call *call, uint8_t database, size_t n,
    const char *const words[], remote_done *done)
{
    static const struct parked_ops ops = {.late = remote_late, .free = remote_free};
    struct remote *remote = memory_new(sizeof *remote);
    *remote = (struct remote){
        .conn = call->conn,
        .database = database,
        .done = done,
        .log = call_log(call, database),
        .n_words = n,
    };
    call->is_logged_later = true;
    for (size_t i = 0; i < n; i++) {
        remote->words[i] = memory_string(words[i]);
    }
    parked_begin(call->conn, &ops, remote);
    return remote;
}

static void remote_call(struct conn *conn, const struct remote *remote)
{
    session_admin(fleet_session(conn->server->fleet, remote->database), on_result, conn,
        remote->n_words, (const char *const *)remote->words);
}

/* A word of a call, encoded; "" for NULL. */
enum { ENCODED_SIZE = 3 * REASON_BYTES + 1 };
static void remote_encode(char out[static ENCODED_SIZE], const char *word)
{
    percent_encode(out, ENCODED_SIZE, word ? word : "");
}

struct remote *remote_ask(
    struct call *call, uint8_t database, const char *name, remote_done *done)
{
    const struct request *request = call->request;
    const char *word = command_table[request->command].word;
    const char *argument = request->n_arguments > 1 ? request->arguments[1] : "";
    char by[ACTOR_SIZE], reason[ENCODED_SIZE];
    const struct actor by_whom = call_actor(call);
    actor_format(by, &by_whom);
    remote_encode(reason, request->keys[KEY_INDEX_reason]);
    const char *const words[] = {word, name, argument, reason, by};
    struct remote *remote = remote_begin(call, database, 5, words, done);
    remote_call(call->conn, remote);
    return remote;
}

/* ---- a lease of another host ---- */

static size_t names_of_lease(
    const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS])
{
    (void)database;
    names[0] = "@";
    names[1] = container_of(asking, const struct elsewhere, asking)->key;
    return 2;
}

static bool lists(const struct fleet_rows *rows, const char *key)
{
    bool is_listed = false;
    for (size_t i = 0; i < rows->n_rows && !is_listed; i++) {
        const char *word = rows->rows[i].fields;
        is_listed = (strcmp(word, "holder") == 0 || strcmp(word, "waiter") == 0) &&
            strcmp(fleet_field(&rows->rows[i], ROW_KEY), key) == 0;
    }
    return is_listed;
}

/* Returns a database that has not answered; 0: all have. */
static uint8_t take_answers(const struct server *server, struct elsewhere *elsewhere)
{
    uint8_t silent = 0;
    elsewhere->database = 0;
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        const struct view *view = elsewhere->asking.parts[i].view;
        if (!view) {
            silent = i;
            continue;
        }
        elsewhere->database = lists(view->rows, elsewhere->key) ? i : elsewhere->database;
        if (elsewhere->host[0] == '\0') {
            session_host(elsewhere->host, view->rows, elsewhere->key);
        }
    }
    return silent;
}

static bool answer_elsewhere(struct conn *conn, struct asking *asking)
{
    struct elsewhere *elsewhere = container_of(asking, struct elsewhere, asking);
    uint8_t silent = take_answers(conn->server, elsewhere);
    struct text made = TEXT_INIT;
    if (elsewhere->database == 0 && silent != 0) {
        answer_error_saying(&made, CODE_DOWN, "database %s: %s",
            fleet_name_of(&conn->server->databases, silent), asking->parts[silent].why);
    } else {
        elsewhere->answer(conn, elsewhere, &made);
    }
    bool is_whole = asking->is_late || !user_names_are_coming(&conn->server->user_names);
    if (is_whole) {
        text_add_bytes(conn_answers(conn), made.bytes, made.length);
    }
    text_deinit(&made);
    return is_whole;
}

void remote_look_up(struct call *call, const char *key,
    void (*answer)(struct conn *conn, const struct elsewhere *elsewhere, struct text *out))
{
    static const struct asking_kind kind = {.names = names_of_lease, .answer = answer_elsewhere};
    struct elsewhere *elsewhere = memory_new(sizeof *elsewhere);
    elsewhere->asking.kind = &kind;
    elsewhere->answer = answer;
    strcpy(elsewhere->key, key);
    elsewhere->id = strchr(elsewhere->key, '/') + 1;
    asking_begin(call, &elsewhere->asking);
}

/* ---- revoke, drop, move ---- */

void answer_held(struct text *out, const char *lease)
{
    answer_error_saying(out, CODE_KIND, "%s: it is held already, and waits for nothing", lease);
}

/* The lease's database is not known: one after the other is asked. */
static bool taking_done(struct conn *conn, struct remote *remote, struct session_result *result)
{
    unsigned *was_downp = &remote->number; /* one that could not be asked; 0: none */
    if (result->outcome == OUTCOME_OK) {
        return remote_answer(conn, remote->database, result);
    }
    if (result->outcome == OUTCOME_KIND) {
        answer_held(conn_answers(conn), remote->words[1]);
        return true;
    }
    if (result->outcome != OUTCOME_UNKNOWN) {
        *was_downp = remote->database;
        free(remote->why);
        remote->why = memory_string(result->detail);
    }
    if (remote->database < conn->server->databases.n) {
        remote->database++;
        remote_call(conn, remote);
        return false;
    }
    if (*was_downp != 0) {
        answer_of_database(conn, (uint8_t)*was_downp, remote->why);
    } else {
        answer_error_saying(conn_answers(conn), CODE_LOST, ANSWER_NO_LEASE);
    }
    return true;
}

bool remote_is_local(const struct server *server, const char *key, uint64_t *idp)
{
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        const char *own = fleet_session_id(server->fleet, i);
        if (fleet_key_parse(key, idp) && strncmp(key, own, strlen(own)) == 0) {
            return true;
        }
    }
    return false;
}

bool remote_parse_own(const struct server *server, const char *word, uint64_t *idp)
{
    return lease_id_parse(word, idp) || remote_is_local(server, word, idp);
}

bool remote_is_elsewhere(const struct server *server, const char *word)
{
    uint64_t id;
    return fleet_key_parse(word, &id) && !remote_is_local(server, word, &id);
}

static void log_asked(const struct call *call, const char *word, const char *key)
{
    const char *reason = call->request->keys[KEY_INDEX_reason];
    struct log_subject subject = {
        .event = word[0] == 'r' ? "revoked" : "dropped", .asker = call_operator(call)};
    subject.event = word[0] == 'm' ? "move" : subject.event;
    log_escape(subject.lease, sizeof subject.lease, key);
    log_message_on(LOG_LEVEL_INFO, &subject, "%s %s (of another host): asked by %s%s%s", word, key,
        log_subject_asker(&subject.asker).text, reason ? ": " : "", reason ? reason : "");
}

void remote_take(struct call *call)
{
    const char *key = call->request->arguments[0];
    uint64_t id;
    if (!fleet_key_parse(key, &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
    } else if (!call_administers_daemon(call)) {
        return;
    } else if (call->server->databases.n == 0) {
        call_refuse_unknown_lease(call);
    } else {
        log_asked(call, command_table[call->request->command].word, key);
        remote_ask(call, 1, key, taking_done);
    }
}

/* A host that drains has given its waiters back, and a client that is stopped its own. */
static bool moving_done(struct conn *conn, struct remote *remote, struct session_result *result)
{
    const char *key = remote->words[1];
    uint64_t id;
    bool is_here = remote_is_local(conn->server, key, &id) &&
        core_find_lease(conn->server->core, id);
    if (result->outcome == OUTCOME_KIND) {
        answer_held(conn_answers(conn), key);
    } else if (result->outcome != OUTCOME_UNKNOWN) {
        remote_answer(conn, remote->database, result);
    } else if (is_here) {
        answer_error_saying(conn_answers(conn), CODE_KIND,
            "%s: its database does not have it at present (this host drains, or its client is "
            "stopped)",
            strchr(key, '/') + 1);
    } else {
        answer_error_saying(conn_answers(conn), CODE_LOST, ANSWER_NO_LEASE);
    }
    return true;
}

void remote_move_own(struct call *call, const struct lease *lease)
{
    char key[SESSION_ID_SIZE + LEASE_ID_SIZE], id[LEASE_ID_SIZE];
    lease_id_format(id, lease->id);
    snprintf(key, sizeof key, "%s/%s", fleet_session_id(call->server->fleet, lease->database), id);
    remote_ask(call, lease->database, key, moving_done);
}

/* ---- release ---- */

/* The lease may just have ended: released. */
static bool release_done(struct conn *conn, struct remote *remote, struct session_result *result)
{
    if (result->outcome != OUTCOME_OK && result->outcome != OUTCOME_UNKNOWN) {
        return remote_answer(conn, remote->database, result);
    }
    text_add(conn_answers(conn), "ok");
    text_add_key(conn_answers(conn), "was", result->outcome == OUTCOME_OK ? remote->why : NULL);
    text_add(conn_answers(conn), "\n");
    return true;
}

/* As a user; for an admin where identities are shared, as anybody ("*"). The script decides: by the
 * time of an answer another user may have the identity. */
static void release_identity(
    struct call *call, const struct definition *definition, const char *holder, const char *by)
{
    char uid[16] = "*", encoded[ENCODED_SIZE];
    remote_encode(encoded, holder);
    bool is_own =
        !definition->identity_shared || !call_may(call, rights_admin_of, &definition->rights);
    if (is_own) {
        snprintf(uid, sizeof uid, "%u", call->conn->client.uid);
    }
    const char *const words[] = {"release", call->request->arguments[0], uid, "", encoded, by};
    remote_call(call->conn, remote_begin(call, definition->database, 6, words, release_done));
}

/* By an item: the database is first asked who has it. */
enum { RELEASE_NAME, RELEASE_ITEM, RELEASE_BY, N_RELEASE_WORDS };

/* Whose job goes on without its lease, in words; owned by the caller. */
static char *bereft(struct call *call, const struct remote *remote, const struct fleet_rows *rows,
    const struct fleet_row *holder)
{
    struct asker asker;
    struct lease_row row = {.unit_words = TEXT_INIT};
    struct text who = TEXT_INIT;
    call_init_asker(call, &asker);
    const struct scene scene = {
        .core = call->server->core,
        .viewer = &asker.viewer,
        .session = fleet_session_id(call->server->fleet, remote->database),
        .rows = rows,
    };
    lease_row_fill_listed(
        &row, holder, fleet_rows_find(rows, remote->words[RELEASE_NAME]), &scene);
    party_write(&who, &row.line);
    text_deinit(&row.unit_words);
    asker_deinit(&asker);
    return text_take(&who);
}

/* Its client has not named it: who administers it alone ends no leases of others. */
static bool is_level_of(const struct fleet_row *holder, const char *name)
{
    char level[NAME_BYTES + 1];
    bool is_level = false;
    for (size_t i = 0;
        !is_level && fleet_info_name(fleet_field(holder, ROW_INFO), "levels", i, level); i++) {
        is_level = strcmp(level, name) == 0;
    }
    return is_level;
}

static bool may_release(struct call *call, const struct fleet_row *holder, uint32_t uid,
    const struct definition *definition, const char *name)
{
    bool is_of_other_names = uid != call->conn->client.uid && is_level_of(holder, name);
    return is_of_other_names ? call_administers_daemon(call)
                             : call_owns_of(call, uid, definition, name);
}

static bool release_found(struct conn *conn, struct remote *remote, const struct fleet_rows *rows,
    const struct fleet_row *holder)
{
    const struct request request = {.command = COMMAND_release}; /* for the log */
    const char *name = remote->words[RELEASE_NAME];
    struct call call = {
        .conn = conn,
        .server = conn->server,
        .request = &request,
        .now = clock_now(),
        .out = conn_answers(conn),
    };
    const struct definition *definition = core_find_definition(conn->server->core, name);
    uint32_t uid = (uint32_t)fleet_number_of(holder, ROW_UID, UINT32_MAX);
    if (!definition) {
        call_refuse(&call, CODE_UNKNOWN, name);
    } else if (may_release(&call, holder, uid, definition, name)) {
        const char *key = fleet_field(holder, ROW_KEY);
        const char *const words[] = {"drop", key, "release", "", remote->words[RELEASE_BY]};
        uint64_t id;
        bool is_over = remote_is_local(conn->server, key, &id); /* the database hears soon */
        remote->done = release_done;
        remote->why = is_over ? NULL : bereft(&call, remote, rows, holder);
        session_admin(
            fleet_session(conn->server->fleet, remote->database), on_result, conn, 5, words);
        return false;
    }
    return true;
}

static bool release_looked(struct conn *conn, struct remote *remote, struct session_result *result)
{
    if (result->outcome != OUTCOME_OK) {
        return remote_answer(conn, remote->database, result);
    }
    const char *item = remote->words[RELEASE_ITEM];
    struct fleet_rows *rows = fleet_rows_new(&result->rows);
    const struct fleet_resource *resource = fleet_rows_find(rows, remote->words[RELEASE_NAME]);
    const struct fleet_row *holder = resource ? fleet_find_holder(rows, resource, item) : NULL;
    bool is_answered = true;
    if (holder) {
        is_answered = release_found(conn, remote, rows, holder);
    } else if (resource && !fleet_has_unit(rows, resource, item)) {
        answer_error(conn_answers(conn), CODE_UNKNOWN, item);
    } else {
        text_add(conn_answers(conn), "ok\n"); /* nobody has it */
    }
    fleet_rows_free(rows);
    return is_answered;
}

void remote_release(struct call *call, const char *holder, const char *item)
{
    const char *name = call->request->arguments[0];
    const struct definition *definition = core_find_definition(call->server->core, name);
    const struct actor by_whom = call_actor(call);
    char by[ACTOR_SIZE];
    actor_format(by, &by_whom);
    if (holder) {
        release_identity(call, definition, holder, by);
    } else {
        const char *const words[N_RELEASE_WORDS] = {name, item, by};
        remote_begin(call, definition->database, N_RELEASE_WORDS, words, release_looked);
        session_snapshot(fleet_session(call->server->fleet, definition->database), on_result,
            call->conn, 1, &name);
    }
}
