#include "core/queue.h"

#include "core/internal.h"
#include "core/memory.h"
#include "core/ranges.h"

#include <assert.h>
#include <stdlib.h>

/* ---- keys ---- */

/* Bigger priorities first, then smaller tickets, which are the ids. */
static void place_insert(struct order *order, struct order_node *node, const struct lease *lease)
{
    order_insert(order, node, (uint64_t)(INT64_C(0x7fffffff) - lease->priority), lease->id);
}

static bool is_bounded(const struct resource *resource)
{
    return resource->definition->max_units_per_user != UNBOUNDED;
}

static struct place *place_of_line_node(struct order_node *node)
{
    return container_of(node, struct place, line_node);
}

static struct place *place_of_node(struct order_node *node)
{
    return container_of(node, struct place, node);
}

uint32_t claim_position(const struct claim *claim)
{
    if (claim->lease->database != 0) {
        return claim->lease->position;
    }
    const struct order_node *node = &claim_place(claim)->node;
    const struct resource *resource = claim->resource;
    return 1 + order_count_below(&resource->queue, node->major, node->minor) +
        order_count_below(&resource->aside, node->major, node->minor);
}

/* ---- usage ---- */

struct usage *usage_find(const struct resource *resource, uint32_t uid)
{
    struct table_node *node = table_find(&resource->usages, hash_number(uid));
    while (node && container_of(node, struct usage, by_uid)->uid != uid) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct usage, by_uid) : NULL;
}

void usage_add_claim(struct resource *resource, struct claim *claim)
{
    uint32_t uid = claim->lease->uid;
    struct usage *usage = usage_find(resource, uid);
    if (!usage) {
        usage = memory_new(sizeof *usage);
        usage->uid = uid;
        table_insert(&resource->usages, &usage->by_uid, hash_number(uid));
    }
    usage->n_claims++;
    claim->usage = usage;
}

void usage_remove_claim(struct claim *claim)
{
    struct usage *usage = claim->usage;
    claim->usage = NULL;
    if (--usage->n_claims == 0) {
        assert(usage->units == 0 && order_is_empty(&usage->line));
        table_remove(&claim->resource->usages, &usage->by_uid);
        free(usage);
    }
}

/* ---- active or aside ---- */

void queue_mark_dirty(struct core *core, struct resource *resource)
{
    if (!resource->is_dirty) {
        resource->is_dirty = true;
        TAILQ_INSERT_TAIL(&core->dirty, resource, dirty_link);
    }
}

static bool lease_is_blocked(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (resource_is_blocked(lease->claims[i].resource)) {
            return true;
        }
    }
    return false;
}

static bool lease_is_candidate_everywhere(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        if (is_bounded(claim->resource) && claim->usage->candidate != claim) {
            return false;
        }
    }
    return true;
}

/* The only place that moves a lease between the queues and aside. */
static void lease_sort(struct core *core, struct lease *lease)
{
    bool aside = lease->database != 0 || lease_is_blocked(lease) ||
        !lease_is_candidate_everywhere(lease);
    if (aside == lease->waiting->aside) {
        return;
    }
    lease->waiting->aside = aside;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct resource *resource = lease->claims[i].resource;
        struct order_node *node = &lease->waiting->places[i].node;
        order_remove(aside ? &resource->queue : &resource->aside, node);
        place_insert(aside ? &resource->aside : &resource->queue, node, lease);
        queue_mark_dirty(core, resource);
    }
}

bool claim_fits_quota(const struct claim *claim)
{
    return claim->count <= claim->resource->definition->max_units_per_user &&
        claim->usage->units <= claim->resource->definition->max_units_per_user - claim->count;
}

/* At the quota there is nothing to look for: the walk is only long where a user has asked for more
 * than is left again and again. */
static struct claim *usage_choose(const struct usage *usage)
{
    for (struct order_node *node = order_first(&usage->line); node; node = order_next(node)) {
        struct claim *claim = place_of_line_node(node)->claim;
        if (usage->units >= claim->resource->definition->max_units_per_user) {
            return NULL;
        }
        if (claim_fits_quota(claim)) {
            return claim;
        }
    }
    return NULL;
}

static void usage_update(struct core *core, struct usage *usage)
{
    struct claim *before = usage->candidate;
    usage->candidate = usage_choose(usage);
    if (usage->candidate != before) {
        if (before) {
            lease_sort(core, before->lease);
        }
        if (usage->candidate) {
            lease_sort(core, usage->candidate->lease);
        }
    }
}

/* In the line are those who could be the candidate. Whether they could depends on definitions,
 * pauses and limits, which may just have changed. */
static void claim_keep_line(struct claim *claim, bool is_blocked)
{
    struct order_node *node = &claim_place(claim)->line_node;
    bool belongs = is_bounded(claim->resource) && !is_blocked && claim->lease->database == 0;
    if (belongs && !order_contains(node)) {
        place_insert(&claim->usage->line, node, claim->lease);
    } else if (!belongs && order_contains(node)) {
        order_remove(&claim->usage->line, node);
        if (claim->usage->candidate == claim) {
            claim->usage->candidate = NULL;
        }
    }
}

/* ---- entering and leaving ---- */

void queue_enter(struct core *core, struct lease *lease, nanoseconds until)
{
    struct waiting *waiting = lease->waiting;
    bool is_blocked = lease_is_blocked(lease);
    waiting->aside = true;
    core->n_waiting++;
    if (lease->tenure) {
        lease->tenure->n_waiting++;
    }
    if (until != NEVER) {
        order_insert(
            &core->wait_timers, &waiting->timer, (uint64_t)until, ++core->timer_serial);
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct place *place = &waiting->places[i];
        place->claim = claim;
        place_insert(&claim->resource->aside, &place->node, lease);
        claim_keep_line(claim, is_blocked);
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        usage_update(core, lease->claims[i].usage);
    }
    lease_sort(core, lease);
}

void queue_leave(struct core *core, struct lease *lease)
{
    struct waiting *waiting = lease->waiting;
    core->n_waiting--;
    if (lease->tenure) {
        lease->tenure->n_waiting--;
    }
    if (order_contains(&waiting->timer)) {
        order_remove(&core->wait_timers, &waiting->timer);
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct resource *resource = claim->resource;
        struct place *place = &waiting->places[i];
        order_remove(waiting->aside ? &resource->aside : &resource->queue, &place->node);
        if (order_contains(&place->line_node)) {
            order_remove(&claim->usage->line, &place->line_node);
        }
        if (claim->usage->candidate == claim) {
            claim->usage->candidate = NULL;
        }
        queue_mark_dirty(core, resource);
    }
    charge_give_back(&waiting->charge, &core->accounts);
    free(waiting);
    lease->waiting = NULL;
}

void queue_usage_changed(struct core *core, struct claim *claim)
{
    if (is_bounded(claim->resource)) {
        usage_update(core, claim->usage);
    }
}

/* ---- who goes next ---- */

/* May `place` go before all those in front of it? */
static bool may_go(const struct resource *resource, const struct place *place)
{
    const struct definition *definition = resource->definition;
    if (definition->order == ORDER_FIFO) {
        return order_first(&resource->queue) == &place->node;
    }
    struct order_node *node = order_first(&resource->queue);
    for (int i = 0; node && i < FIRST_FIT_WINDOW; node = order_next(node), i++) {
        if (node == &place->node) {
            return true;
        }
        if (place_of_node(node)->overtaken >= definition->max_overtakes) {
            return false;
        }
    }
    return false;
}

static bool lease_may_go(const struct lease *lease)
{
    if (lease_is_away(lease)) {
        return false; /* keeps its place until its client is back */
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        if (!claim_has_units(claim)) {
            return false;
        }
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        if (!may_go(claim->resource, &lease->waiting->places[i])) {
            return false;
        }
    }
    return true;
}

static struct lease *next_to_go(const struct resource *resource)
{
    bool fifo = resource->definition->order == ORDER_FIFO;
    uint32_t look_at = fifo ? 1 : FIRST_FIT_WINDOW;
    struct order_node *node = order_first(&resource->queue);
    for (uint32_t i = 0; node && i < look_at; node = order_next(node), i++) {
        struct place *place = place_of_node(node);
        if (lease_may_go(place->claim->lease)) {
            return place->claim->lease;
        }
        if (place->overtaken >= resource->definition->max_overtakes) {
            return NULL;
        }
    }
    return NULL;
}

static void count_overtaken(struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct order_node *self = &lease->waiting->places[i].node;
        struct order_node *node = order_first(&lease->claims[i].resource->queue);
        for (; node != self; node = order_next(node)) {
            place_of_node(node)->overtaken++;
        }
    }
}

void queue_place_holder(struct claim *claim)
{
    struct claim_list *holders = &claim->resource->holders;
    struct claim *before;
    TAILQ_REMOVE(holders, claim, link);
    TAILQ_FOREACH_REVERSE (before, holders, claim_list, link) {
        if (before->token < claim->token) {
            TAILQ_INSERT_AFTER(holders, before, claim, link);
            return;
        }
    }
    TAILQ_INSERT_HEAD(holders, claim, link);
}

void queue_hold(struct core *core, struct lease *lease, nanoseconds granted_at)
{
    queue_leave(core, lease);
    lease_set_state(lease, LEASE_HELD);
    lease->granted_at = granted_at;
    core->n_held++;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        if (claim->token == 0 && lease->database == 0) {
            claim->token = ++core->last_token;
        }
        claim->usage->units += claim->count;
        TAILQ_INSERT_TAIL(&claim->resource->holders, claim, link);
        queue_place_holder(claim);
    }
    if (lease->database != 0) {
        tenure_holds(lease);
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        queue_usage_changed(core, &lease->claims[i]);
    }
}

static void lease_grant(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    count_overtaken(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        claim_take_units(claim, &core->random);
    }
    queue_hold(core, lease, now);
    term_start(core, lease, NEVER);
    effects_change(effects, lease);
}

bool queue_try(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool may = !core_grants_nothing(core) && !lease->waiting->aside && lease_may_go(lease);
    if (may) {
        lease_grant(core, lease, now, effects);
    }
    return may;
}

/* The dirty resources are taken in the order they became so; granting to one makes those whose
 * queues it changed dirty again. */
void queue_pump(struct core *core, nanoseconds now, struct effects *effects)
{
    struct resource *resource;
    while ((resource = TAILQ_FIRST(&core->dirty))) {
        struct lease *lease =
            core_grants_nothing(core) || resource_is_blocked(resource)
            ? NULL
            : next_to_go(resource);
        if (!lease) {
            TAILQ_REMOVE(&core->dirty, resource, dirty_link);
            resource->is_dirty = false;
            registry_forget_if_idle(core, resource);
            continue;
        }
        lease_grant(core, lease, now, effects);
        effects_append(effects, EFFECT_GRANTED, lease, lease->client, OUTCOME_OK);
    }
}

/* ---- after a change of the rules ---- */

static struct lease *lease_of_place_node(struct order_node *node)
{
    return place_of_node(node)->claim->lease;
}

struct lease **queue_waiters(const struct resource *resource, size_t *np)
{
    const struct order *orders[] = {&resource->queue, &resource->aside};
    struct lease **waiters = memory_new((resource_waiting(resource) + 1) * sizeof *waiters);
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        for (struct order_node *node = order_first(orders[i]); node; node = order_next(node)) {
            waiters[n++] = lease_of_place_node(node);
        }
    }
    *np = n;
    return waiters;
}

void queue_resort(struct core *core, struct resource *resource)
{
    size_t n;
    struct lease **waiters = queue_waiters(resource, &n);
    for (size_t i = 0; i < n; i++) {
        bool is_blocked = lease_is_blocked(waiters[i]);
        for (size_t k = 0; k < waiters[i]->n_claims; k++) {
            claim_keep_line(&waiters[i]->claims[k], is_blocked);
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < waiters[i]->n_claims; k++) {
            queue_usage_changed(core, &waiters[i]->claims[k]);
        }
        lease_sort(core, waiters[i]);
    }
    free(waiters);
    queue_mark_dirty(core, resource);
}
