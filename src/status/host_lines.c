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

static struct limit_kind kind_of(
    const struct definition *definition, const struct host_scene *scene)
{
    return (struct limit_kind){
        .word = host_kind_word(definition->kind),
        .database = scene ? scene->database : NULL,
        .database_state = scene ? scene->state : NULL,
    };
}

/* While a database does not say what is free, it gives nothing out. */
static uint32_t free_units(const struct resource *resource, const struct host_scene *scene)
{
    bool gives_nothing = resource_is_blocked(resource) || (scene && scene->state);
    return gives_nothing ? 0 : resource_available(resource);
}

/* How many units are kept, and the first waiter for whom they are. */
static void fill_kept(struct resource_line *line, const struct resource *resource)
{
    const struct order_node *first = order_first(&resource->kept);
    if (first) {
        const struct place *place = container_of(first, struct place, node);
        line->kept = resource_kept(resource);
        line->keeper = claim_position(place->claim);
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

struct resource_line host_resource_line(
    const struct resource *resource, const struct host_scene *scene)
{
    struct resource_line line = {
        .name = resource->name,
        .kind = kind_of(resource->definition, scene),
        .limit = resource_limit(resource),
        .in_use = resource_in_use(resource),
        .free = free_units(resource, scene),
        .waiting = scene ? scene->n_waiting : resource_waiting(resource),
        .cooling = resource->n_in_state[UNIT_COOLING],
        .is_paused = resource_is_paused(resource),
        .pause = {.reason = resource_pause_reason(resource), .by = resource_paused_by(resource)},
        .is_removed = !resource->is_defined,
        .template = resource->is_instance ? resource->definition->name : NULL,
        .changed = changed_word(resource),
    };
    fill_kept(&line, resource);
    return line;
}

void host_describe_resource(
    struct text *out, const struct resource *resource, const struct host_scene *scene)
{
    struct resource_line line = host_resource_line(resource, scene);
    fill_units(&line, resource);
    resource_line_write(out, &line);
    resource_line_deinit(&line);
}

void host_describe_template(
    struct text *out, const struct template *template, const struct host_scene *scene)
{
    const struct template_line line = {
        .name = template->definition->name,
        .kind = kind_of(template->definition, scene),
        .limit = template_limit(template),
        .n_instances = template->n_instances,
        .is_paused = template->paused,
        .pause = {.reason = template->pause_reason, .by = template->paused_by},
        .is_limit_changed = template->runtime_limit != UNBOUNDED,
    };
    template_line_write(out, &line);
}

/* ---- leases ---- */

struct lease_line host_lease_line(char id[static LEASE_ID_SIZE], const struct lease *lease,
    const struct viewer *viewer, nanoseconds now)
{
    nanoseconds since = lease->state == LEASE_HELD ? lease->granted_at : lease->asked_at;

    lease_id_format(id, lease->id);
    return (struct lease_line){
        .id = id,
        .age = milliseconds(now - since),
        .pid = (uint64_t)viewer->pid_of(lease),
        .has_uid = true,
        .uid = lease->uid,
        .user = viewer_user_of(viewer, lease->uid),
        .is_away = lease_is_detached(lease),
        .details = viewer_sees(viewer, lease) ? &lease->terms : NULL,
    };
}

void host_fill_life(struct holder_line *line, const struct lease *lease, nanoseconds now)
{
    static const char *const binding_words[] = {
        [BOUND_CONNECTION] = "connection",
        [BOUND_PROCESS] = "process",
        [BOUND_TIME] = "time",
    };
    nanoseconds until = lease_own_until(lease);
    line->bound = binding_words[lease->binding];
    line->lease.is_away = lease_is_detached(lease);
    line->is_limited = until != NEVER;
    line->left = line->is_limited ? milliseconds(until - now) : 0;
    if (lease->stopping != OUTCOME_OK) {
        line->stopping = code_table[outcome_code((enum outcome)lease->stopping)].word;
    }
}

/* The lease's id goes into `id`; holder_line_deinit(). */
static struct holder_line holder_line(char id[static LEASE_ID_SIZE], const struct claim *claim,
    const struct viewer *viewer, nanoseconds now)
{
    struct holder_line line = {
        .lease = host_lease_line(id, claim->lease, viewer, now),
        .token = claim->token,
    };
    units_write_claim(&line.units.text, claim, UNITS_OF_HOLDER_BYTES);
    host_fill_life(&line, claim->lease, now);
    return line;
}

void host_describe_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now)
{
    char id[LEASE_ID_SIZE];
    struct holder_line line = holder_line(id, claim, viewer, now);
    line.is_unread = viewer_sees_not_started(viewer, claim->lease, now);
    holder_line_write(out, &line);
    holder_line_deinit(&line);
}

static const char blocked_by_quota[] = "quota";

/* Why a waiter is passed over at present, if it is, and because of which resource. */
static void fill_blocker(struct waiter_line *line, const struct claim *claim)
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

struct waiter_line host_waiter_line(char id[static LEASE_ID_SIZE], const struct claim *claim,
    uint32_t position, const struct viewer *viewer, nanoseconds now)
{
    struct waiter_line line = {
        .lease = host_lease_line(id, claim->lease, viewer, now),
        .position = position,
        .wants = claim->count,
        .priority = claim->lease->terms.priority,
    };
    fill_blocker(&line, claim);
    return line;
}

void host_describe_waiter(struct text *out, const struct claim *claim, uint32_t position,
    const struct viewer *viewer, nanoseconds now)
{
    char id[LEASE_ID_SIZE];
    const struct waiter_line line = host_waiter_line(id, claim, position, viewer, now);
    waiter_line_write(out, &line);
}

/* ---- the same for those who follow ---- */

void host_tell_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now)
{
    char id[LEASE_ID_SIZE];
    struct holder_line line = holder_line(id, claim, viewer, now);
    line.lease.resource = claim->resource->name;
    holder_line_write(out, &line);
    holder_line_deinit(&line);
}

/* Which of several quotas is used up may change for a whole queue at once. */
void host_tell_waiter(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now)
{
    char id[LEASE_ID_SIZE];
    const struct lease *lease = claim->lease;
    struct waiter_line line = host_waiter_line(id, claim, 0, viewer, now);
    line.lease.resource = claim->resource->name;
    line.ticket = lease->database != 0 ? lease->ticket : lease->id;
    line.blocker = line.blocked == blocked_by_quota ? NULL : line.blocker;
    waiter_line_write(out, &line);
}
