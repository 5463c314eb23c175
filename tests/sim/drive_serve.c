/* drive_serve.c - nobody starves: after any history, each waiter is served after finitely many ends
 * of leases, whatever comes behind. */
#include "drive_internal.h"

#include <string.h>

enum {
    ROUNDS_MAX = 500, /* of a second; 20 suffice */
    NEWCOMERS = 16, /* in each round */
    LONGEST_LEASE = 6, /* seconds */
};

static const char *const names[] = {
    "a", "b", "c", "d", "p", "q", "t/x", "t/y", "t/z", "u/x", "u/y", "t/*", "u/*"};

enum { N_TEMPLATES = 2, N_NAMES = sizeof names / sizeof names[0] - N_TEMPLATES };

/* Nothing is paused, closed by an operator, or drained. */
static void open_all(struct simulation *simulation)
{
    struct operation operation = {.kind = OPERATION_DRAIN, .now = simulation->now};
    simulation_step(simulation, &operation);
    operation.kind = OPERATION_CHANGE;
    operation.change = CHANGE_RESET;
    for (size_t i = 0; i < N_NAMES + N_TEMPLATES; i++) {
        strcpy(operation.name, names[i]);
        simulation_step(simulation, &operation);
    }
}

static void pass_time(struct simulation *simulation, nanoseconds span)
{
    struct operation operation = {.kind = OPERATION_TICK, .now = simulation->now + later(span, 0)};
    simulation_step(simulation, &operation);
}

/* Ends a third of the held ones, and all that have lasted long. */
static void end_some(struct simulation *simulation, struct random *random)
{
    const struct model *model = simulation->model;
    struct operation operation = {.kind = OPERATION_END,
        .client = some_client(simulation->model, true, random),
        .now = simulation->now};
    uint64_t ids[MODEL_LEASES];
    size_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *lease = model->leases[i];
        bool is_old = simulation->now - lease->granted_at >= LONGEST_LEASE * NANOSECONDS_PER_SECOND;
        if (lease->held && (is_old || random_percent(random, 33))) {
            ids[n++] = lease->id;
        }
    }
    for (size_t i = 0; i < n; i++) {
        operation.lease = ids[i];
        if (model_find_lease(model, ids[i])) {
            simulation_step(simulation, &operation);
        }
    }
}

/* A held lease of the same user, at times nested itself; 0: none. */
static uint64_t some_parent(const struct simulation *simulation, int client, struct random *random)
{
    const struct model *model = simulation->model;
    uint64_t id = 0;
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *lease = model->leases[i];
        bool is_own = lease->held && (int)lease->uid == model->client_uids[client];
        if (is_own && random_below(random, ++n) == 0) {
            id = lease->id;
        }
    }
    return id;
}

/* Later, and with no bigger priority than all before; where the order is fair, it may be next. */
static void newcomer(struct simulation *simulation, struct random *random)
{
    struct operation operation = {.kind = OPERATION_ACQUIRE,
        .client = some_client(simulation->model, true, random),
        .now = simulation->now};
    struct model_ask *ask = &operation.ask;
    ask->n_wants = random_percent(random, 90) ? 1 : 2;
    for (size_t i = 0; i < ask->n_wants; i++) {
        strcpy(ask->wants[i].name, names[(random_below(random, N_NAMES - 1) + i) % N_NAMES]);
        ask->wants[i].count = PICK(random, 1, 1, 1, 2);
        ask->wants[i].is_all = ask->wants[i].count == 1 && random_percent(random, 10);
    }
    ask->n_wants -= ask->n_wants == 2 && strcmp(ask->wants[0].name, ask->wants[1].name) == 0;
    ask->wait = NEVER;
    ask->priority = LOWEST_PRIORITY;
    ask->share = random_below(random, 3);
    ask->parent =
        random_percent(random, 50) ? some_parent(simulation, operation.client, random) : 0;
    simulation_step(simulation, &operation);
}

/* The file has closed it, or never has that many. */
static bool is_impossible(const struct model_lease *lease)
{
    bool is = lease->blocked;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        is |= claim->count > claim->resource->rules.max_units_per_user;
    }
    return is;
}

/* One of those that waited at first. */
static const struct model_lease *still_waiting(const struct model *model, uint64_t last)
{
    for (size_t i = 0; i < model->n_waiters; i++) {
        const struct model_lease *lease = model->waiters[i];
        if (lease->id <= last && !is_impossible(lease)) {
            return lease;
        }
    }
    return NULL;
}

void serve_all(struct simulation *simulation, struct random *random)
{
    const struct model *model = simulation->model;
    uint64_t last = model->last_id;
    const struct model_lease *lease;
    if (some_client(simulation->model, true, random) < 0) {
        return;
    }
    open_all(simulation);
    if (model_grace_until(model) != NEVER) {
        pass_time(simulation, model_grace_until(model) - simulation->now);
    }
    for (int i = 0; (lease = still_waiting(model, last)); i++) {
        REQUIRE(i < ROUNDS_MAX, "lease %ju starves", lease->id);
        for (int k = 0; k < NEWCOMERS && model->n_leases < MODEL_LEASES - NEWCOMERS; k++) {
            newcomer(simulation, random);
        }
        pass_time(simulation, NANOSECONDS_PER_SECOND);
        end_some(simulation, random);
    }
}
