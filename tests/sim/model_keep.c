/* model_keep.c - the model's requests for several resources: where each stands, and what is kept
 * for it meanwhile. Always by walks over all waiters, oldest first. */
#include "model.h"

#include <string.h>

/* ---- the road ---- */

/* A larger part of the limit, or the same and an earlier name. */
static bool comes_first(const struct model_claim *a, const struct model_claim *b)
{
    uint64_t whole_of_a = a->is_all ? a->count : model_limit(a->resource);
    uint64_t whole_of_b = b->is_all ? b->count : model_limit(b->resource);
    uint64_t left = a->count * whole_of_b, right = b->count * whole_of_a;
    return left > right || (left == right && strcmp(a->resource->name, b->resource->name) < 0);
}

void model_road_begin(struct model_lease *lease)
{
    lease->station = -1;
    lease->n_kept = lease->n_let_go = 0;
    lease->keep_until = NEVER;
    for (size_t i = 0; i < lease->n_claims; i++) { /* a limit of 0 is as large as any other */
        const struct model_claim *claim = &lease->claims[i];
        size_t at = i;
        for (; at > 0 && comes_first(claim, &lease->claims[lease->road[at - 1]]); at--) {
            lease->road[at] = lease->road[at - 1];
        }
        lease->road[at] = (uint8_t)i;
    }
}

static void road_move(struct model_lease *lease, uint8_t claim, size_t to)
{
    uint8_t road[MODEL_WANTS];
    size_t n = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (n == to) {
            road[n++] = claim;
        }
        if (lease->road[i] != claim) {
            road[n++] = lease->road[i];
        }
    }
    if (n == to) {
        road[n] = claim;
    }
    memcpy(lease->road, road, sizeof road);
}

bool model_keeps(const struct model_lease *lease, const struct model_claim *claim)
{
    for (size_t i = 0; i < lease->n_kept; i++) {
        if (&lease->claims[lease->road[i]] == claim) {
            return true;
        }
    }
    return false;
}

/* ---- enough units ---- */

bool model_stands_at(const struct model_lease *lease, const struct model_resource *resource)
{
    return lease->station >= 0 && lease->claims[lease->station].resource == resource;
}

/* No waiter before it in that queue bars its way. */
static bool is_its_turn(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    const struct rules *rules = &claim->resource->rules;
    uint32_t n_before = 0;
    for (size_t i = 0; model->waiters[i] != lease; i++) {
        struct model_lease *other = model->waiters[i];
        if (!model_stands_at(other, claim->resource)) {
            continue;
        }
        if (rules->order != ORDER_FIRST_FIT ||
            other->claims[other->station].overtaken >= rules->max_overtakes) {
            return false;
        }
        n_before++;
    }
    return n_before < FIRST_FIT_WINDOW;
}

uint32_t model_kept_of(const struct model_claim *claim)
{
    return claim->is_all ? 100 * MODEL_UNITS : claim->count;
}

/* Units of the resource that are kept for those before it; only one user's, if `uid` is not -1. */
static uint32_t kept_for_older(const struct model *model, const struct model_lease *lease,
    const struct model_resource *resource, int uid)
{
    uint32_t n = 0;
    for (size_t i = 0; model->waiters[i] != lease; i++) {
        struct model_lease *other = model->waiters[i];
        struct model_claim *theirs = model_claim_on(other, resource);
        bool counts = uid < 0 || other->uid == (uint32_t)uid;
        n += theirs && counts && model_keeps(other, theirs) ? model_kept_of(theirs) : 0;
    }
    return n;
}

uint32_t model_kept_for_older(const struct model *model, const struct model_lease *lease,
    const struct model_resource *resource)
{
    return kept_for_older(model, lease, resource, -1);
}

/* Whether there are enough units beside so many. */
static bool has_beside(const struct model_claim *claim, uint32_t kept)
{
    bool is_free = !claim->is_all || (model_is_untaken(claim->resource) && kept == 0);
    return is_free && kept + claim->count <= model_available(claim->resource);
}

/* Whether there are enough units, and it is its turn. */
static bool has(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    return has_beside(claim, kept_for_older(model, lease, claim->resource, -1)) &&
        is_its_turn(model, lease, claim);
}

bool model_fits(const struct model *model, const struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        uint32_t max = claim->resource->rules.max_units_per_user;
        uint32_t has = model_units_of_user(model, claim->resource, lease->uid) +
            kept_for_older(model, lease, claim->resource, (int)lease->uid);
        if (max != UNBOUNDED && has + claim->count > max) {
            return false;
        }
    }
    return true;
}

/* The place on the road, from `from` on, of the first claim without enough units; -1: none. */
static int lacks_from(const struct model *model, const struct model_lease *lease, size_t from)
{
    for (size_t i = from; i < lease->n_claims; i++) {
        if (!has(model, lease, &lease->claims[lease->road[i]])) {
            return (int)i;
        }
    }
    return -1;
}

bool model_lacks_nothing(const struct model *model, const struct model_lease *lease)
{
    return lacks_from(model, lease, 0) < 0;
}

/* ---- steps ---- */

void model_set_aside(struct model_lease *lease)
{
    lease->aside = true;
    lease->station = -1;
    lease->n_kept = 0;
    lease->keep_until = NEVER;
}

static void let_go(struct model_lease *lease)
{
    lease->keep_until = NEVER;
    lease->n_kept = 0;
    road_move(lease, (uint8_t)lease->station, 0);
}

void model_patience_ends(struct model_lease *lease)
{
    lease->keep_until = NEVER;
    if (lease->n_kept > 0) {
        lease->n_let_go++;
        let_go(lease);
    }
}

/* The place of the first claim with a rate that is not kept; `that_lacks`: and has too few. */
static int rated_from(const struct model *model, const struct model_lease *lease, bool that_lacks)
{
    for (size_t i = lease->n_kept; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[lease->road[i]];
        if (claim->resource->rules.rate.units > 0 && !(that_lacks && has(model, lease, claim))) {
            return (int)i;
        }
    }
    return -1;
}

/* Chooses what it lacks, first of those with a rate, or else the first claim that is not kept. */
static void choose(const struct model *model, struct model_lease *lease)
{
    int rated = rated_from(model, lease, true);
    int lacks = rated < 0 ? lacks_from(model, lease, lease->n_kept) : rated;
    lease->station = lease->road[lacks < 0 ? lease->n_kept : (size_t)lacks];
}

static void gain(const struct model *model, struct model_lease *lease)
{
    nanoseconds patience = NEVER;
    int rated = rated_from(model, lease, false);
    if (rated >= 0 && lease->claims[lease->station].resource->rules.rate.units == 0) {
        lease->station = lease->road[rated]; /* nothing else is kept before its instant */
        return;
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        nanoseconds keep = lease->claims[i].resource->rules.keep;
        patience = keep < patience ? keep : patience;
    }
    road_move(lease, (uint8_t)lease->station, lease->n_kept++);
    if (lease->keep_until == NEVER) {
        lease->keep_until = model->now + (patience << lease->n_let_go);
    }
    choose(model, lease);
}

/* The first kept claim whose units were taken; -1: none. */
static int lost(const struct model *model, const struct model_lease *lease)
{
    int at = lacks_from(model, lease, 0);
    return at >= 0 && (size_t)at < lease->n_kept ? at : -1;
}

static bool is_looked_at(const struct model *model, const struct model_lease *lease)
{
    return lease->station < 0 || lease->n_kept > 0 ||
        is_its_turn(model, lease, &lease->claims[lease->station]);
}

bool model_step(const struct model *model, struct model_lease *lease)
{
    const struct model_claim *station = lease->station < 0 ? NULL : &lease->claims[lease->station];
    if (!model_fits(model, lease)) {
        bool is_seen = is_looked_at(model, lease);
        if (is_seen) {
            model_set_aside(lease);
        }
        return is_seen;
    }
    int first_lost = lost(model, lease);
    if (first_lost >= 0) {
        lease->n_kept = (size_t)first_lost;
        lease->station = lease->road[first_lost];
        return true;
    }
    if (!station) {
        choose(model, lease);
        return true;
    }
    bool has_another = lease->n_kept + 1 < lease->n_claims;
    bool gains = has_another && has(model, lease, station);
    if (gains) {
        gain(model, lease);
    }
    return gains;
}

void model_go_on_from(
    const struct model *model, struct model_lease *lease, struct model_lease *before)
{
    uint8_t road[MODEL_WANTS];
    size_t n = 0; /* how many of its claims both have */
    for (size_t i = 0; i < before->n_claims; i++) {
        const struct model_claim *theirs = &before->claims[before->road[i]];
        struct model_claim *claim = model_claim_on(lease, theirs->resource);
        if (claim) {
            claim->overtaken = theirs->overtaken;
            road[n++] = (uint8_t)(claim - lease->claims);
        }
    }
    if (n < before->n_claims || n < lease->n_claims) {
        return; /* a reload has changed the levels */
    }
    memcpy(lease->road, road, n);
    lease->n_let_go = before->n_let_go;
    if (!lease->aside && lease->n_claims > 1) {
        lease->n_kept = before->n_kept;
        lease->keep_until = before->keep_until;
        choose(model, lease);
    }
}
