/* model_fair.c - the model's ranks under order = fair: by walks over all waiters. */
#include "model.h"

#include <string.h>

static uint64_t ticket_of(const struct model_lease *lease)
{
    return lease->moved ? lease->moved : lease->id;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* From which the lease has its rank; NULL: none. */
static struct model_claim *fair_claim(struct model_lease *lease)
{
    struct model_claim *first = NULL;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_claim *claim = &lease->claims[i];
        bool is_earlier = !first || strcmp(claim->resource->name, first->resource->name) < 0;
        first = claim->resource->rules.order == ORDER_FAIR && is_earlier ? claim : first;
    }
    return first;
}

static bool is_one_flow(
    const struct rules *rules, const struct model_lease *a, const struct model_lease *b)
{
    bool by_word = rules->fair_by_share && (a->share != 0 || b->share != 0);
    return by_word ? a->share == b->share : a->uid == b->uid;
}

static uint64_t cost_of(const struct model_claim *claim)
{
    uint64_t count = claim->is_all ? model_limit(claim->resource) : claim->count;
    return count > 0 ? count : 1;
}

/* The last rank of the lease's flow; 0: none waits. */
static uint64_t last_of_flow(
    struct model *model, const struct model_resource *resource, const struct model_lease *lease)
{
    uint64_t last = 0;
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *other = model->waiters[i];
        struct model_claim *theirs = fair_claim(other);
        bool counts = theirs && theirs->resource == resource && !other->is_first &&
            other->priority == lease->priority;
        last = counts && is_one_flow(&resource->rules, other, lease)
            ? larger(last, ticket_of(other))
            : last;
    }
    return last;
}

/* Of its priority, the first in that queue, or of all that wait for it; NULL: none. */
static struct model_lease *first_waiter(struct model *model,
    const struct model_resource *resource, const struct model_lease *lease, bool in_queue)
{
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *other = model->waiters[i];
        bool stands = in_queue
            ? other->station >= 0 && other->claims[other->station].resource == resource
            : model_claim_on(other, resource) != NULL;
        if (stands && !other->is_first && other->priority == lease->priority) {
            return other;
        }
    }
    return NULL;
}

/* The largest rank that was granted there, as far as the first in the queue allows. */
static uint64_t clock_for(
    struct model *model, struct model_resource *resource, const struct model_lease *lease)
{
    uint64_t clock = resource->clocks[lease->priority - LOWEST_PRIORITY];
    struct model_lease *first = first_waiter(model, resource, lease, true);
    first = first || clock != 0 ? first : first_waiter(model, resource, lease, false);
    if (!first) {
        return clock;
    }
    uint64_t rank = ticket_of(first), cost = cost_of(model_claim_on(first, resource));
    uint64_t least = rank > cost ? rank - cost : 1;
    bool is_lowered = clock > rank && last_of_flow(model, resource, lease) == 0;
    return clock < least ? least : is_lowered ? rank : clock;
}

uint64_t model_rank(struct model *model, struct model_lease *lease, uint64_t number)
{
    const struct model_claim *claim = fair_claim(lease);
    uint64_t base = claim ? larger(clock_for(model, claim->resource, lease),
                                last_of_flow(model, claim->resource, lease))
                          : 0;
    if (base == 0) {
        model->last_ticket = larger(number, model->last_ticket + 1);
        return model->last_ticket;
    }
    return base + cost_of(claim);
}

uint64_t model_ticket_after(struct model_lease *lease, struct model_lease *older)
{
    const struct model_claim *claim = fair_claim(lease), *theirs = fair_claim(older);
    uint64_t ticket = ticket_of(older);
    if (older->is_first || !claim || !theirs || claim->resource != theirs->resource) {
        return ticket;
    }
    if (lease->priority != older->priority) {
        return UINT64_MAX;
    }
    uint64_t paid = cost_of(theirs);
    return (ticket > paid ? ticket - paid : 0) + cost_of(claim);
}

void model_fair_left(struct model *model, const struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_resource *resource = lease->claims[i].resource;
        bool any = false;
        for (size_t k = 0; k < model->n_waiters; k++) {
            struct model_lease *other = model->waiters[k];
            any |= model_claim_on(other, resource) && !other->is_first &&
                other->priority == lease->priority;
        }
        uint64_t *clock = &resource->clocks[lease->priority - LOWEST_PRIORITY];
        *clock = any ? *clock : 0;
    }
}

/* ---- a user's words take turns ---- */

static bool has_turn_before(
    const struct model_lease *lease, const struct model_lease *other, uint32_t last)
{
    bool wraps = lease->share <= last, other_wraps = other->share <= last;
    return wraps != other_wraps         ? other_wraps
        : lease->share != other->share ? lease->share < other->share
                                       : lease->number < other->number;
}

static bool may_have_turn(const struct model *model, struct model_lease *lease)
{
    return lease->n_claims == 1 && lease->station == 0 && model_can_go(model, lease) &&
        lease->claims[0].resource->rules.max_units_per_user == UNBOUNDED;
}

/* Whether any of the user's flow waits. */
static bool has_flow(struct model *model, const struct model_resource *resource, uint32_t uid,
    int32_t priority)
{
    bool any = false;
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *other = model->waiters[i];
        const struct model_claim *claim = fair_claim(other);
        bool is_users = !resource->rules.fair_by_share || other->share == 0;
        any |= claim && claim->resource == resource && other->uid == uid && !other->is_first &&
            other->priority == priority && is_users;
    }
    return any;
}

static uint32_t *last_word(const struct model_lease *lease, struct model_resource *resource)
{
    return &resource->last_words[lease->uid][lease->priority - LOWEST_PRIORITY];
}

struct model_lease *model_fair_turn(struct model *model, struct model_lease *lease)
{
    const struct model_claim *claim = &lease->claims[0];
    struct model_resource *resource = claim->resource;
    const struct rules *rules = &resource->rules;
    uint32_t last = *last_word(lease, resource);
    bool has_turns =
        rules->order == ORDER_FAIR && !rules->fair_by_share && !lease->is_first && last != 0;
    struct model_lease *next = lease;
    for (size_t i = 0; has_turns && may_have_turn(model, lease) && i < model->n_waiters; i++) {
        struct model_lease *other = model->waiters[i];
        const struct model_claim *theirs = &other->claims[0];
        bool fits = may_have_turn(model, other) && theirs->resource == resource &&
            !other->is_first && other->uid == lease->uid && other->priority == lease->priority &&
            theirs->count == claim->count && theirs->is_all == claim->is_all;
        if (fits && has_turn_before(other, next, last - 1)) {
            next = other;
        }
    }
    return next;
}

void model_fair_swap(struct model_lease *lease, struct model_lease *other)
{
    uint64_t ticket = ticket_of(lease);
    lease->moved = ticket_of(other);
    other->moved = ticket;
}

void model_fair_forget(struct model *model)
{
    for (size_t i = 0; i < model->n_resources; i++) {
        struct model_resource *resource = model->resources[i];
        for (uint32_t uid = 0; uid < MODEL_UIDS; uid++) {
            for (int32_t k = 0; k < MODEL_PRIORITIES; k++) {
                bool any = has_flow(model, resource, uid, k + LOWEST_PRIORITY);
                resource->last_words[uid][k] = any ? resource->last_words[uid][k] : 0;
            }
        }
    }
}

void model_fair_granted(struct model *model, struct model_lease *lease)
{
    bool has_rank = fair_claim(lease) && !lease->is_first;
    for (size_t i = 0; has_rank && i < lease->n_claims; i++) {
        struct model_resource *resource = lease->claims[i].resource;
        if (resource->rules.order == ORDER_FAIR) {
            uint64_t *clock = &resource->clocks[lease->priority - LOWEST_PRIORITY];
            *clock = larger(*clock, ticket_of(lease));
        }
    }
    if (has_rank) {
        struct model_resource *resource = fair_claim(lease)->resource;
        bool is_users = !resource->rules.fair_by_share || lease->share == 0;
        *last_word(lease, resource) =
            is_users ? 1 + lease->share : *last_word(lease, resource);
        model->last_ticket = larger(model->last_ticket, ticket_of(lease));
    }
}
