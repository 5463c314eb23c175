#include "status/why.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/words.h"
#include "status/answer_lines.h"
#include "status/lease_row.h"
#include "status/resource_reasons.h"

#include <stdio.h>
#include <string.h>

/* What the explanations are made of. */
struct refusal {
    struct core *core;
    const struct acquire_request *ask;
    const struct requested_resource *want; /* the one at fault */
    const struct definition *first; /* of the first want */
    const struct resource *resource; /* of `want`; NULL if it is not alive */
    const struct definition *definition; /* of `want`; NULL if there is none */
    const struct lease *same_identity; /* that has the requested identity; or NULL */
    const struct viewer *viewer; /* who asked */
    nanoseconds now;
};

static void why_held(struct text *out, const struct refusal *refusal)
{
    const struct lease *lease = refusal->same_identity;
    const char *identity = refusal->ask->attributes.holder;
    if (lease) {
        text_add_format(out, "the identity %s already %s it, as pid %d", identity,
            lease->state == LEASE_HELD ? "has" : "waits for", refusal->viewer->pid_of(lease));
    } else {
        text_add_format(out, "the identity %s already has it", identity);
    }
}

/* As in the line of a waiting berth, which begins with the name. */
static void why_in_use(struct text *out, const struct refusal *refusal)
{
    const struct scene scene = {.core = refusal->core,
        .viewer = refusal->viewer,
        .now = refusal->now,
        .wall_now = clock_wall_now()};
    struct text brief = TEXT_INIT;
    uint32_t waiting = resource_waiting(refusal->resource);
    const struct lease *same = refusal->same_identity;
    if (refusal->ask->attributes.replace != REPLACE_NOTHING && same && lease_has_identity(same)) {
        why_held(out, refusal);
        return;
    }
    resource_brief(&brief, &scene, refusal->want->name,
        refusal->want->is_all ? WANTS_ALL : refusal->want->count);
    text_add(out, brief.bytes + strlen(refusal->want->name) + strlen(": "));
    if (waiting > 0) {
        text_add_format(out, "; %u waiting", waiting);
    }
    text_deinit(&brief);
}

static const struct claim *claim_above(const struct refusal *refusal)
{
    return core_claim_above(
        refusal->core, refusal->viewer->uid, refusal->ask, refusal->want->name);
}

static void why_ancestor(struct text *out, const struct refusal *refusal)
{
    const struct claim *above = claim_above(refusal);
    if (above) {
        char id[LEASE_ID_SIZE];
        lease_id_format(id, above->lease->id);
        bool ends = above->lease->stopping != OUTCOME_OK;
        bool can_share = !ends && refusal->want->count <= above->count &&
            (!refusal->want->is_all || above->is_all);
        text_add_format(out, "lease %s has it%s, and this request runs under that%s", id,
            ends ? ", and ends" : "", can_share ? "; --nested share uses its units" : "");
    } else {
        text_add(out, code_table[CODE_ANCESTOR].meaning);
    }
}

static void why_impossible(struct text *out, const struct refusal *refusal)
{
    const struct definition *definition = refusal->definition;
    const struct claim *above = claim_above(refusal);
    uint32_t max = refusal->resource ? resource_max(refusal->resource)
                                     : definition_limit(definition);
    uint32_t per_user = definition->max_units_per_user;
    if (refusal->want->count == 0) {
        text_add(out, "a count must be at least 1");
    } else if (refusal->want->is_all && refusal->want->count > 1) {
        text_add(out, "a lock is held alone, or shared: it has no counts");
    } else if (refusal->want->is_all && per_user != UNBOUNDED) {
        text_add_format(
            out, "all of it wanted, and one user may have %u (max-units-per-user)", per_user);
    } else if (refusal->want->is_all && above && !above->is_all) {
        text_add(out, "all of it wanted, but the lease to share with has only a part");
    } else if (above && above->count < refusal->want->count && refusal->want->count <= max &&
        refusal->want->count <= per_user) {
        text_add_format(out, "%u wanted, but the lease to share with has %u",
            refusal->want->count, above->count);
    } else if (definition_at_once(definition) < refusal->want->count) {
        text_add_format(out, "%u wanted, but its rate lets at most %u go at once (burst)",
            refusal->want->count, definition->burst);
    } else if (per_user < max) {
        text_add_format(out, "%u wanted, and one user may have at most %u", refusal->want->count,
            per_user);
    } else {
        text_add_format(out, "%u wanted, but at most %u can be granted", refusal->want->count, max);
    }
}

static void why_paused(struct text *out, const struct refusal *refusal)
{
    struct status_resource paused = {0};
    resource_set_pause(&paused, &core_pause(refusal->core, refusal->want->name)->decision);
    said_name_users(&paused, refusal->viewer);
    pause_write(out, &paused);
}

static void why_forbidden(struct text *out, const struct refusal *refusal)
{
    const struct acquire_request *ask = refusal->ask;
    const struct definition *definition = refusal->definition;
    if (ask->attributes.priority > definition->max_priority) {
        text_add_format(out, "the highest priority is %d", (int)definition->max_priority);
    } else if (ask->has_kill_after && ask->attributes.kill_after > definition->kill_after) {
        char longest[32];
        duration_format(longest, sizeof longest, definition->kill_after);
        text_add_format(out, "kill-after is at most %s", longest);
    } else {
        text_add(out, "on-lost may only be stricter than the resource's");
    }
}

static const char *scope_of(const struct definition *definition)
{
    return definition->database == 0 ? "host" : "fleet";
}

static void why_mixed(struct text *out, const struct refusal *refusal)
{
    const char *first = refusal->ask->wants[0].name;
    const struct definition *a = refusal->first, *b = refusal->definition;
    if (a->database != 0 && b->database != 0) {
        text_add_format(
            out, "it is in a different database from %s: request them separately", first);
    } else {
        text_add_format(out, "it has %s scope, and %s has %s scope: request them separately",
            scope_of(b), first, scope_of(a));
    }
}

/* "one user may have 2 units of this resource (max-units-per-user)": `rest` follows `thing`. */
static void say_bound(
    struct text *out, uint32_t bound, const char *thing, const char *rest, const char *key)
{
    text_add_format(
        out, "one user may have %u %s%s%s (%s)", bound, thing, bound == 1 ? "" : "s", rest, key);
}

/* The core says that a quota is exceeded, and nothing has changed since: which one, can be seen. */
static void why_quota(struct text *out, const struct refusal *refusal)
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
        say_bound(out, leases, "lease", ", held and waiting", "max-leases-per-user");
    } else if (is_instance && instances != UNBOUNDED) {
        say_bound(out, instances, "instance", " of templates", "max-instances-per-user");
    } else if (is_instance && (waiters == UNBOUNDED || !would_wait)) {
        bool is_one = definition->max_instances == 1;
        text_add_format(out, "there %s already %u instance%s of %s, the most allowed (%s)",
            is_one ? "is" : "are", definition->max_instances, is_one ? "" : "s", definition->name,
            "max-instances");
    } else if (!would_wait) {
        say_bound(out, definition->max_units_per_user, "unit", " of this resource",
            "max-units-per-user");
    } else {
        say_bound(out, waiters, "waiting request", "", "max-waiters-per-user");
    }
}

/* "lease 12, pid 812 (make, ada)" */
static void add_lease(struct text *out, const struct refusal *refusal, uint64_t id)
{
    const struct scene scene = {
        .core = refusal->core, .viewer = refusal->viewer, .now = refusal->now};
    const struct lease *lease = core_find_lease(refusal->core, id);
    struct lease_row row;
    char word[LEASE_ID_SIZE];
    lease_id_format(word, id);
    text_add_format(out, "lease %s", word);
    if (lease) {
        lease_row_identify(&row, lease, &scene);
        text_add(out, ", ");
        party_write(out, &row.line);
    }
}

static void add_circle_step(
    struct text *out, const struct refusal *refusal, const struct circle_step *step)
{
    if (step->ahead != 0) {
        text_add(out, "behind ");
        add_lease(out, refusal, step->ahead);
        text_add(out, ", which waits for what ");
    }
    text_add(out, step->ahead != 0 ? "" : "held by ");
    add_lease(out, refusal, step->holder);
    text_add(out, step->ahead != 0 ? " holds" : "");
}

/* "held by lease 12, pid 812 (make, ada), whose job waits for gpu, held by lease 9, pid 700 (sh,
 * bob), under which this runs" */
static void why_circle(struct text *out, const struct refusal *refusal)
{
    const struct circle *circle = core_last_circle(refusal->core);
    for (size_t i = 0; i < circle->n_steps; i++) {
        if (i > 0) {
            text_add_format(out, ", whose job waits for %s, ", circle->steps[i].resource);
        }
        add_circle_step(out, refusal, &circle->steps[i]);
    }
    bool is_known = circle->n_steps > 0;
    text_add(out, is_known ? ", under which this runs" : code_table[CODE_CIRCLE].meaning);
}

/* The outcomes that can be explained better than by their code. */
static void (*const explanations[N_OUTCOMES])(struct text *out, const struct refusal *refusal) = {
    [OUTCOME_WOULD_WAIT] = why_in_use,
    [OUTCOME_IMPOSSIBLE] = why_impossible,
    [OUTCOME_ANCESTOR] = why_ancestor,
    [OUTCOME_PAUSED] = why_paused,
    [OUTCOME_HELD] = why_held,
    [OUTCOME_FORBIDDEN] = why_forbidden,
    [OUTCOME_MIXED] = why_mixed,
    [OUTCOME_QUOTA] = why_quota,
    [OUTCOME_CIRCLE] = why_circle,
};

static const struct requested_resource *find_want(
    const struct acquire_request *ask, const char *name)
{
    for (size_t i = 0; name && i < ask->n_wants; i++) {
        if (strcmp(ask->wants[i].name, name) == 0) {
            return &ask->wants[i];
        }
    }
    return NULL;
}

/* The core names nothing where the first want's bound is met, or where others are ahead. */
static const char *name_at_fault(
    const struct core *core, const struct acquire_request *ask, enum outcome outcome)
{
    if (outcome == OUTCOME_QUOTA) {
        return ask->wants[0].name;
    }
    for (size_t i = 0; outcome == OUTCOME_WOULD_WAIT && i < ask->n_wants; i++) {
        const struct resource *resource = core_find_resource(core, ask->wants[i].name);
        if (resource && resource_waiting(resource) > 0) {
            return ask->wants[i].name;
        }
    }
    return NULL;
}

void why_refused(char *out, size_t size, struct core *core, const struct acquire_request *ask,
    const struct viewer *viewer, enum outcome outcome, const char *at_fault, nanoseconds now)
{
    at_fault = at_fault ? at_fault : name_at_fault(core, ask, outcome);
    struct resource *resource = at_fault ? core_find_resource(core, at_fault) : NULL;
    struct refusal refusal = {
        .core = core,
        .ask = ask,
        .want = find_want(ask, at_fault),
        .resource = resource,
        .first = core_find_definition(core, ask->wants[0].name),
        .definition = at_fault ? core_find_definition(core, at_fault) : NULL,
        .same_identity = resource && ask->attributes.holder
            ? core_find_identity(core, resource, viewer->uid, ask->attributes.holder)
            : NULL,
        .viewer = viewer,
        .now = now,
    };
    /* The others also occur for an instance that is not alive. */
    bool is_known = refusal.want && refusal.definition &&
        (resource || outcome != OUTCOME_WOULD_WAIT);
    struct text why = TEXT_INIT;
    text_add(&why, at_fault ? at_fault : "");
    text_add(&why, at_fault ? ": " : "");
    if (is_known && explanations[outcome]) {
        explanations[outcome](&why, &refusal);
    } else {
        text_add(&why, code_table[outcome_code(outcome)].meaning);
    }
    snprintf(out, size, "%.*s", (int)utf8_cut(why.bytes, size - 1), why.bytes);
    text_deinit(&why);
}

void why_held_for(char *out, size_t size, nanoseconds held_for)
{
    if (held_for < NANOSECONDS_PER_SECOND) {
        duration_format(out, size, held_for);
    } else {
        age_format(out, size, milliseconds(held_for));
    }
}

/* ---- by a database ---- */

/* The database's place without a password: "unix:/PATH", "HOST:PORT", "MASTER by sentinel
 * HOST:PORT". At most `size` bytes. */
static void database_place(char *out, size_t size, const struct database *database)
{
    const struct redis_url *url = &database->url;
    const struct redis_host *host = &url->hosts[0];
    switch (url->scheme) {
    case REDIS_UNIX:
        snprintf(out, size, "unix:%s", url->path);
        break;
    case REDIS_TCP:
        snprintf(out, size, "%s:%u", host->host, (unsigned)host->port);
        break;
    case REDIS_SENTINEL:
        snprintf(out, size, "%s by sentinel %s:%u%s", url->master, host->host, (unsigned)host->port,
            url->n_hosts > 1 ? ", ..." : "");
        break;
    }
}

/* The trouble without the address at its front, if the place says the same address. */
static const char *without_place(const char *trouble, const char *place)
{
    const char *address = strncmp(place, "unix:", 5) == 0 ? place + 5 : place;
    size_t n = strlen(address);
    bool is_same = strncmp(trouble, address, n) == 0 && strncmp(trouble + n, ": ", 2) == 0;
    return is_same ? trouble + n + 2 : trouble;
}

void fleet_why_new(struct text *out, const char *name, nanoseconds left)
{
    text_add(out, "is new, and grants nothing for another ");
    text_add_age(out, milliseconds(left) + 999);
    text_add_format(out,
        ", as hosts may hold leases from before (if it never held anything: berthctl found %s)",
        name);
}

/* What follows "the database `NAME` (PLACE)". */
static const struct {
    const char *text;
    bool has_trouble; /* the database's own trouble follows */
    bool is_trouble; /* its own trouble takes its place, if it has any */
} sayings[N_OUTCOMES] = {
    [OUTCOME_DOWN] = {"cannot be reached", true, false},
    [OUTCOME_DEADLINE] = {"could not be reached in time", true, false},
    [OUTCOME_GRACE] =
        {"is new or has lost its data: for now, only earlier leases can be reclaimed", false, true},
    [OUTCOME_LOST] = {"no longer has it", false, false},
    [OUTCOME_DIFFERS] = {"has another definition: make the files equal, or raise `generation`"
                         " of its section in the newer one",
        false, false},
};

void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why)
{
    char place[512];
    int n = name ? snprintf(out, size, "%s: ", name) : 0;
    size_t at = n > 0 && (size_t)n < size ? (size_t)n : 0;
    if (!sayings[why].text) {
        snprintf(out + at, size - at, "%s", code_table[outcome_code(why)].meaning);
        return;
    }
    bool is_in_trouble = trouble && trouble[0] != '\0';
    bool has_trouble = sayings[why].has_trouble && is_in_trouble;
    database_place(place, sizeof place, database);
    snprintf(out + at, size - at, "the database `%s` (%s) %s%s%s", database->name, place,
        sayings[why].is_trouble && is_in_trouble ? trouble : sayings[why].text,
        has_trouble ? ": " : "", has_trouble ? without_place(trouble, place) : "");
}
