/* drive_restart.c - one core dies, another takes its place: from the records, and with the clients
 * that come back. */
#include "drive_internal.h"

#include "../unit/core_remember.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the end of a core ---- */

/* Its last effects reach nobody, and are written down nowhere. */
static void end_core(struct simulation *simulation, nanoseconds now)
{
    struct effects *effects = &simulation->effects;
    core_grant_no_more(simulation->core);
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        if (simulation->model->client_uids[i] >= 0) {
            core_client_deinit(simulation->core, &simulation->clients[i], now, effects);
            memset(&simulation->clients[i], 0xaa, sizeof simulation->clients[i]);
            effects_clear(effects);
        }
    }
    core_abandon(simulation->core, now, effects);
    effects_clear(effects);
    simulation->core = core_free(simulation->core);
}

/* ---- operators' changes ---- */

struct changes {
    struct operation list[MODEL_RESOURCES * (2 * MODEL_UNITS + 2) + 2 * MODEL_TEMPLATES];
    size_t n;
};

static void changes_add_for(struct changes *changes, const char *name, uint32_t payer,
    enum change_kind kind, uint32_t number)
{
    struct operation *operation = &changes->list[changes->n++];
    *operation = (struct operation){
        .kind = OPERATION_CHANGE, .change = kind, .number = number, .uid = payer, .is_old = true};
    strcpy(operation->name, name);
}

static void changes_add(struct changes *changes, const struct model_resource *resource,
    enum change_kind kind, uint32_t number)
{
    int payer = resource->charged_uid;
    changes_add_for(changes, resource->name, payer > 0 ? (uint32_t)payer : 0, kind, number);
}

static void changes_of_items(struct changes *changes, const struct model_resource *resource)
{
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        const struct model_unit *unit = &resource->units[i];
        bool in_file = memchr(resource->rules.items, (int)i, resource->rules.n_items) != NULL;
        bool in_service = unit->exists && !unit->removed;
        if (rules_are_pool(&resource->rules) && in_file != in_service) {
            changes_add(changes, resource, in_file ? CHANGE_REMOVE : CHANGE_ADD, i);
        }
    }
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        if (resource->units[i].reserved) {
            changes_add(changes, resource, CHANGE_RESERVE, i);
        }
    }
}

static void changes_take(struct changes *changes, const struct model *model)
{
    changes->n = 0;
    for (size_t i = 0; i < model->n_templates; i++) {
        const struct model_template *template = &model->templates[i];
        if (template->limit >= 0) {
            changes_add_for(changes, template->name, 0, CHANGE_LIMIT, (uint32_t) template->limit);
        }
        if (template->paused) {
            changes_add_for(changes, template->name, 0, CHANGE_PAUSE, 0);
        }
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        const struct model_resource *resource = model->resources[i];
        if (resource->runtime_limit >= 0) {
            changes_add(changes, resource, CHANGE_LIMIT, (uint32_t)resource->runtime_limit);
        }
        changes_of_items(changes, resource);
        if (resource->paused) {
            changes_add(changes, resource, CHANGE_PAUSE, 0);
        } else if (resource->exempt) {
            changes_add(changes, resource, CHANGE_RESUME, 0);
        }
    }
}

static void changes_apply(
    struct simulation *simulation, const struct changes *changes, const struct operation *restart)
{
    for (size_t i = 0; i < changes->n && restart->restart.keeps_changes; i++) {
        struct operation operation = changes->list[i];
        operation.now = restart->now;
        begin_trace(simulation);
        do_change(simulation, &operation);
    }
    if (restart->draining) {
        begin_trace(simulation);
        do_drain(simulation, restart);
    }
}

/* ---- the beginning of the next ---- */

static void note_gone(
    struct simulation *simulation, const struct record *record, enum outcome why, bool was_unseen)
{
    const struct earlier_end end = {why, simulation->now, was_unseen};
    const struct model_past *past = model_find_past(simulation->model, record->saved->id);
    core_count_ended_earlier(simulation->core, record->saved, why, simulation->now);
    model_count_gone(simulation->model, past, why);
    histories_gone(simulation, record, &end);
    model_history_gone(simulation->model, past, why, was_unseen);
}

static void restore(struct simulation *simulation, struct record *record)
{
    struct saved_lease *saved = record->saved;
    struct lease *lease;
    uint64_t id = saved->id;
    begin_trace(simulation);
    simulation->trace.outcome =
        core_restore(simulation->core, saved, simulation->now, &simulation->effects, &lease);
    REQUIRE(!lease == (simulation->trace.outcome != OUTCOME_OK), "outcome %d and a lease",
        (int)simulation->trace.outcome);
    if (lease) {
        REQUIRE(lease->id == id && lease_is_detached(lease), "lease %ju is made again as %ju", id,
            lease->id);
        effects_change(&simulation->effects, lease); /* written down again */
    } else {
        enum outcome why = saved->is_held ? OUTCOME_LOST : simulation->trace.outcome;
        note_gone(simulation, record, why, false);
    }
    take_effects(simulation);
    model_restore(simulation->model, id, saved);
    simulation->rates_are_lost |= !lease && saved->is_held;
    record_clear(record);
}

static void restore_rest(struct simulation *simulation, struct record *record)
{
    struct saved_lease *saved = record->saved;
    begin_trace(simulation);
    nanoseconds until =
        core_restore_cooldown(simulation->core, saved, simulation->now, &simulation->effects);
    take_effects(simulation);
    nanoseconds expected = model_restore_rest(simulation->model, saved);
    REQUIRE(until == expected, "units of %ju rest until %jd instead of %jd", saved->id,
        (intmax_t)until, (intmax_t)expected);
    if (until == 0) {
        record_clear(record);
    } else {
        record->cooldown_until = until;
        *find_free_record(simulation) = *record;
    }
}

static bool is_dead(const struct simulation *simulation, const struct saved_lease *saved)
{
    const struct model_lease *lease = &model_find_past(simulation->model, saved->id)->lease;
    return lease->binding == BOUND_PROCESS && !lease->is_alive;
}

/* The daemon's part: dead processes' leases are not made again, but their units may need rest.
 * Takes over what the record has. */
static void restore_one(struct simulation *simulation, struct record *record,
    const struct operation *operation, struct random *random)
{
    struct saved_lease *saved = record->saved;
    if (random_percent(random, operation->restart.lost_percent)) {
        record_clear(record);
    } else if (record->cooldown_until != 0) {
        restore_rest(simulation, record);
    } else if (is_dead(simulation, saved)) { /* since there was no core */
        note_gone(simulation, record, saved->is_held ? OUTCOME_RELEASED : OUTCOME_CANCELLED, true);
        model_forget_past(simulation->model, saved->id);
        saved->rested_at = simulation->now;
        restore_rest(simulation, record);
    } else {
        restore(simulation, record);
    }
}

/* In random order, but waiters come after holders, as core_restore() wants. */
static void restore_all(
    struct simulation *simulation, struct record *records, const struct operation *operation)
{
    struct random random = {.state = operation->restart.seed};
    struct record waiting[N_RECORDS];
    uint32_t n_waiting = 0;
    for (uint32_t n = N_RECORDS; n > 0; n--) {
        uint32_t i = random_below(&random, n);
        struct record record = records[i];
        records[i] = records[n - 1];
        if (record.saved && !record.saved->is_held && record.cooldown_until == 0) {
            waiting[n_waiting++] = record;
        } else if (record.saved) {
            restore_one(simulation, &record, operation, &random);
        }
    }
    for (uint32_t i = 0; i < n_waiting; i++) {
        restore_one(simulation, &waiting[i], operation, &random);
    }
}

/* What rates have let go is in the records, unless one has been lost. */
static void begin_rates(
    struct simulation *simulation, nanoseconds begun, const struct operation *operation)
{
    bool are_lost = simulation->rates_are_lost || operation->restart.lost_percent > 0;
    simulation->rates_are_lost = false;
    begun = are_lost ? operation->now : begun;
    if (begun != NEVER) {
        core_begin_rates(simulation->core, begun);
    }
    model_begin_rates(simulation->model, begun);
}

void do_restart(struct simulation *simulation, const struct operation *operation)
{
    static struct changes changes;
    struct record records[N_RECORDS];
    struct operation define = {.now = operation->now,
        .rules_seed = operation->rules_seed ? operation->rules_seed : simulation->rules_seed};
    compare_records(simulation);
    memcpy(records, simulation->records, sizeof records);
    memset(simulation->records, 0, sizeof simulation->records);
    changes_take(&changes, simulation->model);
    uint64_t next = core_next_number(simulation->core);
    uint64_t first = operation->restart.id_allocator_lose ? 1 : next + operation->restart.seed % 9;
    nanoseconds begun = core_rates_begun(simulation->core);
    end_core(simulation, operation->now);
    simulation->core = core_new(operation->restart.seed);
    core_begin_numbers(simulation->core, first);
    histories_restart(simulation);
    histories_compare_all(simulation);
    model_restart(simulation->model, first);
    do_define(simulation, &define);
    begin_rates(simulation, begun, operation);
    changes_apply(simulation, &changes, operation);
    nanoseconds until = operation->now + 10 * NANOSECONDS_PER_SECOND;
    core_begin_grace(simulation->core, operation->restart.closed, until);
    model_begin_grace(simulation->model, operation->restart.closed, until);
    restore_all(simulation, records, operation);
    histories_ready(simulation);
}

/* ---- coming back ---- */

static void take_back(struct simulation *simulation, const struct operation *operation,
    enum outcome (*take)(
        struct core *, struct client *, struct lease *, nanoseconds, struct effects *))
{
    struct trace *trace = &simulation->trace;
    struct lease *lease = find_lease(simulation, operation->lease);
    bool was_waiting = lease->state == LEASE_WAITING;
    trace->outcome = take(simulation->core, &simulation->clients[operation->client], lease,
        operation->now, &simulation->effects);
    trace->lease = lease->id;
    if (trace->outcome == OUTCOME_OK && was_waiting) {
        trace->grant = grant_of(lease);
    }
    take_effects(simulation);
}

void do_reclaim(struct simulation *simulation, const struct operation *operation)
{
    take_back(simulation, operation, core_reclaim);
    model_reclaim(simulation->model, operation->lease, operation->client);
}

/* Looked up as the daemon does. */
void do_repeat(struct simulation *simulation, const struct operation *operation)
{
    char text[16];
    const struct lease *lease = find_lease(simulation, operation->lease);
    const struct model_lease *expected = model_find_lease(simulation->model, operation->lease);
    const struct lease *found =
        core_find_once(simulation->core, expected->uid, once_text(text, expected->once));
    REQUIRE(found == lease, "lease %ju is not found by its once", expected->id);
    take_back(simulation, operation, core_repeat);
    model_repeat(simulation->model, operation->lease, operation->client);
}

struct unit_lists {
    struct saved_unit units[MODEL_WANTS][MODEL_UNITS];
    struct saved_claim claims[MODEL_WANTS];
    char items[MODEL_WANTS][MODEL_UNITS][MODEL_NAME];
};

static bool is_pool(const struct simulation *simulation, const char *name)
{
    const struct definition *definition = core_find_definition(simulation->core, name);
    return definition && definition_is_pool(definition);
}

static void unit_lists_init(struct unit_lists *lists, const struct simulation *simulation,
    const struct operation *operation)
{
    for (size_t i = 0; i < operation->ask.n_wants; i++) {
        const uint8_t *numbers = operation->said.units[i];
        bool has_items = is_pool(simulation, operation->ask.wants[i].name);
        lists->claims[i] =
            (struct saved_claim){.units = lists->units[i], .token = operation->said.tokens[i]};
        for (size_t k = 0; k < MODEL_UNITS; k++) {
            snprintf(lists->items[i][k], MODEL_NAME, "i%u", numbers[k]);
            lists->units[i][k] = (struct saved_unit){
                .item = has_items ? lists->items[i][k] : NULL, .slot = numbers[k]};
        }
    }
}

void do_reclaim_unknown(struct simulation *simulation, const struct operation *operation)
{
    struct trace *trace = &simulation->trace;
    struct unit_lists lists;
    struct core_ask ask;
    struct lease *lease;
    core_ask_init(&ask, simulation, &operation->ask);
    unit_lists_init(&lists, simulation, operation);
    struct client *client = &simulation->clients[operation->client];
    bool is_replaced = !operation->was_held &&
        core_is_replaced(simulation->core, client->uid, &ask.ask, operation->lease);
    lease = NULL;
    trace->outcome = is_replaced ? OUTCOME_REPLACED
                                 : core_reclaim_unknown(simulation->core, client, &ask.ask,
                                       operation->lease, operation->was_held ? lists.claims : NULL,
                                       operation->now, &simulation->effects, &lease,
                                       &trace->at_fault);
    REQUIRE(!lease == (trace->outcome != OUTCOME_OK && trace->outcome != OUTCOME_WAITING),
        "outcome %d and a lease do not fit", (int)trace->outcome);
    if (trace->outcome == OUTCOME_OK) {
        trace->grant = grant_of(lease);
    }
    take_effects(simulation);
    model_reclaim_unknown(simulation->model, operation->client, &operation->ask, operation->lease,
        operation->was_held ? &operation->said : NULL);
}
