/* command_acquire.c - requests that yield a lease: acquire, and reclaim after a connection was
 * lost. */
#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/ask_words.h"
#include "command/own_lease.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "conn/disk_wait.h"
#include "core/units.h"
#include "database/fleet_journal.h"
#include "database/fleet_sessions.h"
#include "journal/proof.h"
#include "record/history.h"
#include "record/lease_log.h"
#include "record/ledger.h"
#include "status/answer_lines.h"
#include "status/why.h"

#include <stdlib.h>
#include <string.h>

static enum outcome may_ask_for(const struct call *call, const struct definition *definition)
{
    enum outcome outcome =
        definition->database == 0 ? OUTCOME_OK : fleet_may_use(call->server->fleet, definition);
    bool is_unwritten = outcome == OUTCOME_OK && definition->database != 0 &&
        !fleet_is_written_down(call->server->fleet_journal, definition->database);
    return is_unwritten ? OUTCOME_NO_SPACE : outcome;
}

/* Whether the request's database, if it has one, can be asked for a new lease. */
static bool can_be_asked(struct call *call, const struct acquire_request *ask)
{
    uint8_t database = ask->wants[0].definition->database;
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct requested_resource *want = &ask->wants[i];
        if (want->definition->database != database) {
            return true; /* the core says why not */
        }
        enum outcome outcome = may_ask_for(call, want->definition);
        if (outcome != OUTCOME_OK) {
            char why[LINE_BYTES / 4]; /* encoded, it can be three times as long */
            fleet_why(why, sizeof why, call->server->fleet, database, want->name, outcome);
            answer_error_saying(call->out, outcome_code(outcome), "%s", why);
            core_count_refused(call->server->core, ask, outcome);
            return false;
        }
    }
    return true;
}

/* ---- answers ---- */

/* Adds what the client needs to have the lease back if the journal is lost: only one with a job, or
 * of a program, needs it. */
static void add_proof(struct call *call, const struct lease *lease)
{
    const struct state *state = &call->server->state;
    if (lease_has_proof(lease) && state->found != STATE_UNREADABLE) {
        text_add(call->out, " proof=");
        proof_write(call->out, state->secret, lease);
    }
}

/* Returns OUTCOME_OK, OUTCOME_WAITING or OUTCOME_PENDING. */
static void answer_acquired(struct call *call, struct lease *lease, enum outcome outcome)
{
    static const char *const words[] = {
        [OUTCOME_OK] = "ok ", [OUTCOME_WAITING] = "waiting ", [OUTCOME_PENDING] = "pending "};
    bool is_held = outcome == OUTCOME_OK;
    lease_log_place(&call->server->databases, lease);
    job_origin_want(&call->server->origins, lease);
    if (outcome == OUTCOME_PENDING && !lease->is_asked) {
        outcome = OUTCOME_WAITING; /* on this host: the database is asked when it grants again */
    }
    text_add(call->out, words[outcome]);
    answer_lease_id(call->out, lease);
    if (is_held) {
        units_write(call->out, lease);
        answer_stop_rules(call->out, lease);
    } else if (outcome == OUTCOME_WAITING) {
        uint32_t position = lease_position(lease);
        /* The database may not have sent it. */
        text_add_number_key(call->out, "position", position > 0 ? position : 1);
    }
    add_proof(call, lease);
    text_add(call->out, "\n");
    if (is_held) {
        answer_deadline(call->out, lease, call->server->clock_offset);
    }
}

static void answer_refused(struct call *call, const struct acquire_request *ask,
    enum outcome outcome, const char *at_fault)
{
    char why[LINE_BYTES / 4]; /* encoded, it can be three times as long */
    struct asker asker;
    call_init_asker(call, &asker);
    why_refused(
        why, sizeof why, call->server->core, ask, &asker.viewer, outcome, at_fault, call->now);
    asker_deinit(&asker);
    answer_error_saying(call->out, outcome_code(outcome), "%s", why);
    lease_log_refused(
        call_asker(call), call->request->command, outcome_code(outcome), ask->wants[0].name);
}

/* ---- acquire, or reclaim of a lease that berthd has forgotten ---- */

/* Asks for a lease: core_acquire(), or core_reclaim_unknown() with the other members. */
struct asked {
    struct acquire_request ask;
    uint64_t id; /* 0: a new one */
    const struct saved_claim *claims; /* what it held; NULL: it waited */
};

static enum outcome ask_core(
    struct call *call, const struct asked *asked, struct lease **leasep, const char **at_faultp)
{
    struct server *server = call->server;
    struct client *client = &call->conn->client;
    return asked->id == 0 ? core_acquire(server->core, client, &asked->ask, call->now,
                                &server->effects, leasep, at_faultp)
                          : core_reclaim_unknown(server->core, client, &asked->ask, asked->id,
                                asked->claims, call->now, &server->effects, leasep, at_faultp);
}

/* These are in no bound of units_max_bytes(). */
static size_t removed_items_bytes(const struct asked *asked)
{
    size_t length = 0;
    for (size_t i = 0; asked->claims && i < asked->ask.n_wants; i++) {
        const struct saved_claim *claim = &asked->claims[i];
        struct resource *resource = asked->ask.wants[i].resource;
        for (uint32_t k = 0; k < claim->count; k++) {
            const char *item = claim->units[k].item;
            bool is_there = !item || (resource && resource_find_unit(resource, item));
            length += is_there ? 0 : strlen(item);
        }
    }
    return length;
}

static void end_lease(struct call *call, struct lease *lease, enum outcome why)
{
    struct server *server = call->server;
    core_abort_acquire(server->core, lease, why, call->now, &server->effects);
}

/* Space for the record is reserved before the grant, and the record is written before anybody hears
 * of it. */
static void command_acquire_take_lease(struct call *call, const struct asked *asked)
{
    const struct acquire_request *ask = &asked->ask;
    struct core *core = call->server->core;
    size_t units =
        units_max_bytes(core, ask->wants, ask->n_wants) + removed_items_bytes(asked);
    bool has_proof = ask->attributes.signal != 0 || ask->binding == BOUND_PROCESS;
    size_t proof = has_proof ? proof_max_bytes(ask->n_wants) : 0;
    if (answer_is_too_much(ask, units + proof)) {
        answer_error_saying(call->out, CODE_IMPOSSIBLE, ANSWER_TOO_MUCH);
        core_count_refused(call->server->core, ask, OUTCOME_IMPOSSIBLE);
        return;
    }
    bool has_numbers;
    if (!disk_wait_has_numbers(call, &has_numbers)) {
        return;
    }
    uint32_t record =
        has_numbers ? ledger_reserve(&call->server->ledger, ask, units) : RECORD_NONE;
    if (record == RECORD_NONE) {
        call_refuse(call, CODE_NO_SPACE, NULL);
        core_count_refused(call->server->core, ask, OUTCOME_NO_SPACE);
        return;
    }
    struct lease *lease;
    const char *at_fault;
    enum outcome outcome = ask_core(call, asked, &lease, &at_fault);
    if (!lease) {
        ledger_give_back(&call->server->ledger, record);
        answer_refused(call, &asked->ask, outcome, at_fault);
        return;
    }
    lease->record = record;
    ledger_commit(&call->server->ledger);
    if (lease->is_unwritten) {
        end_lease(call, lease, OUTCOME_NO_SPACE);
        call_refuse(call, CODE_NO_SPACE, NULL);
        return;
    }
    if (asked->id != 0 && lease->database != 0) {
        session_restore(fleet_session(call->server->fleet, lease->database), lease);
    }
    answer_acquired(call, lease, outcome);
    own_lease_stop_replaced(call, lease);
}

/* A waiter that may no longer use the resource is refused; a holder keeps the lease. */
static bool may_have_back(struct call *call, struct lease *lease)
{
    bool has_begun = lease->state == LEASE_HELD && !lease->is_undelivered;
    for (size_t i = 0; !has_begun && lease_is_detached(lease) && i < lease_n_named(lease); i++) {
        const struct resource *resource = lease_asked(lease, i)->resource;
        if (!call_may_use(call, resource->definition, resource->name)) {
            end_lease(call, lease, OUTCOME_FORBIDDEN);
            return false;
        }
    }
    return true;
}

/* Asks for an existing lease: core_reclaim() or core_repeat(). */
typedef enum outcome take_operation(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects);

/* A program's lease is its process's, as long as that lives: `bind` moves it. */
static bool is_its_process(struct call *call, const struct lease *lease)
{
    struct process peer;
    bool is_its = conn_bind_to_peer(call->conn, &peer) && peer.pid == lease->process.pid &&
        peer.started == lease->process.started;
    if (!is_its) {
        answer_error_saying(call->out, CODE_HELD, "it belongs to process %d: `bind` moves it",
            (int)lease->process.pid);
    }
    return is_its;
}

static void take_back(struct call *call, struct lease *lease, take_operation *operation)
{
    struct server *server = call->server;
    if (lease_is_programs(lease) && !is_its_process(call, lease)) {
        return;
    }
    if (!may_have_back(call, lease)) {
        return;
    }
    bool was_waiting = lease->state == LEASE_WAITING;
    enum outcome outcome =
        operation(server->core, &call->conn->client, lease, call->now, &server->effects);
    if (outcome == OUTCOME_HELD) {
        answer_error_saying(call->out, CODE_HELD, "it belongs to a connection that is still open");
        return;
    }
    ledger_commit(&call->server->ledger);
    if (outcome == OUTCOME_CIRCLE) {
        call_refuse(call, CODE_CIRCLE, NULL);
        return;
    }
    if (was_waiting && outcome == OUTCOME_OK && lease->is_unwritten) {
        end_lease(call, lease, OUTCOME_NO_SPACE);
        call_refuse(call, CODE_NO_SPACE, NULL);
    } else {
        answer_acquired(call, lease, outcome);
        own_lease_stop_replaced(call, lease); /* berthd may have been killed before it was told */
    }
}

/* What is a level of another name as well may have more units. */
static bool is_same_request(const struct lease *lease, const struct acquire_request *ask)
{
    bool is_same = lease_n_named(lease) == ask->n_wants, may_be_more = ask->n_wants > 1;
    for (size_t i = 0; is_same && i < ask->n_wants; i++) {
        const struct claim *claim = lease_asked(lease, i);
        const struct requested_resource *want = &ask->wants[i];
        is_same = strcmp(claim->resource->name, want->name) == 0 &&
            (claim->count == want->count || (may_be_more && claim->count > want->count)) &&
            claim->is_all == want->is_all;
    }
    return is_same;
}

/* The acquire has come before. */
static void repeat(struct call *call, const struct acquire_request *ask, struct lease *lease)
{
    if (is_same_request(lease, ask)) {
        take_back(call, lease, core_repeat);
    } else {
        answer_error_saying(
            call->out, CODE_BAD_VALUE, "once: already used for another request");
    }
}

/* Nobody needs a right to use them. */
static bool add_levels(struct call *call, uint64_t id, struct acquire_request *ask)
{
    const char *at_fault;
    size_t n_named = ask->n_wants;
    struct core *core = call->server->core;
    enum outcome outcome = core_add_levels(core, id, call->conn->client.uid, ask, &at_fault);
    if (outcome != OUTCOME_OK) {
        answer_error_saying(call->out, outcome_code(outcome), ANSWER_TOO_HIGH, at_fault);
        core_count_refused(core, ask, outcome);
        return false;
    }
    return ask->n_wants == n_named || ask_may_have_programs(call, ask, n_named);
}

void command_acquire(struct call *call)
{
    const struct request *request = call->request;
    struct asked asked = {0};
    if (!ask_parse_wants(call, request->arguments, request->n_arguments, &asked.ask, NULL) ||
        !ask_parse_attributes(call, &asked.ask)) {
        return;
    }
    struct lease *known = asked.ask.attributes.once
        ? core_find_once(call->server->core, call->conn->client.uid, asked.ask.attributes.once)
        : NULL;
    if (known) {
        repeat(call, &asked.ask, known);
    } else if (!add_levels(call, 0, &asked.ask)) {
        return;
    } else if (core_shares_all(call->server->core, call->conn->client.uid, &asked.ask) ||
        can_be_asked(call, &asked.ask)) {
        command_acquire_take_lease(call, &asked);
    }
}

/* ---- reclaim ---- */

static void proven_deinit(struct saved_lease *proven)
{
    for (size_t i = 0; i < proven->n_claims; i++) {
        free((void *)proven->claims[i].units);
    }
}

static bool parse_units(struct call *call, const struct acquire_request *ask, char *const texts[],
    struct saved_claim claims[])
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct requested_resource *want = &ask->wants[i];
        bool fits = texts[i] && want->count <= MAX_UNITS;
        if (fits) {
            struct saved_unit *units = memory_resize(NULL, want->count + 1, sizeof *units);
            claims[i].units = units; /* proven_deinit() frees them from now on */
            fits = units_parse(texts[i], definition_is_pool(want->definition), want->count, units);
        }
        if (!fits) {
            answer_error_saying(call->out, CODE_BAD_VALUE, "not COUNT units");
            return false;
        }
    }
    return true;
}

/* What the client says about the lease, except its tokens. */
static bool parse_said(struct call *call, const struct acquire_request *ask, char *const texts[],
    struct saved_lease *proven)
{
    proven->uid = call->conn->client.uid;
    proven->is_held = texts[0];
    proven->binding = ask->binding;
    proven->process = ask->process;
    proven->wrapper = ask->wrapper;
    while (proven->n_claims < ask->n_wants && !ask->wants[proven->n_claims].is_level) {
        const size_t i = proven->n_claims++;
        proven->claims[i] =
            (struct saved_claim){.name = ask->wants[i].name,
                .count = ask->wants[i].count,
                .is_all = ask->wants[i].is_all};
    }
    return !proven->is_held || parse_units(call, ask, texts, proven->claims);
}

/* If our own secret was lost as well, nothing can be compared, and no token is believed. A database
 * knows the tokens of its leases better. */
static bool was_given(
    struct call *call, const struct acquire_request *ask, struct saved_lease *proven)
{
    const struct state *state = &call->server->state;
    char *proof = (char *)call->request->keys[KEY_INDEX_proof]; /* of the line, which is ours */
    if (state->found == STATE_UNREADABLE) { /* the client comes again */
        answer_error_saying(call->out, CODE_NO_SPACE, "%s", state->why_unreadable);
        return false;
    }
    bool is_proven = proof && proof_read(proof, state->secret, proven);
    bool is_good = !state->is_old_secret || is_proven;
    bool is_fleet = ask->wants[0].definition->database != 0;
    if (!is_good) {
        answer_error_saying(
            call->out, CODE_LOST, "berthd has no record of it, and no valid proof was given");
    }
    for (size_t i = 0; (is_fleet || !state->is_old_secret) && i < proven->n_claims; i++) {
        struct saved_claim *claim = &proven->claims[i];
        claim->token = is_proven && claim->sharer != 0 ? claim->token : 0;
    }
    return is_good;
}

/* The lease also has the levels that its proof has told, as long as the file has them. If nothing
 * shows that the proof is ours, only those that a request would take now. */
static void take_levels(
    struct call *call, struct acquire_request *ask, struct saved_lease *proven)
{
    const char *at_fault;
    struct core *core = call->server->core;
    struct acquire_request now = *ask;
    core_add_levels(core, proven->id, proven->uid, &now, &at_fault);
    size_t n = ask->n_wants;
    for (size_t i = n; i < proven->n_claims; i++) {
        struct saved_claim *claim = &proven->claims[i];
        struct requested_resource want = {
            .name = claim->name, .count = claim->count, .is_level = true};
        bool is_there = core_find_want(core, &want) &&
            want.definition->database == ask->wants[0].definition->database &&
            definition_is_pool(want.definition) == claim->is_pool;
        bool is_due = call->server->state.is_old_secret;
        for (size_t k = n; !is_due && k < now.n_wants; k++) {
            is_due = strcmp(now.wants[k].name, claim->name) == 0 &&
                now.wants[k].count == claim->count;
            now.wants[k].name = is_due ? "" : now.wants[k].name; /* no other claim is to it */
        }
        if (is_there && is_due) {
            ask->wants[ask->n_wants] = want;
            proven->claims[ask->n_wants++] = *claim;
        } else {
            free((void *)claim->units);
        }
    }
    proven->n_claims = ask->n_wants;
}

/* A job whose lease is over proves nothing by what it was given. Only then: an index is made. */
static bool is_over(struct call *call, uint64_t id)
{
    bool is_over =
        core_is_closed(call->server->core) && history_has_end(call->server->history, id);
    if (is_over) {
        answer_error_saying(call->out, CODE_LOST, "it has ended");
    }
    return is_over;
}

static void reclaim_unknown(struct call *call, uint64_t id)
{
    const struct request *request = call->request;
    struct asked asked = {.id = id};
    struct saved_lease proven = {.id = id};
    char *texts[MAX_RESOURCES_PER_LEASE] = {NULL};
    if (request->keys[KEY_INDEX_ttl] && !request->keys[KEY_INDEX_bind]) {
        call_refuse(call, CODE_MALFORMED, "ttl without bind"); /* nothing proves such a lease */
        return;
    }
    if (!ask_parse_wants(
            call, request->arguments + 1, request->n_arguments - 1, &asked.ask, texts) ||
        !ask_parse_attributes(call, &asked.ask) ||
        (!texts[0] && !add_levels(call, id, &asked.ask))) {
        return;
    }
    if (!texts[0] &&
        core_is_replaced(call->server->core, call->conn->client.uid, &asked.ask, id)) {
        call_refuse(call, CODE_REPLACED, NULL);
        return;
    }
    if (parse_said(call, &asked.ask, texts, &proven) && was_given(call, &asked.ask, &proven) &&
        !is_over(call, id)) {
        if (proven.is_held) {
            take_levels(call, &asked.ask, &proven);
        }
        asked.claims = proven.is_held ? proven.claims : NULL;
        command_acquire_take_lease(call, &asked);
    }
    proven_deinit(&proven);
}

void command_reclaim(struct call *call)
{
    uint64_t id;
    if (!lease_id_parse(call->request->arguments[0], &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
        return;
    }
    struct lease *lease = core_find_lease(call->server->core, id);
    if (lease && !lease->is_ending) {
        if (call_owns(call, lease)) {
            take_back(call, lease, core_reclaim);
        }
    } else {
        reclaim_unknown(call, id);
    }
}
