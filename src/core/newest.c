/* newest.c - newest only: a request that replaces others takes the place of the older ones of its
 * *group* that wait, those of its user with its identity for the same resources. doc/ordering.md
 * has the rule.
 *
 * It has no identity before it is granted, and stands aside while another lease has that: a holder,
 * or a request of another group that replaces nothing. */
#include "base/ticket.h"
#include "base/words.h"
#include "core/fair.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/queue.h"

#include <stdio.h>

struct group {
    uint32_t uid;
    const char *holder; /* NULL: there is none */
    /* neither what it shares nor levels that it does not name count */
    const struct resource *resources[MAX_RESOURCES_PER_LEASE];
    size_t n;
};

static struct group group_of(const struct lease *lease)
{
    struct group group = {.uid = lease->uid, .holder = lease->attributes.holder};
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (!lease->claims[i].is_level) {
            group.resources[group.n++] = lease->claims[i].resource;
        }
    }
    return group;
}

static bool is_in(const struct group *group, struct lease *lease)
{
    bool is_in = lease->uid == group->uid && group_of(lease).n == group->n;
    for (size_t i = 0; is_in && i < group->n; i++) {
        const struct claim *claim = lease_own_claim(lease, group->resources[i]);
        is_in = claim && !claim->is_level;
    }
    return is_in;
}

typedef bool lease_filter(const struct lease *lease, uint64_t id);

static struct lease *find_in(
    const struct core *core, const struct group *group, lease_filter *is_wanted, uint64_t id)
{
    struct lease *lease = NULL;
    struct table_node *node = NULL;
    bool is_found = false;
    while (!is_found && group->holder && group->n > 0 &&
        (lease = identity_next(core, group->resources[0], group->uid, group->holder, &node))) {
        is_found = is_wanted(lease, id) && is_in(group, lease);
    }
    return is_found ? lease : NULL;
}

/* ---- older ones ---- */

static bool is_older(const struct lease *lease, uint64_t id)
{
    return lease->state == LEASE_WAITING && lease->id < id;
}

static struct lease *find_older(const struct core *core, const struct lease *lease)
{
    if (!lease_replaces(lease) || lease->database != 0) {
        return NULL;
    }
    struct group group = group_of(lease);
    return find_in(core, &group, is_older, lease->id != 0 ? lease->id : UINT64_MAX);
}

bool newest_finds_older(const struct core *core, const struct lease *lease)
{
    return find_older(core, lease);
}

static void deny(struct core *core, struct lease *older, const struct lease *by, nanoseconds now,
    struct effects *effects)
{
    static const struct actor nobody;
    char id[LEASE_ID_SIZE], reason[LEASE_ID_SIZE + 32];
    lease_id_format(id, by->id);
    snprintf(reason, sizeof reason, "lease %s replaces it", id);
    lease_note_taker(older, &nobody, reason);
    core_deny(core, older, OUTCOME_REPLACED, now, effects);
}

/* What others let it have already counts on: a stream of ever newer requests waits like one. */
static void take_place(struct core *core, struct lease *lease, struct lease *older,
    uint64_t ticket, nanoseconds now, struct effects *effects)
{
    uint64_t number = older->waiting->number;
    struct progress progress;
    keep_note(&progress, older, lease);
    deny(core, older, lease, now, effects);
    lease->waiting->number = number;
    queue_move(core, lease, ticket);
    keep_take(core, lease, &progress);
    effects_change(effects, lease);
}

void newest_replaces(
    struct core *core, struct lease *lease, nanoseconds now, struct effects *effects)
{
    struct lease *older;
    while ((older = find_older(core, lease))) {
        uint64_t ticket = fair_ticket_after(lease, older);
        bool is_earlier = lease->state == LEASE_WAITING &&
            ticket_is_before(ticket, lease_rank(lease));
        if (is_earlier) {
            take_place(core, lease, older, ticket, now, effects);
        } else {
            deny(core, older, lease, now, effects);
        }
    }
}

const struct claim *newest_crowd(const struct core *core, const struct lease *lease)
{
    if (!lease_replaces(lease)) {
        return NULL;
    }
    struct group group = group_of(lease);
    for (size_t i = 0; group.holder && i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        struct lease *other;
        struct table_node *node = NULL;
        size_t n = 0;
        while (!claim->is_level &&
            (other = identity_next(core, claim->resource, lease->uid, group.holder, &node))) {
            n += !(is_older(other, lease->id) && is_in(&group, other));
        }
        if (n > MAX_OF_IDENTITY) {
            return claim;
        }
    }
    return NULL;
}

/* ---- newer ones ---- */

/* A database may still refuse it, and has then replaced nobody. */
static bool may_be_refused(const struct lease *lease)
{
    return lease->database != 0 && lease->state == LEASE_WAITING && !lease->has_waited;
}

static bool is_newer(const struct lease *lease, uint64_t id)
{
    return lease_replaces(lease) && lease->id > id && !may_be_refused(lease);
}

bool core_is_replaced(
    struct core *core, uint32_t uid, const struct acquire_request *ask, uint64_t id)
{
    const struct lease asker = {.id = id, .uid = uid, .attributes = ask->attributes};
    struct group group = {.uid = uid, .holder = ask->attributes.holder};
    for (size_t i = 0; i < ask->n_wants; i++) {
        const char *name = ask->wants[i].name;
        if (!ask->wants[i].is_level && !share_is_found(core, &asker, ask, name)) {
            const struct resource *resource = core_find_resource(core, name);
            if (!resource) {
                return false;
            }
            group.resources[group.n++] = resource;
        }
    }
    return find_in(core, &group, is_newer, id);
}

/* ---- holders ---- */

static bool is_stoppable(const struct lease *lease, uint64_t id)
{
    (void)id;
    return lease->state == LEASE_HELD && core_would_stop(lease, OUTCOME_WITHDRAWN);
}

struct lease *core_replaced_holder(const struct core *core, const struct lease *lease)
{
    bool is_to_stop = lease->state == LEASE_WAITING && lease->database == 0 &&
        lease->attributes.replace == REPLACE_RUNNING;
    struct group group = group_of(lease);
    return is_to_stop ? find_in(core, &group, is_stoppable, 0) : NULL;
}
