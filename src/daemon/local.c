#include "daemon/local.h"

#include "base/memory.h"

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

static void local_revoke(struct store *store, struct lease *lease, nanoseconds now)
{
    core_revoke(local_store_core(store), lease, now, &store->effects);
}

static void local_withdraw(struct store *store, struct lease *lease, nanoseconds now)
{
    core_withdraw(local_store_core(store), lease, now, &store->effects);
}

static void local_drop(struct store *store, struct lease *lease, nanoseconds now)
{
    core_drop(local_store_core(store), lease, now, &store->effects);
}

static enum outcome local_renew(
    struct store *store, struct lease *lease, nanoseconds ttl, nanoseconds now)
{
    return core_renew(local_store_core(store), lease, ttl, now, &store->effects);
}

static enum outcome local_bind(struct store *store, struct lease *lease, const struct client *by,
    enum binding binding, const struct process *process)
{
    return lease_bind(lease, by, binding, process, &store->effects);
}

static void local_process_gone(struct store *store, struct lease *lease, nanoseconds now)
{
    core_process_gone(local_store_core(store), lease, now, &store->effects);
}

static enum outcome local_reclaim(
    struct store *store, struct client *client, struct lease *lease, nanoseconds now)
{
    return core_reclaim(local_store_core(store), client, lease, now, &store->effects);
}

static enum outcome local_repeat(
    struct store *store, struct client *client, struct lease *lease, nanoseconds now)
{
    return core_repeat(local_store_core(store), client, lease, now, &store->effects);
}

static enum outcome local_reclaim_unknown(struct store *store, struct client *client,
    const struct ask *ask, uint64_t id, const struct remembered_claim claims[],
    nanoseconds now, struct lease **leasep, const char **aboutp)
{
    return core_reclaim_unknown(
        local_store_core(store), client, ask, id, claims, now, &store->effects, leasep, aboutp);
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
    .revoke = local_revoke,
    .withdraw = local_withdraw,
    .drop = local_drop,
    .renew = local_renew,
    .bind = local_bind,
    .process_gone = local_process_gone,
    .reclaim = local_reclaim,
    .repeat = local_repeat,
    .reclaim_unknown = local_reclaim_unknown,
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
