#include "core/place.h"

#include "base/ticket.h"
#include "core/circle.h"
#include "core/internal.h"
#include "core/quota.h"

void place_insert(struct sorted_set *order, struct sorted_set_node *node, const struct lease *lease,
    uint32_t weight)
{
    uint64_t ticket = lease_rank(lease);
    uint64_t row = ticket_is_first(ticket) ? 0 : place_row(lease->attributes.priority);
    sorted_set_insert_weighted(order, node, row << TICKET_BITS | ticket, lease->id, weight);
}

static struct sorted_set *set_of(struct resource *resource, enum standing standing)
{
    return standing == STANDS_IN_QUEUE ? &resource->queue
        : standing == STANDS_KEEPING   ? &resource->kept
                                       : &resource->aside;
}

static void place_remove(struct claim *claim)
{
    struct place *place = claim_place(claim);
    sorted_set_remove(set_of(claim->resource, place->standing), &place->node);
    if (place->standing == STANDS_KEEPING) {
        sorted_set_remove(&claim->usage->kept, &place->kept_node);
    }
}

/* Whether somebody's place there is behind that place, wherever they stand. */
static bool is_before_one(const struct place *place)
{
    bool is_before = false;
    for (enum standing standing = 0; standing < N_STANDINGS; standing++) {
        const struct sorted_set_node *last =
            sorted_set_last(set_of(place->claim->resource, standing));
        is_before |= last && sorted_set_node_is_before(&place->node, last);
    }
    return is_before;
}

void place_enter(struct claim *claim)
{
    struct place *place = claim_place(claim);
    place->claim = claim;
    place->standing = STANDS_ASIDE;
    place_insert(&claim->resource->aside, &place->node, claim->lease, 0);
}

void place_leave(struct core *core, struct claim *claim)
{
    place_remove(claim);
    queue_mark_dirty(core, claim->resource);
}

void place_put(struct core *core, struct claim *claim, enum standing standing)
{
    struct place *place = claim_place(claim);
    if (place->standing == standing) {
        return;
    }
    place_remove(claim);
    place->standing = (uint8_t)standing;
    place_insert(set_of(claim->resource, standing), &place->node, claim->lease,
        standing == STANDS_KEEPING ? claim_kept(claim) : 0);
    if (standing == STANDS_IN_QUEUE && !TAILQ_EMPTY(&core->nested) && is_before_one(place)) {
        circle_look(core);
    }
    if (standing == STANDS_KEEPING) {
        place_insert(&claim->usage->kept, &place->kept_node, claim->lease, claim->count);
    }
    queue_mark_dirty(core, claim->resource);
    news_lease(&core->news, claim->lease);
}

uint32_t claim_position(const struct claim *claim)
{
    if (claim->lease->database != 0) {
        return claim->lease->position;
    }
    const struct sorted_set_node *node = &claim_place(claim)->node;
    const struct resource *resource = claim->resource;
    return 1 + sorted_set_count_below(&resource->queue, node->major, node->minor) +
        sorted_set_count_below(&resource->kept, node->major, node->minor) +
        sorted_set_count_below(&resource->aside, node->major, node->minor);
}

uint32_t lease_position(const struct lease *lease)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        uint32_t position = claim_position(&lease->claims[i]);
        largest = position > largest ? position : largest;
    }
    return largest;
}

void queue_mark_dirty(struct core *core, struct resource *resource)
{
    if (!resource->is_dirty) {
        resource->is_dirty = true;
        TAILQ_INSERT_TAIL(&core->dirty, resource, dirty_link);
    }
}

void queue_mark_all_dirty(struct core *core, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        queue_mark_dirty(core, lease->claims[i].resource);
    }
}

void queue_look_at(struct core *core, struct lease *lease)
{
    struct sorted_set_node *node = &lease->waiting->agenda_node;
    if (!sorted_set_contains(node)) {
        place_insert(&core->agenda, node, lease, 0);
    }
}

struct claim **place_waiters(const struct resource *resource, size_t *np)
{
    const struct sorted_set *orders[N_STANDINGS] = {
        &resource->queue, &resource->kept, &resource->aside};
    struct claim **waiters = memory_new((resource_waiting(resource) + 1) * sizeof *waiters);
    size_t n = 0;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        for (struct sorted_set_node *node = sorted_set_first(orders[i]); node;
             node = sorted_set_next(node)) {
            waiters[n++] = place_of_node(node)->claim;
        }
    }
    *np = n;
    return waiters;
}
