#include "core/queue.h"

#include "base/memory.h"
#include "core/circle.h"
#include "core/fair.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/place.h"
#include "core/ranges.h"

#include <assert.h>
#include <stdlib.h>

/* ---- active or aside ---- */

static bool claim_is_blocked(const struct claim *claim)
{
    return resource_is_blocked(claim->resource) || claim->count > resource_limit(claim->resource);
}

static const struct claim *blocked_claim(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (claim_is_blocked(&lease->claims[i])) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

/* By its client, a pause, a closed resource, a limit that is now too small, or the one who has its
 * identity; or a database decides. */
static bool lease_is_blocked(const struct core *core, const struct lease *lease)
{
    return lease->is_away || lease->database != 0 || blocked_claim(lease) ||
        (!lease_has_identity(lease) && core_identity_ahead(core, lease));
}

enum wait_kind lease_waits_for(
    const struct core *core, struct lease *lease, const struct resource **resourcep)
{
    const struct claim *ahead = core_identity_ahead(core, lease);
    bool is_host_scope = lease->database == 0;
    if (lease->is_away) {
        *resourcep = NULL;
        return WAIT_AWAY;
    }
    const struct claim *blocked = is_host_scope ? blocked_claim(lease) : NULL;
    const struct claim *claim = blocked ? blocked
        : ahead                         ? ahead
        : !is_host_scope                ? NULL
        : lease->waiting->aside         ? quota_first_exceeded(lease)
                                        : lease_station(lease);
    *resourcep = claim ? claim->resource : NULL;
    return blocked                              ? WAIT_BLOCKED
        : ahead                                 ? WAIT_IDENTITY
        : is_host_scope && lease->waiting->aside ? WAIT_QUOTA
                                                : WAIT_TURN;
}

static void let_in(struct core *core, struct lease *lease)
{
    lease->waiting->aside = false;
    news_lease(&core->news, lease);
    lane_update(core, lease, false);
    if (lease->waiting->road) {
        queue_look_at(core, lease); /* it chooses where to stand when it is its turn */
    } else {
        place_put(core, &lease->claims[0], STANDS_IN_QUEUE);
    }
}

static void set_aside(struct core *core, struct lease *lease, bool is_blocked)
{
    lease->waiting->aside = true;
    news_lease(&core->news, lease);
    if (lease->waiting->road) {
        keep_drop(core, lease);
    } else {
        place_put(core, &lease->claims[0], STANDS_ASIDE);
    }
    lane_update(core, lease, is_blocked);
    quota_changed_for(core, lease);
    queue_mark_all_dirty(core, lease);
}

/* What keeps the lease aside may have come or gone. Its user's quota is checked when it is the
 * lease's turn, or its lane's. */
static void lease_sort(struct core *core, struct lease *lease)
{
    bool is_blocked = lease_is_blocked(core, lease), was_aside = lease->waiting->aside;
    lane_assign(core, lease);
    if (is_blocked && !lease->waiting->aside) {
        set_aside(core, lease, true);
    } else if (!is_blocked && lease->waiting->aside && !lease->waiting->lane) {
        let_in(core, lease);
    }
    lane_update(core, lease, is_blocked);
    if (was_aside || lease->waiting->aside) {
        news_lease(&core->news, lease); /* another resource may block it now */
    }
}

static void let_in_from_lanes(struct core *core)
{
    struct lease *lease;
    while ((lease = lane_next_to_enter(core))) {
        let_in(core, lease);
    }
}

/* ---- entering and leaving ---- */

/* The lease stands aside everywhere at first. */
static void enter_line(struct core *core, struct lease *lease)
{
    lease->waiting->aside = true;
    for (size_t i = 0; i < lease->n_claims; i++) {
        place_enter(&lease->claims[i]);
    }
    news_lease(&core->news, lease);
    lease_sort(core, lease);
    let_in_from_lanes(core);
}

static void leave_line(struct core *core, struct lease *lease)
{
    struct waiting *waiting = lease->waiting;
    if (waiting->road) {
        keep_drop(core, lease);
    }
    lane_leave(core, lease);
    quota_changed_for(core, lease);
    sorted_set_discard(&core->agenda, &waiting->agenda_node);
    for (size_t i = 0; i < lease->n_claims; i++) {
        place_leave(core, &lease->claims[i]);
    }
}

void queue_enter(struct core *core, struct lease *lease, nanoseconds until)
{
    if (lease->n_claims == 0) {
        return; /* shares wait for nothing */
    }
    struct waiting *waiting =
        memory_new(sizeof *waiting + lease->n_claims * sizeof waiting->places[0]);
    lease->waiting = waiting;
    waiting->lease = lease;
    waiting->road = road_new(lease);
    fair_enter(core, lease);
    core->n_waiting++;
    circle_enter(core, lease);
    if (until != NEVER) {
        sorted_set_insert(
            &core->wait_timers, &waiting->timer, (uint64_t)until, ++core->timer_serial);
    }
    enter_line(core, lease);
}

void queue_leave(struct core *core, struct lease *lease)
{
    struct waiting *waiting = lease->waiting;
    if (!waiting) {
        return;
    }
    core->n_waiting--;
    circle_leave(core, lease);
    sorted_set_discard(&core->wait_timers, &waiting->timer);
    leave_line(core, lease);
    fair_leave(lease);
    charge_give_back(&waiting->charge, &core->accounts);
    free(waiting->road);
    free(waiting);
    lease->waiting = NULL;
}

void queue_move(struct core *core, struct lease *lease, uint64_t ticket)
{
    struct road *road = lease->waiting->road;
    leave_line(core, lease);
    fair_set_ticket(lease, ticket);
    for (size_t i = 0; i < lease->n_claims; i++) {
        claim_place(&lease->claims[i])->overtaken = 0; /* as if it had just asked */
    }
    if (road) {
        road->n_let_go = 0;
    }
    enter_line(core, lease);
    circle_look(core);
}

/* ---- holding ---- */

void queue_identity_changed(struct core *core, const struct lease *lease)
{
    const char *holder = lease->attributes.holder;
    bool is_waited_for = lease->database == 0 && lease_has_identity(lease);
    for (size_t i = 0; is_waited_for && i < lease->n_claims; i++) {
        const struct resource *resource = lease->claims[i].resource;
        struct table_node *node = NULL;
        struct lease *other;
        while ((other = identity_next(core, resource, lease->uid, holder, &node))) {
            if (!lease_has_identity(other) && other->waiting) {
                queue_resort_lease(core, other);
            }
        }
    }
}

void queue_place_holder(struct claim *claim)
{
    struct sorted_set *holders = &claim->resource->holders;
    sorted_set_discard(holders, &claim->node);
    sorted_set_insert(holders, &claim->node, claim->token, claim->lease->id);
}

/* Its claims have their units. */
static void hold(struct core *core, struct lease *lease, nanoseconds granted_at)
{
    lease_set_state(lease, LEASE_HELD);
    lease->ticket = lease->database != 0 ? lease->ticket : 0;
    lease->granted_at = granted_at;
    core->n_held++;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        if (claim->token == 0 && lease->database == 0) {
            claim->token = ++core->last_token;
        }
        claim->usage->units += claim->count;
        claim->resource->n_all += claim->is_all;
        queue_place_holder(claim);
    }
    shares_hold(lease);
    if (lease->database != 0) {
        tenure_holds(lease);
    }
    if (!TAILQ_EMPTY(&core->nested)) {
        circle_look(core); /* what runs under it may have come back before; it may have overtaken */
    }
    news_lease(&core->news, lease);
    quota_changed_for(core, lease);
    if (lease_replaces(lease) && lease->attributes.holder) {
        queue_identity_changed(core, lease);
    }
}

void queue_make_holder(struct core *core, struct lease *lease, nanoseconds granted_at)
{
    queue_leave(core, lease);
    hold(core, lease, granted_at);
}

static void count_overtaken(struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct sorted_set_node *self = &lease->waiting->places[i].node;
        struct sorted_set_node *node = sorted_set_first(&lease->claims[i].resource->queue);
        for (; node && sorted_set_node_is_before(node, self); node = sorted_set_next(node)) {
            place_of_node(node)->overtaken++;
        }
    }
}

/* Grants to a lease that is in no queue. */
static void grant(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        claim_take_units(claim, &core->random);
        if (claim->resource->meter) {
            meter_charge(claim, now);
        }
    }
    hold(core, lease, now);
    tally_grant(lease, now);
    lease_timer_start(core, lease);
    effects_change(effects, lease);
}

static void lease_grant(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    count_overtaken(lease);
    fair_is_granted(core, lease);
    queue_leave(core, lease);
    grant(core, lease, now, effects);
}

/* ---- who goes next ---- */

/* Whether a client is there to grant to. A lease without one keeps its place until a client is
 * back. */
static bool can_be_granted(const struct core *core, const struct lease *lease)
{
    return !core_is_granting_suspended(core) && !lease_is_detached(lease);
}

/* Nobody stands where this claim's place would be, and it would not have to wait there. */
static bool claim_is_alone(const struct claim *claim)
{
    return resource_waiting(claim->resource) == 0 && !claim_is_blocked(claim) &&
        claim_has_units(claim) && claim_fits_quota(claim, 0);
}

bool queue_grant_alone(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool may = lease->n_claims == 0 ||
        (lease->database == 0 && can_be_granted(core, lease) &&
            (lease_has_identity(lease) || !core_identity_ahead(core, lease)));
    for (size_t i = 0; may && i < lease->n_claims; i++) {
        may = claim_is_alone(&lease->claims[i]);
    }
    if (may) {
        grant(core, lease, now, effects);
    }
    return may;
}

bool queue_try(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool may = can_be_granted(core, lease) && !lease->waiting->aside && !lease_lacks(lease) &&
        quota_fits(lease);
    may = may && fair_turn(lease) == lease;
    if (may) {
        lease_grant(core, lease, now, effects);
    }
    return may;
}

/* A lease that cannot be granted yet keeps all but its last claim, and stands for that. */
static bool can_go_on(const struct core *core, const struct lease *lease)
{
    return can_be_granted(core, lease) || keep_has_another(lease);
}

/* Would act() do anything for this lease, which stands in the queue being looked at? */
static bool can_act(const struct core *core, struct lease *lease)
{
    return !quota_fits(lease) || (can_go_on(core, lease) && claim_has(lease_station(lease)));
}

static void look_at_queue(struct core *core, const struct resource *resource)
{
    const struct definition *definition = resource->definition;
    int look_at = definition->order == ORDER_FIRST_FIT ? FIRST_FIT_WINDOW : 1;
    struct sorted_set_node *node = sorted_set_first(&resource->queue);
    if (resource->meter) {
        meter_begin_look(resource->meter);
    }
    for (int i = 0; node && i < look_at; node = sorted_set_next(node), i++) {
        struct lease *lease = lease_of_place_node(node);
        if (can_act(core, lease)) {
            queue_look_at(core, lease);
            return; /* acting makes the queue dirty again */
        }
        if (resource->meter) {
            meter_look_again(resource->meter, claim_goes_at(place_of_node(node)->claim));
        }
        if (place_of_node(node)->overtaken >= definition->max_overtakes) {
            return;
        }
    }
}

/* If one keeper still has enough, so have all before it, unless free slots lie so scattered that a
 * large count may not have them. */
static void look_at_keepers(struct core *core, const struct resource *resource)
{
    bool has = false;
    struct sorted_set_node *node = sorted_set_last(&resource->kept);
    for (; node && !(has && ranges_are_few(resource)); node = sorted_set_previous(node)) {
        has = claim_has(place_of_node(node)->claim);
        if (!has) {
            queue_look_at(core, lease_of_place_node(node));
        }
    }
}

static struct lease *next_to_look_at(struct core *core)
{
    struct resource *resource;
    let_in_from_lanes(core);
    while ((resource = TAILQ_FIRST(&core->dirty))) {
        TAILQ_REMOVE(&core->dirty, resource, dirty_link);
        resource->is_dirty = false;
        news_resource(&core->news, resource->name);
        look_at_queue(core, resource);
        look_at_keepers(core, resource);
        registry_settle(core, resource);
    }
    struct sorted_set_node *first = sorted_set_first(&core->agenda);
    return first ? container_of(first, struct waiting, agenda_node)->lease : NULL;
}

/* The lease's station has enough. */
static void queue_go_on(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    if (can_be_granted(core, lease) && !lease_lacks(lease)) {
        struct lease *next = fair_turn(lease);
        if (next != lease) {
            fair_swap(core, lease, next);
            effects_change(effects, lease);
        }
        lease_grant(core, next, now, effects);
        effects_append(effects, EFFECT_GRANTED, next, next->client, OUTCOME_OK);
    } else {
        keep_gain(core, lease, now);
    }
}

/* Takes one step of one lease. It may need more: what a step changes is looked at again. */
static void act(struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    struct claim *station = lease_station(lease), *lost = keep_lost(lease);
    bool is_its_turn = !station || claim_is_its_turn(station);
    if (lease->waiting->aside || !(is_its_turn || lease_keeps(lease))) {
        return;
    }
    if (!quota_fits(lease)) {
        set_aside(core, lease, false);
    } else if (lost) {
        keep_fall(core, lease, lost);
    } else if (!station) {
        keep_choose(core, lease);
    } else if (can_go_on(core, lease) && claim_has(station)) {
        queue_go_on(core, lease, now, effects);
    } else {
        queue_mark_dirty(core, station->resource); /* now this lease may act, or one behind it */
    }
}

/* The oldest lease that can act does so, then all are asked again. So no younger one is ever
 * quicker, and the result does not depend on which queue is looked at first. */
void queue_pump(struct core *core, nanoseconds now, struct effects *effects)
{
    struct lease *lease;
    while ((lease = next_to_look_at(core))) {
        sorted_set_remove(&core->agenda, &lease->waiting->agenda_node);
        act(core, lease, now, effects);
    }
}

/* ---- after the rules have changed ---- */

void queue_reclassify(struct core *core, struct resource *resource)
{
    size_t n;
    struct claim **waiters = place_waiters(resource, &n);
    for (size_t i = 0; i < n; i++) {
        lease_sort(core, waiters[i]->lease);
    }
    free(waiters);
    for (size_t i = 0; i < resource->usages.n_buckets; i++) {
        for (struct table_node *node = resource->usages.buckets[i]; node; node = node->next) {
            quota_changed(core, container_of(node, struct usage, by_uid));
        }
    }
    queue_mark_dirty(core, resource);
}

void queue_resort_lease(struct core *core, struct lease *lease)
{
    lease_sort(core, lease);
    queue_mark_all_dirty(core, lease);
}
