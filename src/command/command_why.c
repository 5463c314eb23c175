/* command_why.c - `why`: explains what becomes of a request, or of a lease. */
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/ask_words.h"
#include "command/asking.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "core/units.h"
#include "database/fleet_sessions.h"
#include "job/job.h"
#include "job/process.h"
#include "journal/proof.h"
#include "record/lease_log.h"
#include "status/answer_lines.h"
#include "status/explained.h"
#include "status/long_answer.h"

#include <errno.h>
#include <signal.h>
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
        const struct requested_resource *want = &ask->wants[i];
        const struct definition *definition = want->definition;
        bool is_left = want->is_level ||
            definition_leaves_name(definition, want->name, asker->credentials.uid) ||
            asker_may(asker, rights_daemon, NULL);
        bool may_use = want->is_level || asker_may(asker, rights_use, &definition->rights);
        if (!is_left || !may_use) {
            return want->name;
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

static struct scene begin_scene(struct conn *conn, struct asker *asker)
{
    struct server *server = conn->server;
    nanoseconds now = clock_now();
    asker_init(asker, conn->fd, conn->client.uid, &server->admins);
    asker->viewer.is_unread = conn_grant_is_unread;
    asker->viewer.file_lock_holder = job_file_lock_holder;
    asker_names_users(asker, &server->user_names, now);
    return (struct scene){.core = server->core,
        .viewer = &asker->viewer,
        .now = now,
        .wall_now = clock_wall_now()};
}

static void explain(struct conn *conn, struct subject *subject, struct text *out)
{
    struct server *server = conn->server;
    struct asker asker;
    struct session_view view;
    const struct session_view *session = NULL;
    struct scene scene = begin_scene(conn, &asker);
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

/* ---- the lease of a process ---- */

enum { MAX_LOOKED_AT = 500 }; /* leases of one piece: some 200 microseconds */

/* Of a process and its ancestors, the lease of the nearest one. */
struct search {
    struct long_answer answer;
    struct conn *conn;
    pid_t asked;
    pid_t pids[MAX_PARENTS]; /* .asked and its ancestors */
    size_t n;
    uint64_t cursor; /* core_walk_leases() */
    uint64_t found; /* its id; 0: none yet */
    bool found_waits;
    size_t nearest; /* whose it is */
};

/* ---- of one process: does a lease belong to it? ---- */

/* The processes by which a lease can be found; 0: none. */
struct lease_pids {
    pid_t own, job, wrapper, client;
};

static struct lease_pids pids_of(const struct lease *lease)
{
    bool is_bound = lease->binding == BOUND_PROCESS, has_client = !lease_is_detached(lease);
    return (struct lease_pids){
        .own = lease->pid,
        .job = is_bound ? lease->process.pid : 0,
        .wrapper = is_bound ? lease->wrapper.pid : 0,
        .client = has_client ? conn_of(lease->client)->pid : 0,
    };
}

static bool belongs_to(const struct lease_pids *pids, pid_t pid)
{
    return pids->own == pid || pids->job == pid || pids->wrapper == pid || pids->client == pid;
}

/* Of several leases of one process, one that waits; else the newest. */
static bool is_better(const struct search *search, const struct lease *lease, size_t i)
{
    bool waits = lease->state == LEASE_WAITING;
    if (search->found == 0 || i != search->nearest) {
        return true;
    }
    return waits != search->found_waits ? waits : lease->id > search->found;
}

static void look_at_lease(struct lease *lease, void *context)
{
    struct search *search = context;
    const struct lease_pids pids = pids_of(lease);
    size_t end = search->found != 0 ? search->nearest + 1 : search->n, i = 0;
    while (i < end && !belongs_to(&pids, search->pids[i])) {
        i++;
    }
    if (i < end && is_better(search, lease, i)) {
        search->found = lease->id;
        search->found_waits = lease->state == LEASE_WAITING;
        search->nearest = i;
    }
}

/* ---- all leases ---- */

static void say_that_none_is_found(const struct search *search, struct text *out)
{
    bool is_gone = kill(search->asked, 0) != 0 && errno == ESRCH;
    answer_error_saying(out, CODE_UNKNOWN, "process %d: %s", (int)search->asked,
        is_gone ? "no such process"
                : "neither it nor one of its ancestors has a lease or waits for one");
    search->conn->server->counts.refusals[CODE_UNKNOWN]++;
}

/* The request is carried out again, in this form. */
static void go_on_with(struct conn *conn, uint64_t id)
{
    struct text line = TEXT_INIT;
    char lease[LEASE_ID_SIZE];
    lease_id_format(lease, id);
    text_add(&line, command_table[COMMAND_why].word);
    text_add_key(&line, "lease", lease);
    conn_again(conn, text_take(&line), uv_now(&conn->server->loop) + 1);
}

static bool look_at_some(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    struct search *search = container_of(answer, struct search, answer);
    struct core *core = search->conn->server->core;
    (void)moment, (void)enough;
    core_walk_leases(core, &search->cursor, MAX_LOOKED_AT, look_at_lease, search);
    if (search->cursor != 0) {
        return true;
    }
    if (search->found == 0) {
        say_that_none_is_found(search, out);
        return false;
    }
    if (core_find_lease(core, search->found)) {
        go_on_with(search->conn, search->found);
        return false;
    }
    search->found = 0; /* it has ended meanwhile */
    return true;
}

static void free_search(struct long_answer *answer)
{
    free(container_of(answer, struct search, answer));
}

/* `pid` as the client has written it. Looks at all leases, some at a time; then the connection goes
 * on with `why` of the one that was found, or has its answer. */
static void why_process(struct call *call, const char *pid)
{
    static const struct long_answer_kind kind = {
        .more = look_at_some, .free = free_search, .has_no_end = true};
    uint64_t number;
    if (!number_parse(pid, INT32_MAX, &number) || number == 0) {
        call_refuse(call, CODE_BAD_VALUE, "pid");
        return;
    }
    if (!named_process_shares_pid_ns(call)) {
        return;
    }
    struct search *search = memory_new(sizeof *search);
    search->answer.kind = &kind;
    search->conn = call->conn;
    search->asked = (pid_t)number;
    search->n = process_and_ancestors(search->asked, search->pids);
    conn_begin_long(call->conn, &search->answer);
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
    if (call->request->n_arguments > 1 || !remote_parse_own(call->server, name, &id) ||
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
        ask_settle_want(want);
    }
    const char *at_fault;
    if (core_add_levels(call->server->core, 0, call->conn->client.uid, &ask, &at_fault) !=
        OUTCOME_OK) {
        answer_error_saying(call->out, CODE_IMPOSSIBLE, ANSWER_TOO_HIGH, at_fault);
        return;
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

/* ---- a lease of another host ---- */

static void refuse_unlisted(const struct elsewhere *elsewhere, struct text *out)
{
    if (elsewhere->database != 0) {
        answer_error_saying(out, CODE_KIND, "%s: this host's file has none of its resources",
            elsewhere->key);
    } else if (elsewhere->host[0]) {
        answer_error_saying(out, CODE_UNKNOWN,
            "%s: no held or waiting lease; for one that has ended, on %s: berthctl history --lease "
            "%s",
            elsewhere->key, elsewhere->host, elsewhere->id);
    } else {
        answer_error_saying(out, CODE_UNKNOWN,
            "%s: no held or waiting lease, and its host is not known any more", elsewhere->key);
    }
}

static void explain_elsewhere(
    struct conn *conn, const struct elsewhere *elsewhere, struct text *out)
{
    struct asker asker;
    struct scene scene = begin_scene(conn, &asker);
    bool is_explained = elsewhere->database != 0;
    if (is_explained) {
        const struct session_view session = fleet_look(conn->server->fleet, elsewhere->database);
        asking_set_scene(&elsewhere->asking, conn->server, elsewhere->database, &scene);
        is_explained =
            explained_listed(out, &scene, &session, elsewhere->database, elsewhere->key);
    }
    if (!is_explained) {
        refuse_unlisted(elsewhere, out);
    }
    asker_deinit(&asker);
}

/* ---- what the request names ---- */

/* False: the word names neither a held or waiting lease of this host nor one of another host. */
static bool why_lease_named(struct call *call, const char *word)
{
    uint64_t id;
    bool is_own = remote_parse_own(call->server, word, &id);
    const struct lease *lease = is_own ? core_find_lease(call->server->core, id) : NULL;
    bool is_elsewhere = remote_is_elsewhere(call->server, word);
    if (lease) {
        why_lease(call, lease);
    } else if (is_elsewhere) {
        remote_look_up(call, word, explain_elsewhere);
    }
    return lease || is_elsewhere;
}

/* One word that is no resource may be a lease, or a process. False: it is neither. */
static bool why_word(struct call *call, const char *word)
{
    uint64_t number;
    if (core_find_definition(call->server->core, word)) {
        return false;
    }
    if (why_lease_named(call, word)) {
        return true;
    }
    bool is_pid = number_parse(word, INT32_MAX, &number) && number > 0;
    if (is_pid) {
        why_process(call, word);
    }
    return is_pid;
}

/* By the key `lease`. */
static void why_key(struct call *call, const char *word)
{
    uint64_t id;
    if (!why_lease_named(call, word)) {
        bool is_lease = remote_parse_own(call->server, word, &id);
        call_refuse(call, is_lease ? CODE_UNKNOWN : CODE_BAD_VALUE, "lease");
    }
}

void command_why(struct call *call)
{
    const struct request *request = call->request;
    const char *lease = request->keys[KEY_INDEX_lease], *pid = request->keys[KEY_INDEX_pid];
    size_t n = request->n_arguments;
    if ((n > 0) + (lease != NULL) + (pid != NULL) != 1) {
        call_refuse(call, CODE_MALFORMED, "either names, or lease, or pid");
    } else if (lease) {
        why_key(call, lease);
    } else if (pid) {
        why_process(call, pid);
    } else if (n != 1 || !why_word(call, request->arguments[0])) {
        why_names(call);
    }
}
