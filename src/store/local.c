#include "store/local.h"

#include "core/memory.h"

#include <stdlib.h>

struct local_store {
    struct store store;
    struct core *core;
};

struct core *local_store_core(struct store *store)
{
    return container_of(store, struct local_store, store)->core;
}

static enum outcome local_acquire(struct store *store, struct client *client,
    const struct ask *ask, nanoseconds now, struct lease **leasep, const char **aboutp)
{
    return core_acquire(
        local_store_core(store), client, ask, now, &store->effects, leasep, aboutp);
}

static void local_end(
    struct store *store, struct lease *lease, const struct client *by, nanoseconds now)
{
    core_end(local_store_core(store), lease, by, now, &store->effects);
}

static enum outcome local_change(
    struct store *store, const char *name, const struct change *change, nanoseconds now)
{
    return core_change(local_store_core(store), name, change, now, &store->effects);
}

static enum outcome local_client_init(struct store *store, struct client *client, uint32_t uid)
{
    return core_client_init(local_store_core(store), client, uid);
}

static void local_client_end_leases(
    struct store *store, struct client *client, nanoseconds now)
{
    core_client_end_leases(local_store_core(store), client, now, &store->effects);
}

static void local_client_deinit(struct store *store, struct client *client, nanoseconds now)
{
    core_client_deinit(local_store_core(store), client, now, &store->effects);
}

static void local_drain(struct store *store, bool draining, nanoseconds now)
{
    core_drain(local_store_core(store), draining, now, &store->effects);
}

static void local_tick(struct store *store, nanoseconds now)
{
    core_tick(local_store_core(store), now, &store->effects);
}

static nanoseconds local_next_deadline(const struct store *store)
{
    const struct local_store *local = container_of(store, const struct local_store, store);
    return core_next_deadline(local->core);
}

static struct store *local_free(struct store *store)
{
    struct local_store *local = container_of(store, struct local_store, store);
    effects_clear(&store->effects);
    effects_deinit(&store->effects);
    core_free(local->core);
    free(local);
    return NULL;
}

static const struct store_ops local_ops = {
    .scope = "host",
    .acquire = local_acquire,
    .end = local_end,
    .change = local_change,
    .client_init = local_client_init,
    .client_end_leases = local_client_end_leases,
    .client_deinit = local_client_deinit,
    .drain = local_drain,
    .tick = local_tick,
    .next_deadline = local_next_deadline,
    .free = local_free,
};

struct store *local_store_new(const struct core_options *options)
{
    struct local_store *local = memory_new(sizeof *local);
    local->store.ops = &local_ops;
    local->core = core_new(options);
    return &local->store;
}
