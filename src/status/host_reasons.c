#include "status/host_reasons.h"

#include "base/memory.h"
#include "core/foresee.h"

#include <stdio.h>

enum { MAX_UNITS_LOOKED_AT = 10000 };

/* The first holder and its id. */
struct first_holder {
    struct status_lease line;
    char id[LEASE_ID_SIZE];
};

static struct reasons_resource describe(struct first_holder *first,
    const struct status_resource *line, const struct reasons_scene *scene,
    const struct resource *resource, uint32_t wants)
{
    const struct claim *holder = resource_first_holder(resource);
    nanoseconds cooled = core_next_cooled(scene->core, resource);
    struct reasons_resource described = {
        .line = line,
        .now = instant_of(scene->now),
        .wants = wants,
        .reserved = resource->n_in_state[UNIT_RESERVED],
        .cools_for = cooled == NEVER ? 0 : milliseconds(cooled - scene->now),
        .n_holders = order_size(&resource->holders),
    };
    if (holder) {
        first->line = host_lease_line(first->id, holder->lease, scene->viewer);
        described.first = &first->line;
    }
    return described;
}

void host_reasons_brief(struct text *brief, const struct reasons_scene *scene,
    const struct resource *resource, uint32_t wants)
{
    struct first_holder first;
    struct status_resource line = host_resource_line(resource, NULL);
    pause_name_users(&line, scene->viewer);
    const struct reasons_resource described = describe(&first, &line, scene, resource, wants);
    reasons_brief(brief, &described);
}

static void add_holders(struct reasons *reasons, const struct reasons_resource *described,
    const struct reasons_scene *scene, const struct resource *resource)
{
    uint64_t n = 0;
    const struct claim *claim = resource_first_holder(resource);
    for (; claim && n < MAX_REASONS_HOLDERS; claim = claim_next_holder(claim), n++) {
        char id[LEASE_ID_SIZE];
        const struct status_lease line = host_lease_line(id, claim->lease, scene->viewer);
        reasons_holder(reasons, described, &line, claim->count);
    }
    reasons_other_holders(reasons, described, described->n_holders - n);
}

static void add_reserved(struct reasons *reasons, const struct reasons_resource *described,
    const struct resource *resource)
{
    uint32_t n_left = resource->n_reserved;
    n_left = n_left < MAX_REASONS_RESERVED ? n_left : MAX_REASONS_RESERVED;
    for (uint32_t i = 0; n_left > 0 && i < resource->n_units && i < MAX_UNITS_LOOKED_AT; i++) {
        const struct unit *unit = resource->units[i];
        char slot[16];
        if (unit->state == UNIT_RESERVED) {
            snprintf(slot, sizeof slot, "%u", unit->index);
            reasons_reserved(reasons, described, unit->item ? unit->item : slot, unit->reason);
            n_left--;
        }
    }
}

static void add_ahead(struct reasons *reasons, const struct reasons_resource *described,
    const struct reasons_scene *scene, const struct resource *resource, const struct claim *claim)
{
    const struct ahead ahead = resource_ahead(resource, claim);
    struct reasons_ahead said = {
        .n = (uint64_t)ahead.n_active + ahead.n_aside,
        .n_aside = resource_is_blocked(resource) ? 0 : ahead.n_aside, /* else all wait */
    };
    char id[LEASE_ID_SIZE];
    struct status_lease first;
    if (ahead.first) {
        first = host_waiter_line(id, ahead.first, 0, scene->viewer);
        said.first = &first;
    }
    reasons_ahead(reasons, described, &said);
}

/* ---- when it will start ---- */

/* What is kept is not free. */
static void play_queue(
    struct forecast *forecast, const struct resource *resource, const struct claim *claim)
{
    const struct order_node *own = claim ? &claim_place(claim)->node : NULL;
    struct order_node *node = order_first(&resource->queue);
    for (; node && !forecast->is_cut && (!own || order_node_is_before(node, own));
         node = order_next(node)) {
        const struct claim *ahead = container_of(node, struct place, node)->claim;
        forecast_add_ahead(forecast, ahead->count);
        forecast->is_cut |= ahead->lease->n_claims > 1; /* its other resources are not known */
    }
}

static enum forecast_obstacle obstacle_of(
    const struct resource *resource, const struct claim *claim)
{
    return resource_is_paused(resource)               ? FORECAST_PAUSED
        : resource_limit(resource) == 0               ? FORECAST_CLOSED
        : resource_ahead(resource, claim).n_aside > 0 ? FORECAST_PASSED_OVER
                                                      : FORECAST_NO_OBSTACLE;
}

static void foresee(struct forecast *forecast, const struct reasons_scene *scene,
    const struct resource *resource, const struct claim *claim)
{
    uint32_t available = resource_available(resource), kept = resource_kept(resource);
    nanoseconds cooled = core_next_cooled(scene->core, resource);
    forecast->free = available > kept ? available - kept : 0;
    const struct claim *holder = resource_first_holder(resource);
    for (; holder && !forecast->is_cut; holder = claim_next_holder(holder)) {
        forecast_add_holder(
            forecast, microseconds(scene->now - holder->lease->granted_at), holder->count);
    }
    if (cooled != NEVER) {
        forecast_add_end(forecast, microseconds(cooled - scene->now), 1);
    }
    play_queue(forecast, resource, claim);
    forecast->obstacle = obstacle_of(resource, claim);
    forecast->is_cut |= resource_is_blocked(resource) || resource_is_fleet(resource);
}

void host_reasons_add(struct reasons *reasons, const struct reasons_scene *scene,
    const struct resource *resource, const struct host_scene *host, uint32_t wants,
    const struct claim *claim, struct forecast *forecast)
{
    struct first_holder first;
    struct status_resource line = host_resource_line(resource, host);
    pause_name_users(&line, scene->viewer);
    struct reasons_resource described = describe(&first, &line, scene, resource, wants);
    bool is_fleet = resource_is_fleet(resource);
    described.position = claim ? claim_position(claim)
        : is_fleet             ? 0
                               : (uint64_t)resource_waiting(resource) + 1;
    reasons_resource(reasons, &described);
    add_holders(reasons, &described, scene, resource);
    add_reserved(reasons, &described, resource);
    if (!is_fleet) {
        add_ahead(reasons, &described, scene, resource, claim);
    }
    foresee(forecast, scene, resource, claim);
}

void host_reasons_client(
    struct reasons *reasons, const struct reasons_scene *scene, const struct lease *lease)
{
    if (lease->is_away) {
        reasons_say(reasons, "its client is stopped (away): others go before it until it goes on");
    } else if (lease->state == LEASE_WAITING && lease_is_detached(lease)) {
        reasons_say(reasons, "its client is not connected: nothing is granted to it meanwhile");
    } else if (viewer_sees_not_started(scene->viewer, lease, scene->now)) {
        reasons_say(reasons,
            "its job has not started: its client, perhaps stopped, has not read the grant");
    }
}
