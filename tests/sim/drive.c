/* drive.c - see the header. The only file here that looks into the core's structs. */
#include "drive.h"

#include "core/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The core keeps pointers to definitions until the next core_define(). */
struct definitions {
    struct definition list[MODEL_RULES];
    char items[MODEL_RULES][MODEL_UNITS][MODEL_NAME];
    char *item_pointers[MODEL_RULES][MODEL_UNITS];
    struct rules_file file;
};

struct simulation {
    struct core *core;
    struct model *model;
    struct effects effects;
    struct client clients[MODEL_CLIENTS];
    struct definitions *definitions;
    struct trace trace;
    char about[MODEL_NAME];
    struct {
        char name[MODEL_NAME];
        uint32_t in_use;
    } before[MODEL_RESOURCES]; /* the step */
    size_t n_before;
};

/* ---- to the core ---- */

static struct definitions *definitions_new(uint64_t seed)
{
    struct definitions *definitions = calloc(1, sizeof *definitions);
    rules_make(&definitions->file, seed);
    for (size_t i = 0; i < definitions->file.n; i++) {
        struct rules *rules = &definitions->file.list[i];
        for (size_t k = 0; k < rules->n_items; k++) {
            snprintf(definitions->items[i][k], MODEL_NAME, "i%u", rules->items[k]);
            definitions->item_pointers[i][k] = definitions->items[i][k];
        }
        definitions->list[i] = (struct definition){
            .name = rules->name,
            .kind = rules->kind,
            .order = rules->order,
            .selection = rules->selection,
            .limit = rules->limit,
            .items = definitions->item_pointers[i],
            .n_items = rules->n_items,
            .cooldown = rules->cooldown,
            .max_hold = NEVER,
            .kill_after = 10 * NANOSECONDS_PER_SECOND,
            .on_lost = ON_LOST_KILL,
            .max_waiters = rules->max_waiters,
            .max_units_per_user = rules->max_units_per_user,
            .max_overtakes = rules->max_overtakes,
            .max_instances = rules->max_instances,
            .max_priority = rules->max_priority,
            .identity_shared = rules->identity_shared,
        };
    }
    return definitions;
}

static void definitions_free(struct definitions *definitions)
{
    if (definitions) {
        memset(definitions, 0xaa, sizeof *definitions); /* whoever still looks will notice */
        free(definitions);
    }
}

/* ---- from the core ---- */

static uint8_t unit_number(const struct unit *unit)
{
    return (uint8_t)(unit->item ? strtoul(unit->item + 1, NULL, 10) : unit->index);
}

static struct grant grant_of(const struct lease *lease)
{
    struct grant grant = {0};
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        grant.claims[i].token = claim->token;
        const struct unit *unit = claim->units;
        for (; unit; unit = unit->next_of_claim) {
            REQUIRE(grant.claims[i].n < MODEL_UNITS, "lease %ju has too many units", lease->id);
            grant.claims[i].units[grant.claims[i].n++] = unit_number(unit);
        }
    }
    return grant;
}

static void take_effects(struct simulation *simulation)
{
    struct trace *trace = &simulation->trace;
    REQUIRE(simulation->effects.n <= MODEL_EVENTS, "%zu effects", simulation->effects.n);
    for (size_t i = 0; i < simulation->effects.n; i++) {
        const struct effect *effect = &simulation->effects.list[i];
        struct event *event = &trace->events[trace->n_events++];
        *event = (struct event){.kind = effect->kind, .why = effect->why};
        REQUIRE(!effect->lease == (effect->kind == EFFECT_DRAINED), "an effect without a lease");
        REQUIRE(!effect->client == !effect->lease, "effect and client");
        if (effect->lease) {
            event->lease = effect->lease->id;
            REQUIRE(effect->client->uid == effect->lease->uid, "an effect for another uid");
        }
        if (effect->kind == EFFECT_GRANTED) {
            REQUIRE(effect->lease->state == LEASE_HELD, "granted, but not held");
            event->grant = grant_of(effect->lease);
        }
    }
    effects_clear(&simulation->effects);
}

/* ---- operations ---- */

static void do_acquire(struct simulation *simulation, const struct operation *operation)
{
    struct trace *trace = &simulation->trace;
    const struct model_ask *wanted = &operation->ask;
    char holder[MODEL_NAME];
    struct ask ask = {
        .n_wants = wanted->n_wants,
        .wait = wanted->wait,
        .priority = wanted->priority,
        .parent = wanted->parent,
        .pid = 1,
    };
    if (wanted->holder != 0) {
        snprintf(holder, sizeof holder, "h%u", wanted->holder % 1000);
        ask.holder = holder;
    }
    for (size_t i = 0; i < wanted->n_wants; i++) {
        ask.wants[i] = (struct want){wanted->wants[i].name, wanted->wants[i].count};
    }
    struct lease *lease;
    trace->outcome = core_acquire(simulation->core, &simulation->clients[operation->client], &ask,
        operation->now, &simulation->effects, &lease, &trace->about);
    REQUIRE(!lease == (trace->outcome != OUTCOME_OK && trace->outcome != OUTCOME_WAITING),
        "outcome %d and a lease do not fit", (int)trace->outcome);
    if (lease) {
        trace->lease = lease->id;
        trace->about = NULL;
    }
    if (trace->outcome == OUTCOME_OK) {
        trace->grant = grant_of(lease);
    }
    take_effects(simulation);
    model_acquire(simulation->model, operation->client, wanted, operation->now, trace);
}

static void do_end(struct simulation *simulation, const struct operation *operation)
{
    struct lease *lease = core_find_lease(simulation->core, operation->lease);
    REQUIRE(lease, "lease %ju is not found", operation->lease);
    core_end(simulation->core, lease, &simulation->clients[operation->client], operation->now,
        &simulation->effects);
    take_effects(simulation);
    model_end(
        simulation->model, operation->lease, operation->client, operation->now, &simulation->trace);
}

static void do_client(struct simulation *simulation, const struct operation *operation)
{
    struct client *client = &simulation->clients[operation->client];
    memset(client, 0xaa, sizeof *client);
    simulation->trace.outcome = core_client_init(simulation->core, client, operation->uid);
    model_client(simulation->model, operation->client, operation->uid, &simulation->trace);
}

static void do_gone(struct simulation *simulation, const struct operation *operation)
{
    struct client *client = &simulation->clients[operation->client];
    core_client_deinit(simulation->core, client, operation->now, &simulation->effects);
    take_effects(simulation);
    memset(client, 0xaa, sizeof *client);
    model_client_gone(simulation->model, operation->client, operation->now, &simulation->trace);
}

static void do_tick(struct simulation *simulation, const struct operation *operation)
{
    core_tick(simulation->core, operation->now, &simulation->effects);
    take_effects(simulation);
    model_tick(simulation->model, operation->now, &simulation->trace);
}

static void do_change(struct simulation *simulation, const struct operation *operation)
{
    char item[MODEL_NAME];
    struct model_resource *resource = model_find_resource(simulation->model, operation->name);
    const struct rules *rules =
        resource ? &resource->rules : file_find(&simulation->model->file, operation->name);
    bool is_pool = rules && rules_are_pool(rules);
    snprintf(item, sizeof item, "%s%u", is_pool ? "i" : "", operation->number % 1000);
    struct change change = {
        .kind = operation->change, .limit = operation->number, .item = item, .reason = "why"};
    simulation->trace.outcome = core_change(
        simulation->core, operation->name, &change, operation->now, &simulation->effects);
    take_effects(simulation);
    model_change(simulation->model, operation->name, operation->change, operation->number,
        operation->now, &simulation->trace);
}

static void do_drain(struct simulation *simulation, const struct operation *operation)
{
    core_drain(simulation->core, operation->draining, operation->now, &simulation->effects);
    take_effects(simulation);
    model_drain(simulation->model, operation->draining, &simulation->trace);
}

static void do_define(struct simulation *simulation, const struct operation *operation)
{
    struct definitions *definitions = definitions_new(operation->rules_seed);
    const struct rules_file *file = &definitions->file;
    simulation->trace.outcome = core_define(simulation->core, definitions->list, file->n,
        &file->bounds, operation->now, &simulation->effects, &simulation->trace.about);
    take_effects(simulation);
    model_define(simulation->model, file, operation->now, &simulation->trace);
    if (simulation->trace.outcome == OUTCOME_OK) {
        definitions_free(simulation->definitions);
        simulation->definitions = definitions;
    } else {
        definitions_free(definitions);
    }
}

static void (*const operations[])(struct simulation *, const struct operation *) = {
    [OPERATION_ACQUIRE] = do_acquire,
    [OPERATION_END] = do_end,
    [OPERATION_CLIENT] = do_client,
    [OPERATION_GONE] = do_gone,
    [OPERATION_TICK] = do_tick,
    [OPERATION_CHANGE] = do_change,
    [OPERATION_DRAIN] = do_drain,
    [OPERATION_DEFINE] = do_define,
};

/* ---- the state after a step ---- */

static void compare_units(const struct resource *resource, const struct model_resource *expected)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        uint32_t number = unit_number(unit);
        REQUIRE(number < MODEL_UNITS && !(seen & UINT32_C(1) << number), "%s: unit %u twice",
            resource->name, number);
        seen |= UINT32_C(1) << number;
        const struct model_unit *theirs = &expected->units[number];
        uint64_t holder = unit->state == UNIT_HELD ? unit->claim->lease->id : 0;
        REQUIRE(holder == theirs->holder, "%s: unit %u is held by %ju instead of %ju",
            resource->name, number, holder, theirs->holder);
        REQUIRE((unit->state == UNIT_COOLING) == theirs->cooling, "%s: unit %u cools or not",
            resource->name, number);
        REQUIRE(unit->reserved == theirs->reserved, "%s: unit %u is reserved or not",
            resource->name, number);
        REQUIRE(unit->removed == theirs->removed, "%s: unit %u is removed or not", resource->name,
            number);
    }
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        const struct model_unit *theirs = &expected->units[i];
        bool must_be = theirs->exists || theirs->holder || theirs->cooling || theirs->reserved;
        REQUIRE(!must_be || seen & UINT32_C(1) << i, "%s: unit %u is missing", resource->name, i);
    }
}

/* `n` stand before it, aside or not. */
static void compare_place(const struct model_lease *lease, const struct resource *resource,
    const struct order_node *node, uint32_t n)
{
    const struct place *place =
        (const struct place *)(const void *)((const char *)node - offsetof(struct place, node));
    const struct claim *claim = place->claim;
    REQUIRE(claim->lease->id == lease->id && claim->resource == resource,
        "%s: lease %ju stands where %ju should", resource->name, claim->lease->id, lease->id);
    REQUIRE(claim_position(claim) == n + 1, "%s: %ju has place %u instead of %u", resource->name,
        lease->id, claim_position(claim), n + 1);
    size_t i = (size_t)(claim - claim->lease->claims);
    REQUIRE(place->overtaken == lease->claims[i].overtaken, "%s: %ju overtaken %u times, not %u",
        resource->name, lease->id, place->overtaken, lease->claims[i].overtaken);
}

/* Active and aside, each in order. */
static void compare_queues(const struct simulation *simulation, const struct resource *resource,
    const struct model_resource *expected)
{
    const struct model *model = simulation->model;
    const struct order_node *nodes[2] = {
        order_first(&resource->queue), order_first(&resource->aside)};
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        if (model_claim_on(lease, expected)) {
            const struct order_node **nodep = &nodes[lease->aside];
            REQUIRE(*nodep, "%s: lease %ju is %saside", resource->name, lease->id,
                lease->aside ? "not " : "");
            compare_place(lease, resource, *nodep, n++);
            *nodep = order_next(*nodep);
        }
    }
    REQUIRE(!nodes[0] && !nodes[1], "%s: somebody waits who should not", resource->name);
}

/* Guarantee 1, without the model: never over the limit, except where that was lowered. */
static void check_limit(const struct simulation *simulation, const struct resource *resource)
{
    uint32_t in_use = resource_in_use(resource), before = 0;
    for (size_t i = 0; i < simulation->n_before; i++) {
        if (strcmp(simulation->before[i].name, resource->name) == 0) {
            before = simulation->before[i].in_use;
        }
    }
    REQUIRE(in_use <= resource_limit(resource) || in_use <= before, "%s: %u of %u are held",
        resource->name, in_use, resource_limit(resource));
}

static void compare_resource(const struct simulation *simulation, const struct resource *resource,
    const struct model_resource *expected)
{
    check_limit(simulation, resource);
    REQUIRE(strcmp(resource->name, expected->name) == 0, "resource %s stands where %s should",
        resource->name, expected->name);
    REQUIRE(resource->is_defined == expected->defined, "%s: is it defined?", resource->name);
    REQUIRE(resource->paused == expected->paused, "%s: is it paused?", resource->name);
    REQUIRE(resource_limit(resource) == model_limit(expected), "%s: limit %u instead of %u",
        resource->name, resource_limit(resource), model_limit(expected));
    REQUIRE(resource_in_use(resource) == model_in_use(expected), "%s: %u in use instead of %u",
        resource->name, resource_in_use(resource), model_in_use(expected));
    REQUIRE(resource_available(resource) == model_available(expected),
        "%s: %u available instead of %u", resource->name, resource_available(resource),
        model_available(expected));
    REQUIRE(resource_is_blocked(resource) == model_is_blocked(expected), "%s: is it blocked?",
        resource->name);
    compare_units(resource, expected);
    compare_queues(simulation, resource, expected);
}

static void compare_resources(struct simulation *simulation)
{
    struct core_cursor cursor;
    struct resource *resource;
    size_t n = 0;
    core_cursor_init(simulation->core, &cursor);
    while ((resource = core_cursor_next(simulation->core, &cursor))) {
        REQUIRE(n < simulation->model->n_resources, "%s should be gone", resource->name);
        compare_resource(simulation, resource, simulation->model->resources[n++]);
    }
    core_cursor_deinit(simulation->core, &cursor);
    REQUIRE(n == simulation->model->n_resources, "%s is missing",
        simulation->model->resources[n]->name);
    core_cursor_init(simulation->core, &cursor);
    for (n = 0; (resource = core_cursor_next(simulation->core, &cursor)); n++) {
        strcpy(simulation->before[n].name, resource->name);
        simulation->before[n].in_use = resource_in_use(resource);
    }
    simulation->n_before = n;
    core_cursor_deinit(simulation->core, &cursor);
}

static void compare_identity(struct simulation *simulation, const struct model_lease *expected,
    const struct model_claim *claim)
{
    char holder[MODEL_NAME];
    struct resource *resource = core_find_resource(simulation->core, claim->resource->name);
    snprintf(holder, sizeof holder, "h%u", expected->holder % 1000);
    const struct lease *found =
        core_find_identity(simulation->core, resource, expected->uid, holder);
    REQUIRE(found && (found->id == expected->id || claim->resource->rules.identity_shared),
        "%s: %s of %u is not found", resource->name, holder, expected->uid);
}

static void compare_leases(struct simulation *simulation)
{
    const struct model *model = simulation->model;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *expected = model->leases[i];
        const struct lease *lease = core_find_lease(simulation->core, expected->id);
        REQUIRE(lease, "lease %ju is gone", expected->id);
        REQUIRE((lease->state == LEASE_HELD) == expected->held, "lease %ju: held or waiting?",
            expected->id);
        REQUIRE(lease->client == &simulation->clients[expected->client],
            "lease %ju has another client", expected->id);
        for (size_t k = 0; expected->holder != 0 && k < expected->n_claims; k++) {
            compare_identity(simulation, expected, &expected->claims[k]);
        }
    }
    size_t n_held = model_n_held(model);
    REQUIRE(core_n_held(simulation->core) == n_held, "%zu leases held instead of %zu",
        core_n_held(simulation->core), n_held);
    REQUIRE(core_n_waiting(simulation->core) == model->n_waiters, "%zu leases wait, not %zu",
        core_n_waiting(simulation->core), model->n_waiters);
}

void simulation_step(struct simulation *simulation, const struct operation *operation)
{
    struct trace *trace = &simulation->trace;
    trace->outcome = OUTCOME_OK;
    trace->about = NULL;
    trace->lease = 0;
    trace->n_events = trace->at = 0;
    operations[operation->kind](simulation, operation);
    core_check(simulation->core);
    compare_resources(simulation);
    compare_leases(simulation);
    nanoseconds next = core_next_deadline(simulation->core);
    REQUIRE(next == model_next_deadline(simulation->model), "the next deadline is %jd, not %jd",
        (intmax_t)next, (intmax_t)model_next_deadline(simulation->model));
}

/* ---- beginning and end ---- */

struct simulation *simulation_new(uint64_t seed)
{
    struct simulation *simulation = calloc(1, sizeof *simulation);
    struct core_options options = {.first_id = 1 + seed % 1000, .first_token = 1, .seed = seed};
    simulation->core = core_new(&options);
    simulation->model = model_new();
    return simulation;
}

const struct model *simulation_model(const struct simulation *simulation)
{
    return simulation->model;
}

static void require_all_free(const struct simulation *simulation)
{
    struct core_cursor cursor;
    struct resource *resource;
    core_cursor_init(simulation->core, &cursor);
    while ((resource = core_cursor_next(simulation->core, &cursor))) {
        REQUIRE(resource_in_use(resource) == 0 && resource_waiting(resource) == 0,
            "%s is not free at the end", resource->name);
        REQUIRE(resource->usages.n == 0, "%s knows users at the end", resource->name);
        REQUIRE(resource->is_defined, "%s is still there", resource->name);
    }
    core_cursor_deinit(simulation->core, &cursor);
    REQUIRE(core_n_held(simulation->core) == 0 && core_n_waiting(simulation->core) == 0,
        "leases without clients");
}

struct simulation *simulation_end(struct simulation *simulation, nanoseconds now)
{
    struct operation operation = {.kind = OPERATION_GONE, .now = now};
    for (; operation.client < MODEL_CLIENTS; operation.client++) {
        if (simulation->model->client_uids[operation.client] >= 0) {
            simulation_step(simulation, &operation);
        }
    }
    require_all_free(simulation);
    simulation->core = core_free(simulation->core);
    effects_deinit(&simulation->effects);
    simulation->model = model_free(simulation->model);
    definitions_free(simulation->definitions);
    free(simulation);
    return NULL;
}
