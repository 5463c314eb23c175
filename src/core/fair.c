#include "core/fair.h"

#include "base/memory.h"
#include "base/ticket.h"
#include "core/internal.h"
#include "core/place.h"

#include <stdlib.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_fair(const struct resource *resource)
{
    return resource->definition->order == ORDER_FAIR;
}

/* The claim on the resource that decides; NULL: none is fair. */
static struct claim *fair_claim(struct lease *lease)
{
    struct claim *first = NULL;
    for (size_t i = 0; lease->database == 0 && i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        if (is_fair(claim->resource) &&
            (!first || strcmp(claim->resource->name, first->resource->name) < 0)) {
            first = claim;
        }
    }
    return first;
}

/* ---- flows ---- */

struct flow_key {
    uint32_t uid;
    int32_t priority;
    const char *word;
    uint64_t hash;
};

static struct flow_key flow_key(
    const struct resource *resource, uint32_t uid, const char *word, int32_t priority)
{
    bool by_word = resource->definition->fair_by_share && word;
    struct flow_key key = {
        .uid = by_word ? 0 : uid, .priority = priority, .word = by_word ? word : ""};
    key.hash = hash_name(key.word) ^ hash_number((uint64_t)key.uid << 32 | (uint32_t)priority);
    return key;
}

static struct flow_key flow_key_of(const struct resource *resource, const struct lease *lease)
{
    const struct lease_attributes *attributes = &lease->attributes;
    return flow_key(resource, lease->uid, attributes->share, attributes->priority);
}

/* NULL: none of its requests waits. */
static struct flow *flow_find(const struct resource *resource, const struct flow_key *key)
{
    struct table_node *node = table_find(&resource->flows, key->hash);
    for (; node; node = table_find_next(node)) {
        struct flow *flow = container_of(node, struct flow, by_key);
        if (flow->uid == key->uid && flow->priority == key->priority &&
            strcmp(flow->word, key->word) == 0) {
            return flow;
        }
    }
    return NULL;
}

static struct flow *flow_new(struct resource *resource, const struct flow_key *key)
{
    struct flow *flow = memory_new(sizeof *flow + strlen(key->word) + 1);
    flow->uid = key->uid;
    flow->priority = key->priority;
    strcpy(flow->word, key->word);
    table_insert(&resource->flows, &flow->by_key, key->hash);
    return flow;
}

/* Whoever was moved before all others has no rank. */
static void join(struct lease *lease)
{
    struct waiting *waiting = lease->waiting;
    const struct claim *claim = fair_claim(lease);
    if (claim && !ticket_is_first(lease_rank(lease))) {
        const struct flow_key key = flow_key_of(claim->resource, lease);
        struct flow *flow = flow_find(claim->resource, &key);
        waiting->fair = claim->resource;
        waiting->flow = flow ? flow : flow_new(claim->resource, &key);
        waiting->flow->n_words += lease->attributes.share != NULL;
        sorted_set_insert(
            &waiting->flow->waiters, &waiting->flow_node, lease_rank(lease), lease->id);
    }
}

static void leave(struct waiting *waiting)
{
    struct flow *flow = waiting->flow;
    if (flow) {
        waiting->flow = NULL;
        flow->n_words -= waiting->lease->attributes.share != NULL;
        sorted_set_remove(&flow->waiters, &waiting->flow_node);
        if (sorted_set_is_empty(&flow->waiters)) {
            table_remove(&waiting->fair->flows, &flow->by_key);
            free(flow->last_word);
            free(flow);
        }
    }
}

void fair_rejoin(struct lease *lease)
{
    struct waiting *waiting = lease->waiting;
    const struct claim *claim = fair_claim(lease);
    bool stays = waiting->flow && claim && claim->resource == waiting->fair;
    if (stays) {
        const struct flow_key key = flow_key_of(claim->resource, lease);
        stays = flow_find(claim->resource, &key) == waiting->flow;
    }
    if (!stays) {
        leave(waiting);
        join(lease);
    }
}

/* ---- clocks ---- */

/* The largest rank that was granted to a priority while any of it waits. */
struct fair_clock {
    struct table_node by_priority; /* in resource.fair_clocks */
    uint64_t rank;
};

static struct fair_clock *clock_find(const struct resource *resource, int32_t priority)
{
    struct table_node *node = table_find_number(&resource->fair_clocks, place_row(priority));
    return node ? container_of(node, struct fair_clock, by_priority) : NULL;
}

static void clock_advance(struct resource *resource, int32_t priority, uint64_t rank)
{
    struct fair_clock *clock = clock_find(resource, priority);
    if (!clock) {
        clock = memory_new(sizeof *clock);
        table_insert(&resource->fair_clocks, &clock->by_priority, hash_number(place_row(priority)));
    }
    clock->rank = larger(clock->rank, rank);
}

static void clock_forget(struct resource *resource, struct fair_clock *clock)
{
    table_remove(&resource->fair_clocks, &clock->by_priority);
    free(clock);
}

/* The first of that priority in the set, which nobody has moved to the front; NULL: none. */
static struct sorted_set_node *first_of(const struct sorted_set *set, int32_t priority)
{
    uint64_t row = place_row(priority);
    struct sorted_set_node *node = sorted_set_from(set, row << TICKET_BITS, 0);
    return node && node->major >> TICKET_BITS == row ? node : NULL;
}

/* The first of those in the queue; of the others, if there are none. */
static struct sorted_set_node *first_waiter(const struct resource *resource, int32_t priority)
{
    struct sorted_set_node *first = first_of(&resource->queue, priority);
    return first ? first
                 : sorted_set_node_earlier(
                       first_of(&resource->kept, priority), first_of(&resource->aside, priority));
}

static void forget_if_none_waits(struct resource *resource, int32_t priority)
{
    struct fair_clock *clock =
        resource->fair_clocks.n > 0 ? clock_find(resource, priority) : NULL;
    if (clock && !first_waiter(resource, priority)) {
        clock_forget(resource, clock);
    }
}

/* ---- ranks ---- */

static uint32_t cost(const struct resource *resource, uint32_t count, bool is_all)
{
    uint32_t units = is_all ? resource_limit(resource) : count;
    return units > 0 ? units : 1;
}

/* In the upper half of the tickets each request costs 1: nobody can use them up for all. */
static uint64_t price(uint64_t rank, uint32_t cost)
{
    return rank < TICKET_NUMBER_MAX / 2 ? cost : 1;
}

static uint32_t cost_of(const struct claim *claim)
{
    return cost(claim->resource, claim->count, claim->is_all);
}

/* Requests that were aside come back with small ranks: so for one of another flow, of which none
 * waits, the clock is at most the rank of the first in the queue. It is at least what the first has
 * paid for. 0: nobody waits. */
static uint64_t clock_now(
    const struct resource *resource, int32_t priority, const struct flow *flow)
{
    const struct fair_clock *known = clock_find(resource, priority);
    uint64_t clock = known ? known->rank : 0;
    struct sorted_set_node *first =
        known ? first_of(&resource->queue, priority) : first_waiter(resource, priority);
    if (first) {
        uint64_t rank = first->major & TICKET_FIRST_MAX;
        uint64_t of_first = price(rank, cost_of(place_of_node(first)->claim));
        clock = larger(clock, rank > of_first ? rank - of_first : 1);
        clock = flow || clock < rank ? clock : rank;
    }
    return clock;
}

/* What the next rank of that flow is counted from; 0: it is the number of the request. */
static uint64_t base_for(const struct resource *resource, const struct flow_key *key)
{
    const struct flow *flow = flow_find(resource, key);
    uint64_t clock = clock_now(resource, key->priority, flow);
    return flow ? larger(clock, sorted_set_last(&flow->waiters)->major) : clock;
}

static uint64_t rank_from(uint64_t base, uint32_t cost)
{
    return base < TICKET_NUMBER_MAX ? base + price(base, cost) : TICKET_NUMBER_MAX;
}

uint64_t fair_next_ticket(struct core *core, struct lease *lease, uint64_t number)
{
    const struct claim *claim = fair_claim(lease);
    uint64_t base = 0;
    if (claim) {
        const struct flow_key key = flow_key_of(claim->resource, lease);
        base = base_for(claim->resource, &key);
    }
    if (base == 0) {
        core->last_ticket = larger(number, core->last_ticket + 1);
        return core->last_ticket;
    }
    return rank_from(base, cost_of(claim));
}

uint64_t fair_ticket_after(struct lease *lease, struct lease *older)
{
    const struct claim *claim = fair_claim(lease), *theirs = fair_claim(older);
    uint64_t ticket = lease_rank(older);
    bool is_paid = claim && theirs && claim->resource == theirs->resource;
    if (!is_paid || ticket_is_first(ticket)) {
        return ticket;
    }
    if (older->attributes.priority != lease->attributes.priority) {
        return TICKET_NUMBER_MAX; /* ranks of another priority may lie far behind */
    }
    uint64_t paid = price(ticket, cost_of(theirs));
    return rank_from(ticket > paid ? ticket - paid : 0, cost_of(claim));
}

struct sorted_set_node fair_new_place(
    const struct resource *resource, uint32_t uid, uint32_t count, bool is_all)
{
    const struct flow_key key = flow_key(resource, uid, NULL, 0);
    uint64_t base = is_fair(resource) ? base_for(resource, &key) : 0;
    uint64_t rank = base != 0 ? rank_from(base, cost(resource, count, is_all))
                              : TICKET_NUMBER_MAX;
    return (struct sorted_set_node){
        .major = place_row(0) << TICKET_BITS | rank, .minor = UINT64_MAX};
}

static uint32_t n_before(const struct flow *flow, const struct sorted_set_node *place)
{
    uint64_t row = place->major >> TICKET_BITS, of_flow = place_row(flow->priority);
    uint64_t ticket = place->major & TICKET_FIRST_MAX;
    return of_flow < row ? sorted_set_size(&flow->waiters)
        : of_flow == row ? sorted_set_count_below(&flow->waiters, ticket, place->minor)
                         : 0;
}

uint32_t fair_n_own(const struct resource *resource, uint32_t uid, const char *word,
    const struct sorted_set_node *place)
{
    const struct flow_key key = flow_key(resource, uid, word, 0);
    uint32_t n = 0;
    for (size_t i = 0; i < resource->flows.n_buckets; i++) {
        for (struct table_node *node = resource->flows.buckets[i]; node; node = node->next) {
            const struct flow *flow = container_of(node, struct flow, by_key);
            bool is_own = flow->uid == key.uid && strcmp(flow->word, key.word) == 0;
            n += is_own ? n_before(flow, place) : 0;
        }
    }
    return n;
}

/* ---- a user's words ---- */

static const char *word_of(const struct lease *lease)
{
    return lease->attributes.share ? lease->attributes.share : "";
}

/* Whose turn comes first: by the words after the last one, which itself comes last. Swaps have
 * changed the tickets of those with one word, but not their order. */
static bool has_turn_before(const struct lease *lease, const struct lease *other, const char *last)
{
    const char *word = word_of(lease), *word_of_other = word_of(other);
    bool wraps = strcmp(word, last) <= 0, other_wraps = strcmp(word_of_other, last) <= 0;
    int order = strcmp(word, word_of_other);
    return wraps != other_wraps ? other_wraps
        : order != 0            ? order < 0
                                : lease->waiting->number < other->waiting->number;
}

/* One resource, no lane, and it stands in the queue with its client. */
static bool may_have_turn(const struct lease *lease)
{
    const struct waiting *waiting = lease->waiting;
    return lease_n_all(lease) == 1 && !waiting->lane && !lease_is_detached(lease) &&
        waiting->places[0].standing == STANDS_IN_QUEUE;
}

static bool want_the_same(const struct claim *claim, const struct claim *other)
{
    return claim->count == other->count && claim->is_all == other->is_all;
}

struct lease *fair_turn(struct lease *lease)
{
    const struct flow *flow = lease->waiting->flow;
    bool has_turns = flow && flow->has_granted && (flow->n_words > 0 || flow->has_swapped) &&
        !lease->waiting->fair->definition->fair_by_share;
    struct lease *next = lease;
    if (!has_turns || !may_have_turn(lease)) {
        return lease;
    }
    struct sorted_set_node *node = sorted_set_first(&flow->waiters);
    for (; node; node = sorted_set_next(node)) {
        struct lease *other = container_of(node, struct waiting, flow_node)->lease;
        if (may_have_turn(other) && want_the_same(&lease->claims[0], &other->claims[0]) &&
            has_turn_before(other, next, flow->last_word ? flow->last_word : "")) {
            next = other;
        }
    }
    return next;
}

static void take_place(struct core *core, struct lease *lease, uint64_t ticket)
{
    struct waiting *waiting = lease->waiting;
    lease->ticket = ticket;
    sorted_set_insert(&waiting->flow->waiters, &waiting->flow_node, ticket, lease->id);
    place_enter(&lease->claims[0]);
    place_put(core, &lease->claims[0], STANDS_IN_QUEUE);
}

static void leave_place(struct core *core, struct lease *lease)
{
    sorted_set_discard(&core->agenda, &lease->waiting->agenda_node);
    sorted_set_remove(&lease->waiting->flow->waiters, &lease->waiting->flow_node);
    place_leave(core, &lease->claims[0]);
}

void fair_swap(struct core *core, struct lease *lease, struct lease *other)
{
    uint64_t ticket = lease_rank(lease), ticket_of_other = lease_rank(other);
    lease->waiting->flow->has_swapped = true;
    leave_place(core, lease);
    leave_place(core, other);
    take_place(core, lease, ticket_of_other);
    take_place(core, other, ticket);
}

static void note_word(struct flow *flow, const struct lease *lease)
{
    flow->has_granted = true;
    free(flow->last_word);
    flow->last_word = memory_string(lease->attributes.share);
}

/* ---- who waits ---- */

void fair_enter(struct core *core, struct lease *lease)
{
    bool is_new = lease->database == 0 && lease->id >= core->first_id && lease->ticket == 0;
    core->last_ticket = core->n_waiting > 0 ? core->last_ticket : 0;
    lease->waiting->number = lease_rank(lease); /* of a new one its id */
    if (is_new) {
        uint64_t ticket = fair_next_ticket(core, lease, lease->id);
        lease->ticket = ticket != lease->id ? ticket : 0;
    }
    join(lease);
}

void fair_leave(struct lease *lease)
{
    leave(lease->waiting);
    for (size_t i = 0; i < lease->n_claims; i++) {
        forget_if_none_waits(lease->claims[i].resource, lease->attributes.priority);
    }
}

void fair_set_ticket(struct lease *lease, uint64_t ticket)
{
    fair_leave(lease);
    lease->ticket = ticket;
    join(lease);
}

void fair_is_granted(struct core *core, const struct lease *lease)
{
    if (!lease->waiting->flow) {
        return;
    }
    uint64_t rank = lease_rank(lease);
    note_word(lease->waiting->flow, lease);
    core->last_ticket = larger(core->last_ticket, rank);
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (is_fair(lease->claims[i].resource)) {
            clock_advance(lease->claims[i].resource, lease->attributes.priority, rank);
        }
    }
}
