/* share.c - shares: a lease that runs under another one uses its units, and none of its own. A
 * share lives at most as long as that lease, whose units wait for it. */
#include "core/internal.h"
#include "core/queue.h"

/* ---- which claims are shared ---- */

/* Of the nearest lease above that has one of its own. */
static struct claim *claim_above(struct core *core, const struct lease *asker, const char *name)
{
    const struct resource *resource = core_find_resource(core, name);
    struct lease *above = core_lease_above(core, asker);
    struct claim *claim = NULL;
    for (int i = 0; !claim && above && above->uid == asker->uid && i < MAX_ANCESTORS; i++) {
        claim = lease_own_claim(above, resource);
        above = core_lease_above(core, above);
    }
    return claim;
}

static bool may_come_back(struct core *core, uint64_t id)
{
    return core->is_closed && id < core->first_id && !core_find_lease(core, id);
}

static enum nested rule_of(
    struct core *core, const struct acquire_request *ask, const char *name)
{
    const struct definition *definition = core_find_definition(core, name);
    return ask->nested != NESTED_NOT_SAID ? ask->nested
        : definition                      ? definition->nested
                                          : NESTED_COUNT;
}

bool share_is_found(struct core *core, const struct lease *asker,
    const struct acquire_request *ask, const char *name)
{
    return rule_of(core, ask, name) == NESTED_SHARE && claim_above(core, asker, name);
}

/* Sets want->of if it is to be shared. */
static enum outcome find_share(struct core *core, const struct lease *asker,
    const struct acquire_request *ask, struct requested_resource *want)
{
    enum nested rule = rule_of(core, ask, want->name);
    struct claim *claim = rule != NESTED_COUNT ? claim_above(core, asker, want->name) : NULL;
    if (!claim) {
        bool waits = rule == NESTED_SHARE && may_come_back(core, asker->attributes.parent);
        return waits ? OUTCOME_GRACE : OUTCOME_OK;
    }
    if (rule == NESTED_REFUSE || claim->lease->stopping != OUTCOME_OK) {
        return OUTCOME_ANCESTOR;
    }
    want->of = claim;
    want->sharer = claim->lease->id;
    bool is_part = want->count >= 1 && want->count <= claim->count;
    return is_part && (!want->is_all || claim->is_all) ? OUTCOME_OK : OUTCOME_IMPOSSIBLE;
}

/* The shares behind the others. */
static void sort_wants(const struct acquire_request *ask, const struct requested_resource wants[],
    struct acquire_request *sorted)
{
    *sorted = *ask;
    sorted->n_wants = 0;
    for (int shared = 0; shared < 2; shared++) {
        size_t before = sorted->n_wants;
        for (size_t i = 0; i < ask->n_wants; i++) {
            if ((wants[i].sharer != 0) == shared) {
                sorted->wants[sorted->n_wants] = wants[i];
                sorted->wants[sorted->n_wants++].asked = (uint8_t)i;
            }
        }
        sorted->n_shared = sorted->n_wants - before;
    }
}

/* In the order asked: sorted, another want would be at fault. */
static bool are_of_one_scope(
    struct core *core, const struct acquire_request *ask, const char **at_faultp)
{
    const struct definition *first = core_find_definition(core, ask->wants[0].name);
    for (size_t i = 1; first && i < ask->n_wants; i++) {
        const struct definition *other = core_find_definition(core, ask->wants[i].name);
        if (other && other->database != first->database) {
            *at_faultp = ask->wants[i].name;
            return false;
        }
    }
    return true;
}

/* Apart, as most requests have no parent. */
static __attribute__((noinline)) enum outcome find_shares(struct core *core, uint64_t id,
    uint32_t uid, const struct acquire_request **askp, struct acquire_request *sorted,
    const char **at_faultp)
{
    const struct acquire_request *ask = *askp;
    const struct lease asker = {.id = id, .uid = uid, .attributes = ask->attributes};
    struct requested_resource wants[MAX_RESOURCES_PER_LEASE];
    bool any = false;
    for (size_t i = 0; i < ask->n_wants; i++) {
        wants[i] = ask->wants[i];
        enum outcome outcome = find_share(core, &asker, ask, &wants[i]);
        if (outcome != OUTCOME_OK) {
            *at_faultp = ask->wants[i].name;
            return outcome;
        }
        any |= wants[i].of != NULL;
    }
    if (any) {
        sort_wants(ask, wants, sorted);
        *askp = sorted;
        return are_of_one_scope(core, ask, at_faultp) ? OUTCOME_OK : OUTCOME_MIXED;
    }
    return OUTCOME_OK;
}

enum outcome shares_find(struct core *core, uint64_t id, uint32_t uid,
    const struct acquire_request **askp, struct acquire_request *sorted, const char **at_faultp)
{
    return (*askp)->attributes.parent == 0
        ? OUTCOME_OK
        : find_shares(core, id, uid, askp, sorted, at_faultp);
}

const struct claim *core_claim_above(
    struct core *core, uint32_t uid, const struct acquire_request *ask, const char *name)
{
    const struct lease asker = {.uid = uid, .attributes = ask->attributes};
    return claim_above(core, &asker, name);
}

bool core_shares_all(struct core *core, uint32_t uid, const struct acquire_request *ask)
{
    struct acquire_request sorted;
    const char *at_fault;
    return ask->attributes.parent != 0 &&
        shares_find(core, 0, uid, &ask, &sorted, &at_fault) == OUTCOME_OK &&
        ask->n_shared == ask->n_wants;
}

/* ---- again ---- */

struct claim *share_find_claim(struct core *core, uint32_t uid, const struct saved_claim *saved)
{
    struct lease *lease = core_find_lease(core, saved->sharer);
    bool fits = lease && lease->state == LEASE_HELD && lease->uid == uid;
    const struct resource *resource = core_find_resource(core, saved->name);
    struct claim *claim = fits ? lease_own_claim(lease, resource) : NULL;
    bool is_part = claim && saved->count <= claim->count && (!saved->is_all || claim->is_all);
    return is_part ? claim : NULL;
}

size_t shares_sort_saved(const struct saved_claim claims[], size_t n, struct saved_claim sorted[])
{
    size_t n_sorted = 0, n_own = 0;
    for (int shared = 0; shared < 2; shared++) {
        n_own = n_sorted;
        for (size_t i = 0; i < n; i++) {
            if ((claims[i].sharer != 0) == shared) {
                sorted[n_sorted] = claims[i];
                sorted[n_sorted++].asked = (uint8_t)i;
            }
        }
    }
    return n - n_own;
}

enum outcome shares_prove(struct core *core, uint32_t uid, const struct acquire_request **askp,
    const struct saved_claim claims[], struct acquire_request *sorted)
{
    const struct acquire_request *ask = *askp;
    struct requested_resource wants[MAX_RESOURCES_PER_LEASE];
    for (size_t i = 0; i < ask->n_wants; i++) {
        wants[i] = ask->wants[i];
        wants[i].sharer = claims[i].sharer;
        wants[i].of = claims[i].sharer != 0 ? share_find_claim(core, uid, &claims[i]) : NULL;
        if (claims[i].sharer != 0 && !wants[i].of) {
            return may_come_back(core, claims[i].sharer) ? OUTCOME_GRACE : OUTCOME_LOST;
        }
    }
    sort_wants(ask, wants, sorted);
    *askp = sorted;
    return OUTCOME_OK;
}

/* ---- while they live ---- */

void shares_enter(struct lease *lease)
{
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        struct claim *claim = &lease->claims[i];
        usage_add_claim(claim->resource, claim);
        if (claim->of) {
            LIST_INSERT_HEAD(&claim->of->lease->shares, claim, share_link);
        }
    }
}

void shares_hold(struct lease *lease)
{
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        struct claim *claim = &lease->claims[i];
        claim->token = claim->of ? claim->of->token : 0;
        claim->resource->n_shares++;
        queue_place_holder(claim);
    }
}

void shares_take_token(const struct claim *claim)
{
    struct claim *share;
    LIST_FOREACH (share, &claim->lease->shares, share_link) {
        if (share->of == claim && share->lease->state == LEASE_HELD) {
            share->token = claim->token;
            queue_place_holder(share);
        }
    }
}

nanoseconds shares_hold_until(const struct lease *lease)
{
    nanoseconds until = NEVER;
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        const struct claim *of = lease->claims[i].of;
        const struct lease_timer *timer = of ? of->lease->lease_timer : NULL;
        until = earlier(until, timer ? timer->hold_until : NEVER);
    }
    return until;
}

static bool may_share(const struct claim *claim)
{
    return claim->of && claim->of->lease->stopping == OUTCOME_OK;
}

bool shares_may_go_on(const struct lease *lease)
{
    bool may = true;
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        may &= may_share(&lease->claims[i]);
    }
    return may;
}

bool shares_are_over(const struct lease *lease, bool was_held)
{
    return !shares_may_go_on(lease) && (!was_held || lease_is_notify_only(lease));
}

/* ---- the end ---- */

void shares_leave(struct core *core, struct lease *lease, bool was_held)
{
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        struct claim *claim = &lease->claims[i];
        if (was_held) {
            sorted_set_remove(&claim->resource->holders, &claim->node);
            claim->resource->n_shares--;
        }
        if (claim->of) {
            LIST_REMOVE(claim, share_link);
        }
        claim->cooldown = claim->owed_until = 0;
        queue_mark_dirty(core, claim->resource);
        usage_remove_claim(claim);
    }
}
