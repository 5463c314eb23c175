/* lease_end.c - a lease ends: it leaves everything, and its units are free or rest. */
#include "core/internal.h"
#include "core/queue.h"
#include "core/quota.h"

/* Returns how long it rests. */
static nanoseconds unit_give_back(struct core *core, struct unit *unit, nanoseconds now)
{
    nanoseconds cooldown = unit->resource->definition->cooldown;
    if (cooldown == 0 || unit->removed || resource_is_fleet(unit->resource)) {
        unit_settle(unit);
        return 0;
    }
    unit_set_cooling(unit, &core->cooldown_timers, now + cooldown, ++core->timer_serial);
    return cooldown;
}

/* Returns how long its units rest. */
static nanoseconds claim_give_back(struct core *core, struct claim *claim, nanoseconds now)
{
    struct resource *resource = claim->resource;
    nanoseconds cooldown = 0;
    while (claim->units) {
        struct unit *unit = claim->units;
        claim->units = unit->next_of_claim;
        cooldown = later(cooldown, unit_give_back(core, unit, now));
    }
    claim->usage->units -= claim->count;
    resource->n_all -= claim->is_all;
    sorted_set_remove(&resource->holders, &claim->node);
    queue_mark_dirty(core, resource);
    return cooldown;
}

/* The lease is in no list and no table any more. For the history; the definitions may be gone
 * before it is written. */
static void note_end(struct lease *lease, enum outcome why, nanoseconds at)
{
    lease->ended_at = at;
    lease->ended_why = (uint8_t)why;
    lease->ending = NULL;
    lease->has_said_end = false;
    lease->shows_arguments = true;
    lease->hiding = 0;
    for (size_t i = 0; i < lease_n_all(lease); i++) {
        const struct claim *claim = &lease->claims[i];
        const struct definition *definition = claim->resource->definition;
        lease->hiding |= (uint16_t)(definition->shows_to_owner_only << claim->asked);
        lease->shows_arguments &= definition->shows_arguments;
    }
}

void core_unlink_lease(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    bool was_held = lease->state == LEASE_HELD;
    nanoseconds good_until = lease->lease_timer ? lease->lease_timer->good_until : NEVER;
    news_lease(&core->news, lease);
    why = tally_end(lease, why, now);
    if (lease->is_asked || (lease->database != 0 && was_held && lease->n_claims > 0)) {
        lease->is_asked = false;
        effects_append(effects, EFFECT_GIVE_BACK, lease, NULL, OUTCOME_OK);
    }
    if (was_held) {
        core->n_held--;
        lease_timer_end(core, lease);
    } else {
        queue_leave(core, lease);
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        claim->cooldown = was_held ? claim_give_back(core, claim, now) : 0;
        claim->owed_until = was_held ? resource_owes_until(claim->resource, lease->id) : 0;
    }
    quota_changed_for(core, lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        identity_remove(core, claim);
        usage_remove_claim(claim);
    }
    if (lease->attributes.holder) {
        queue_identity_changed(core, lease);
    }
    shares_leave(core, lease, was_held);
    if (lease->tenant) {
        tenure_leave(lease);
    }
    LIST_REMOVE(lease, link);
    lease->client = NULL;
    once_leave(core, lease);
    table_remove(&core->leases, &lease->by_id);
    charge_give_back(&lease->charge, &core->accounts);
    lease_set_state(lease, LEASE_ENDED);
    note_end(lease, why, earlier(now, good_until));
    lease->next_ended = effects->ended;
    effects->ended = lease;
}
