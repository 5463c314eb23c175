/* operation.c - random operations, biased towards interesting ones: full resources, short waits,
 * jobs that outlive their clients, and a little of everything else. */
#include "operation.h"

#include <string.h>

static void make_name(char name[MODEL_NAME], struct random *random)
{
    static const char *const names[] = {
        "a", "a", "b", "b", "c", "d", "p", "p", "q", "t/x", "t/x", "t/y", "t/z", "u/x", "u/y"};
    static const char *const wrong[] = {"z", "t", "v/x", "t/x/y"};
    bool is_wrong = random_percent(random, 1);
    strcpy(name, is_wrong ? wrong[random_below(random, 4)] : names[random_below(random, 15)]);
}

int some_client(const struct model *model, bool connected, struct random *random)
{
    int found = -1;
    uint32_t n = 0;
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        if ((model->client_uids[i] >= 0) == connected && random_below(random, ++n) == 0) {
            found = i;
        }
    }
    return found;
}

static uint64_t some_lease(const struct model *model, struct random *random)
{
    return model->n_leases == 0
        ? 0
        : model->leases[random_below(random, (uint32_t)model->n_leases)]->id;
}

static bool wants_name(const struct model_ask *ask, const char *name)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        if (strcmp(ask->wants[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t new_once(const struct model *model, struct random *random)
{
    uint32_t once = (uint32_t)(random_next(random) >> 32);
    for (size_t i = 0; i < model->n_leases; i++) {
        once = model->leases[i]->once == once ? 0 : once;
    }
    return once;
}

/* Bound to a process or to time; how the job is stopped. */
static void make_binding(struct model_ask *ask, struct random *random)
{
    uint32_t dice = random_below(random, 6);
    ask->is_programs = dice == 4;
    ask->binding = dice < 2 ? BOUND_CONNECTION : dice < 5 ? BOUND_PROCESS : BOUND_TIME;
    if (ask->binding == BOUND_TIME || (ask->is_programs && random_percent(random, 30))) {
        ask->ttl = (nanoseconds)(1 + random_below(random, 30)) * NANOSECONDS_PER_SECOND / 2;
    }
    ask->has_kill_after = random_percent(random, 10);
    if (ask->has_kill_after) {
        ask->kill_after = (nanoseconds)random_below(random, 5) * NANOSECONDS_PER_SECOND / 2;
    }
    ask->has_on_lost = random_percent(random, 10);
    if (ask->has_on_lost) {
        ask->on_lost =
            (enum on_lost)PICK(random, ON_LOST_KILL, ON_LOST_KILL, ON_LOST_TERM, ON_LOST_WARN);
    }
}

static void make_ask(struct model_ask *ask, const struct model *model, struct random *random)
{
    uint32_t n = PICK(random, 1, 1, 1, 1, 2, 2, 3);
    while (ask->n_wants < n) {
        char name[MODEL_NAME];
        make_name(name, random);
        if (!wants_name(ask, name)) {
            strcpy(ask->wants[ask->n_wants].name, name);
            ask->wants[ask->n_wants++].count = random_percent(random, 2)
                ? PICK(random, 0, 7, 5)
                : PICK(random, 1, 1, 1, 1, 1, 1, 2, 2, 3);
            ask->wants[ask->n_wants - 1].is_all =
                random_percent(random, ask->wants[ask->n_wants - 1].count == 1 ? 10 : 1);
        }
    }
    ask->wait = random_percent(random, 15) ? 0
        : random_percent(random, 50)
        ? NEVER
        : (nanoseconds)(1 + random_below(random, 40)) * NANOSECONDS_PER_SECOND / 2;
    ask->priority = (int32_t)PICK(random, 0, 0, 0, 0, 1, 2) - (int32_t)PICK(random, 0, 0, 0, 1);
    ask->holder = random_percent(random, 20) ? 1 + random_below(random, 5) : 0;
    ask->replace = ask->holder != 0 ? PICK(random, 0, 0, REPLACE_WAITING, REPLACE_RUNNING) : 0;
    ask->share = random_below(random, 3);
    ask->parent = random_percent(random, 10) ? some_lease(model, random) : 0;
    ask->once = random_percent(random, 20) ? new_once(model, random) : 0;
    make_binding(ask, random);
}

/* ---- requests under leases ---- */

static int client_of(const struct model *model, uint32_t uid)
{
    int client = MODEL_CLIENTS - 1;
    while (client >= 0 && model->client_uids[client] != (int)uid) {
        client--;
    }
    return client;
}

/* A request that runs under a held lease, as a rule for something that another lease has or waits
 * for: by chance alone, circles are rare. False if nobody holds anything. */
static bool make_nested(
    struct operation *operation, const struct model *model, struct random *random)
{
    struct model_ask *ask = &operation->ask;
    const struct model_lease *above = NULL, *other = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *lease = model->leases[i];
        bool fits = lease->held && client_of(model, lease->uid) >= 0;
        above = fits && random_below(random, ++n) == 0 ? lease : above;
        other = random_below(random, (uint32_t)i + 1) == 0 ? lease : other;
    }
    if (above) {
        operation->kind = OPERATION_ACQUIRE;
        operation->client = client_of(model, above->uid);
        make_ask(ask, model, random);
        ask->parent = above->id;
        uint32_t some = random_below(random, (uint32_t)other->n_claims);
        const char *name = other->claims[some].resource->name;
        if (random_percent(random, 70) && !wants_name(ask, name)) {
            strcpy(ask->wants[0].name, name);
        }
    }
    return above != NULL;
}

/* To replace that lease, or one that does. */
static void make_newer(struct model_ask *ask, const struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        strcpy(ask->wants[lease->n_claims - 1 - i].name, lease->claims[i].resource->name);
        ask->wants[i].count += ask->wants[i].count == 0;
    }
    ask->n_wants = lease->n_claims;
    ask->holder = lease->holder;
    ask->replace = ask->wait == NEVER ? REPLACE_RUNNING : REPLACE_WAITING;
}

/* Operators also change all instances of a template. */
static void make_changed_name(char name[MODEL_NAME], struct random *random)
{
    static const char *const templates[] = {"t/*", "t/*", "u/*"};
    if (random_percent(random, 15)) {
        strcpy(name, random_percent(random, 2) ? "v/*" : templates[random_below(random, 3)]);
    } else {
        make_name(name, random);
    }
}

static void make_change(struct operation *operation, struct random *random)
{
    static const enum change_kind kinds[] = {CHANGE_LIMIT, CHANGE_LIMIT, CHANGE_LIMIT, CHANGE_ADD,
        CHANGE_ADD, CHANGE_ADD, CHANGE_ADD, CHANGE_REMOVE, CHANGE_REMOVE, CHANGE_RESERVE,
        CHANGE_PAUSE, CHANGE_RESUME, CHANGE_RESUME, CHANGE_RESUME, CHANGE_RESUME};
    operation->kind = OPERATION_CHANGE;
    operation->change = kinds[random_below(random, sizeof kinds / sizeof kinds[0])];
    operation->number = operation->change == CHANGE_LIMIT ? PICK(random, 0, 1, 2, 3, 4, 5, 8)
                                                          : random_below(random, 6);
    operation->uid = random_percent(random, 40) ? 1 + random_below(random, MODEL_UIDS - 1) : 0;
    make_changed_name(operation->name, random);
}

/* Undoes each kind of change sooner or later, or everything would be paused in the end. */
static void make_undoing(
    struct operation *operation, const struct model *model, struct random *random)
{
    operation->kind = OPERATION_CHANGE;
    operation->change = CHANGE_RESET;
    make_changed_name(operation->name, random);
    if (model->draining) {
        operation->kind = OPERATION_DRAIN;
        operation->draining = false;
    }
}

static void make_client_operation(
    struct operation *operation, const struct model *model, struct random *random)
{
    int absent = some_client(model, false, random), present = some_client(model, true, random);
    bool comes = present < 0 || (absent >= 0 && random_percent(random, 60));
    operation->kind = comes ? OPERATION_CLIENT : OPERATION_GONE;
    operation->client = comes ? absent : present;
    operation->uid = 1 + random_below(random, MODEL_UIDS - 1);
    operation->half = !comes && random_percent(random, 20);
}

static void make_lease_operation(
    struct operation *operation, const struct model *model, struct random *random)
{
    /* Times with much and with little to do. */
    static const size_t loads[] = {2, 5, 10, 20, 40, 20, 10, 5};
    bool busy = model->n_leases >= loads[model->last_id / 64 % 8];
    operation->client = some_client(model, true, random);
    bool full = model->n_leases > MODEL_LEASES - 8;
    if (!full && random_percent(random, 20) && make_nested(operation, model, random)) {
        return;
    }
    if (model->n_leases > 0 && (full || random_percent(random, busy ? 65 : 20))) {
        operation->kind = OPERATION_END;
        operation->lease = some_lease(model, random);
        int its_client = model_find_lease(model, operation->lease)->client;
        if (its_client >= 0 && random_percent(random, 85)) {
            operation->client = its_client;
        }
    } else {
        operation->kind = OPERATION_ACQUIRE;
        make_ask(&operation->ask, model, random);
        const struct model_lease *older = model_find_lease(model, some_lease(model, random));
        if (older && older->holder != 0 && client_of(model, older->uid) >= 0) {
            operation->client = client_of(model, older->uid);
            make_newer(&operation->ask, older);
        }
    }
}

/* ---- jobs, restarts ---- */

/* A random one for which `fits` is true; NULL if there is none. */
static struct model_lease *some_lease_that(
    const struct model *model, bool (*fits)(const struct model_lease *lease), struct random *random)
{
    struct model_lease *found = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        if (fits(model->leases[i]) && random_below(random, ++n) == 0) {
            found = model->leases[i];
        }
    }
    return found;
}

static bool has_a_living_process(const struct model_lease *lease)
{
    return lease->binding == BOUND_PROCESS && lease->is_alive;
}

static bool waits(const struct model_lease *lease)
{
    return !lease->held;
}

/* The watch on a dead process has not fired yet. */
static bool is_unreported(const struct model_lease *lease)
{
    return lease->binding == BOUND_PROCESS && lease->is_watched && !lease->is_alive &&
        !lease->is_reported;
}

static bool is_absent(const struct model_lease *lease)
{
    return lease->client == CLIENT_ABSENT;
}

static bool is_detached(const struct model_lease *lease)
{
    return lease->client == CLIENT_DETACHED;
}

static bool has_once(const struct model_lease *lease)
{
    return lease->once != 0;
}

static bool make_for_lease(
    struct operation *operation, enum operation_kind kind, const struct model_lease *lease)
{
    if (lease) {
        operation->kind = kind;
        operation->lease = lease->id;
    }
    return lease != NULL;
}

/* A connection of that user, or a new one. */
static bool make_client_of(
    struct operation *operation, const struct model *model, uint32_t uid, struct random *random)
{
    uint32_t n = 0;
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        if (model->client_uids[i] == (int)uid && random_below(random, ++n) == 0) {
            operation->client = i;
        }
    }
    if (n > 0) {
        return true;
    }
    operation->client = some_client(model, false, random);
    operation->kind = operation->client < 0 ? OPERATION_TICK : OPERATION_CLIENT;
    operation->uid = uid;
    return false;
}

static void make_reclaim(struct operation *operation, const struct model *model,
    const struct model_lease *lease, struct random *random)
{
    if (make_client_of(operation, model, lease->uid, random)) {
        make_for_lease(operation, OPERATION_RECLAIM, lease);
    }
}

/* The first connection may live, read no more, or be gone; the lease may wait or be held. */
static bool make_repeat(
    struct operation *operation, const struct model *model, struct random *random)
{
    const struct model_lease *lease = some_lease_that(model, has_once, random);
    if (lease && make_client_of(operation, model, lease->uid, random)) {
        make_for_lease(operation, OPERATION_REPEAT, lease);
    }
    return lease != NULL;
}

/* Another client has been given one of its units since, or before: the proofs say when. */
static void make_conflict(
    struct operation *operation, const struct model *model, size_t want, struct random *random)
{
    const struct model_resource *resource =
        model_find_resource(model, operation->ask.wants[want].name);
    uint32_t n = 0;
    for (uint32_t i = 0; resource && i < MODEL_UNITS; i++) {
        if (resource->units[i].holder != 0 && random_below(random, ++n) == 0) {
            operation->said.units[want][0] = (uint8_t)i;
        }
    }
}

/* Its own tokens, or others; if the secret was lost too, none. */
static void make_proof(struct operation *operation, const struct model *model,
    const struct model_lease *lease, struct random *random)
{
    if (!lease->held || random_percent(random, 20)) {
        return;
    }
    uint64_t around = model->token_floor > 20 ? model->token_floor - 20 : 0;
    bool is_other = random_percent(random, 60), is_own = random_percent(random, 40);
    for (size_t i = 0; i < lease->n_claims; i++) {
        operation->said.tokens[i] =
            is_other ? around + 1 + random_below(random, 40) : lease->claims[i].token;
        if (!is_own && random_percent(random, 70)) {
            make_conflict(operation, model, i, random);
        }
    }
}

/* What its client remembers; sometimes wrong. */
static void make_reclaim_unknown(struct operation *operation, const struct model *model,
    const struct model_past *past, struct random *random)
{
    const struct model_lease *lease = &past->lease;
    if (!make_client_of(operation, model, lease->uid, random)) {
        return;
    }
    struct model_ask *ask = &operation->ask;
    operation->kind = OPERATION_RECLAIM_UNKNOWN;
    operation->lease = lease->id;
    operation->was_held = lease->held;
    size_t n = lease->n_claims;
    while (!lease->held && lease->claims[n - 1].is_level) {
        n--;
    }
    *ask = (struct model_ask){.n_wants = n,
        .wait = random_percent(random, 70) ? NEVER : 5 * NANOSECONDS_PER_SECOND,
        .priority = lease->priority,
        .holder = lease->holder,
        .replace = lease->replace,
        .share = lease->share,
        .parent = lease->parent,
        .once = lease->once,
        .binding = lease->binding,
        .is_programs = lease->is_programs,
        .ttl = lease->ttl};
    for (size_t i = 0; i < n; i++) {
        strcpy(ask->wants[i].name, past->on[i].name);
        ask->wants[i].count = lease->claims[i].count;
        ask->wants[i].is_all = lease->claims[i].is_all;
        ask->wants[i].is_level = lease->claims[i].is_level;
        memcpy(operation->said.units[i], lease->claims[i].units, sizeof operation->said.units[i]);
    }
    make_proof(operation, model, lease, random);
    size_t some = random_below(random, (uint32_t)n);
    if (random_percent(random, 10)) {
        operation->said.units[some][0] = (uint8_t)random_below(random, 8);
    } else if (random_percent(random, 5)) {
        ask->wants[some].count = 1;
        operation->was_held = random_percent(random, 50);
        for (size_t i = 0; i < n; i++) {
            operation->was_held &= ask->wants[i].count <= MODEL_UNITS;
        }
    }
}

static void make_coming_back(
    struct operation *operation, const struct model *model, struct random *random)
{
    const struct model_lease *absent = some_lease_that(model, is_absent, random);
    bool is_unknown = model->n_past > 0 && model->closed && random_percent(random, 70);
    if (is_unknown) {
        uint32_t some = random_below(random, (uint32_t)model->n_past);
        make_reclaim_unknown(operation, model, &model->past[some], random);
    } else if (absent && absent->held && random_percent(random, 10)) {
        make_for_lease(operation, OPERATION_BIND, absent);
        operation->client = some_client(model, true, random);
        operation->binding = BOUND_PROCESS;
    } else if (absent) {
        make_reclaim(operation, model, absent, random);
    }
}

static void make_restart(
    struct operation *operation, const struct model *model, struct random *random)
{
    operation->kind = OPERATION_RESTART;
    operation->rules_seed = random_percent(random, 70) ? 0 : random_next(random);
    operation->restart.closed = random_percent(random, 60);
    operation->restart.id_allocator_lose = random_percent(random, 20);
    operation->restart.keeps_changes = random_percent(random, 70);
    operation->restart.lost_percent =
        operation->restart.closed ? PICK(random, 0, 20, 50, 50, 100) : 0;
    operation->restart.seed = random_next(random);
    operation->draining = model->draining;
}

static void make_job_operation(
    struct operation *operation, const struct model *model, uint32_t dice, struct random *random)
{
    struct model_lease *any = model_find_lease(model, some_lease(model, random));
    operation->client = some_client(model, true, random);
    operation->ttl = (nanoseconds)random_below(random, 12) * NANOSECONDS_PER_SECOND;
    operation->binding = random_percent(random, 80) ? BOUND_PROCESS : BOUND_CONNECTION;
    if (dice < 30) {
        make_for_lease(
            operation, OPERATION_DIES, some_lease_that(model, has_a_living_process, random));
    } else if (dice < 36) {
        make_for_lease(operation, OPERATION_REVOKE, any);
    } else if (dice < 41) {
        make_for_lease(operation, OPERATION_WITHDRAW, any);
    } else if (dice < 45) {
        make_for_lease(operation, OPERATION_DROP, any);
    } else if (dice < 65) {
        make_for_lease(operation, OPERATION_RENEW, any);
    } else if (dice < 72) {
        make_for_lease(operation, OPERATION_BIND, any);
    } else {
        const struct model_lease *detached = some_lease_that(model, is_detached, random);
        const struct model_lease *back = detached && dice < 90 ? detached : any;
        if (back) {
            make_reclaim(operation, model, back, random);
        }
    }
}

void operation_make(
    struct operation *operation, const struct model *model, nanoseconds now, struct random *random)
{
    uint32_t dice = random_below(random, 1000);
    static const uint32_t back_percents[] = {6, 30, 80}; /* in some graces most come late */
    uint32_t back_percent = back_percents[model->first_id % 3];
    *operation = (struct operation){.now = now, .kind = OPERATION_TICK};
    if (random_percent(random, 30)) {
        operation->now += (nanoseconds)random_below(random, 1000) * 1000000;
    }
    if (model_rate_due(model) <= operation->now) {
        return; /* else the core would decide at the next change */
    }
    if (random_percent(random, 40) &&
        make_for_lease(
            operation, OPERATION_REPORTED, some_lease_that(model, is_unreported, random))) {
        return;
    }
    if (random_percent(random, 4) && make_repeat(operation, model, random)) {
        return;
    }
    if (dice < 20 || some_client(model, true, random) < 0) {
        make_client_operation(operation, model, random);
    } else if (model_grace_until(model) != NEVER && random_percent(random, back_percent)) {
        make_coming_back(operation, model, random);
    } else if (dice < 658) {
        make_lease_operation(operation, model, random);
    } else if (dice < 661) {
        make_restart(operation, model, random);
    } else if (dice < 761) {
        make_job_operation(operation, model, dice - 661, random);
    } else if (dice < 840) {
        operation->now += (nanoseconds)random_below(random, 4) * NANOSECONDS_PER_SECOND;
    } else if (dice < 935) {
        make_change(operation, random);
    } else if (dice < 950) {
        make_for_lease(operation, OPERATION_MOVE, some_lease_that(model, waits, random));
        operation->is_first = dice < 944;
    } else if (dice < 985) {
        make_undoing(operation, model, random);
    } else if (dice < 988) {
        operation->kind = OPERATION_DRAIN;
        operation->draining = random_percent(random, 50);
    } else {
        operation->kind = OPERATION_DEFINE;
        operation->rules_seed = random_next(random);
    }
}
