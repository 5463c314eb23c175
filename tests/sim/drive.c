/* drive.c - see the header: what clients, operators and time do. */
#include "drive_internal.h"

#include "../unit/core_remember.h"
#include "core/internal.h"
#include "journal/record.h"
#include "tests/core_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        for (size_t k = 0; k < rules->n_levels; k++) {
            definitions->levels[i][k] = (struct level){
                .name = rules->levels[k].name, .count = rules->levels[k].count};
        }
        definitions->list[i] = (struct definition){
            .name = rules->name,
            .kind = rules->kind,
            .order = rules->order,
            .selection = rules->selection,
            .limit = rules->limit,
            .items = definitions->item_pointers[i],
            .n_items = rules->n_items,
            .levels = definitions->levels[i],
            .n_levels = rules->n_levels,
            .cooldown = rules->cooldown,
            .rate = rules->rate,
            .burst = rules->burst,
            .keep = rules->keep,
            .max_waiters = rules->max_waiters,
            .max_units_per_user = rules->max_units_per_user,
            .max_overtakes = rules->max_overtakes,
            .max_instances = rules->max_instances,
            .max_priority = rules->max_priority,
            .identity_shared = rules->identity_shared,
            .fair_by_share = rules->fair_by_share,
            .max_hold = rules->max_hold,
            .kill_after = rules->kill_after,
            .on_lost = rules->on_lost,
        };
    }
    return definitions;
}

static void definitions_free(struct definitions *definitions)
{
    if (definitions) {
        memset(definitions, 0xaa, sizeof *definitions); /* a core that still looks will notice */
        free(definitions);
    }
}

/* ---- from the core ---- */

uint8_t unit_number(const struct unit *unit)
{
    return (uint8_t)(unit->item ? strtoul(unit->item + 1, NULL, 10) : unit->index);
}

struct grant grant_of(const struct lease *lease)
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

void begin_trace(struct simulation *simulation)
{
    struct trace *trace = &simulation->trace;
    trace->outcome = OUTCOME_OK;
    trace->at_fault = NULL;
    trace->lease = 0;
    trace->n_events = trace->at = 0;
}

static int client_number(const struct simulation *simulation, const struct client *client)
{
    return client ? (int)(client - simulation->clients) : -1;
}

static void take_effect(struct simulation *simulation, const struct effect *effect)
{
    struct trace_event *event = &simulation->trace.events[simulation->trace.n_events++];
    const struct lease *lease = effect->lease;
    *event = (struct trace_event){.kind = effect->kind,
        .why = effect->why,
        .lease = lease ? lease->id : 0,
        .client = client_number(simulation, effect->client),
        .signal = effect->signal};
    REQUIRE(!lease == (effect->kind == EFFECT_DRAINED), "an effect without a lease");
    REQUIRE(event->client < MODEL_CLIENTS, "an effect for a client that is none");
    REQUIRE(!effect->client || effect->client->uid == lease->uid, "an effect for another uid");
    if (effect->kind == EFFECT_GRANTED) {
        REQUIRE(lease->state == LEASE_HELD, "granted, but not held");
        event->grant = grant_of(lease);
    }
}

void record_clear(struct record *record)
{
    forget(record->saved);
    free(record->text);
    *record = (struct record){.saved = NULL};
}

struct record *find_free_record(struct simulation *simulation)
{
    for (size_t i = 0; i < N_RECORDS; i++) {
        struct record *record = &simulation->records[i];
        if (record->cooldown_until != 0 && record->cooldown_until <= simulation->now) {
            record_clear(record);
        }
        if (!record->saved) {
            return record;
        }
    }
    return NULL;
}

static char *text_of(const struct lease *lease)
{
    struct text text = TEXT_INIT;
    record_write(&text, lease, NULL, true);
    return text_take(&text);
}

/* A journal that hears only of changes. */
static void write_down(struct simulation *simulation, struct lease *lease)
{
    struct record *record = lease->record != 0 ? &simulation->records[lease->record - 1] : NULL;
    if (lease->state == LEASE_ENDED && record) {
        record->cooldown_until = core_note_rest(lease, record->saved);
        if (record->cooldown_until == 0) {
            record_clear(record);
        }
    } else if (lease->state != LEASE_ENDED) {
        record = record ? record : find_free_record(simulation);
        REQUIRE(record, "too many records for the simulation");
        record_clear(record);
        *record = (struct record){.saved = remember(lease), .text = text_of(lease)};
        lease->record = (uint32_t)(record - simulation->records) + 1;
    }
}

void take_effects(struct simulation *simulation)
{
    struct effects *effects = &simulation->effects;
    REQUIRE(effects->n <= MODEL_EVENTS, "%zu effects", effects->n);
    for (size_t i = 0; i < effects->n; i++) {
        take_effect(simulation, &effects->list[i]);
    }
    for (struct lease *lease = effects->ended; lease; lease = lease->next_ended) {
        histories_ended(simulation, lease);
        write_down(simulation, lease);
    }
    for (struct lease *lease = effects->changed; lease; lease = lease->next_changed) {
        if (lease->state != LEASE_ENDED) {
            write_down(simulation, lease);
        }
    }
    effects_clear(effects);
}

struct lease *find_lease(const struct simulation *simulation, uint64_t id)
{
    struct lease *lease = core_find_lease(simulation->core, id);
    REQUIRE(lease, "lease %ju is not found", id);
    return lease;
}

/* ---- operations ---- */

const char *once_text(char text[16], uint32_t once)
{
    snprintf(text, 16, "o%u", once);
    return text;
}

/* Each job is a process of its own. */
void core_ask_init(struct core_ask *out, struct simulation *simulation, const struct model_ask *ask)
{
    int32_t pid = ++simulation->last_pid;
    out->ask = (struct acquire_request){
        .n_wants = ask->n_wants,
        .wait = ask->wait,
        .attributes = {.priority = ask->priority,
            .kill_after = ask->kill_after,
            .on_lost = (uint8_t)ask->on_lost,
            .signal = ask->is_programs ? 0 : SIGNAL_TERM,
            .parent = ask->parent,
            .replace = (uint8_t)ask->replace},
        .pid = pid,
        .binding = ask->binding,
        .ttl = ask->ttl,
        .has_kill_after = ask->has_kill_after,
        .has_on_lost = ask->has_on_lost,
    };
    if (ask->binding == BOUND_PROCESS) {
        out->ask.process = (struct process){.pid = pid, .started = (uint64_t)pid * 3};
    }
    if (ask->holder != 0) {
        snprintf(out->holder, sizeof out->holder, "h%u", ask->holder % 1000);
        out->ask.attributes.holder = out->holder;
    }
    if (ask->share != 0) {
        snprintf(out->share, sizeof out->share, "w%u", ask->share % 10);
        out->ask.attributes.share = out->share;
    }
    if (ask->once != 0) {
        out->ask.attributes.once = once_text(out->once, ask->once);
    }
    for (size_t i = 0; i < ask->n_wants; i++) {
        out->ask.wants[i] =
            (struct requested_resource){.name = ask->wants[i].name,
                .count = ask->wants[i].count,
                .is_all = ask->wants[i].is_all,
                .is_level = ask->wants[i].is_level};
    }
}

static void do_acquire(struct simulation *simulation, const struct operation *operation)
{
    struct trace *trace = &simulation->trace;
    const struct model_ask *wanted = &operation->ask;
    struct core_ask ask;
    core_ask_init(&ask, simulation, wanted);
    struct lease *lease;
    trace->outcome = core_acquire(simulation->core, &simulation->clients[operation->client],
        &ask.ask, operation->now, &simulation->effects, &lease, &trace->at_fault);
    REQUIRE(!lease == (trace->outcome != OUTCOME_OK && trace->outcome != OUTCOME_WAITING),
        "outcome %d and a lease do not fit", (int)trace->outcome);
    if (lease) {
        trace->lease = lease->id;
        trace->at_fault = NULL;
    }
    if (trace->outcome == OUTCOME_OK) {
        trace->grant = grant_of(lease);
    }
    take_effects(simulation);
    uint64_t id = lease ? lease->id : 0;
    model_acquire(simulation->model, operation->client, wanted);
    const struct lease *found = core_find_lease(simulation->core, id);
    const struct lease *running = found ? core_replaced_holder(simulation->core, found) : NULL;
    REQUIRE((running ? running->id : 0) == model_replaced_holder(simulation->model, id),
        "%ju is to stop %ju", (uintmax_t)id, (uintmax_t)(running ? running->id : 0));
}

static void do_end(struct simulation *simulation, const struct operation *operation)
{
    struct lease *lease = find_lease(simulation, operation->lease);
    histories_told(simulation, lease->id);
    core_end(simulation->core, lease, &simulation->clients[operation->client], operation->now,
        &simulation->effects);
    take_effects(simulation);
    model_end(simulation->model, operation->lease, operation->client);
}

static void do_client(struct simulation *simulation, const struct operation *operation)
{
    struct client *client = &simulation->clients[operation->client];
    memset(client, 0xaa, sizeof *client);
    simulation->trace.outcome = core_client_init(simulation->core, client, operation->uid);
    model_client(simulation->model, operation->client, operation->uid);
}

static void do_gone(struct simulation *simulation, const struct operation *operation)
{
    struct client *client = &simulation->clients[operation->client];
    (operation->half ? core_client_end_leases : core_client_deinit)(
        simulation->core, client, operation->now, &simulation->effects);
    take_effects(simulation);
    if (!operation->half) {
        memset(client, 0xaa, sizeof *client);
    }
    model_client_gone(simulation->model, operation->client, operation->half);
}

static void do_tick(struct simulation *simulation, const struct operation *operation)
{
    simulation->model->rate_now = simulation->core->meters.now; /* of the last that settled */
    core_tick(simulation->core, operation->now, &simulation->effects);
    take_effects(simulation);
    model_tick(simulation->model);
}

void do_change(struct simulation *simulation, const struct operation *operation)
{
    char item[MODEL_NAME];
    struct model_resource *resource = model_find_resource(simulation->model, operation->name);
    const struct rules *rules =
        resource ? &resource->rules : file_find(&simulation->model->file, operation->name);
    bool is_pool = rules && rules_are_pool(rules);
    snprintf(item, sizeof item, "%s%u", is_pool ? "i" : "", operation->number % 1000);
    struct change change = {.kind = operation->change,
        .limit = operation->number,
        .item = item,
        .reason = "why",
        .is_charged = operation->uid != 0,
        .payer = operation->uid,
        .is_old = operation->is_old};
    simulation->trace.outcome = core_change(
        simulation->core, operation->name, &change, operation->now, &simulation->effects);
    take_effects(simulation);
    model_change(simulation->model, operation->name, &change, operation->number);
}

void do_drain(struct simulation *simulation, const struct operation *operation)
{
    core_drain(simulation->core, operation->draining, operation->now, &simulation->effects);
    take_effects(simulation);
    model_drain(simulation->model, operation->draining);
}

void do_define(struct simulation *simulation, const struct operation *operation)
{
    struct definitions *definitions = definitions_new(operation->rules_seed);
    const struct rules_file *file = &definitions->file;
    simulation->trace.outcome = core_define(simulation->core, definitions->list, file->n,
        &file->bounds, operation->now, &simulation->effects, &simulation->trace.at_fault);
    take_effects(simulation);
    model_define(simulation->model, file);
    if (simulation->trace.outcome == OUTCOME_OK) {
        definitions_free(simulation->definitions);
        simulation->definitions = definitions;
        simulation->rules_seed = operation->rules_seed;
    } else {
        definitions_free(definitions);
    }
}

/* The core learns of it only when the watch fires, if there is one. */
static void do_dies(struct simulation *simulation, const struct operation *operation)
{
    model_find_lease(simulation->model, operation->lease)->is_alive = false;
}

static const struct {
    enum outcome why; /* a user takes it; OUTCOME_OK: its process is gone */
    void (*model)(struct model *, uint64_t);
} lease_operations[] = {
    [OPERATION_REPORTED] = {OUTCOME_OK, model_process_gone},
    [OPERATION_REVOKE] = {OUTCOME_REVOKED, model_revoke},
    [OPERATION_WITHDRAW] = {OUTCOME_WITHDRAWN, model_withdraw},
    [OPERATION_DROP] = {OUTCOME_DROPPED, model_drop},
};

static void do_to_lease(struct simulation *simulation, const struct operation *operation)
{
    struct lease *lease = find_lease(simulation, operation->lease);
    enum outcome why = lease_operations[operation->kind].why;
    if (why == OUTCOME_OK) {
        core_process_exited(simulation->core, lease, operation->now, &simulation->effects);
    } else {
        if (why == OUTCOME_DROPPED || core_would_stop(lease, why)) {
            histories_taken(simulation, operation->lease);
        }
        core_revoke(simulation->core, lease, why, NULL, operation->now, &simulation->effects);
    }
    take_effects(simulation);
    lease_operations[operation->kind].model(simulation->model, operation->lease);
}

static void do_move(struct simulation *simulation, const struct operation *operation)
{
    core_move(simulation->core, find_lease(simulation, operation->lease), operation->is_first,
        operation->now, &simulation->effects);
    take_effects(simulation);
    model_move(simulation->model, operation->lease, core_last_number(simulation->core),
        operation->is_first);
}

static void do_renew(struct simulation *simulation, const struct operation *operation)
{
    simulation->trace.outcome =
        core_renew(simulation->core, find_lease(simulation, operation->lease), operation->ttl,
            operation->now, &simulation->effects);
    take_effects(simulation);
    model_renew(simulation->model, operation->lease, operation->ttl);
}

static void do_bind(struct simulation *simulation, const struct operation *operation)
{
    int32_t pid = ++simulation->last_pid;
    struct process process = {.pid = pid, .started = (uint64_t)pid * 3};
    simulation->trace.outcome = lease_bind(find_lease(simulation, operation->lease),
        &simulation->clients[operation->client], operation->binding, &process,
        &simulation->effects);
    take_effects(simulation);
    model_bind(simulation->model, operation->lease, operation->client, operation->binding);
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
    [OPERATION_DIES] = do_dies,
    [OPERATION_REPORTED] = do_to_lease,
    [OPERATION_REVOKE] = do_to_lease,
    [OPERATION_WITHDRAW] = do_to_lease,
    [OPERATION_DROP] = do_to_lease,
    [OPERATION_MOVE] = do_move,
    [OPERATION_RENEW] = do_renew,
    [OPERATION_BIND] = do_bind,
    [OPERATION_RESTART] = do_restart,
    [OPERATION_RECLAIM] = do_reclaim,
    [OPERATION_REPEAT] = do_repeat,
    [OPERATION_RECLAIM_UNKNOWN] = do_reclaim_unknown,
};

void simulation_step(struct simulation *simulation, const struct operation *operation)
{
    begin_trace(simulation);
    simulation->now = operation->now;
    model_begin(simulation->model, operation->now);
    simulation->brings_proof = operation->kind == OPERATION_RECLAIM_UNKNOWN &&
        operation->was_held && operation->said.tokens[0] != 0;
    operations[operation->kind](simulation, operation);
    compare_all(simulation);
    histories_compare(simulation);
}

/* ---- beginning and end ---- */

struct simulation *simulation_new(uint64_t seed)
{
    struct simulation *simulation = calloc(1, sizeof *simulation);
    simulation->core = core_new(seed);
    core_begin_numbers(simulation->core, 1 + seed % 1000);
    simulation->model = model_new(&simulation->trace);
    simulation->last_pid = 1; /* the record of a lease that is bound to process 1 is not read */
    histories_begin(simulation);
    return simulation;
}

const struct model *simulation_model(const struct simulation *simulation)
{
    return simulation->model;
}

/* All processes end, then all time runs out: nothing is left to hold. */
static void end_jobs(struct simulation *simulation, nanoseconds now)
{
    struct operation operation = {.kind = OPERATION_DIES, .now = now};
    for (size_t i = simulation->model->n_leases; i-- > 0;) {
        const struct model_lease *lease = simulation->model->leases[i];
        operation.lease = lease->id;
        if (lease->binding == BOUND_PROCESS) {
            operation.kind = OPERATION_DIES;
            simulation_step(simulation, &operation);
            operation.kind = OPERATION_REPORTED;
            simulation_step(simulation, &operation);
        }
    }
    operation.kind = OPERATION_TICK;
    while (model_next_deadline(simulation->model) != NEVER) {
        operation.now = later(operation.now, model_next_deadline(simulation->model));
        simulation_step(simulation, &operation);
    }
}

struct simulation *simulation_end(struct simulation *simulation, nanoseconds now)
{
    struct random random = {.state = simulation->rules_seed};
    simulation_step(simulation, &(struct operation){.kind = OPERATION_TICK, .now = now});
    compare_records(simulation);
    serve_all(simulation, &random);
    now = simulation->now;
    struct operation operation = {.kind = OPERATION_GONE, .now = now};
    for (; operation.client < MODEL_CLIENTS; operation.client++) {
        if (simulation->model->client_uids[operation.client] >= 0) {
            simulation_step(simulation, &operation);
        }
    }
    end_jobs(simulation, now);
    require_all_free(simulation);
    for (size_t i = 0; i < N_RECORDS; i++) {
        record_clear(&simulation->records[i]);
    }
    simulation->core = core_free(simulation->core);
    histories_free(simulation);
    effects_deinit(&simulation->effects);
    simulation->model = model_free(simulation->model);
    definitions_free(simulation->definitions);
    free(simulation);
    return NULL;
}
