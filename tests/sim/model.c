/* model.c - the model's operations. Each says what must come of it and compares that with the
 * trace. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct model *model_new(void)
{
    struct model *model = calloc(1, sizeof *model);
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        model->client_uids[i] = -1;
    }
    model->file.bounds = (struct user_bounds){UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    return model;
}

struct model *model_free(struct model *model)
{
    for (size_t i = 0; i < model->n_leases; i++) {
        free(model->leases[i]);
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        free(model->resources[i]);
    }
    free(model);
    return NULL;
}

static void require_outcome(const struct trace *trace, enum outcome outcome, const char *about)
{
    REQUIRE(
        trace->outcome == outcome, "outcome %d instead of %d", (int)trace->outcome, (int)outcome);
    bool same = about && trace->about ? strcmp(about, trace->about) == 0 : about == trace->about;
    REQUIRE(same, "about %s instead of %s", trace->about ? trace->about : "-", about ? about : "-");
}

/* ---- clients ---- */

void model_client(struct model *model, int client, uint32_t uid, struct trace *trace)
{
    uint32_t n = 0;
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        n += model->client_uids[i] == (int)uid;
    }
    bool fits = n < model->file.bounds.clients;
    require_outcome(trace, fits ? OUTCOME_OK : OUTCOME_QUOTA, NULL);
    model->client_uids[client] = fits ? (int)uid : -1;
    model_settle(model, trace);
}

/* The newest go first, and all that wait before those that hold. */
void model_client_gone(struct model *model, int client, nanoseconds now, struct trace *trace)
{
    model->moment++;
    for (int held = 0; held <= 1; held++) {
        for (size_t i = model->n_leases; i-- > 0;) {
            struct model_lease *lease = model->leases[i];
            if (lease->client == client && lease->held == held) {
                model_lease_leave(model, lease, now);
            }
        }
    }
    model->client_uids[client] = -1;
    model_settle(model, trace);
}

/* ---- acquire ---- */

static uint32_t instances_of(const struct model *model, const struct rules *rules)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_resources; i++) {
        const struct model_resource *resource = model->resources[i];
        n += resource->defined && resource->is_instance &&
            file_find(&model->file, resource->name) == rules;
    }
    return n;
}

static uint32_t instances_charged_to(const struct model *model, uint32_t uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_resources; i++) {
        n += model->resources[i]->charged_uid == (int)uid;
    }
    return n;
}

/* Alive, or made now. */
static enum outcome get_resource(
    struct model *model, const char *name, uint32_t uid, struct model_resource **resourcep)
{
    struct model_resource *resource = model_find_resource(model, name);
    *resourcep = resource;
    if (resource) {
        return resource->defined ? OUTCOME_OK : OUTCOME_UNKNOWN;
    }
    const struct rules *rules = file_find(&model->file, name);
    if (!rules) {
        return OUTCOME_UNKNOWN;
    }
    if (instances_of(model, rules) >= rules->max_instances ||
        instances_charged_to(model, uid) >= model->file.bounds.instances) {
        return OUTCOME_QUOTA;
    }
    *resourcep = model_resource_make(model, name, rules);
    (*resourcep)->charged_uid = (int)uid;
    return OUTCOME_OK;
}

static bool identity_is_taken(
    const struct model *model, const struct model_resource *resource, uint32_t uid, uint32_t holder)
{
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        if (holder != 0 && lease->holder == holder && model_claim_on(lease, resource) &&
            (resource->rules.identity_shared || lease->uid == uid)) {
            return true;
        }
    }
    return false;
}

/* One resource of a request: may it be asked for at all? */
static enum outcome check_want(const struct model *model, const struct model_resource *resource,
    uint32_t uid, const struct model_ask *ask, uint32_t count)
{
    if (count == 0 || count > model_most(resource) || count > resource->rules.max_units_per_user) {
        return OUTCOME_IMPOSSIBLE;
    }
    if (ask->priority > resource->rules.max_priority) {
        return OUTCOME_FORBIDDEN;
    }
    bool taken = identity_is_taken(model, resource, uid, ask->holder);
    return taken ? OUTCOME_HELD : OUTCOME_OK;
}

/* Fills in the claims of `lease`, which is in no list yet. */
static enum outcome resolve(struct model *model, const struct model_ask *ask,
    struct model_lease *lease, const char **aboutp)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct model_resource *resource;
        *aboutp = ask->wants[i].name;
        enum outcome outcome = get_resource(model, *aboutp, lease->uid, &resource);
        if (outcome == OUTCOME_OK) {
            outcome = check_want(model, resource, lease->uid, ask, ask->wants[i].count);
        }
        if (outcome != OUTCOME_OK) {
            return outcome;
        }
        lease->claims[lease->n_claims++] =
            (struct model_claim){.resource = resource, .count = ask->wants[i].count};
    }
    *aboutp = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        n += model->leases[i]->uid == lease->uid;
    }
    return n >= model->file.bounds.leases ? OUTCOME_QUOTA : OUTCOME_OK;
}

/* Even if all others gave everything back, its own ancestors would be in its way. */
static bool is_behind_ancestors(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    uint32_t units = 0, of_user = 0;
    struct model_lease *ancestor = model_find_lease(model, lease->parent);
    while (lease->parent != 0 && ancestor && ancestor->held) {
        const struct model_claim *theirs = model_claim_on(ancestor, claim->resource);
        units += theirs ? theirs->count : 0;
        of_user += theirs && ancestor->uid == lease->uid ? theirs->count : 0;
        ancestor = ancestor->parent ? model_find_lease(model, ancestor->parent) : NULL;
    }
    uint64_t most = model_most(claim->resource);
    uint64_t per_user = claim->resource->rules.max_units_per_user;
    return (units > 0 && (uint64_t)units + claim->count > most) ||
        (of_user > 0 && (uint64_t)of_user + claim->count > per_user);
}

/* For wait=0: in this order. */
static enum outcome why_not_now(
    const struct model *model, const struct model_lease *lease, const char **aboutp)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        *aboutp = lease->claims[i].resource->name;
        if (lease->claims[i].resource->paused) {
            return OUTCOME_PAUSED;
        }
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        *aboutp = lease->claims[i].resource->name;
        if (model_limit(lease->claims[i].resource) == 0) {
            return OUTCOME_CLOSED;
        }
    }
    *aboutp = NULL;
    if (model->draining) {
        return OUTCOME_DRAINING;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!model_claim_within_quota(model, lease, &lease->claims[i])) {
            *aboutp = lease->claims[i].resource->name;
            return OUTCOME_QUOTA;
        }
    }
    for (size_t i = 0; i < lease->n_claims && !*aboutp; i++) {
        if (lease->claims[i].count > model_available(lease->claims[i].resource)) {
            *aboutp = lease->claims[i].resource->name;
        }
    }
    return OUTCOME_WOULD_WAIT;
}

/* It cannot be granted now. `lease` counts as a waiter already. */
static enum outcome may_wait(const struct model *model, const struct model_lease *lease,
    const struct model_ask *ask, const char **aboutp)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        *aboutp = lease->claims[i].resource->name;
        if (is_behind_ancestors(model, lease, &lease->claims[i])) {
            return OUTCOME_ANCESTOR;
        }
    }
    if (ask->wait == 0) {
        return why_not_now(model, lease, aboutp);
    }
    uint32_t n = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_resource *resource = lease->claims[i].resource;
        *aboutp = resource->name;
        if (model_waiting(model, resource) > resource->rules.max_waiters) {
            return OUTCOME_QUEUE_FULL;
        }
    }
    *aboutp = NULL;
    for (size_t i = 0; i < model->n_waiters; i++) {
        n += model->waiters[i]->uid == lease->uid;
    }
    return n > model->file.bounds.waiters ? OUTCOME_QUOTA : OUTCOME_WAITING;
}

static void model_enter(struct model *model, struct model_lease *filled,
    const struct model_ask *ask, nanoseconds now, struct trace *trace)
{
    const char *about = NULL;
    struct model_lease *lease = model_lease_make(model);
    *lease = *filled;
    model_lease_enter(model, lease);
    model_sort(model);
    if (model_may_go(model, lease)) {
        require_outcome(trace, OUTCOME_OK, NULL);
        model_lease_grant(model, lease, &trace->grant);
        return;
    }
    enum outcome outcome = may_wait(model, lease, ask, &about);
    require_outcome(trace, outcome, about);
    if (outcome != OUTCOME_WAITING) {
        model_lease_leave(model, lease, now);
    }
}

void model_acquire(struct model *model, int client, const struct model_ask *ask, nanoseconds now,
    struct trace *trace)
{
    bool for_ever = ask->wait == 0 || ask->wait == NEVER;
    struct model_lease lease = {
        .id = trace->lease ? trace->lease : UINT64_MAX,
        .client = client,
        .uid = (uint32_t)model->client_uids[client],
        .holder = ask->holder,
        .priority = ask->priority,
        .parent = ask->parent,
        .until = for_ever ? NEVER : now + ask->wait,
    };
    const char *about;
    model->moment++;
    REQUIRE(!trace->lease || trace->lease > model->last_id, "lease %ju after %ju", trace->lease,
        model->last_id);
    model->last_id = trace->lease ? trace->lease : model->last_id;
    enum outcome outcome = resolve(model, ask, &lease, &about);
    if (outcome == OUTCOME_OK) {
        model_enter(model, &lease, ask, now, trace);
    } else {
        require_outcome(trace, outcome, about);
    }
    model_settle(model, trace);
}

void model_end(struct model *model, uint64_t id, int by, nanoseconds now, struct trace *trace)
{
    struct model_lease *lease = model_find_lease(model, id);
    model->moment++;
    if (lease->client != by) {
        const struct event *event =
            model_next_event(trace, lease->held ? EFFECT_LOST : EFFECT_DENIED);
        REQUIRE(event->lease == id &&
                event->why == (lease->held ? OUTCOME_RELEASED : OUTCOME_CANCELLED),
            "lease %ju is told that it has ended, for reason %d", event->lease, (int)event->why);
    }
    model_lease_leave(model, lease, now);
    model_settle(model, trace);
}

/* ---- changes of the rules ---- */

/* Does the rule that `why` stands for end this lease's wait? */
static bool is_to_be_denied(struct model_lease *lease, enum outcome why)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        bool impossible = claim->count > model_most(claim->resource) ||
            claim->count > claim->resource->rules.max_units_per_user;
        if (why == (claim->resource->defined ? OUTCOME_IMPOSSIBLE : OUTCOME_UNKNOWN) &&
            (impossible || !claim->resource->defined)) {
            return true;
        }
    }
    return false;
}

/* Those who can never be granted any more, in whatever order. */
static void deny_the_impossible(struct model *model, nanoseconds now, struct trace *trace)
{
    size_t n = 0;
    for (size_t i = 0; i < model->n_waiters; i++) {
        n += is_to_be_denied(model->waiters[i], OUTCOME_UNKNOWN) ||
            is_to_be_denied(model->waiters[i], OUTCOME_IMPOSSIBLE);
    }
    while (n-- > 0) {
        const struct event *event = model_next_event(trace, EFFECT_DENIED);
        struct model_lease *lease = model_find_lease(model, event->lease);
        REQUIRE(lease && !lease->held && is_to_be_denied(lease, event->why),
            "lease %ju is denied for reason %d", event->lease, (int)event->why);
        model_lease_leave(model, lease, now);
    }
}

static enum outcome change_units(
    struct model *model, struct model_resource *resource, enum change_kind kind, uint32_t number)
{
    struct model_unit *unit = &resource->units[number];
    bool is_pool = rules_are_pool(&resource->rules);
    if (kind == CHANGE_RESERVE) {
        if (is_pool ? !unit->exists || unit->removed : number >= model_limit(resource)) {
            return OUTCOME_UNKNOWN;
        }
        model_unit_reserve(model, resource, number, true);
    } else if (!is_pool) {
        if (kind == CHANGE_REMOVE || !unit->reserved) {
            return OUTCOME_KIND;
        }
        model_unit_reserve(model, resource, number, false);
    } else if (kind == CHANGE_REMOVE) {
        if (!unit->exists) {
            return OUTCOME_UNKNOWN;
        }
        model_unit_remove(resource, number);
    } else if (unit->exists) {
        model_unit_reserve(model, resource, number, false);
        unit->removed = false;
    } else {
        *unit = (struct model_unit){.exists = true, .free_since = model->moment};
        resource->order[resource->n_order++] = (uint8_t)number;
        model_resource_order_items(resource);
    }
    return OUTCOME_OK;
}

static enum outcome change(
    struct model *model, struct model_resource *resource, enum change_kind kind, uint32_t number)
{
    switch (kind) {
    case CHANGE_LIMIT:
        if (rules_are_pool(&resource->rules) || (resource->rules.kind == KIND_LOCK && number > 1)) {
            return OUTCOME_KIND;
        }
        resource->runtime_limit = number == resource->rules.limit ? -1 : (int64_t)number;
        return OUTCOME_OK;
    case CHANGE_PAUSE:
    case CHANGE_RESUME:
        resource->paused = kind == CHANGE_PAUSE;
        return OUTCOME_OK;
    case CHANGE_RESET:
        for (uint32_t unit = 0; unit < MODEL_UNITS; unit++) {
            model_unit_reserve(model, resource, unit, false);
        }
        if (rules_are_pool(&resource->rules)) {
            model_resource_reset_items(model, resource);
        }
        resource->runtime_limit = -1;
        resource->paused = false;
        return OUTCOME_OK;
    default:
        return change_units(model, resource, kind, number);
    }
}

void model_change(struct model *model, const char *name, enum change_kind kind, uint32_t number,
    nanoseconds now, struct trace *trace)
{
    struct model_resource *resource;
    model->moment++;
    enum outcome outcome = get_resource(model, name, 0, &resource);
    if (outcome == OUTCOME_OK) {
        outcome = change(model, resource, kind, number);
        deny_the_impossible(model, now, trace);
    }
    require_outcome(trace, outcome, NULL);
    model_settle(model, trace);
}

void model_drain(struct model *model, bool draining, struct trace *trace)
{
    model->draining = draining;
    model->drain_reported = false;
    model_settle(model, trace);
}

/* ---- reload ---- */

static bool is_conflict(
    const struct model *model, const struct model_resource *resource, const struct rules_file *file)
{
    const struct rules *next = file_find(file, resource->name);
    return next && rules_are_pool(next) != rules_are_pool(&resource->rules) &&
        (model_in_use(resource) > 0 || model_waiting(model, resource) > 0);
}

static void take_over_rules(
    struct model *model, struct model_resource *resource, const struct rules *next)
{
    struct rules before = resource->rules;
    resource->rules = *next;
    resource->is_instance = rules_are_template(next);
    resource->defined = true;
    resource->charged_uid = resource->is_instance ? resource->charged_uid : -1;
    if (before.limit != next->limit || resource->runtime_limit == (int64_t)next->limit ||
        (next->kind == KIND_LOCK && resource->runtime_limit > 1)) {
        resource->runtime_limit = -1;
    }
    if (before.n_items != next->n_items || memcmp(before.items, next->items, next->n_items) != 0) {
        model_resource_reset_items(model, resource);
    }
    for (uint32_t unit = 0; before.selection != next->selection && unit < MODEL_UNITS; unit++) {
        resource->units[unit].free_since = model->moment;
    }
}

/* Those of the file in its order, made if they are new; then the others. */
static void arrange(struct model *model)
{
    struct model_resource *list[MODEL_RESOURCES];
    size_t n = 0;
    for (size_t i = 0; i < model->file.n; i++) {
        const struct rules *rules = &model->file.list[i];
        if (!rules_are_template(rules)) {
            struct model_resource *resource = model_find_resource(model, rules->name);
            list[n++] = resource ? resource : model_resource_make(model, rules->name, rules);
        }
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        struct model_resource *resource = model->resources[i];
        if (!resource->defined || resource->is_instance) {
            list[n++] = resource;
        }
    }
    REQUIRE(n == model->n_resources, "the model has lost a resource");
    memcpy(model->resources, list, n * sizeof list[0]);
}

void model_define(
    struct model *model, const struct rules_file *file, nanoseconds now, struct trace *trace)
{
    bool refused = false;
    model->moment++;
    for (size_t i = 0; i < model->n_resources; i++) {
        refused |= is_conflict(model, model->resources[i], file);
    }
    if (refused) {
        const struct model_resource *about =
            trace->about ? model_find_resource(model, trace->about) : NULL;
        REQUIRE(trace->outcome == OUTCOME_KIND && about && is_conflict(model, about, file),
            "outcome %d about %s of a reload that had to be refused", (int)trace->outcome,
            trace->about ? trace->about : "-");
        model_settle(model, trace);
        return;
    }
    require_outcome(trace, OUTCOME_OK, NULL);
    model->file = *file;
    for (size_t i = 0; i < model->n_resources; i++) {
        struct model_resource *resource = model->resources[i];
        const struct rules *next = file_find(&model->file, resource->name);
        if (next && rules_are_pool(next) == rules_are_pool(&resource->rules)) {
            take_over_rules(model, resource, next);
        } else {
            resource->defined = false;
        }
    }
    deny_the_impossible(model, now, trace);
    model_pump(model, trace);
    arrange(model);
    model_settle(model, trace);
}

/* ---- time ---- */

/* The unit that is due first; NULL if none cools. */
static struct model_unit *next_cooling(const struct model *model)
{
    struct model_unit *first = NULL;
    for (size_t i = 0; i < model->n_resources; i++) {
        for (size_t k = 0; k < MODEL_UNITS; k++) {
            struct model_unit *unit = &model->resources[i]->units[k];
            bool sooner = unit->cooling &&
                (!first || unit->cooling_until < first->cooling_until ||
                    (unit->cooling_until == first->cooling_until &&
                        unit->cooling_serial < first->cooling_serial));
            first = sooner ? unit : first;
        }
    }
    return first;
}

/* Of those whose wait ends at once, the older first. */
static struct model_lease *next_timeout(const struct model *model)
{
    struct model_lease *first = NULL;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        bool sooner = !lease->held && lease->until != NEVER &&
            (!first || lease->until < first->until ||
                (lease->until == first->until && lease->id < first->id));
        first = sooner ? lease : first;
    }
    return first;
}

nanoseconds model_next_deadline(const struct model *model)
{
    const struct model_unit *unit = next_cooling(model);
    const struct model_lease *lease = next_timeout(model);
    nanoseconds cooling = unit ? unit->cooling_until : NEVER;
    nanoseconds timeout = lease ? lease->until : NEVER;
    return cooling < timeout ? cooling : timeout;
}

void model_tick(struct model *model, nanoseconds now, struct trace *trace)
{
    while (model_next_deadline(model) <= now) {
        struct model_unit *unit = next_cooling(model);
        struct model_lease *lease = next_timeout(model);
        model->moment++;
        if (unit && (!lease || unit->cooling_until <= lease->until)) {
            unit->cooling = false;
            unit->free_since = model->moment;
        } else {
            const struct event *event = model_next_event(trace, EFFECT_DENIED);
            REQUIRE(event->lease == lease->id && event->why == OUTCOME_TIMEOUT,
                "lease %ju is denied instead of %ju, for reason %d", event->lease, lease->id,
                (int)event->why);
            model_lease_leave(model, lease, now);
        }
        model_pump(model, trace);
    }
    model_settle(model, trace);
}
