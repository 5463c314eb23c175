/* command_lease.c - requests about an existing lease: release, cancel, renew, away, back,
 * revoke, drop. */
#include "admission/server.h"
#include "base/closest_match.h"
#include "base/words.h"
#include "command/own_lease.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "core/ended.h"
#include "job/job.h"
#include "job/process.h"
#include "record/lease_log.h"
#include "record/ledger.h"
#include "status/answer_lines.h"
#include "status/lease_row.h"
#include "status/reasons.h"

#include <string.h>

static const char *reason_of(const struct call *call)
{
    return call->request->keys[KEY_INDEX_reason];
}

static void log_taken(struct call *call, struct lease *lease, const char *event)
{
    lease_log_taken(&call->server->databases, lease, call_operator(call), call->request->command,
        event, reason_of(call));
}

static void note_taken(struct call *call, struct lease *lease, const char *event)
{
    const struct actor by = call_operator(call).by;
    log_taken(call, lease, event);
    if (call->conn->client.uid != lease->uid || call_administers(call, lease)) {
        call_record_did(call, lease, NULL); /* else it is no operator's: anybody could fill it */
    }
    lease_note_taker(lease, &by, reason_of(call));
}

/* ---- release, cancel ---- */

/* How the job of the lease has ended, if the request says so. False: malformed. */
static bool read_status(const struct call *call, struct lease *lease)
{
    const char *exit = call->request->keys[KEY_INDEX_exit];
    const char *signal = call->request->keys[KEY_INDEX_signal];
    uint64_t number = 0;
    bool is_good = !exit || (!signal && number_parse(exit, UINT8_MAX, &number));
    is_good &= exit || !signal || (number_parse(signal, MAX_SIGNAL, &number) && number > 0);
    if (lease) {
        lease->job_end = exit ? HISTORY_EXITED
            : signal          ? HISTORY_SIGNALLED
                              : HISTORY_STATUS_UNKNOWN;
        lease->job_status = (uint8_t)number;
    }
    return is_good;
}

/* Whose job goes on without its lease, in words. Adds nothing if that is the user's own process or
 * one of its ancestors, as of a script that gives back what it has taken, or if there is no job. */
static void add_bereft(struct call *call, const struct lease *lease, struct text *who)
{
    struct asker asker;
    struct lease_row row;
    if (lease->binding == BOUND_TIME) {
        return;
    }
    call_init_asker(call, &asker);
    const struct scene scene = {.viewer = &asker.viewer};
    lease_row_identify(&row, lease, &scene);
    if (!process_is_or_descends_from(call->conn->pid, (pid_t)row.line.pid)) {
        party_write(who, &row.line);
    }
    asker_deinit(&asker);
}

/* Ends the lease, if the user may. `who`: of add_bereft(), or NULL. */
static void end_lease(struct call *call, struct lease *lease, struct text *who)
{
    struct server *server = call->server;
    if (lease && !call_owns(call, lease)) {
        return;
    }
    if (lease && who) {
        add_bereft(call, lease, who);
    }
    if (lease && lease->uid != call->conn->client.uid) {
        note_taken(call, lease, "released");
    }
    if (lease) {
        /* A wait has none that could have ended, and the first to say how that of a lease has ended
         * is its client. */
        bool has_job = lease->state == LEASE_HELD && !lease->is_ending;
        read_status(call, has_job ? lease : NULL);
        core_end(server->core, lease, &call->conn->client, call->now, &server->effects);
    }
    text_add(call->out, "ok");
    text_add_key(call->out, "was", who && who->length > 0 ? who->bytes : NULL);
    text_add(call->out, "\n");
}

static void end_by_id(struct call *call)
{
    uint64_t id;
    if (!lease_id_parse(call->request->arguments[0], &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
        return;
    }
    end_lease(call, core_find_lease(call->server->core, id), NULL);
}

/* In fleet scope the holder may be on another host. */
static bool may_be_remote(const struct call *call)
{
    const struct definition *definition =
        core_find_definition(call->server->core, call->request->arguments[0]);
    return definition && definition->database != 0;
}

enum { MAX_IDENTITIES_COMPARED = 1000 };

/* No lease has that identity: suggests the nearest one that the user could have meant, and may
 * see. */
static void refuse_identity(
    struct call *call, enum code code, const struct resource *resource, const char *holder)
{
    struct asker asker;
    struct closest_match nearest = CLOSEST_MATCH_INIT(holder);
    const struct claim *claim = resource_first_holder(resource);
    call_init_asker(call, &asker);
    for (size_t i = 0; claim && i < MAX_IDENTITIES_COMPARED; i++) {
        const struct lease *lease = claim->lease;
        bool is_meant = lease->uid == asker.viewer.uid || resource->definition->identity_shared;
        bool has_one = lease->attributes.holder && !claim->is_level;
        if (has_one && is_meant && viewer_sees(&asker.viewer, lease)) {
            closest_match_try(&nearest, lease->attributes.holder);
        }
        claim = claim_next_holder(claim);
    }
    asker_deinit(&asker);
    if (nearest.best) {
        answer_error_saying(call->out, code, "%s: %s; did you mean %s?", resource->name,
            code_table[code].meaning, nearest.best);
        lease_log_refused(call_asker(call), call->request->command, code, resource->name);
    } else {
        call_refuse(call, code, code == CODE_LOST ? NULL : resource->name);
    }
}

static void release_by_identity(struct call *call, struct resource *resource, const char *holder)
{
    struct lease *lease = resource
        ? core_find_identity(call->server->core, resource, call->conn->client.uid, holder)
        : NULL;
    if (!lease && may_be_remote(call)) {
        remote_release(call, holder, NULL);
    } else if (!lease && resource && resource_in_use(resource) > 0) {
        refuse_identity(call, CODE_NOT_HOLDER, resource, holder);
    } else {
        end_lease(call, lease, NULL);
    }
}

/* A slot that nobody has used yet, or a unit of an idle instance. */
static bool is_free_unit(struct core *core, const char *name, const char *item)
{
    const struct resource *resource = core_find_resource(core, name);
    const struct definition *definition =
        resource ? resource->definition : core_find_definition(core, name);
    uint32_t slot, limit = resource ? resource_limit(resource) : definition->limit;
    return definition_is_pool(definition) ? !resource && definition_has_item(definition, item)
                                          : slot_parse(item, &slot) && slot < limit;
}

static void release_by_item(struct call *call, struct resource *resource, const char *item)
{
    if (!call_check_item(call, item)) {
        return;
    }
    struct unit *unit = resource ? resource_find_unit(resource, item) : NULL;
    bool is_held_here = unit && unit->claim;
    if (!is_held_here && may_be_remote(call)) {
        remote_release(call, NULL, item);
        return;
    }
    const char *name = call->request->arguments[0];
    if (!unit && !is_free_unit(call->server->core, name, item)) {
        call_refuse_unknown_item(call, name, item);
        return;
    }
    struct text who = TEXT_INIT;
    end_lease(call, is_held_here ? unit->claim->lease : NULL, &who);
    text_deinit(&who);
}

/* The word is a lease or, if none that lives has it, the name of a lock, whose one unit is meant.
 * Of another resource it does not say which lease. */
static void release_by_word(struct call *call)
{
    const char *word = call->request->arguments[0];
    struct core *core = call->server->core;
    uint64_t id;
    struct lease *lease = lease_id_parse(word, &id) ? core_find_lease(core, id) : NULL;
    const struct definition *definition =
        !lease && name_is_valid(word) ? core_find_definition(core, word) : NULL;
    if (lease) {
        end_lease(call, lease, NULL);
    } else if (!definition) {
        end_by_id(call);
    } else if (definition->kind == KIND_LOCK && !definition_is_shared(definition)) {
        release_by_item(call, core_find_resource(core, word), "0");
    } else {
        answer_error_saying(call->out, CODE_BAD_VALUE,
            "%s: specify which lease with holder or item", word);
    }
}

void command_release(struct call *call)
{
    const char *holder = call->request->keys[KEY_INDEX_holder];
    const char *item = call->request->keys[KEY_INDEX_item];
    if (!read_status(call, NULL)) {
        call_refuse(call, CODE_BAD_VALUE, "exit or signal");
        return;
    }
    if (!holder && !item) {
        release_by_word(call);
        return;
    }
    if (holder && item) {
        call_refuse(call, CODE_MALFORMED, "holder and item");
        return;
    }
    const char *name = call->request->arguments[0];
    if (!call_check_resource(call, name, rights_use)) {
        return;
    }
    struct resource *resource = core_find_resource(call->server->core, name); /* NULL: not held */
    if (holder) {
        release_by_identity(call, resource, holder);
    } else {
        release_by_item(call, resource, item);
    }
}

/* For an acquire of this connection whose answer nobody awaits any more. */
static struct lease *find_by_once(const struct call *call, const char *once)
{
    struct lease *lease;
    LIST_FOREACH (lease, &call->conn->client.leases, link) {
        if (lease->attributes.once && strcmp(lease->attributes.once, once) == 0) {
            break;
        }
    }
    return lease;
}

void command_cancel(struct call *call)
{
    const char *once = call->request->keys[KEY_INDEX_once];
    bool has_lease = call->request->n_arguments == 1;
    if (has_lease == (once != NULL)) {
        call_refuse(call, CODE_MALFORMED, "LEASE or once");
    } else if (once) {
        end_lease(call, find_by_once(call, once), NULL);
    } else {
        end_by_id(call);
    }
}

/* ---- one lease, by its identity ---- */

static struct lease *find_by_identity(struct call *call, const char *holder)
{
    struct core *core = call->server->core;
    const char *name = call->request->arguments[0];
    if (!call_check_resource(call, name, rights_use)) {
        return NULL;
    }
    struct resource *resource = core_find_resource(core, name);
    struct lease *lease = resource
        ? core_find_identity(core, resource, call->conn->client.uid, holder)
        : NULL;
    if (lease) {
        return call_owns(call, lease) ? lease : NULL;
    }
    if (!resource) {
        call_refuse(call, CODE_LOST, NULL);
    } else if (resource->definition->database != 0) {
        answer_error_saying(call->out, CODE_NOT_HOLDER,
            "no lease of this host has that identity; renew a lease on the host where it was "
            "acquired");
    } else {
        refuse_identity(call, CODE_LOST, resource, holder);
    }
    return NULL;
}

/* ---- renew ---- */

static void answer_renewed(struct call *call, const struct lease *lease)
{
    text_add(call->out, "ok ");
    answer_lease_id(call->out, lease);
    if (lease_own_until(lease) != NEVER) {
        text_add_number_key(call->out, "left", milliseconds(lease_own_until(lease) - call->now));
    }
    text_add(call->out, "\n");
}

/* An event would tell that host, and its answer cannot be awaited: but a renewal is only good once
 * it is written down there. */
static void refuse_elsewhere(struct conn *conn, const struct elsewhere *elsewhere, struct text *out)
{
    (void)conn;
    if (elsewhere->database != 0) {
        answer_error_saying(out, CODE_KIND,
            "%s: only its own host can renew it: on %s, berth renew %s", elsewhere->key,
            elsewhere->host[0] ? elsewhere->host : "that host", elsewhere->id);
    } else {
        answer_error_saying(out, CODE_LOST, ANSWER_NO_LEASE);
    }
}

void command_renew(struct call *call)
{
    struct server *server = call->server;
    const char *holder = call->request->keys[KEY_INDEX_holder];
    const char *text = call->request->keys[KEY_INDEX_ttl];
    nanoseconds ttl = 0;
    if (text && (!duration_parse(text, &ttl) || ttl == 0)) {
        call_refuse(call, CODE_BAD_VALUE, "ttl");
        return;
    }
    if (!holder && remote_is_elsewhere(server, call->request->arguments[0])) {
        remote_look_up(call, call->request->arguments[0], refuse_elsewhere);
        return;
    }
    struct lease *lease = holder ? find_by_identity(call, holder) : own_lease_find(call);
    if (!lease) {
        return;
    }
    enum outcome outcome = core_renew(server->core, lease, ttl, call->now, &server->effects);
    if (outcome == OUTCOME_KIND) {
        own_lease_refuse_kind(call, lease, "the lease is not bound to time");
    } else if (outcome != OUTCOME_OK) {
        call_refuse(call, outcome_code(outcome), NULL);
    } else if (own_lease_is_written_down(call, lease)) {
        answer_renewed(call, lease);
    }
}

/* ---- away, back ---- */

static void set_away(struct call *call, bool is_away)
{
    struct server *server = call->server;
    struct lease *lease = own_lease_find(call);
    if (!lease) {
        return;
    }
    if (core_set_away(server->core, lease, &call->conn->client, is_away, call->now,
            &server->effects)) {
        call_ok(call);
    } else {
        own_lease_refuse_kind(call, lease, "the lease does not wait on this connection");
    }
}

void command_away(struct call *call)
{
    set_away(call, true);
}

void command_back(struct call *call)
{
    set_away(call, false);
}

/* ---- revoke, drop ---- */

static void revoke_or_drop(
    struct call *call, void (*operation)(struct call *call, struct lease *lease))
{
    uint64_t id;
    const char *word = call->request->arguments[0];
    if (strchr(word, '/') && !remote_is_local(call->server, word, &id)) {
        remote_take(call);
        return;
    }
    struct lease *lease = own_lease_find(call);
    if (lease) {
        operation(call, lease);
    }
}

/* berthd may signal processes that the lease's user may not: what a setuid program has become. */
static void revoke_lease(struct call *call, struct lease *lease)
{
    struct server *server = call->server;
    bool is_by_user = call->conn->client.uid == lease->uid && !call_administers(call, lease);
    if (is_by_user && job_holder_may_not_signal(lease)) {
        call_refuse(call, CODE_FORBIDDEN, lease->claims[0].resource->name);
        return;
    }
    enum outcome why = is_by_user ? OUTCOME_WITHDRAWN : OUTCOME_REVOKED;
    /* A repeat replaces neither who began the stop nor why: an owner could hide an operator. */
    bool counts = core_would_stop(lease, why);
    const struct actor by = call_operator(call).by; /* the job is told the name */
    if (counts && call_awaits_name(call, by.has_login ? by.login : by.uid)) {
        return;
    }
    (counts ? note_taken : log_taken)(call, lease, "revoked");
    core_revoke(server->core, lease, why, reason_of(call), call->now, &server->effects);
    call_ok(call);
}

/* As by `revoke` of its own user. */
void own_lease_stop_replaced(struct call *call, const struct lease *by)
{
    struct server *server = call->server;
    struct lease *lease = core_replaced_holder(server->core, by);
    if (lease && !job_holder_may_not_signal(lease)) {
        const struct actor actor = call_operator(call).by;
        char reason[LEASE_ID_SIZE + 32], id[LEASE_ID_SIZE];
        lease_id_format(id, by->id);
        snprintf(reason, sizeof reason, "lease %s replaces it", id);
        lease_log_taken(&server->databases, lease, call_operator(call), COMMAND_revoke, "revoked",
            reason);
        lease_note_taker(lease, &actor, reason);
        core_revoke(
            server->core, lease, OUTCOME_WITHDRAWN, reason, call->now, &server->effects);
    }
}

static void drop_lease(struct call *call, struct lease *lease)
{
    note_taken(call, lease, "dropped");
    core_revoke(call->server->core, lease, OUTCOME_DROPPED, reason_of(call), call->now,
        &call->server->effects);
    call_ok(call);
}

void command_revoke(struct call *call)
{
    revoke_or_drop(call, revoke_lease);
}

void command_drop(struct call *call)
{
    revoke_or_drop(call, drop_lease);
}
