#include "status/host_lines.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/units.h"
#include "status/answer_lines.h"

#include <stdio.h>

/* ---- a resource ---- */

const char *host_kind_word(enum kind kind)
{
    static const char *const words[] = {
        [KIND_SEMAPHORE] = "semaphore",
        [KIND_LOCK] = "lock",
        [KIND_POOL] = "pool",
    };
    return words[kind];
}

static void set_kind(struct status_resource *line, const struct definition *definition,
    const struct host_scene *scene)
{
    resource_set_kind(line, host_kind_word(definition->kind), scene ? scene->database : NULL,
        scene ? scene->state : NULL);
}

/* While a database does not say what is free, it gives nothing out. */
static uint32_t free_units(const struct resource *resource, const struct host_scene *scene)
{
    bool gives_nothing = resource_is_blocked(resource) || (scene && scene->state);
    return gives_nothing ? 0 : resource_available(resource);
}

/* How many units are kept, and the first waiter for whom they are. */
static void fill_kept(struct status_resource *line, const struct resource *resource)
{
    const struct order_node *first = order_first(&resource->kept);
    if (first) {
        const struct place *place = container_of(first, struct place, node);
        line->kept = resource_kept(resource);
        line->kept_for = (struct optional){true, claim_position(place->claim)};
    }
}

static const char *changed_word(const struct resource *resource)
{
    return resource_limit_is_changed(resource) ? "limit"
        : resource->items_changed              ? "items"
                                               : NULL;
}

static bool unit_is_reserved(const struct unit *unit)
{
    return unit->reserved;
}

static bool unit_is_draining(const struct unit *unit)
{
    return unit->removed;
}

static bool unit_is_in_service(const struct unit *unit)
{
    return !unit->removed;
}

/* `room` is for the number of a slot. */
static const char *unit_name(const struct unit *unit, char room[static 16])
{
    if (!unit->item) {
        snprintf(room, 16, "%u", unit->index);
    }
    return unit->item ? unit->item : room;
}

static void fill_list(struct unit_list *list, const struct resource *resource,
    bool (*belongs)(const struct unit *unit))
{
    char room[16];
    for (uint32_t i = 0; i < resource->n_units && !list->is_cut; i++) {
        const struct unit *unit = resource->units[i];
        if (belongs(unit)) {
            unit_list_add(list, unit_name(unit, room), UNITS_OF_RESOURCE_BYTES);
        }
    }
}

static void fill_reserve_reasons(struct reserve_list *list, const struct resource *resource)
{
    char room[16];
    for (uint32_t i = 0; i < resource->n_units && !list->is_full; i++) {
        const struct unit *unit = resource->units[i];
        if (unit->reserved && unit->reason) {
            reserve_list_add(list, unit_name(unit, room), unit->reason);
        }
    }
}

static void fill_units(struct resource_line *line, const struct resource *resource)
{
    if (resource_is_pool(resource)) {
        fill_list(&line->items, resource, unit_is_in_service);
        fill_list(&line->draining, resource, unit_is_draining);
    }
    fill_list(&line->reserved, resource, unit_is_reserved);
    fill_reserve_reasons(&line->reserve_reasons, resource);
}

struct status_resource host_resource_line(
    const struct resource *resource, const struct host_scene *scene)
{
    struct status_resource line = {
        .name = resource->name,
        .limit = resource_limit(resource),
        .in_use = resource_in_use(resource),
        .free = free_units(resource, scene),
        .waiting = scene ? scene->n_waiting : resource_waiting(resource),
        .cooling = resource->n_in_state[UNIT_COOLING],
        .removed = !resource->is_defined,
        .template = resource->is_instance ? resource->definition->name : NULL,
        .changed.joined = changed_word(resource),
    };
    set_kind(&line, resource->definition, scene);
    resource_set_pause(&line, resource_is_paused(resource), resource_pause_reason(resource),
        resource_paused_by(resource));
    fill_kept(&line, resource);
    return line;
}

void host_describe_resource(
    struct text *out, const struct resource *resource, const struct host_scene *scene)
{
    struct resource_line line = {.shown = host_resource_line(resource, scene)};
    fill_units(&line, resource);
    resource_line_write(out, &line);
    resource_line_deinit(&line);
}

void host_describe_template(
    struct text *out, const struct template *template, const struct host_scene *scene)
{
    struct status_resource line = {
        .name = template->definition->name,
        .limit = template_limit(template),
        .instances = template->n_instances,
        .changed.joined = template->runtime_limit != UNBOUNDED ? "limit" : NULL,
    };
    set_kind(&line, template->definition, scene);
    resource_set_pause(&line, template->paused, template->pause_reason, template->paused_by);
    record_line_write(out, LINE_TEMPLATE, line.name, &line);
}

/* ---- leases ---- */

struct status_lease host_lease_line(
    char id[static LEASE_ID_SIZE], const struct lease *lease, const struct viewer *viewer)
{
    struct status_lease line = {
        .id = id,
        .since = instant_of(lease->state == LEASE_HELD ? lease->granted_at : lease->asked_at),
        .pid = (uint64_t)viewer->pid_of(lease),
        .uid = lease->uid,
        .user = viewer_user_of(viewer, lease->uid),
        .away = lease_is_detached(lease),
        .hidden = !viewer_sees(viewer, lease),
    };
    lease_id_format(id, lease->id);
    lease_set_texts(&line, &lease->terms);
    return line;
}

void host_fill_life(struct status_lease *line, const struct lease *lease,
    const struct viewer *viewer, nanoseconds now)
{
    static const char *const binding_words[] = {
        [BOUND_CONNECTION] = "connection",
        [BOUND_PROCESS] = "process",
        [BOUND_TIME] = "time",
    };
    nanoseconds until = lease_own_until(lease);
    line->bound = binding_words[lease->binding];
    line->away = lease_is_detached(lease);
    if (until != NEVER) {
        line->until = instant_of(until);
    }
    if (lease->stopping != OUTCOME_OK) {
        line->stopping = code_table[outcome_code((enum outcome)lease->stopping)].word;
    }
    line->unread = viewer_sees_not_started(viewer, lease, now);
}

void host_describe_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    bool follows, nanoseconds now)
{
    char id[LEASE_ID_SIZE];
    struct status_lease line = host_lease_line(id, claim->lease, viewer);
    struct text units = TEXT_INIT;
    units_write_claim(&units, claim, UNITS_OF_HOLDER_BYTES);
    line.units.joined = units.bytes;
    line.token = claim->token;
    line.resource = claim->resource->name;
    host_fill_life(&line, claim->lease, viewer, now);
    lease_line_write(out, LINE_HOLDER, &line, follows);
    text_deinit(&units);
}

static const char blocked_by_quota[] = "quota";

/* Why a waiter is passed over at present, if it is, and because of which resource. */
static void fill_blocker(struct status_lease *line, const struct claim *claim)
{
    const struct resource *resource;
    enum wait_kind kind = lease_waits_for(claim->lease, &resource);
    static const char *const words[] = {
        [WAIT_TURN] = "other",
        [WAIT_QUOTA] = blocked_by_quota,
        [WAIT_BLOCKED] = "other",
        [WAIT_AWAY] = "away",
    };
    if (kind != WAIT_TURN || (resource && resource != claim->resource)) {
        line->blocked = words[kind];
        line->blocker = resource ? resource->name : NULL;
    }
    line->kept = claim_place(claim)->standing == STANDS_KEEPING ? claim->count : 0;
}

struct status_lease host_waiter_line(char id[static LEASE_ID_SIZE], const struct claim *claim,
    uint32_t position, const struct viewer *viewer)
{
    const struct lease *lease = claim->lease;
    struct status_lease line = host_lease_line(id, lease, viewer);
    line.resource = claim->resource->name;
    line.position = position;
    line.ticket.number = lease->database != 0 ? lease->ticket : lease->id;
    line.ticket.is_given = line.ticket.number != 0;
    line.wants = claim->count;
    line.priority = lease->terms.priority;
    fill_blocker(&line, claim);
    return line;
}

/* To one who follows, without the resource whose quota is used up: that may change for a whole
 * queue at once. */
void host_describe_waiter(struct text *out, const struct claim *claim, uint32_t position,
    const struct viewer *viewer, bool follows)
{
    char id[LEASE_ID_SIZE];
    struct status_lease line = host_waiter_line(id, claim, position, viewer);
    line.blocker = follows && line.blocked == blocked_by_quota ? NULL : line.blocker;
    lease_line_write(out, LINE_WAITER, &line, follows);
}
