#include "core/quota.h"

#include "base/memory.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/place.h"

#include <stdlib.h>

/* ---- what fits ---- */

static bool is_bounded(const struct claim *claim)
{
    return claim->resource->definition->max_units_per_user != UNBOUNDED;
}

/* Does the claim fit beside this many units of its user? */
static bool fits_beside(const struct claim *claim, uint64_t units)
{
    return units + claim->count <= claim->resource->definition->max_units_per_user;
}

bool claim_fits_quota(const struct claim *claim, uint32_t n_gone)
{
    return !is_bounded(claim) || fits_beside(claim, claim->usage->units - n_gone);
}

static uint32_t quota_kept_for_older(const struct claim *claim)
{
    const struct sorted_set_node *node = &claim_place(claim)->node;
    return sorted_set_sum_below(&claim->usage->kept, node->major, node->minor);
}

const struct claim *quota_first_exceeded(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        if (is_bounded(claim) &&
            !fits_beside(claim, (uint64_t)claim->usage->units + quota_kept_for_older(claim))) {
            return claim;
        }
    }
    return NULL;
}

bool quota_fits(const struct lease *lease)
{
    return !quota_first_exceeded(lease);
}

/* ---- lanes ---- */

static void lane_mark_stale(struct core *core, struct lane *lane)
{
    if (!lane->is_stale) {
        lane->is_stale = true;
        TAILQ_INSERT_TAIL(&core->stale_lanes, lane, stale_link);
    }
}

static bool lane_is_for(const struct lane *lane, const struct lease *lease)
{
    bool is_for = lane->n_links == lease->n_claims;
    for (size_t i = 0; is_for && i < lease->n_claims; i++) {
        is_for = lane->links[i].resource == lease->claims[i].resource &&
            lane->links[i].count == claim_kept(&lease->claims[i]);
    }
    return is_for;
}

static struct lane *lane_new(const struct lease *lease)
{
    size_t n = lease->n_claims;
    struct lane *lane = memory_new(sizeof *lane + n * sizeof lane->links[0]);
    lane->n_links = (uint8_t)n;
    for (size_t i = 0; i < n; i++) {
        const struct claim *claim = &lease->claims[i];
        lane->links[i] = (struct lane_link){.lane = lane,
            .usage = claim->usage,
            .resource = claim->resource,
            .count = claim_kept(claim)};
        TAILQ_INSERT_TAIL(&claim->usage->lanes, &lane->links[i], link);
    }
    return lane;
}

static void lane_free(struct core *core, struct lane *lane)
{
    for (size_t i = 0; i < lane->n_links; i++) {
        TAILQ_REMOVE(&lane->links[i].usage->lanes, &lane->links[i], link);
    }
    if (lane->is_stale) {
        TAILQ_REMOVE(&core->stale_lanes, lane, stale_link);
    }
    free(lane);
}

static bool needs_lane(const struct lease *lease)
{
    bool needs = false;
    for (size_t i = 0; lease->database == 0 && i < lease->n_claims; i++) {
        needs |= is_bounded(&lease->claims[i]);
    }
    return needs;
}

void lane_assign(struct core *core, struct lease *lease)
{
    struct waiting *waiting = lease->waiting;
    if (needs_lane(lease) == (waiting->lane != NULL)) {
        return;
    }
    if (waiting->lane) {
        lane_leave(core, lease);
        return;
    }
    const struct lane_link *link;
    TAILQ_FOREACH (link, &lease->claims[0].usage->lanes, link) {
        if (lane_is_for(link->lane, lease)) {
            break;
        }
    }
    waiting->lane = link ? link->lane : lane_new(lease);
    waiting->lane->n_leases++;
}

static struct sorted_set *lane_set_for(const struct lease *lease, bool is_blocked)
{
    struct lane *lane = lease->waiting->lane;
    if (lease->waiting->aside) {
        return is_blocked ? NULL : &lane->outside;
    }
    return lease_keeps(lease) ? &lane->keeping : &lane->inside;
}

static void lane_move(struct lease *lease, struct sorted_set *set)
{
    struct waiting *waiting = lease->waiting;
    if (waiting->lane_set) {
        sorted_set_remove(waiting->lane_set, &waiting->lane_node);
    }
    waiting->lane_set = set;
    if (set) {
        place_insert(set, &waiting->lane_node, lease, 0);
    }
}

void lane_update(struct core *core, struct lease *lease, bool is_blocked)
{
    struct waiting *waiting = lease->waiting;
    struct sorted_set *set = waiting->lane ? lane_set_for(lease, is_blocked) : NULL;
    if (set != waiting->lane_set) {
        lane_move(lease, set);
        lane_mark_stale(core, waiting->lane);
    }
}

void lane_leave(struct core *core, struct lease *lease)
{
    struct lane *lane = lease->waiting->lane;
    if (lane) {
        lane_move(lease, NULL);
        lease->waiting->lane = NULL;
        lane_mark_stale(core, lane);
        if (--lane->n_leases == 0) {
            lane_free(core, lane);
        }
    }
}

static struct lease *lane_first(const struct sorted_set *set)
{
    struct sorted_set_node *node = sorted_set_first(set);
    return node ? container_of(node, struct waiting, lane_node)->lease : NULL;
}

/* The first lease outside, unless one inside comes before it; or NULL. */
static struct lease *lane_next(const struct lane *lane)
{
    struct lease *next = lane_first(&lane->outside), *ahead = lane_first(&lane->inside);
    bool is_first = next &&
        (!ahead ||
            sorted_set_node_is_before(&next->waiting->lane_node, &ahead->waiting->lane_node));
    return is_first ? next : NULL;
}

struct lease *lane_next_to_enter(struct core *core)
{
    struct lane *lane;
    while ((lane = TAILQ_FIRST(&core->stale_lanes))) {
        TAILQ_REMOVE(&core->stale_lanes, lane, stale_link);
        lane->is_stale = false;
        struct lease *next = lane_next(lane);
        if (next && quota_fits(next)) {
            return next;
        }
    }
    return NULL;
}

/* ---- changes ---- */

/* Leases of a lane want the same, and a later one has more before it that counts: if it fits, so do
 * all before it. */
static void lane_look(struct core *core, struct lane *lane)
{
    struct sorted_set_node *node = sorted_set_last(&lane->keeping);
    for (; node; node = sorted_set_previous(node)) {
        struct lease *lease = container_of(node, struct waiting, lane_node)->lease;
        if (quota_fits(lease)) {
            break;
        }
        queue_look_at(core, lease);
    }
    for (size_t i = 0; i < lane->n_links; i++) {
        queue_mark_dirty(core, lane->links[i].resource);
    }
    lane_mark_stale(core, lane);
}

void quota_changed(struct core *core, const struct usage *usage)
{
    const struct lane_link *link;
    TAILQ_FOREACH (link, &usage->lanes, link) {
        lane_look(core, link->lane);
    }
}

void quota_changed_for(struct core *core, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (is_bounded(&lease->claims[i])) {
            quota_changed(core, lease->claims[i].usage);
        }
    }
}
