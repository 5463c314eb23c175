/* lifecycle.c - creates and frees the core; clients come and go. */
#include "base/memory.h"
#include "core/circle.h"
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>

/* ---- life ---- */

struct core *core_new(uint64_t seed)
{
    struct core *core = memory_new(sizeof *core);
    TAILQ_INIT(&core->resource_list);
    TAILQ_INIT(&core->dirty);
    TAILQ_INIT(&core->changed);
    TAILQ_INIT(&core->templates.list);
    TAILQ_INIT(&core->stale_lanes);
    TAILQ_INIT(&core->nested);
    tallies_init(&core->tallies);
    accounts_init(&core->accounts);
    tenures_init(core);
    core_begin_numbers(core, 1);
    core->detached.is_nobody = core->absent.is_nobody = true;
    LIST_INIT(&core->detached.leases);
    LIST_INIT(&core->absent.leases);
    core->meters.unknown_at = NEVER;
    core->random = hash_number(seed) | 1; /* xorshift must not start at 0 */
    return core;
}

struct core *core_free(struct core *core)
{
    if (core) {
        assert(core->n_held == 0 && core->n_waiting == 0 && !core->cursors);
        assert(!news_is_on(&core->news));
        registry_free(core);
        decision_clear(&core->drain_decision);
        circle_clear(&core->circle);
        tallies_deinit(&core->tallies);
        table_deinit(&core->leases);
        table_deinit(&core->identities);
        table_deinit(&core->once);
        free(core->awaited.ids);
        accounts_deinit(&core->accounts);
        free(core);
    }
    return NULL;
}

/* ---- clients ---- */

void client_init_uncounted(struct client *client, uint32_t uid)
{
    *client = (struct client){.uid = uid};
    LIST_INIT(&client->leases);
}

enum outcome core_client_init(struct core *core, struct client *client, uint32_t uid)
{
    client_init_uncounted(client, uid);
    client->number = ++core->last_client;
    return charge_take(&client->charge, &core->accounts, uid, ACCOUNT_CLIENTS) ? OUTCOME_OK
                                                                               : OUTCOME_QUOTA;
}

uint32_t core_user_bound_met(const struct core *core, uint32_t uid, enum account_slot slot)
{
    return accounts_bound_met(&core->accounts, uid, slot);
}

static void client_leaves_queues(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects)
{
    struct lease *next;
    for (struct lease *lease = LIST_FIRST(&client->leases); lease; lease = next) {
        next = LIST_NEXT(lease, link);
        if (lease->state == LEASE_WAITING) {
            lease_over(core, lease, OUTCOME_CANCELLED, now, effects);
        }
    }
}

void core_client_end_leases(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects)
{
    client_leaves_queues(core, client, now, effects);
    while (!LIST_EMPTY(&client->leases)) {
        detached_client_is_gone(core, LIST_FIRST(&client->leases), now, effects);
    }
    core_settle(core, now, effects);
}

void core_client_deinit(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects)
{
    core_client_end_leases(core, client, now, effects);
    charge_give_back(&client->charge, &core->accounts);
}

/* ---- all at once ---- */

void core_drain(struct core *core, bool draining, nanoseconds now, struct effects *effects)
{
    core->draining = draining;
    core->drain_reported = false;
    news_host(&core->news);
    core_mark_all_dirty(core);
    fleet_look_at_all(core, now, effects);
    core_settle(core, now, effects);
}
