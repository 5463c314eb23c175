/* fleet_answers.c - leases that a database grants: when the database is asked, and what its answers
 * mean. The answers come from outside: one that cannot be true changes nothing. */
#include "core/fleet.h"

#include "base/memory.h"
#include "base/ticket.h"
#include "core/internal.h"
#include "core/queue.h"

#include <stdlib.h>
#include <string.h>

/* ---- asking ---- */

static void ask_for(struct lease *lease, struct effects *effects)
{
    lease->is_asked = true;
    effects_append(effects, EFFECT_ASK, lease, NULL, OUTCOME_OK);
}

enum outcome fleet_begin(
    struct core *core, struct lease *lease, bool wants_now, struct effects *effects)
{
    if (wants_now && core_is_granting_suspended(core)) {
        return core->draining ? OUTCOME_DRAINING : OUTCOME_GRACE;
    }
    if (!charge_take(&lease->waiting->charge, &core->accounts, lease->uid, ACCOUNT_WAITERS)) {
        return OUTCOME_QUOTA;
    }
    lease->wants_now = wants_now;
    if (!core_is_granting_suspended(core)) {
        ask_for(lease, effects);
    }
    return OUTCOME_PENDING;
}

/* ---- all leases of a database ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By ticket, then by age those that have none yet. */
static int compare_waiters(const void *a, const void *b)
{
    const struct lease *x = *(struct lease *const *)a, *y = *(struct lease *const *)b;
    uint64_t none = UINT64_MAX; /* comes last */
    uint64_t ticket_of_x = x->ticket != 0 ? x->ticket : none;
    uint64_t ticket_of_y = y->ticket != 0 ? y->ticket : none;
    if (ticket_is_first(x->ticket) != ticket_is_first(y->ticket)) {
        return ticket_is_first(x->ticket) ? -1 : 1;
    }
    return ticket_of_x != ticket_of_y ? compare_numbers(ticket_of_x, ticket_of_y)
                                      : compare_numbers(x->id, y->id);
}

void core_fleet_for_each_holder(struct core *core, uint8_t database,
    void (*function)(struct lease *lease, void *context), void *context)
{
    const struct tenant *tenant;
    TAILQ_FOREACH (tenant, &tenure_of(core, database)->held, link) {
        function(tenant->lease, context);
    }
}

bool core_fleet_has_holders(const struct core *core, uint8_t database)
{
    return !TAILQ_EMPTY(&tenure_of(core, database)->held);
}

void core_fleet_for_each_waiter(struct core *core, uint8_t database,
    void (*function)(struct lease *lease, void *context), void *context)
{
    const struct tenure *tenure = tenure_of(core, database);
    struct lease **leases = memory_new((tenure->n_waiting + 1) * sizeof *leases);
    const struct tenant *tenant;
    size_t n = 0;
    TAILQ_FOREACH (tenant, &tenure->waiting, link) {
        leases[n++] = tenant->lease;
    }
    qsort(leases, n, sizeof *leases, compare_waiters);
    for (size_t i = 0; i < n; i++) {
        function(leases[i], context);
    }
    free(leases);
}

/* ---- when the core starts or stops granting ---- */

struct look {
    struct core *core;
    nanoseconds now;
    struct effects *effects;
};

/* Another host may have what it would get; here it goes on waiting, with its ticket. */
static void give_back(struct lease *lease, struct effects *effects)
{
    lease->is_asked = false;
    lease->position = 0;
    effects_append(effects, EFFECT_GIVE_BACK, lease, NULL, OUTCOME_OK);
}

void fleet_look_at(struct core *core, struct lease *lease, struct effects *effects)
{
    bool is_to_ask = !lease->is_away && !core_is_granting_suspended(core);
    if (lease->is_asked && lease->is_away) {
        give_back(lease, effects);
    } else if (!lease->is_asked && is_to_ask) {
        ask_for(lease, effects);
    }
}

static void look_again(struct lease *lease, void *context)
{
    const struct look *look = context;
    if (!look->core->draining) {
        fleet_look_at(look->core, lease, look->effects);
    } else if (lease->wants_now) {
        core_deny(look->core, lease, OUTCOME_DRAINING, look->now, look->effects);
    } else if (lease->is_asked) {
        give_back(lease, look->effects);
    }
}

void fleet_look_at_all(struct core *core, nanoseconds now, struct effects *effects)
{
    struct look look = {core, now, effects};
    bool may_change = core->draining || !core_is_closed(core);
    for (uint8_t database = 1; may_change && database <= MAX_DATABASES; database++) {
        core_fleet_for_each_waiter(core, database, look_again, &look);
    }
}

/* ---- granted ---- */

static bool claim_matches(const struct saved_claim *granted, const struct claim *claim)
{
    const struct resource *resource = claim->resource;
    return granted->token != 0 && granted->count == claim->count && granted->units &&
        granted->is_pool == resource_is_pool(resource) &&
        strcmp(granted->name, resource->name) == 0;
}

static bool claims_match(const struct saved_claim granted[], const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!claim_matches(&granted[i], &lease->claims[i])) {
            return false;
        }
    }
    return true;
}

static bool has_these(const struct claim *claim, const struct saved_claim *granted)
{
    for (uint32_t i = 0; i < claim->count; i++) {
        const struct unit *unit =
            resource_find_given(claim->resource, granted->units[i].item, granted->units[i].slot);
        if (!unit || unit->claim != claim) {
            return false;
        }
    }
    return claim->token == 0 || claim->token == granted->token;
}

/* The grant is repeated, or tells a reclaimed lease its tokens, which only the database knew. */
static bool granted_again(
    struct lease *lease, const struct saved_claim granted[], struct effects *effects)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!has_these(&lease->claims[i], &granted[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (lease->claims[i].token == 0) {
            lease->claims[i].token = granted[i].token;
            queue_place_holder(&lease->claims[i]);
            shares_take_token(&lease->claims[i]);
            effects_change(effects, lease);
        }
    }
    return true;
}

static void take_ticket(struct lease *lease, uint64_t ticket, struct effects *effects)
{
    if (ticket != 0 && ticket != lease->ticket) {
        lease->ticket = ticket;
        effects_change(effects, lease);
    }
}

bool core_fleet_granted(struct core *core, struct lease *lease, uint64_t ticket,
    const struct saved_claim claims[], nanoseconds now, struct effects *effects)
{
    bool is_held = lease->state == LEASE_HELD;
    if (!lease->is_asked || !claims_match(claims, lease)) {
        return false;
    }
    if (!(is_held ? granted_again(lease, claims, effects) : adopt_units(core, lease, claims))) {
        return false;
    }
    take_ticket(lease, ticket, effects);
    if (is_held) {
        return true;
    }
    lease->position = 0;
    lease->wants_now = false;
    lease->is_undelivered = lease_is_detached(lease);
    queue_make_holder(core, lease, now);
    tally_grant(lease, now);
    lease_timer_start(core, lease);
    effects_change(effects, lease);
    effects_append(effects, EFFECT_GRANTED, lease, lease_real_client(lease), OUTCOME_OK);
    core_settle(core, now, effects);
    return true;
}

/* ---- other answers ---- */

void core_fleet_waits(struct core *core, struct lease *lease, uint64_t ticket, uint32_t position,
    struct effects *effects)
{
    if (lease->state != LEASE_WAITING || !lease->is_asked) {
        return;
    }
    if (lease->wants_now) {
        /* The database knew that the request does not want to wait. The end of a lease that waits
         * for a database lets nobody go here, so no instant is needed. */
        core_deny(core, lease, OUTCOME_WOULD_WAIT, 0, effects);
        core_settle(core, 0, effects);
        return;
    }
    lease->has_waited = true;
    take_ticket(lease, ticket, effects);
    bool is_news = position != 0 && (lease->position == 0 || position < lease->position);
    lease->position = position != 0 ? position : lease->position;
    if (is_news) {
        effects_append(effects, EFFECT_PLACE, lease, lease_real_client(lease), OUTCOME_OK);
    }
}

void core_fleet_moved(struct core *core, struct lease *lease, uint64_t ticket, uint32_t position,
    struct effects *effects)
{
    lease->position = 0; /* any place is news */
    core_fleet_waits(core, lease, ticket, position, effects);
}

void core_fleet_refused(struct core *core, struct lease *lease, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    if (lease->state == LEASE_WAITING) {
        core_deny(core, lease, why, now, effects);
        core_settle(core, now, effects);
    }
}

void core_fleet_lost(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    if (lease->state != LEASE_HELD) {
        return;
    }
    lease->is_asked = false;
    if (stop_may_begin(lease, OUTCOME_LOST)) {
        nanoseconds deadline = core_fleet_deadline(core, lease->database);
        stop_begin_by(core, lease, OUTCOME_LOST, deadline != 0 ? deadline : NEVER, now, effects);
    }
    core_settle(core, now, effects);
}
