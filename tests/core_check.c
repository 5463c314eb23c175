#include "tests/core_check.h"

#include "base/memory.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/queue.h"
#include "tests/require.h"

#include <string.h>

static uint32_t n_free_ranges(const struct resource *resource)
{
    uint32_t n = 0;
    for (uint32_t i = 0; !resource_is_pool(resource) && i < resource->n_units; i++) {
        bool is_first = i == 0 || resource->units[i - 1]->state != UNIT_FREE;
        bool is_free = resource->units[i]->state == UNIT_FREE;
        REQUIRE(is_free == bitset_has(&resource->free_slots, i));
        n += is_first && is_free;
    }
    return n;
}

static void check_units(const struct resource *resource)
{
    uint32_t n_in_state[N_UNIT_STATES] = {0};
    uint32_t n_removed = 0, n_reserved = 0;
    bool is_pool = resource_is_pool(resource);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        n_in_state[unit->state]++;
        n_removed += unit->removed;
        n_reserved += unit->reserved;
        REQUIRE(unit->index == i && unit->resource == resource);
        REQUIRE((unit->state == UNIT_HELD) == (unit->claim != NULL));
        REQUIRE((unit->state == UNIT_COOLING) == (unit->cooldown != NULL));
        REQUIRE(!unit->cooldown || unit->cooldown->unit == unit);
        REQUIRE(!unit->removed || unit->state == UNIT_HELD);
        REQUIRE(!unit->reserved || unit->state != UNIT_FREE);
    }
    for (size_t i = 0; i < N_UNIT_STATES; i++) {
        REQUIRE(n_in_state[i] == resource->n_in_state[i]);
    }
    REQUIRE(n_removed == resource->n_removed && n_reserved == resource->n_reserved);
    REQUIRE(resource->free_slots.n_ranges == n_free_ranges(resource));
    REQUIRE(sorted_set_size(&resource->free) == (is_pool ? n_in_state[UNIT_FREE] : 0));
    REQUIRE(bitset_count(&resource->free_slots, resource->free_slots.size) ==
        (is_pool ? 0 : n_in_state[UNIT_FREE]));
    REQUIRE(sorted_set_is_empty(&resource->given));
}

/* Fleet scope: resource.given has exactly the units that this host holds. */
static void check_given(const struct resource *resource)
{
    const struct unit *before = NULL;
    struct sorted_set_node *node = sorted_set_first(&resource->given);
    for (; node; node = sorted_set_next(node)) {
        const struct unit *unit = &container_of(node, struct keyed_unit, node)->unit;
        REQUIRE(unit->state == UNIT_HELD && unit->claim && unit->resource == resource);
        REQUIRE(unit->claim->resource == resource && !unit->removed && !unit->reserved);
        REQUIRE((unit->item != NULL) == resource_is_pool(resource));
        REQUIRE(resource_find_given(resource, unit->item, unit->index) == unit);
        REQUIRE(unit->item || (unit->index < MAX_SLOTS && node->major == unit->index));
        REQUIRE(unit->item || !before || before->index < unit->index);
        before = unit;
    }
    for (size_t i = 0; i < N_UNIT_STATES; i++) {
        REQUIRE(i == UNIT_HELD || resource->n_in_state[i] == 0);
    }
    REQUIRE(sorted_set_size(&resource->given) == resource->n_in_state[UNIT_HELD]);
    REQUIRE(resource->n_units == 0 && resource->n_removed == 0);
    REQUIRE(sorted_set_is_empty(&resource->queue));
}

static void check_holders(const struct resource *resource)
{
    uint32_t held = 0, n_shares = 0, n_all = 0;
    uint64_t token = 0;
    const struct claim *claim = resource_first_holder(resource);
    for (; claim; claim = claim_next_holder(claim)) {
        uint32_t count = 0;
        REQUIRE(claim->token >= token && claim->resource == resource);
        REQUIRE(claim->node.major == claim->token && claim->node.minor == claim->lease->id);
        token = claim->token;
        if (claim_is_share(claim)) {
            REQUIRE(!claim->units && claim->lease->state == LEASE_HELD);
            n_shares++;
            continue;
        }
        for (const struct unit *unit = claim->units; unit; unit = unit->next_of_claim) {
            REQUIRE(unit->claim == claim && unit->resource == resource);
            count++;
        }
        REQUIRE(count == claim->count && claim->lease->state == LEASE_HELD);
        REQUIRE(!claim->lease->waiting);
        REQUIRE(claim->token != 0 || resource_is_fleet(resource));
        held += count;
        n_all += claim->is_all;
    }
    REQUIRE(held == resource->n_in_state[UNIT_HELD] && n_shares == resource->n_shares);
    REQUIRE(n_all == resource->n_all);
    REQUIRE(n_all == 0 || sorted_set_size(&resource->holders) - n_shares == 1 ||
        resource_is_fleet(resource));
}

/* What others share is its own, and held. */
static void check_shares(const struct core *core, const struct lease *lease)
{
    const struct claim *share;
    LIST_FOREACH (share, &lease->shares, share_link) {
        REQUIRE(share->of->lease == lease && share->sharer == lease->id);
        REQUIRE(share->of < &lease->claims[lease->n_claims] && share->count <= share->of->count);
        REQUIRE(lease->state == LEASE_HELD && share->lease->uid == lease->uid);
        REQUIRE(share->lease->state == LEASE_WAITING || share->token == share->of->token);
        REQUIRE(lease->stopping == OUTCOME_OK || share->lease->stopping != OUTCOME_OK);
    }
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        REQUIRE(lease->claims[i].sharer < lease->id);
        REQUIRE(lease->claims[i].of || lease->stopping != OUTCOME_OK);
    }
    bool is_absent = lease->client == &core->absent;
    REQUIRE(!lease->is_ending || is_absent || !LIST_EMPTY(&lease->shares));
    REQUIRE(!lease->is_ending || (lease_is_detached(lease) && lease->stopping != OUTCOME_OK));
}

/* Those that an operator has moved before all have tickets above all others. */
static bool stands_before(const struct lease *a, const struct lease *b)
{
    uint64_t ticket_of_a = a->ticket != 0 && a->database == 0 ? a->ticket : a->id;
    uint64_t ticket_of_b = b->ticket != 0 && b->database == 0 ? b->ticket : b->id;
    bool is_first = a->database == 0 && ticket_of_a >> 52 != 0;
    bool is_other_first = b->database == 0 && ticket_of_b >> 52 != 0;
    if (is_first != is_other_first) {
        return is_first;
    }
    bool by_priority = a->attributes.priority != b->attributes.priority && !is_first;
    bool by_ticket = ticket_of_a != ticket_of_b;
    return by_priority ? a->attributes.priority > b->attributes.priority
        : by_ticket    ? ticket_of_a < ticket_of_b
                       : a->id < b->id;
}

static void check_set(const struct sorted_set *order, enum standing standing)
{
    const struct lease *before = NULL;
    uint32_t sum = 0;
    for (struct sorted_set_node *node = sorted_set_first(order); node;
         node = sorted_set_next(node)) {
        const struct place *place = place_of_node(node);
        const struct lease *lease = place->claim->lease;
        REQUIRE(lease->state == LEASE_WAITING && place->standing == standing);
        REQUIRE(claim_place(place->claim) == place);
        REQUIRE(!before || stands_before(before, lease));
        REQUIRE(sorted_set_sum_below(order, node->major, node->minor) == sum);
        sum += standing == STANDS_KEEPING ? claim_kept(place->claim) : 0;
        before = lease;
    }
    REQUIRE(sorted_set_sum(order) == sum);
}

/* The kept units exist, and suffice for each keeper in turn. */
static void check_kept(const struct resource *resource)
{
    REQUIRE(resource_kept(resource) <= resource_free_units(resource));
    REQUIRE(sorted_set_is_empty(&resource->kept) || !resource_is_blocked(resource));
    for (struct sorted_set_node *node = sorted_set_first(&resource->kept); node;
         node = sorted_set_next(node)) {
        const struct claim *claim = place_of_node(node)->claim;
        REQUIRE(claim_has(claim) && claim->lease->n_claims > 1);
    }
}

static void check_road(const struct lease *lease)
{
    const struct road *road = lease->waiting->road;
    uint32_t seen = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        size_t at = road->claims[i];
        bool is_station = road->station == &lease->claims[at];
        REQUIRE(at < lease->n_claims && !(seen & UINT32_C(1) << at));
        seen |= UINT32_C(1) << at;
        REQUIRE(lease->waiting->places[at].standing ==
            (i < road->n_kept ? STANDS_KEEPING : is_station ? STANDS_IN_QUEUE : STANDS_ASIDE));
    }
    REQUIRE(lease->waiting->aside ? road->n_kept == 0 && !road->station : road->station != NULL);
    REQUIRE(road->n_kept == 0 || sorted_set_contains(&road->timer));
}

static void check_waiting(struct core *core, struct lease *lease)
{
    const struct waiting *waiting = lease->waiting;
    REQUIRE((waiting->road != NULL) == (lease->n_claims > 1 && lease->database == 0));
    if (waiting->road) {
        check_road(lease);
    } else {
        for (size_t i = 0; i < lease->n_claims; i++) {
            REQUIRE(waiting->places[i].standing ==
                (waiting->aside ? STANDS_ASIDE : STANDS_IN_QUEUE));
        }
    }
    bool could_go = !waiting->aside && quota_fits(lease) && !lease_lacks(lease);
    REQUIRE(!could_go || core_is_granting_suspended(core) || lease_is_detached(lease));
    REQUIRE(!lease_keeps(lease) || quota_fits(lease));
    REQUIRE(!waiting->lane_set || waiting->lane);
    if (waiting->flow) {
        uint64_t ticket = lease->ticket != 0 ? lease->ticket : lease->id;
        REQUIRE(waiting->flow_node.major == ticket && lease->database == 0);
        REQUIRE(waiting->fair->definition->order == ORDER_FAIR);
        REQUIRE(lease_own_claim(lease, waiting->fair));
    }
}

static void check_usages(const struct resource *resource)
{
    uint32_t held = 0, claims = 0;
    for (size_t i = 0; i < resource->usages.n_buckets; i++) {
        for (struct table_node *node = resource->usages.buckets[i]; node; node = node->next) {
            const struct usage *usage = container_of(node, struct usage, by_uid);
            REQUIRE((usage->n_claims == 0) == (usage == resource->idle_usage));
            held += usage->units;
            claims += usage->n_claims;
        }
    }
    claims -= sorted_set_size(&resource->holders);
    /* Shares of those who wait for something else are in no queue here. */
    REQUIRE(held == resource->n_in_state[UNIT_HELD] && claims >= resource_waiting(resource));
}

static void check_fleet_lease(const struct core *core, const struct lease *lease)
{
    bool is_held = lease->state == LEASE_HELD;
    REQUIRE(lease->database <= MAX_DATABASES);
    const struct tenant *tenant = lease->tenant;
    REQUIRE(!tenant == (lease->database == 0));
    REQUIRE(!tenant ||
        (tenant->lease == lease && tenant->tenure == &core->tenures[lease->database - 1]));
    for (size_t i = 0; i < lease->n_claims; i++) {
        REQUIRE(lease->claims[i].resource->definition->database == lease->database);
    }
    REQUIRE(lease->database != 0 || (!lease->is_asked && !lease->wants_now));
    REQUIRE(!is_held || (!lease->wants_now && lease->position == 0));
    REQUIRE(is_held || !(core->draining || lease->is_away) || !lease->is_asked);
    REQUIRE(is_held || lease->database == 0 ||
        (lease->waiting->aside && lease->waiting->charge.account));
    REQUIRE((tenant && sorted_set_contains(&tenant->budget_node)) ==
        (tenant && is_held && !lease->is_ending && stop_may_begin(lease, OUTCOME_DEADLINE)));
}

static void check_tenure(const struct tenure *tenure, size_t *n_leases)
{
    size_t n_waiting = 0, n_limited = 0;
    const struct tenant *tenant;
    TAILQ_FOREACH (tenant, &tenure->waiting, link) {
        REQUIRE(tenant->tenure == tenure && tenant->lease->state == LEASE_WAITING);
        n_waiting++;
    }
    *n_leases += n_waiting;
    TAILQ_FOREACH (tenant, &tenure->held, link) {
        REQUIRE(tenant->tenure == tenure && tenant->lease->state == LEASE_HELD);
        n_limited += sorted_set_contains(&tenant->budget_node);
        ++*n_leases;
    }
    REQUIRE(n_waiting == tenure->n_waiting && n_limited == sorted_set_size(&tenure->by_budget));
    nanoseconds budget = NEVER;
    struct sorted_set_node *node = sorted_set_first(&tenure->by_budget);
    for (; node; node = sorted_set_next(node)) {
        tenant = container_of(node, struct tenant, budget_node);
        REQUIRE(tenant->tenure == tenure && lease_stop_budget(tenant->lease) <= budget);
        budget = lease_stop_budget(tenant->lease);
    }
}

static void check_lease(struct core *core, struct lease *lease)
{
    REQUIRE(lease->client && lease->state != LEASE_ENDED);
    REQUIRE(lease->client != &core->detached || lease->state == LEASE_HELD || lease->is_away);
    REQUIRE(!lease->is_away || (lease->state == LEASE_WAITING && lease->waiting->aside));
    REQUIRE(!lease->lease_timer || lease->state == LEASE_HELD);
    check_fleet_lease(core, lease);
    check_shares(core, lease);
    if (lease->waiting) {
        check_waiting(core, lease);
    }
}

/* Its list is by age, and has claims on its own resources. Returns how many; their units go to
 * *unitsp. */
static uint32_t check_claims(const struct tally *tally, bool is_held, uint32_t *unitsp)
{
    uint32_t n = 0;
    nanoseconds before = INT64_MIN;
    const struct claim *claim;
    TAILQ_FOREACH (claim, is_held ? &tally->held : &tally->waiting, tally_link) {
        const struct lease *lease = claim->lease;
        nanoseconds since = is_held ? lease->granted_at : lease->asked_at;
        REQUIRE(lease->state == (is_held ? LEASE_HELD : LEASE_WAITING) && lease->is_listed);
        REQUIRE(claim->resource->tally == tally && since >= before);
        before = since;
        *unitsp += claim->count;
        n++;
    }
    return n;
}

static uint64_t sum_of(const uint64_t numbers[], size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += numbers[i];
    }
    return sum;
}

/* The time of each grant and of each end is counted. */
static void check_counts(const struct counts *counts)
{
    REQUIRE(sum_of(counts->granted, N_GRANTED_HOW) ==
        sum_of(counts->wait.buckets, METRIC_BUCKETS));
    REQUIRE(sum_of(counts->ended, N_OUTCOMES) == sum_of(counts->hold.buckets, METRIC_BUCKETS));
}

/* Returns how many claims its lists have. */
static size_t check_tally(const struct core *core, const struct tally *tally)
{
    uint32_t wanted = 0, held = 0, n_resources = 0;
    uint32_t n_waiting = check_claims(tally, false, &wanted);
    uint32_t n_holders = check_claims(tally, true, &held);
    const struct resource *resource;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        n_resources += resource->tally == tally;
    }
    REQUIRE(n_waiting == tally->n_waiting && held == tally->n_held);
    REQUIRE(n_resources == tally->n_resources);
    check_counts(&tally->counts);
    return n_waiting + n_holders;
}

static void check_tallies(const struct core *core, size_t n_claims)
{
    const struct tallies *tallies = &core->tallies;
    size_t n_listed = check_tally(core, &tallies->unnamed);
    for (size_t i = 0; i < tallies->n; i++) {
        const struct tally *tally = tallies->list[i];
        n_listed += check_tally(core, tally);
        REQUIRE(!tally->definition || strcmp(tally->definition->name, tally->name) == 0);
    }
    REQUIRE(n_listed == n_claims);
}

void core_check(struct core *core)
{
    size_t n_resources = 0, n_claims = 0, n_held = 0, n_fleet = 0, n_fleet_listed = 0;
    const struct resource *resource;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        n_resources++;
        REQUIRE(!resource->is_dirty);
        REQUIRE(resource->is_listed || !resource_is_changed(resource));
        (resource_is_fleet(resource) ? check_given : check_units)(resource);
        check_holders(resource);
        check_set(&resource->queue, STANDS_IN_QUEUE);
        check_set(&resource->kept, STANDS_KEEPING);
        check_set(&resource->aside, STANDS_ASIDE);
        check_kept(resource);
        check_usages(resource);
    }
    REQUIRE(n_resources == core->resources.n);
    REQUIRE(sorted_set_is_empty(&core->agenda) && TAILQ_EMPTY(&core->stale_lanes));
    for (size_t i = 0; i < core->leases.n_buckets; i++) {
        for (struct table_node *node = core->leases.buckets[i]; node; node = node->next) {
            struct lease *lease = container_of(node, struct lease, by_id);
            check_lease(core, lease);
            n_claims += lease->n_claims;
            n_held += lease->state == LEASE_HELD;
            n_fleet += lease->database != 0;
        }
    }
    for (size_t i = 0; i < MAX_DATABASES; i++) {
        check_tenure(&core->tenures[i], &n_fleet_listed);
    }
    check_tallies(core, n_claims);
    REQUIRE(n_fleet == n_fleet_listed);
    REQUIRE(n_held == core->n_held && core->leases.n == core->n_held + core->n_waiting);
}

uint64_t core_last_number(const struct core *core)
{
    return core->last_id;
}
