#include "core/core.h"

#include "base/memory.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/queue.h"

#include <assert.h>
#include <stdlib.h>

/* ---- life ---- */

struct core *core_new(const struct core_options *options)
{
    struct core *core = memory_new(sizeof *core);
    TAILQ_INIT(&core->resource_list);
    TAILQ_INIT(&core->dirty);
    TAILQ_INIT(&core->changed);
    TAILQ_INIT(&core->stale_lanes);
    accounts_init(&core->accounts);
    tenures_init(core);
    core->last_id = options->first_id - 1;
    core->first_id = options->first_id;
    core->detached.is_nobody = core->absent.is_nobody = true;
    LIST_INIT(&core->detached.leases);
    LIST_INIT(&core->absent.leases);
    core->last_token = options->first_token - 1;
    core->random = hash_number(options->seed) | 1; /* xorshift must not start at 0 */
    return core;
}

struct core *core_free(struct core *core)
{
    if (core) {
        assert(core->n_held == 0 && core->n_waiting == 0 && !core->cursors);
        registry_free(core);
        table_deinit(&core->leases);
        table_deinit(&core->identities);
        table_deinit(&core->once);
        accounts_deinit(&core->accounts);
        free(core);
    }
    return NULL;
}

/* ---- the end of a lease ---- */

static void unit_rest(struct core *core, struct unit *unit, nanoseconds until)
{
    unit_set_cooling(unit, &core->cooldown_timers, until, ++core->timer_serial);
}

static void unit_give_back(struct core *core, struct claim *claim, struct unit *unit, nanoseconds now)
{
    nanoseconds until = now + unit->resource->definition->cooldown;
    if (until == now || unit->removed || resource_is_fleet(unit->resource)) {
        unit_settle(unit);
        return;
    }
    unit_rest(core, unit, until);
    if (until > claim->lease->rests_until) {
        claim->lease->rests_until = until;
    }
}

static void claim_give_back(struct core *core, struct claim *claim, nanoseconds now)
{
    struct resource *resource = claim->resource;
    while (claim->units) {
        struct unit *unit = claim->units;
        claim->units = unit->next_of_claim;
        unit_give_back(core, claim, unit, now);
    }
    claim->usage->units -= claim->count;
    order_remove(&resource->holders, &claim->node);
    queue_mark_dirty(core, resource);
}

void core_unlink_lease(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    if (lease->is_asked || (lease->database != 0 && lease->state == LEASE_HELD)) {
        lease->is_asked = false;
        effects_append(effects, EFFECT_GIVE_BACK, lease, NULL, OUTCOME_OK);
    }
    if (lease->state == LEASE_WAITING) {
        queue_leave(core, lease);
    } else {
        core->n_held--;
        term_end(core, lease);
        for (size_t i = 0; i < lease->n_claims; i++) {
            claim_give_back(core, &lease->claims[i], now);
        }
    }
    quota_changed_for(core, lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        identity_remove(core, claim);
        usage_remove_claim(claim);
    }
    if (lease->tenant) {
        tenure_leave(lease);
    }
    LIST_REMOVE(lease, link);
    lease->client = NULL;
    once_leave(core, lease);
    table_remove(&core->leases, &lease->by_id);
    charge_give_back(&lease->charge, &core->accounts);
    lease_set_state(lease, LEASE_ENDED);
    lease->next_ended = effects->ended;
    effects->ended = lease;
}

void core_deny(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    core_unlink_lease(core, lease, now, effects);
    effects_append(effects, EFFECT_DENIED, lease, client, why);
}

void core_settle(struct core *core, nanoseconds now, struct effects *effects)
{
    queue_pump(core, now, effects);
    bool is_drained = core->draining && core->n_held == 0;
    /* While leases that nobody remembers may come back, their jobs run. */
    if (is_drained && !core->is_closed && !core->drain_reported) {
        core->drain_reported = true;
        effects_append(effects, EFFECT_DRAINED, NULL, NULL, OUTCOME_OK);
    }
}

void core_end(struct core *core, struct lease *lease, const struct client *by, nanoseconds now,
    struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    bool was_held = lease->state == LEASE_HELD;
    core_unlink_lease(core, lease, now, effects);
    if (client != by) {
        effects_append(effects, was_held ? EFFECT_LOST : EFFECT_DENIED, lease, client,
            was_held ? OUTCOME_RELEASED : OUTCOME_CANCELLED);
    }
    core_settle(core, now, effects);
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
            core_unlink_lease(core, lease, now, effects);
        }
    }
}

void core_client_end_leases(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects)
{
    client_leaves_queues(core, client, now, effects);
    while (!LIST_EMPTY(&client->leases)) {
        away_client_is_gone(core, LIST_FIRST(&client->leases), now, effects);
    }
    core_settle(core, now, effects);
}

void core_client_deinit(
    struct core *core, struct client *client, nanoseconds now, struct effects *effects)
{
    core_client_end_leases(core, client, now, effects);
    charge_give_back(&client->charge, &core->accounts);
}

/* ---- time ---- */

static nanoseconds due(const struct order *timers)
{
    const struct order_node *first = order_first(timers);
    return first ? (nanoseconds)first->major : NEVER;
}

static void cooldown_is_over(struct core *core)
{
    struct order_node *node = order_first(&core->cooldown_timers);
    struct unit *unit = container_of(node, struct unit, node);
    order_remove(&core->cooldown_timers, node);
    queue_mark_dirty(core, unit->resource);
    unit_settle(unit);
}

static void wait_is_over(struct core *core, nanoseconds now, struct effects *effects)
{
    struct order_node *node = order_first(&core->wait_timers);
    core_deny(
        core, container_of(node, struct waiting, timer)->lease, OUTCOME_TIMEOUT, now, effects);
}

/* Units that rest until the same instant are free together, before anybody is granted one. */
static void cooldowns_are_over(struct core *core, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    nanoseconds instant = due(&core->cooldown_timers);
    while (due(&core->cooldown_timers) == instant) {
        cooldown_is_over(core);
    }
}

static nanoseconds next_cooldown(const struct core *core)
{
    return due(&core->cooldown_timers);
}

static nanoseconds next_wait(const struct core *core)
{
    return due(&core->wait_timers);
}

/* What becomes due in time. At the same instant the first row's comes first: units are free before
 * a wait ends. */
static const struct {
    nanoseconds (*next)(const struct core *core);
    void (*is_due)(struct core *core, nanoseconds now, struct effects *effects);
} clocks[] = {
    {next_cooldown, cooldowns_are_over},
    {term_next_deadline, term_is_due},
    {tenure_next_deadline, tenure_is_due},
    {away_next_deadline, away_is_due},
    {keep_next_deadline, keep_is_due},
    {next_wait, wait_is_over},
};

enum { N_CLOCKS = sizeof clocks / sizeof clocks[0] };

nanoseconds core_next_deadline(const struct core *core)
{
    nanoseconds next = NEVER;
    for (size_t i = 0; i < N_CLOCKS; i++) {
        nanoseconds at = clocks[i].next(core);
        next = at < next ? at : next;
    }
    return next;
}

/* In the order in which things were due, so that a late tick decides as a prompt one would have. */
void core_tick(struct core *core, nanoseconds now, struct effects *effects)
{
    nanoseconds next;
    while ((next = core_next_deadline(core)) <= now) {
        size_t i = 0;
        while (clocks[i].next(core) != next) {
            i++;
        }
        clocks[i].is_due(core, now, effects);
        queue_pump(core, now, effects);
    }
    core_settle(core, now, effects);
}

void core_look_at_all(struct core *core)
{
    struct resource *resource;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        queue_mark_dirty(core, resource);
    }
}

void core_drain(struct core *core, bool draining, nanoseconds now, struct effects *effects)
{
    core->draining = draining;
    core->drain_reported = false;
    core_look_at_all(core);
    fleet_look_at_all(core, now, effects);
    core_settle(core, now, effects);
}

/* ---- looking ---- */

struct lease *core_find_lease(struct core *core, uint64_t id)
{
    struct table_node *node = table_find(&core->leases, hash_number(id));
    while (node && container_of(node, struct lease, by_id)->id != id) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct lease, by_id) : NULL;
}

struct lease *core_find_identity(
    struct core *core, struct resource *resource, uint32_t uid, const char *holder)
{
    struct identity *identity = identity_find(core, resource, uid, holder);
    return identity ? identity->claim->lease : NULL;
}

struct resource *core_find_resource(struct core *core, const char *name)
{
    return registry_find(core, name);
}

const struct definition *core_find_definition(struct core *core, const char *name)
{
    struct resource *resource = registry_find(core, name);
    if (resource) {
        return resource->is_defined ? resource->definition : NULL;
    }
    struct template *template = registry_find_template(core, name);
    return template ? template->definition : NULL;
}

bool core_is_closed(const struct core *core)
{
    return core->is_closed;
}

uint64_t core_next_number(const struct core *core)
{
    return 1 + (core->last_id > core->last_token ? core->last_id : core->last_token);
}

bool core_for_each_lease(
    struct core *core, bool (*function)(struct lease *lease, void *context), void *context)
{
    for (size_t i = 0; i < core->leases.n_buckets; i++) {
        for (struct table_node *node = core->leases.buckets[i]; node; node = node->next) {
            if (!function(container_of(node, struct lease, by_id), context)) {
                return false;
            }
        }
    }
    return true;
}

bool core_is_draining(const struct core *core)
{
    return core->draining;
}

size_t core_n_held(const struct core *core)
{
    return core->n_held;
}

size_t core_n_waiting(const struct core *core)
{
    return core->n_waiting;
}

size_t core_n_resources(const struct core *core)
{
    return core->resources.n;
}

void core_for_each_changed(
    const struct core *core, void (*function)(const struct resource *, void *), void *context)
{
    const struct resource *resource;
    TAILQ_FOREACH (resource, &core->changed, changed_link) {
        function(resource, context);
    }
}

void core_cursor_init(struct core *core, struct core_cursor *cursor)
{
    cursor->next = TAILQ_FIRST(&core->resource_list);
    cursor->next_cursor = core->cursors;
    core->cursors = cursor;
}

struct resource *core_cursor_next(struct core *core, struct core_cursor *cursor)
{
    (void)core;
    struct resource *resource = cursor->next;
    if (resource) {
        cursor->next = TAILQ_NEXT(resource, link);
    }
    return resource;
}

void core_cursor_deinit(struct core *core, struct core_cursor *cursor)
{
    struct core_cursor **linkp = &core->cursors;
    while (*linkp != cursor) {
        linkp = &(*linkp)->next_cursor;
    }
    *linkp = cursor->next_cursor;
}
