#include "status/why.h"

#include "base/utf8.h"
#include "base/words.h"
#include "status/answer_lines.h"
#include "status/resource_reasons.h"

#include <stdio.h>
#include <string.h>

/* What the explanations are made of. */
struct refusal {
    struct core *core;
    const struct ask *ask;
    const struct want *want; /* the one at fault */
    const struct definition *first; /* of the first want */
    const struct resource *resource; /* of `want`; NULL if it is not alive */
    const struct definition *definition; /* of `want`; NULL if there is none */
    const struct lease *same_identity; /* that has the requested identity; or NULL */
    const struct viewer *viewer; /* who asked */
    nanoseconds now;
};

/* As in the line of a waiting berth, which begins with the name. */
static size_t why_in_use(char *out, size_t size, const struct refusal *refusal)
{
    const struct scene scene = {
        .core = refusal->core, .viewer = refusal->viewer, .now = refusal->now};
    struct text brief = TEXT_INIT;
    uint32_t waiting = resource_waiting(refusal->resource);
    resource_brief(&brief, &scene, refusal->want->name, refusal->want->count);
    if (waiting > 0) {
        text_add_format(&brief, "; %u waiting", waiting);
    }
    size_t skip = strlen(refusal->want->name) + strlen(": ");
    size_t n = brief.length > skip ? utf8_cut(brief.bytes + skip, size - 1) : 0;
    memcpy(out, n > 0 ? brief.bytes + skip : "", n);
    out[n] = '\0';
    text_deinit(&brief);
    return n;
}

static size_t why_impossible(char *out, size_t size, const struct refusal *refusal)
{
    const struct definition *definition = refusal->definition;
    uint32_t in_file =
        definition_is_pool(definition) ? (uint32_t)definition->n_items : definition->limit;
    uint32_t max = refusal->resource ? resource_max(refusal->resource) : in_file;
    uint32_t per_user = definition->max_units_per_user;
    if (refusal->want->count == 0) {
        return (size_t)snprintf(out, size, "a count is at least 1");
    }
    return per_user < max
        ? (size_t)snprintf(out, size, "%u wanted, and one user may have at most %u",
              refusal->want->count, per_user)
        : (size_t)snprintf(out, size, "%u wanted, of at most %u", refusal->want->count, max);
}

static size_t why_paused(char *out, size_t size, const struct refusal *refusal)
{
    struct text text = TEXT_INIT;
    struct status_resource paused = {0};
    resource_set_pause(&paused, true, core_pause_reason(refusal->core, refusal->want->name),
        core_paused_by(refusal->core, refusal->want->name));
    pause_name_users(&paused, refusal->viewer);
    pause_write(&text, &paused);
    size_t n = (size_t)snprintf(out, size, "%s", text.bytes);
    text_deinit(&text);
    return n;
}

static size_t why_held(char *out, size_t size, const struct refusal *refusal)
{
    const struct lease *lease = refusal->same_identity;
    const char *identity = refusal->ask->terms.holder;
    if (!lease) {
        return (size_t)snprintf(out, size, "the identity %s already has it", identity);
    }
    return (size_t)snprintf(out, size, "the identity %s already %s it, as pid %d", identity,
        lease->state == LEASE_HELD ? "has" : "waits for", refusal->viewer->pid_of(lease));
}

static size_t why_forbidden(char *out, size_t size, const struct refusal *refusal)
{
    const struct ask *ask = refusal->ask;
    const struct definition *definition = refusal->definition;
    if (ask->terms.priority > definition->max_priority) {
        return (size_t)snprintf(
            out, size, "the highest priority is %d", (int)definition->max_priority);
    }
    if (ask->has_kill_after && ask->terms.kill_after > definition->kill_after) {
        char longest[32];
        duration_format(longest, sizeof longest, definition->kill_after);
        return (size_t)snprintf(out, size, "kill-after is at most %s", longest);
    }
    return (size_t)snprintf(out, size, "on-lost may only be stricter than the resource's");
}

static const char *scope_of(const struct definition *definition)
{
    return definition->database == 0 ? "of this host alone" : "of the fleet";
}

static size_t why_mixed(char *out, size_t size, const struct refusal *refusal)
{
    const char *first = refusal->ask->wants[0].name;
    const struct definition *a = refusal->first, *b = refusal->definition;
    return a->database != 0 && b->database != 0
        ? (size_t)snprintf(
              out, size, "it is kept in another database than %s: ask for each by itself", first)
        : (size_t)snprintf(out, size, "it is %s, and %s is %s: ask for each by itself", scope_of(b),
              first, scope_of(a));
}

/* "one user may have 2 units of this resource (max-units-per-user)": `rest` follows `thing`. */
static size_t say_bound(char *out, size_t size, uint32_t bound, const char *thing, const char *rest,
    const char *key)
{
    return (size_t)snprintf(out, size, "one user may have %u %s%s%s (%s)", bound, thing,
        bound == 1 ? "" : "s", rest, key);
}

/* The core says that a quota is exceeded, and nothing has changed since: which one, can be seen. */
static size_t why_quota(char *out, size_t size, const struct refusal *refusal)
{
    const struct core *core = refusal->core;
    const struct definition *definition = refusal->definition;
    uint32_t uid = refusal->viewer->uid;
    uint32_t leases = core_user_bound_met(core, uid, ACCOUNT_LEASES);
    uint32_t instances = core_user_bound_met(core, uid, ACCOUNT_INSTANCES);
    uint32_t waiters = core_user_bound_met(core, uid, ACCOUNT_WAITERS);
    bool is_instance = !refusal->resource && definition;
    bool would_wait = refusal->ask->wait != 0 || !definition ||
        definition->database != 0; /* until the database answers */
    if (leases != UNBOUNDED) {
        return say_bound(out, size, leases, "lease", ", held and waiting", "max-leases-per-user");
    } else if (is_instance && instances != UNBOUNDED) {
        return say_bound(
            out, size, instances, "instance", " of templates", "max-instances-per-user");
    } else if (is_instance && (waiters == UNBOUNDED || !would_wait)) {
        bool is_one = definition->max_instances == 1;
        return (size_t)snprintf(out, size,
            "there %s %u instance%s of %s, as many as it may have (%s)", is_one ? "is" : "are",
            definition->max_instances, is_one ? "" : "s", definition->name, "max-instances");
    } else if (!would_wait) {
        return say_bound(out, size, definition->max_units_per_user, "unit", " of this resource",
            "max-units-per-user");
    }
    return say_bound(out, size, waiters, "waiting request", "", "max-waiters-per-user");
}

/* The outcomes that can be explained better than by their code. */
static size_t (*const explanations[N_OUTCOMES])(
    char *out, size_t size, const struct refusal *refusal) = {
    [OUTCOME_WOULD_WAIT] = why_in_use,
    [OUTCOME_IMPOSSIBLE] = why_impossible,
    [OUTCOME_PAUSED] = why_paused,
    [OUTCOME_HELD] = why_held,
    [OUTCOME_FORBIDDEN] = why_forbidden,
    [OUTCOME_MIXED] = why_mixed,
    [OUTCOME_QUOTA] = why_quota,
};

/* The others also occur for an instance that is not alive. */
static bool needs_resource(enum outcome outcome)
{
    return outcome == OUTCOME_WOULD_WAIT;
}

static const struct want *find_want(const struct ask *ask, const char *name)
{
    for (size_t i = 0; name && i < ask->n_wants; i++) {
        if (strcmp(ask->wants[i].name, name) == 0) {
            return &ask->wants[i];
        }
    }
    return NULL;
}

void why_refused(char *out, size_t size, struct core *core, const struct ask *ask,
    const struct viewer *viewer, enum outcome outcome, const char *at_fault, nanoseconds now)
{
    at_fault = at_fault || outcome != OUTCOME_QUOTA ? at_fault : ask->wants[0].name;
    struct resource *resource = at_fault ? core_find_resource(core, at_fault) : NULL;
    struct refusal refusal = {
        .core = core,
        .ask = ask,
        .want = find_want(ask, at_fault),
        .resource = resource,
        .first = core_find_definition(core, ask->wants[0].name),
        .definition = at_fault ? core_find_definition(core, at_fault) : NULL,
        .same_identity = resource && ask->terms.holder
            ? core_find_identity(core, resource, viewer->uid, ask->terms.holder)
            : NULL,
        .viewer = viewer,
        .now = now,
    };
    size_t n = at_fault ? (size_t)snprintf(out, size, "%s: ", at_fault) : 0;
    bool is_known = refusal.want && refusal.definition && (resource || !needs_resource(outcome));
    if (is_known && explanations[outcome]) {
        explanations[outcome](out + n, size - n, &refusal);
    } else {
        snprintf(out + n, size - n, "%s", code_table[outcome_code(outcome)].meaning);
    }
}

void why_held_for(char *out, size_t size, nanoseconds held_for)
{
    if (held_for < NANOSECONDS_PER_SECOND) {
        duration_format(out, size, held_for);
    } else {
        age_format(out, size, milliseconds(held_for));
    }
}

void why_max_hold(char *out, size_t size, const char *what, nanoseconds held_for)
{
    char span[32];
    why_held_for(span, sizeof span, held_for);
    snprintf(out, size, "%s: held for %s, as long as max-hold allows", what, span);
}
