#include "daemon/why.h"

#include "daemon/answer.h"

#include <stdio.h>
#include <string.h>

/* What the explanations are made of. */
struct refusal {
    const struct ask *ask;
    const struct want *want; /* the one that it is about */
    const struct resource *resource; /* of that; NULL if it is not alive */
    nanoseconds now;
};

static size_t why_in_use(char *out, size_t size, const struct refusal *refusal)
{
    const struct resource *resource = refusal->resource;
    const struct claim *holder = TAILQ_FIRST(&resource->holders);
    int n =
        snprintf(out, size, "%u of %u in use", resource_in_use(resource), resource_limit(resource));
    if (holder && (size_t)n < size) {
        const struct lease *lease = holder->lease;
        n += snprintf(out + n, size - (size_t)n, ", %spid %d (%s%suid %u%s%s) for %llds",
            TAILQ_NEXT(holder, link) ? "first by " : "by ", lease->pid,
            lease->program ? lease->program : "", lease->program ? ", " : "", lease->uid,
            lease->reason ? ", " : "", lease->reason ? lease->reason : "",
            (long long)((refusal->now - lease->granted_at) / NANOSECONDS_PER_SECOND));
    }
    return (size_t)n;
}

static size_t why_impossible(char *out, size_t size, const struct refusal *refusal)
{
    const struct resource *resource = refusal->resource;
    uint32_t most = resource_most(resource);
    uint32_t per_user = resource->definition->max_units_per_user;
    if (refusal->want->count == 0) {
        return (size_t)snprintf(out, size, "a count is at least 1");
    }
    return per_user < most
        ? (size_t)snprintf(out, size, "%u wanted, and one user may have at most %u",
              refusal->want->count, per_user)
        : (size_t)snprintf(out, size, "%u wanted, of at most %u", refusal->want->count, most);
}

static size_t why_paused(char *out, size_t size, const struct refusal *refusal)
{
    const char *reason = refusal->resource->pause_reason;
    return (size_t)snprintf(
        out, size, "an operator has paused it%s%s", reason ? ": " : "", reason ? reason : "");
}

static size_t why_held(char *out, size_t size, const struct refusal *refusal)
{
    return (size_t)snprintf(out, size, "the identity %s has it already", refusal->ask->holder);
}

static size_t why_forbidden(char *out, size_t size, const struct refusal *refusal)
{
    return (size_t)snprintf(
        out, size, "the highest priority is %d", (int)refusal->resource->definition->max_priority);
}

/* Those that can say more than their code does. */
static size_t (*const explanations[N_OUTCOMES])(
    char *out, size_t size, const struct refusal *refusal) = {
    [OUTCOME_WOULD_WAIT] = why_in_use,
    [OUTCOME_IMPOSSIBLE] = why_impossible,
    [OUTCOME_PAUSED] = why_paused,
    [OUTCOME_HELD] = why_held,
    [OUTCOME_FORBIDDEN] = why_forbidden,
};

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
    enum outcome outcome, const char *about, nanoseconds now)
{
    struct refusal refusal = {
        .ask = ask,
        .want = find_want(ask, about),
        .resource = about ? core_find_resource(core, about) : NULL,
        .now = now,
    };
    size_t n = about ? (size_t)snprintf(out, size, "%s: ", about) : 0;
    if (refusal.want && refusal.resource && explanations[outcome]) {
        explanations[outcome](out + n, size - n, &refusal);
    } else {
        snprintf(out + n, size - n, "%s", code_table[outcome_code(outcome)].meaning);
    }
}
