/* model_circle.c - the model's nested requests that wait for each other, by walks over everything,
 * after each operation. */
#include "model.h"

#include <string.h>

/* Of whom something has not been served yet. */
struct unserved {
    const struct model *model;
    struct model_lease *list[MODEL_LEASES];
    size_t n;
};

static struct model_lease *above_of(const struct model *model, const struct model_lease *lease)
{
    struct model_lease *above =
        lease->parent && lease->parent < lease->id ? model_find_lease(model, lease->parent) : NULL;
    return above && above->held ? above : NULL;
}

/* Whether the other holds something, and `lease` runs under it. */
static bool runs_under(const struct model *model, const struct model_lease *lease,
    const struct model_lease *other, bool is_of_one_user)
{
    const struct model_lease *above = above_of(model, lease);
    while (above && above != other && (!is_of_one_user || above->uid == lease->uid)) {
        above = above_of(model, above);
    }
    return above && above == other && (!is_of_one_user || above->uid == lease->uid);
}

static bool leaves_room(uint32_t max, uint32_t taken, uint32_t count)
{
    return taken == 0 || (uint64_t)taken + count <= max;
}

/* ---- a request on its own ---- */

bool model_is_behind_ancestors(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim)
{
    uint32_t units = 0, of_user = 0;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *other = model->leases[i];
        const struct model_claim *theirs = model_claim_on(other, claim->resource);
        if (theirs && runs_under(model, lease, other, false)) {
            units += model_kept_of(theirs);
            of_user += other->uid == lease->uid ? theirs->count : 0;
        }
    }
    const struct model_lease *ahead = model_identity_ahead(model, lease, claim->resource);
    if (ahead && ahead->stopping == OUTCOME_OK && runs_under(model, lease, ahead, false)) {
        return true;
    }
    return !leaves_room(model_max(claim->resource), units, model_kept_of(claim)) ||
        !leaves_room(claim->resource->rules.max_units_per_user, of_user, claim->count);
}

/* ---- several ---- */

static bool is_above_one(const struct unserved *unserved, const struct model_lease *lease)
{
    for (size_t i = 0; i < unserved->n; i++) {
        if (runs_under(unserved->model, unserved->list[i], lease, true)) {
            return true;
        }
    }
    return false;
}

/* Units held by those above; only one user's, if `uid` is not -1. */
static uint32_t held_above(
    const struct unserved *unserved, const struct model_resource *resource, int uid)
{
    uint32_t n = 0;
    for (size_t i = 0; i < unserved->model->n_leases; i++) {
        struct model_lease *lease = unserved->model->leases[i];
        const struct model_claim *claim = lease->held ? model_claim_on(lease, resource) : NULL;
        bool counts = claim && (uid < 0 || lease->uid == (uint32_t)uid);
        if (counts && is_above_one(unserved, lease)) {
            n += uid < 0 ? model_kept_of(claim) : claim->count;
        }
    }
    return n;
}

static bool never_has(const struct unserved *unserved, const struct model_claim *claim)
{
    return !leaves_room(model_max(claim->resource), held_above(unserved, claim->resource, -1),
        model_kept_of(claim));
}

static bool never_fits(const struct unserved *unserved, const struct model_lease *lease,
    const struct model_claim *claim)
{
    return !leaves_room(claim->resource->rules.max_units_per_user,
        held_above(unserved, claim->resource, (int)lease->uid), claim->count);
}

static bool fits_sometime(const struct unserved *unserved, const struct model_lease *lease)
{
    bool fits = true;
    for (size_t i = 0; i < lease->n_claims; i++) {
        fits = fits && !never_fits(unserved, lease, &lease->claims[i]);
    }
    return fits;
}

/* Whether a waiter before it in that queue never goes. */
static bool is_barred(const struct unserved *unserved, const struct model_lease *lease,
    const struct model_claim *claim)
{
    const struct rules *rules = &claim->resource->rules;
    for (size_t i = 0; unserved->model->waiters[i] != lease; i++) {
        struct model_lease *other = unserved->model->waiters[i];
        const struct model_claim *theirs =
            other->station < 0 ? NULL : &other->claims[other->station];
        bool stands = theirs && theirs->resource == claim->resource;
        bool bars = stands &&
            (rules->order != ORDER_FIRST_FIT || theirs->overtaken >= rules->max_overtakes);
        if (bars && never_has(unserved, theirs) && fits_sometime(unserved, other)) {
            return true;
        }
    }
    return false;
}

static bool never_goes(const struct unserved *unserved, const struct model_lease *lease,
    const struct model_claim *claim)
{
    return never_has(unserved, claim) || never_fits(unserved, lease, claim) ||
        is_barred(unserved, lease, claim);
}

/* For its identity, which one that holds does not give back, or one that waits never gets. */
static bool never_is_alone(const struct unserved *unserved, const struct model_lease *lease,
    const struct model_claim *claim)
{
    const struct model_lease *ahead =
        model_identity_ahead(unserved->model, lease, claim->resource);
    bool never = ahead && ahead->held && ahead->stopping == OUTCOME_OK &&
        is_above_one(unserved, ahead);
    for (size_t i = 0; ahead && !ahead->held && i < ahead->n_claims; i++) {
        never |= never_goes(unserved, ahead, &ahead->claims[i]);
    }
    return never;
}

static bool is_stuck(const struct unserved *unserved, const struct model_lease *lease,
    const struct model_claim *claim)
{
    return never_goes(unserved, lease, claim) || never_is_alone(unserved, lease, claim);
}

static const struct model_claim *stuck_claim(
    const struct unserved *unserved, const struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (is_stuck(unserved, lease, &lease->claims[i])) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

static struct unserved find_unserved(const struct model *model)
{
    struct unserved unserved = {.model = model};
    for (size_t i = 0; i < model->n_waiters; i++) {
        if (model->waiters[i]->parent != 0) {
            unserved.list[unserved.n++] = model->waiters[i];
        }
    }
    for (size_t i = 0; i < unserved.n; i++) {
        if (!stuck_claim(&unserved, unserved.list[i])) {
            memmove(&unserved.list[i], &unserved.list[i + 1],
                (--unserved.n - i) * sizeof unserved.list[0]);
            i = (size_t)-1; /* from the beginning */
        }
    }
    return unserved;
}

/* Does it wait for what the other's ancestors hold; if it is the other, behind somebody? */
static bool waits_for(const struct unserved *unserved, const struct model_lease *lease,
    const struct model_lease *other)
{
    const struct model *model = unserved->model;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        bool is_stuck_there = is_stuck(unserved, lease, claim) &&
            (lease != other || is_barred(unserved, lease, claim));
        for (size_t k = 0; is_stuck_there && k < model->n_leases; k++) {
            struct model_lease *above = model->leases[k];
            if (model_claim_on(above, claim->resource) && runs_under(model, other, above, true)) {
                return true;
            }
        }
    }
    return false;
}

/* Without those for whom none of the others waits, one after the other. */
static struct unserved find_circle(const struct unserved *unserved)
{
    struct unserved circle = *unserved;
    for (size_t i = 0; i < circle.n; i++) {
        bool is_waited_for = false;
        for (size_t k = 0; k < circle.n; k++) {
            is_waited_for |= waits_for(unserved, circle.list[k], circle.list[i]);
        }
        if (!is_waited_for) {
            memmove(&circle.list[i], &circle.list[i + 1], (--circle.n - i) * sizeof circle.list[0]);
            i = (size_t)-1; /* from the beginning */
        }
    }
    return circle.n > 0 ? circle : *unserved;
}

struct model_lease *model_last_in_circle(const struct model *model)
{
    struct unserved unserved = find_unserved(model);
    struct unserved circle = find_circle(&unserved);
    struct model_lease *last = circle.n > 0 ? circle.list[circle.n - 1] : NULL;
    return last && last->client >= 0 ? last : NULL;
}

const char *model_circle_name(const struct model *model, struct model_lease *lease)
{
    struct unserved unserved = find_unserved(model);
    return stuck_claim(&unserved, lease)->resource->name;
}
