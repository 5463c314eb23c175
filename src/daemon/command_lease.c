/* command_lease.c - requests about leases: acquire, release, cancel. */
#include "daemon/answer.h"
#include "daemon/command.h"
#include "daemon/server.h"
#include "daemon/why.h"
#include "wire/text.h"

#include <stdio.h>
#include <string.h>

/* ---- acquire ---- */

/* A count that is a number, but too large for anything, is a matter for the core. */
static bool parse_count(const char *text, uint32_t *countp)
{
    uint64_t count;
    if (!number_parse(text, UINT64_MAX, &count)) {
        return false;
    }
    *countp = count < UNBOUNDED ? (uint32_t)count : UNBOUNDED;
    return true;
}

/* "NAME[:COUNT]", taken apart in place: arguments point into the line, which is ours. */
static enum code parse_want(const char *argument, struct want *want)
{
    char *colon = strchr((char *)argument, ':');
    *want = (struct want){.name = argument, .count = 1};
    if (colon) {
        *colon = '\0';
        if (!parse_count(colon + 1, &want->count)) {
            return CODE_BAD_VALUE;
        }
    }
    return name_is_valid(argument) ? CODE_NONE : CODE_BAD_VALUE;
}

static bool parse_wants(struct call *call, struct ask *ask)
{
    ask->n_wants = call->request->n_arguments;
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct want *want = &ask->wants[i];
        enum code code = parse_want(call->request->arguments[i], want);
        if (code != CODE_NONE) {
            answer_error_saying(call->out, code, "not NAME or NAME:COUNT");
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(ask->wants[k].name, want->name) == 0) {
                char why[NAME_BYTES * 2 + 64];
                snprintf(
                    why, sizeof why, "%s: named twice; ask for %s:COUNT", want->name, want->name);
                answer_error_saying(call->out, CODE_MALFORMED, why);
                return false;
            }
        }
    }
    return true;
}

static bool parse_wait(const char *value, struct ask *ask)
{
    return duration_parse(value, &ask->wait);
}

static bool parse_priority(const char *value, struct ask *ask)
{
    int64_t priority;
    if (!signed_number_parse(value, MAX_PRIORITY, &priority)) {
        return false;
    }
    ask->priority = (int32_t)priority;
    return true;
}

static bool parse_pid(const char *value, struct ask *ask)
{
    uint64_t pid;
    if (!number_parse(value, INT32_MAX, &pid) || pid == 0) {
        return false;
    }
    ask->pid = (int32_t)pid;
    return true;
}

static bool parse_parent(const char *value, struct ask *ask)
{
    return lease_id_parse(value, &ask->parent);
}

static bool parse_holder(const char *value, struct ask *ask)
{
    ask->holder = value;
    return true;
}

static bool parse_reason(const char *value, struct ask *ask)
{
    ask->reason = value;
    return true;
}

static bool parse_program(const char *value, struct ask *ask)
{
    ask->program = value;
    return true;
}

static bool (*const key_parsers[N_REQUEST_KEYS])(const char *value, struct ask *ask) = {
    [KEY_INDEX_wait] = parse_wait,
    [KEY_INDEX_priority] = parse_priority,
    [KEY_INDEX_pid] = parse_pid,
    [KEY_INDEX_parent] = parse_parent,
    [KEY_INDEX_holder] = parse_holder,
    [KEY_INDEX_reason] = parse_reason,
    [KEY_INDEX_program] = parse_program,
};

static bool parse_keys(struct call *call, struct ask *ask)
{
    for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
        const char *value = call->request->keys[key];
        if (value && !key_parsers[key](value, ask)) {
            call_refuse(call, CODE_BAD_VALUE, request_key_words[key]);
            return false;
        }
    }
    return true;
}

static bool may_use_all(struct call *call, const struct ask *ask)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        const char *name = ask->wants[i].name;
        const struct definition *definition = core_find_definition(call->server->core, name);
        if (!definition) {
            call_refuse(call, CODE_UNKNOWN, name);
            return false;
        }
        if (!call_may_use(call, definition, name)) {
            return false;
        }
    }
    return true;
}

static uint32_t largest_position(const struct lease *lease)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        uint32_t position = claim_position(&lease->claims[i]);
        largest = position > largest ? position : largest;
    }
    return largest;
}

static void answer_acquired(struct call *call, const struct lease *lease)
{
    text_add(call->out, lease->state == LEASE_HELD ? "ok " : "waiting ");
    answer_lease_id(call->out, lease);
    if (lease->state == LEASE_HELD) {
        answer_units(call->out, lease);
    } else {
        text_add_number_key(call->out, "position", largest_position(lease));
    }
    text_add(call->out, "\n");
}

void command_acquire(struct call *call)
{
    struct store *store = call->server->store;
    struct ask ask = {
        .wait = NEVER,
        .pid = call->conn->pid,
        .program = call->conn->program,
    };
    if (!parse_wants(call, &ask) || !parse_keys(call, &ask) || !may_use_all(call, &ask)) {
        return;
    }
    if (answer_longest_grant(call->server->core, &ask) > LINE_BYTES) {
        answer_error_saying(call->out, CODE_IMPOSSIBLE, "more units than one request can have");
        return;
    }
    struct lease *lease;
    const char *about;
    enum outcome outcome =
        store->ops->acquire(store, &call->conn->client, &ask, call->now, &lease, &about);
    if (lease) {
        answer_acquired(call, lease);
    } else {
        char why[LINE_BYTES / 4]; /* encoded, it can be three times as long */
        why_refused(why, sizeof why, call->server->core, &ask, call->conn->client.uid, outcome,
            about, call->now);
        answer_error_saying(call->out, outcome_code(outcome), why);
    }
}

/* ---- release, cancel ---- */

static void end_lease(struct call *call, struct lease *lease)
{
    struct store *store = call->server->store;
    if (lease && !call_owns(call, lease)) {
        return;
    }
    if (lease) {
        store->ops->end(store, lease, &call->conn->client, call->now);
    }
    call_ok(call);
}

static void end_by_id(struct call *call)
{
    uint64_t id;
    if (!lease_id_parse(call->request->arguments[0], &id)) {
        answer_error_saying(call->out, CODE_BAD_VALUE, "not a lease");
        return;
    }
    end_lease(call, core_find_lease(call->server->core, id));
}

/* A resource that is not alive has no holders. NULL with an answer, or (known) without one. */
static struct resource *find_resource(struct call *call, bool *answeredp)
{
    const char *name = call->request->arguments[0];
    *answeredp = !call_check_name(call, name);
    if (*answeredp) {
        return NULL;
    }
    struct resource *resource = core_find_resource(call->server->core, name);
    if (!resource && !core_find_definition(call->server->core, name)) {
        call_refuse(call, CODE_UNKNOWN, name);
        *answeredp = true;
    }
    return resource;
}

static void release_by_identity(struct call *call, struct resource *resource, const char *holder)
{
    struct lease *lease =
        core_find_identity(call->server->core, resource, call->conn->client.uid, holder);
    if (!lease && resource_in_use(resource) > 0) {
        call_refuse(call, CODE_NOT_HOLDER, resource->name);
        return;
    }
    end_lease(call, lease);
}

static void release_by_item(struct call *call, struct resource *resource, const char *item)
{
    if (!call_check_item(call, item)) {
        return;
    }
    struct unit *unit = resource_find_unit(resource, item);
    uint64_t slot;
    bool slot_never_used = !resource_is_pool(resource) && number_parse(item, MAX_LIMIT, &slot) &&
        slot < resource_limit(resource);
    if (!unit && !slot_never_used) {
        call_refuse(call, CODE_UNKNOWN, item);
        return;
    }
    end_lease(call, unit && unit->claim ? unit->claim->lease : NULL);
}

void command_release(struct call *call)
{
    const char *holder = call->request->keys[KEY_INDEX_holder];
    const char *item = call->request->keys[KEY_INDEX_item];
    if (!holder && !item) {
        end_by_id(call);
        return;
    }
    if (holder && item) {
        call_refuse(call, CODE_MALFORMED, "holder and item");
        return;
    }
    bool answered;
    struct resource *resource = find_resource(call, &answered);
    if (answered) {
        return;
    }
    if (!resource) {
        call_ok(call);
    } else if (holder) {
        release_by_identity(call, resource, holder);
    } else {
        release_by_item(call, resource, item);
    }
}

void command_cancel(struct call *call)
{
    end_by_id(call);
}
