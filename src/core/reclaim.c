/* reclaim.c - makes leases again whose records are lost: from what their clients say, which is
 * checked like an acquire. */
#include "core/internal.h"
#include "core/queue.h"
#include "core/timing.h"

static enum outcome reclaim_held(struct core *core, struct lease *lease,
    const struct saved_claim claims[], nanoseconds now, struct effects *effects)
{
    enum outcome outcome = reclaim_units(core, lease, claims, false, now, effects);
    if (outcome != OUTCOME_OK) {
        return outcome;
    }
    charge_force(&lease->charge, &core->accounts, lease->uid, ACCOUNT_LEASES);
    for (size_t i = 0; i < lease->n_claims; i++) {
        raise_token(core, lease->database, claims[i].token);
    }
    lease->is_asked = lease->database != 0 && lease->n_claims > 0;
    queue_make_holder(core, lease, now);
    tally_hold(lease, now);
    lease_timer_start(core, lease);
    return OUTCOME_OK;
}

/* Of shares alone, it waits no longer. */
static enum outcome reclaim_waiting(struct core *core, struct lease *lease,
    const struct acquire_request *ask, nanoseconds now, struct effects *effects,
    const char **at_faultp)
{
    if (!charge_take(&lease->charge, &core->accounts, lease->uid, ACCOUNT_LEASES)) {
        return OUTCOME_QUOTA;
    }
    return lease->n_claims == 0 && queue_grant_alone(core, lease, now, effects)
        ? OUTCOME_OK
        : acquire_wait(core, lease, ask, effects, at_faultp);
}

/* If the lease above does not come back, its job is told so after the grace, and stopped: nobody
 * gets their units before it is gone, here or from a database. */
static void rest_shares(struct core *core, const struct acquire_request *ask,
    const struct saved_claim claims[], nanoseconds now, struct effects *effects)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct definition *definition = core_find_definition(core, ask->wants[i].name);
        if (claims[i].sharer != 0 && claims[i].token != 0 && definition) {
            nanoseconds until = timing_gone_after(core->grace_until, definition->kill_after);
            if (definition->database == 0) {
                rest_claim(core, &claims[i], until);
            } else {
                grace_await(core, claims[i].sharer, until);
            }
        }
    }
    core_settle(core, now, effects);
}

static bool are_proven(const struct saved_claim claims[])
{
    return claims && claims[0].token != 0;
}

enum outcome core_reclaim_unknown(struct core *core, struct client *client,
    const struct acquire_request *ask, uint64_t id, const struct saved_claim claims[],
    nanoseconds now, struct effects *effects, struct lease **leasep, const char **at_faultp)
{
    *leasep = NULL;
    *at_faultp = NULL;
    if (!core->is_closed || id == 0 || id >= core->first_id || core_find_lease(core, id)) {
        return OUTCOME_LOST;
    }
    struct acquire_request expanded, sorted;
    struct saved_claim sorted_claims[MAX_RESOURCES_PER_LEASE];
    enum outcome outcome =
        claims ? OUTCOME_OK : levels_find(core, id, client->uid, &ask, &expanded, at_faultp);
    if (outcome == OUTCOME_OK) {
        outcome = claims ? shares_prove(core, client->uid, &ask, claims, &sorted)
                         : shares_find(core, id, client->uid, &ask, &sorted, at_faultp);
    }
    if (outcome == OUTCOME_GRACE && claims) {
        rest_shares(core, ask, claims, now, effects);
    }
    if (outcome != OUTCOME_OK) {
        core_count_refused(core, ask, outcome);
        return outcome;
    }
    if (claims) {
        shares_sort_saved(claims, ask->n_wants, sorted_claims);
        claims = sorted_claims;
    }
    struct lease *lease = lease_new(ask, client->uid, now);
    lease->id = id;
    outcome = acquire_resolve(core, ask, are_proven(claims), lease, at_faultp);
    if (outcome == OUTCOME_OK && shares_are_over(lease, claims)) {
        outcome = OUTCOME_LOST;
    }
    if (outcome != OUTCOME_OK) {
        core_count_refused(core, ask, outcome);
        lease_free(lease);
        core_settle(core, now, effects);
        return outcome;
    }
    acquire_link(core, client, lease, id);
    queue_enter(core, lease, claims ? NEVER : instant_after(now, ask->wait));
    outcome = claims ? reclaim_held(core, lease, claims, now, effects)
                     : reclaim_waiting(core, lease, ask, now, effects, at_faultp);
    if (outcome_has_lease(outcome)) {
        effects_change(effects, lease);
        tally_reclaim(lease);
        newest_replaces(core, lease, now, effects);
        *leasep = lease;
        if (!shares_may_go_on(lease)) {
            stop_restored_share(core, lease, now, effects);
        }
    } else {
        core_unlink_lease(core, lease, outcome, now, effects);
    }
    return acquire_finish(core, ask, outcome, now, effects, leasep, at_faultp);
}
