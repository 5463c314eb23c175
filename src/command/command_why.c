/* command_why.c - `why`: explains what becomes of a request, or of a lease. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/ask_words.h"
#include "command/asking.h"
#include "command/process_lease.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "core/units.h"
#include "database/fleet_sessions.h"
#include "journal/proof.h"
#include "record/lease_log.h"
#include "status/answer_lines.h"
#include "status/explained.h"
#include "status/fleet_rows.h"

#include <stdlib.h>

/* ---- the answer ---- */

/* What is to be explained. While a database is asked, the request waits, and owns this; a lease may
 * be over by then. */
struct subject {
    struct asking asking; /* of its database */
    struct acquire_request ask; /* of no names: a lease */
    char *names[MAX_RESOURCES_PER_LEASE]; /* of the ask; owned */
    uint64_t lease;
    uint8_t database; /* 0: host scope */
};

static void subject_deinit(struct asking *asking)
{
    struct subject *subject = container_of(asking, struct subject, asking);
    for (size_t i = 0; i < subject->ask.n_wants; i++) {
        free(subject->names[i]);
    }
}

static const char *forbidden_name(struct asker *asker, const struct acquire_request *ask)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        if (!asker_may(asker, rights_use, &ask->wants[i].definition->rights)) {
            return ask->wants[i].name;
        }
    }
    return NULL;
}

/* For a job of `berth run`, which shows a proof. */
static bool is_too_much(struct core *core, const struct acquire_request *ask)
{
    size_t units = units_max_bytes(core, ask->wants, ask->n_wants);
    return answer_is_too_much(ask, units + proof_max_bytes(ask->n_wants));
}

/* A reload may have taken a name away meanwhile. */
static bool find_definitions(struct core *core, struct acquire_request *ask)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        ask->wants[i].definition = core_find_definition(core, ask->wants[i].name);
        if (!ask->wants[i].definition) {
            return false;
        }
    }
    return true;
}

static void explain(struct conn *conn, struct subject *subject, struct text *out)
{
    struct server *server = conn->server;
    struct asker asker;
    nanoseconds now = clock_now();
    asker_init(&asker, conn->fd, conn->client.uid, &server->admins);
    asker.viewer.is_unread = conn_grant_is_unread;
    asker_names_users(&asker, &server->user_names, now);
    struct session_view view;
    const struct session_view *session = NULL;
    struct scene scene = {.core = server->core,
        .viewer = &asker.viewer,
        .now = now,
        .wall_now = clock_wall_now()};
    struct lease *lease = core_find_lease(server->core, subject->lease);
    if (subject->database != 0) {
        view = fleet_look(server->fleet, subject->database);
        session = &view;
        asking_set_scene(&subject->asking, server, subject->database, &scene);
    }
    if (subject->ask.n_wants == 0 && lease) {
        explained_lease(out, &scene, session, lease);
    } else if (subject->ask.n_wants > 0 && find_definitions(server->core, &subject->ask)) {
        const struct explained_refusal bar = {
            .forbidden = forbidden_name(&asker, &subject->ask),
            .is_too_much = is_too_much(server->core, &subject->ask),
        };
        explained_ask(out, &scene, session, &subject->ask, &bar);
    } else {
        answer_error(out, CODE_UNKNOWN, NULL);
    }
    asker_deinit(&asker);
}

/* Users whom it names may be looked up: then it is made again. */
static bool command_why_answer(struct conn *conn, struct asking *asking)
{
    struct text made = TEXT_INIT;
    explain(conn, container_of(asking, struct subject, asking), &made);
    bool is_whole = asking->is_late || !user_names_are_coming(&conn->server->user_names);
    if (is_whole) {
        text_add_bytes(conn_answers(conn), made.bytes, made.length);
    }
    text_deinit(&made);
    return is_whole;
}

static size_t names_to_ask_for(
    const struct asking *asking, uint8_t database, const char *names[MAX_ARGUMENTS])
{
    const struct subject *subject = container_of(asking, const struct subject, asking);
    const struct lease *lease = core_find_lease(asking->asker.conn->server->core, subject->lease);
    if (database != subject->database) {
        return NOT_ASKED;
    }
    size_t n = lease ? lease->n_claims : subject->ask.n_wants;
    for (size_t i = 0; i < n; i++) {
        names[i] = lease ? lease->claims[i].resource->name : subject->names[i];
    }
    return n;
}

/* Takes the subject over. */
static void command_why_begin(struct call *call, struct subject *subject)
{
    static const struct asking_kind kind = {
        .names = names_to_ask_for, .answer = command_why_answer, .deinit = subject_deinit};
    subject->asking.kind = &kind;
    asking_begin(call, &subject->asking);
}

/* ---- the request ---- */

static void why_lease(struct call *call, const struct lease *lease)
{
    struct subject *subject = memory_new(sizeof *subject);
    subject->lease = lease->id;
    subject->asking.age = asking_age(lease, call->now);
    subject->database = lease->state == LEASE_WAITING ? lease->database : 0;
    command_why_begin(call, subject);
}

/* The word may be a lease that is over. */
static void refuse_name(struct call *call, const char *name)
{
    uint64_t id;
    if (call->request->n_arguments > 1 || !lease_id_parse(name, &id) ||
        id >= core_next_number(call->server->core)) {
        call_refuse_unknown(call, name, NULL);
        return;
    }
    answer_error_saying(call->out, CODE_UNKNOWN,
        "%s: no such resource, and no held or waiting lease; for one that has ended: berthctl "
        "history --lease %s",
        name, name);
    lease_log_refused(call_asker(call), call->request->command, CODE_UNKNOWN, name);
}

/* Several names are of one scope and database, or it is refused. */
static void why_names(struct call *call)
{
    const struct request *request = call->request;
    struct acquire_request ask = {.wait = NEVER};
    if (!ask_parse_wants(call, request->arguments, request->n_arguments, &ask, NULL)) {
        return;
    }
    for (size_t i = 0; i < ask.n_wants; i++) {
        struct requested_resource *want = &ask.wants[i];
        want->definition = core_find_definition(call->server->core, want->name);
        if (!want->definition) {
            refuse_name(call, want->name);
            return;
        }
    }
    struct subject *subject = memory_new(sizeof *subject);
    subject->database = ask.wants[0].definition->database;
    subject->ask = ask;
    for (size_t i = 0; i < ask.n_wants; i++) {
        subject->names[i] = memory_string(ask.wants[i].name);
        subject->ask.wants[i].name = subject->names[i];
    }
    command_why_begin(call, subject);
}

static void refuse_elsewhere(struct call *call, const char *text)
{
    answer_error_saying(call->out, CODE_UNKNOWN,
        "%s: not a lease of this host: berthctl status shows its host, and why explains it there",
        text);
    lease_log_refused(call_asker(call), call->request->command, CODE_UNKNOWN, text);
}

/* One word that is no resource may be a lease, or a process. False: it is neither. */
static bool why_word(struct call *call, const char *word)
{
    uint64_t number;
    if (core_find_definition(call->server->core, word)) {
        return false;
    }
    bool is_lease = lease_id_parse(word, &number) || remote_is_local(call->server, word, &number);
    const struct lease *lease = is_lease ? core_find_lease(call->server->core, number) : NULL;
    if (lease) {
        why_lease(call, lease);
        return true;
    }
    if (!is_lease && fleet_key_parse(word, &number)) {
        refuse_elsewhere(call, word);
        return true;
    }
    bool is_pid = number_parse(word, INT32_MAX, &number) && number > 0;
    if (is_pid) {
        process_lease_why(call, word);
    }
    return is_pid;
}

void command_why(struct call *call)
{
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease], *pid = request->keys[KEY_INDEX_pid];
    size_t n = request->n_arguments;
    if ((n > 0) + (lease != NULL) + (pid != NULL) != 1) {
        call_refuse(call, CODE_MALFORMED, "either names, or lease, or pid");
    } else if (lease) {
        const struct lease *found = call_find_lease(call, lease);
        if (found) {
            why_lease(call, found);
        }
    } else if (pid) {
        process_lease_why(call, pid);
    } else if (n != 1 || !why_word(call, request->arguments[0])) {
        why_names(call);
    }
}
