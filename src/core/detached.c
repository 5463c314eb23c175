/* detached.c - leases without a client: *detached* ones outlive their connection because of what
 * they are bound to; *absent* ones are of an earlier berthd, and their clients are expected
 * back. */
#include "base/memory.h"
#include "core/circle.h"
#include "core/internal.h"
#include "core/queue.h"

#include <stdlib.h>

/* ---- leases whose client has gone ---- */

static void end_unreleased(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    lease->ended_unreleased = true;
    lease_over(core, lease, OUTCOME_RELEASED, now, effects);
}

void detached_client_is_gone(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    bool is_over = lease->binding == BOUND_CONNECTION || lease->is_ending ||
        (lease->binding == BOUND_PROCESS && lease->process_is_gone);
    if (is_over) {
        end_unreleased(core, lease, now, effects);
        return;
    }
    lease_move(lease, &core->detached);
    news_lease(&core->news, lease);
    if (lease->binding == BOUND_PROCESS) {
        detached_watch(lease, effects);
    }
    if (lease->stopping != OUTCOME_OK) {
        stop_on_client_gone(lease, effects);
    }
}

void core_process_exited(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    struct client *client = lease_real_client(lease);
    enum outcome why = (enum outcome)lease->stopping;
    if (lease->wrapper.pid != 0 && !lease->main_is_gone) {
        lease->main_is_gone = true;
        lease->is_watched = false;
        news_lease(&core->news, lease);
        detached_watch(lease, effects);
        return;
    }
    lease->process_is_gone = true;
    /* A client that is stopping its job knows better when the rest of the process group is gone,
     * until its time is over. */
    if (!client || lease->is_killed) {
        end_unreleased(core, lease, now, effects);
        if (client) {
            effects_append_saying(effects, EFFECT_LOST, lease, client, why,
                memory_string(lease_stop_reason(lease)));
        }
        core_settle(core, now, effects);
    }
}

/* ---- clients that are stopped ---- */

static void set_away(
    struct core *core, struct lease *lease, bool is_away, struct effects *effects)
{
    if (lease->is_away == is_away) {
        return;
    }
    lease->is_away = is_away;
    news_lease(&core->news, lease);
    effects_change(effects, lease);
    if (lease->database != 0) {
        fleet_look_at(core, lease, effects);
    } else {
        queue_resort_lease(core, lease);
    }
}

bool core_set_away(struct core *core, struct lease *lease, const struct client *by, bool is_away,
    nanoseconds now, struct effects *effects)
{
    if (lease->state != LEASE_WAITING || lease->client != by) {
        return false;
    }
    set_away(core, lease, is_away, effects);
    core_settle(core, now, effects);
    return true;
}

/* ---- the grace ---- */

void core_begin_grace(struct core *core, bool closed, nanoseconds until)
{
    core->grace_until = until;
    core->is_closed = closed;
    news_host(&core->news);
}

void core_close(struct core *core, const char *why)
{
    core->closed_why = why;
    news_host(&core->news);
}

void grace_await(struct core *core, uint64_t id, nanoseconds until)
{
    struct awaited *awaited = &core->awaited;
    size_t i = 0;
    while (i < awaited->n && awaited->ids[i] != id) {
        i++;
    }
    if (i == awaited->n) {
        awaited->ids = memory_grow(awaited->ids, awaited->n, sizeof *awaited->ids);
        awaited->ids[awaited->n++] = id;
    }
    awaited->until = later(awaited->until, until);
}

static void end_awaiting(struct core *core)
{
    struct awaited *awaited = &core->awaited;
    bool all_are_back = true;
    for (size_t i = 0; i < awaited->n; i++) {
        all_are_back &= core_find_lease(core, awaited->ids[i]) != NULL;
    }
    free(awaited->ids);
    *awaited = (struct awaited){.until = all_are_back ? 0 : awaited->until};
}

void detached_is_due(struct core *core, nanoseconds now, struct effects *effects)
{
    if (core->is_closed) {
        end_awaiting(core);
    }
    core->is_closed = false;
    news_host(&core->news);
    while (!LIST_EMPTY(&core->absent.leases)) {
        struct lease *lease = LIST_FIRST(&core->absent.leases);
        if (lease->state == LEASE_HELD) {
            detached_client_is_gone(core, lease, now, effects); /* bound to a process meanwhile? */
        } else {
            lease_over(core, lease, OUTCOME_CANCELLED, now, effects);
        }
    }
    core_mark_all_dirty(core);
    fleet_look_at_all(core, now, effects);
}

void core_grant_no_more(struct core *core)
{
    core->draining = core->drain_reported = true;
}

void core_abandon(struct core *core, nanoseconds now, struct effects *effects)
{
    struct lease_list *lists[] = {&core->detached.leases, &core->absent.leases};
    core_grant_no_more(core);
    for (size_t i = 0; i < 2; i++) {
        while (!LIST_EMPTY(lists[i])) {
            lease_over(core, LIST_FIRST(lists[i]), OUTCOME_OK, now, effects);
        }
    }
    queue_pump(core, now, effects);
}

/* ---- coming back ---- */

/* Moves the lease to a client that has come for it, which is told if its job is being stopped. */
static void lease_hand_to(struct lease *lease, struct client *client, struct effects *effects)
{
    lease_move(lease, client);
    if (lease->state == LEASE_HELD && lease->stopping != OUTCOME_OK) {
        effects_append_saying(effects, EFFECT_STOP, lease, client, (enum outcome)lease->stopping,
            memory_string(lease_stop_reason(lease)));
    }
}

/* The state of the lease: OUTCOME_OK, OUTCOME_WAITING or OUTCOME_PENDING. */
static enum outcome lease_outcome(const struct lease *lease)
{
    bool is_pending = lease->database != 0 && lease->position == 0;
    return lease->state == LEASE_HELD ? OUTCOME_OK : is_pending ? OUTCOME_PENDING : OUTCOME_WAITING;
}

enum outcome core_reclaim(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects)
{
    if (!lease_is_detached(lease)) {
        return OUTCOME_HELD;
    }
    detached_unwatch(lease, effects);
    tally_reclaim(lease);
    lease->is_undelivered = false;
    lease_hand_to(lease, client, effects);
    news_lease(&core->news, lease);
    set_away(core, lease, false, effects);
    if (lease->state == LEASE_WAITING) {
        queue_try(core, lease, now, effects);
        queue_mark_all_dirty(core, lease);
        circle_look(core);
    }
    return acquire_settle(core, lease, lease_outcome(lease), now, effects);
}

enum outcome core_bind_program(struct core *core, struct client *client, struct lease *lease,
    enum binding binding, const struct process *process, nanoseconds now, struct effects *effects)
{
    if (lease->state != LEASE_HELD || lease->binding == BOUND_TIME || lease->is_opaque) {
        return OUTCOME_KIND;
    }
    if (lease->stopping != OUTCOME_OK) {
        return OUTCOME_LOST;
    }
    if (lease_is_detached(lease)) {
        core_reclaim(core, client, lease, now, effects);
    } else if (lease->client != client) {
        lease_hand_to(lease, client, effects);
        news_lease(&core->news, lease);
    }
    lease_bind(lease, client, binding, process, effects);
    lease->attributes.signal = 0;
    return OUTCOME_OK;
}

/* A line of an earlier connection may be read after a later one has repeated the request. If the
 * lease went back, it would end with the earlier connection. */
static bool is_older(const struct client *client, const struct client *other)
{
    return client->number < other->number;
}

enum outcome core_repeat(struct core *core, struct client *client, struct lease *lease,
    nanoseconds now, struct effects *effects)
{
    if (lease_is_detached(lease)) {
        return core_reclaim(core, client, lease, now, effects);
    }
    if (is_older(client, lease->client)) {
        return OUTCOME_HELD;
    }
    if (lease->client != client) {
        lease_hand_to(lease, client, effects);
        news_lease(&core->news, lease);
    }
    set_away(core, lease, false, effects);
    return acquire_settle(core, lease, lease_outcome(lease), now, effects);
}
