#include "core/keep.h"

#include "base/memory.h"
#include "core/internal.h"
#include "core/place.h"
#include "core/quota.h"
#include "core/ranges.h"

#include <string.h>

enum { MAX_DOUBLINGS = 40 };

/* Lets time pass before anything is kept again. */
#define KEEP_MIN (NANOSECONDS_PER_SECOND / 1000)

/* ---- the road ---- */

/* Of what the claim wants its count: all is the whole, also of nothing. */
static uint64_t whole_of(const struct claim *claim)
{
    return claim->is_all ? claim->count : resource_limit(claim->resource);
}

/* The claim to the larger part of its limit comes first, then the name decides. */
static bool comes_before(const struct claim *a, const struct claim *b)
{
    uint64_t part_a = a->count * whole_of(b), part_b = b->count * whole_of(a);
    return part_a != part_b ? part_a > part_b : strcmp(a->resource->name, b->resource->name) < 0;
}

struct road *road_new(struct lease *lease)
{
    if (lease->n_claims == 1 || lease->database != 0) {
        return NULL;
    }
    struct road *road = memory_new(sizeof *road + lease->n_claims);
    road->lease = lease;
    for (uint8_t i = 0; i < lease->n_claims; i++) {
        uint8_t k = i;
        for (; k > 0 && comes_before(&lease->claims[i], &lease->claims[road->claims[k - 1]]); k--) {
            road->claims[k] = road->claims[k - 1];
        }
        road->claims[k] = i;
    }
    return road;
}

bool lease_keeps(const struct lease *lease)
{
    const struct road *road = lease->waiting->road;
    return road && road->n_kept > 0;
}

struct claim *lease_station(struct lease *lease)
{
    struct road *road = lease->waiting->road;
    return road ? road->station : &lease->claims[0];
}

/* Moves the claim to the place `to` on the road, at or before its own. */
static void road_move(struct road *road, const struct claim *claim, size_t to)
{
    uint8_t index = (uint8_t)(claim - road->lease->claims);
    size_t from = to;
    while (road->claims[from] != index) {
        from++;
    }
    memmove(&road->claims[to + 1], &road->claims[to], from - to);
    road->claims[to] = index;
}

/* ---- enough units ---- */

bool resource_has_turn(const struct resource *resource, const struct sorted_set_node *own)
{
    const struct definition *definition = resource->definition;
    struct sorted_set_node *node = sorted_set_first(&resource->queue);
    bool is_strict = definition->order != ORDER_FIRST_FIT;
    for (int i = 0; node && sorted_set_node_is_before(node, own); node = sorted_set_next(node)) {
        if (is_strict || place_of_node(node)->overtaken >= definition->max_overtakes ||
            ++i == FIRST_FIT_WINDOW) {
            return false;
        }
    }
    return true;
}

bool claim_is_its_turn(const struct claim *claim)
{
    return resource_has_turn(claim->resource, &claim_place(claim)->node);
}

static uint32_t kept_for_older(const struct claim *claim)
{
    const struct sorted_set_node *node = &claim_place(claim)->node;
    return sorted_set_sum_below(&claim->resource->kept, node->major, node->minor);
}

/* Whether there are enough units beside those that are kept for older ones. */
static bool has_beside_kept(const struct claim *claim)
{
    uint32_t kept = kept_for_older(claim);
    return claim->is_all ? kept == 0 : kept <= resource_available(claim->resource) - claim->count;
}

nanoseconds claim_goes_at(const struct claim *claim)
{
    uint64_t kept = kept_for_older(claim);
    return claim->is_all && kept > 0 ? NEVER
                                     : meter_has_at(claim->resource->meter, kept + claim->count);
}

bool claim_has(const struct claim *claim)
{
    return claim_has_units(claim) && has_beside_kept(claim) && claim_is_its_turn(claim);
}

static struct claim *first_without(struct lease *lease, size_t from, size_t end)
{
    const struct road *road = lease->waiting->road;
    for (size_t i = from; i < end; i++) {
        struct claim *claim = &lease->claims[road ? road->claims[i] : i];
        if (!claim_has(claim)) {
            return claim;
        }
    }
    return NULL;
}

/* Of the claims that are not kept. Those that have a rate come before the others: while the lease
 * waits for its instant, it delays nobody elsewhere. */
static struct claim *first_rated(struct lease *lease, bool that_lacks)
{
    const struct road *road = lease->waiting->road;
    for (size_t i = road->n_kept; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[road->claims[i]];
        if (claim->resource->meter && !(that_lacks && claim_has(claim))) {
            return claim;
        }
    }
    return NULL;
}

struct claim *lease_lacks(struct lease *lease)
{
    return first_without(lease, 0, lease->n_claims);
}

struct claim *keep_lost(struct lease *lease)
{
    return lease_keeps(lease) ? first_without(lease, 0, lease->waiting->road->n_kept) : NULL;
}

/* ---- keeping and letting go ---- */

static nanoseconds patience(const struct road *road)
{
    nanoseconds shortest = NEVER;
    for (size_t i = 0; i < road->lease->n_claims; i++) {
        nanoseconds keep = road->lease->claims[i].resource->definition->keep;
        shortest = keep < shortest ? keep : shortest;
    }
    shortest = shortest > KEEP_MIN ? shortest : KEEP_MIN;
    return shortest > NEVER >> road->n_let_go ? NEVER : shortest << road->n_let_go;
}

static void start_timer(struct core *core, struct road *road, nanoseconds now)
{
    nanoseconds span = patience(road);
    if (!sorted_set_contains(&road->timer) && span < NEVER - now) {
        sorted_set_insert(
            &core->keep_timers, &road->timer, (uint64_t)(now + span), road->lease->id);
    }
}

/* Keeps only the first `n` of the kept claims. */
static void keep_only(struct core *core, struct road *road, size_t n)
{
    while (road->n_kept > n) {
        struct claim *claim = &road->lease->claims[road->claims[--road->n_kept]];
        place_put(core, claim, STANDS_ASIDE);
    }
}

static void changed(struct core *core, struct lease *lease)
{
    lane_update(core, lease, false);
    quota_changed_for(core, lease);
    queue_mark_all_dirty(core, lease);
}

static void stand(struct core *core, struct lease *lease, struct claim *claim)
{
    struct road *road = lease->waiting->road;
    if (road->station && road->station != claim &&
        claim_place(road->station)->standing == STANDS_IN_QUEUE) {
        place_put(core, road->station, STANDS_ASIDE);
    }
    road->station = claim;
    place_put(core, claim, STANDS_IN_QUEUE);
}

void keep_choose(struct core *core, struct lease *lease)
{
    const struct road *road = lease->waiting->road;
    struct claim *rated = first_rated(lease, true);
    struct claim *lacks =
        rated ? rated : first_without(lease, road->n_kept, lease->n_claims);
    stand(core, lease, lacks ? lacks : &lease->claims[road->claims[road->n_kept]]);
}

bool keep_has_another(const struct lease *lease)
{
    const struct road *road = lease->waiting->road;
    return road && road->n_kept + 1 < lease->n_claims;
}

void keep_gain(struct core *core, struct lease *lease, nanoseconds now)
{
    struct road *road = lease->waiting->road;
    struct claim *rated = road->station->resource->meter ? NULL : first_rated(lease, false);
    if (rated) {
        stand(core, lease, rated);
        return;
    }
    road_move(road, road->station, road->n_kept++);
    place_put(core, road->station, STANDS_KEEPING);
    start_timer(core, road, now);
    keep_choose(core, lease);
    changed(core, lease);
}

void keep_fall(struct core *core, struct lease *lease, const struct claim *lost)
{
    struct road *road = lease->waiting->road;
    size_t at = 0;
    while (&lease->claims[road->claims[at]] != lost) {
        at++;
    }
    keep_only(core, road, at);
    stand(core, lease, &lease->claims[road->claims[at]]);
    changed(core, lease);
}

/* The lease begins again with the claim that lacked units. */
static void let_go(struct core *core, struct lease *lease)
{
    struct road *road = lease->waiting->road;
    sorted_set_discard(&core->keep_timers, &road->timer);
    keep_only(core, road, 0);
    road_move(road, road->station, 0);
    changed(core, lease);
}

void keep_drop(struct core *core, struct lease *lease)
{
    struct road *road = lease->waiting->road;
    sorted_set_discard(&core->keep_timers, &road->timer);
    keep_only(core, road, 0);
    if (road->station) {
        place_put(core, road->station, STANDS_ASIDE);
        road->station = NULL;
    }
}

/* ---- another request takes its place ---- */

void keep_note(struct progress *progress, struct lease *lease, const struct lease *other)
{
    const struct road *road = lease->waiting->road;
    *progress = (struct progress){
        .until = NEVER, .has_road = road && lease->n_claims == other->n_claims};
    for (size_t i = 0; i < other->n_claims; i++) {
        const struct claim *claim = lease_own_claim(lease, other->claims[i].resource);
        if (!claim) {
            progress->has_road = false;
            continue;
        }
        size_t index = (size_t)(claim - lease->claims);
        progress->overtaken[i] = lease->waiting->places[index].overtaken;
        for (size_t k = 0; progress->has_road && k < other->n_claims; k++) {
            if (road->claims[k] == index) {
                progress->claims[k] = (uint8_t)i;
            }
        }
    }
    if (progress->has_road) {
        progress->n_kept = road->n_kept;
        progress->n_let_go = road->n_let_go;
        progress->until =
            sorted_set_contains(&road->timer) ? (nanoseconds)road->timer.major : NEVER;
    }
}

void keep_take(struct core *core, struct lease *other, const struct progress *progress)
{
    struct road *road = other->waiting->road;
    for (size_t i = 0; i < other->n_claims; i++) {
        other->waiting->places[i].overtaken = progress->overtaken[i];
    }
    if (!progress->has_road) {
        return;
    }
    memcpy(road->claims, progress->claims, other->n_claims);
    road->n_let_go = progress->n_let_go;
    if (other->waiting->aside) {
        return;
    }
    if (progress->until != NEVER) {
        sorted_set_insert(&core->keep_timers, &road->timer, (uint64_t)progress->until, other->id);
    }
    while (road->n_kept < progress->n_kept) {
        place_put(core, &other->claims[road->claims[road->n_kept++]], STANDS_KEEPING);
    }
    keep_choose(core, other);
    changed(core, other);
}

/* ---- time ---- */

void keep_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    struct road *road = container_of(sorted_set_first(&core->keep_timers), struct road, timer);
    if (road->n_kept > 0) {
        road->n_let_go = (uint8_t)(road->n_let_go + (road->n_let_go < MAX_DOUBLINGS));
        let_go(core, road->lease);
    } else {
        sorted_set_discard(&core->keep_timers, &road->timer);
    }
}
