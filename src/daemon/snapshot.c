#include "daemon/snapshot.h"

#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/clock.h"
#include "store/store.h"

#include <stdlib.h>

enum {
    LIST_BYTES = 1200, /* of one list of items on a line */
    FEW_HOLDERS = 8,
};

struct snapshot {
    struct core *core;
    struct core_cursor cursor;
    struct text held_back;
};

struct snapshot *snapshot_new(struct core *core)
{
    struct snapshot *snapshot = memory_new(sizeof *snapshot);
    snapshot->core = core;
    core_cursor_init(core, &snapshot->cursor);
    return snapshot;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
    if (snapshot) {
        core_cursor_deinit(snapshot->core, &snapshot->cursor);
        text_deinit(&snapshot->held_back);
        free(snapshot);
    }
    return NULL;
}

struct text *snapshot_held_back(struct snapshot *snapshot)
{
    return &snapshot->held_back;
}

bool snapshot_continue(struct snapshot *snapshot, struct text *out, size_t enough)
{
    nanoseconds now = clock_now();
    while (out->length < enough) {
        struct resource *resource = core_cursor_next(snapshot->core, &snapshot->cursor);
        if (!resource) {
            snapshot_add_end(out);
            text_add_bytes(out, snapshot->held_back.bytes, snapshot->held_back.length);
            return false;
        }
        snapshot_add_resource(out, resource, now);
    }
    return true;
}

/* ---- head and end ---- */

void snapshot_add_head(struct text *out, const struct core *core)
{
    text_add(out, "ok");
    text_add_number_key(out, "draining", core_is_draining(core));
    text_add_number_key(out, "held", core_n_held(core));
    text_add_number_key(out, "waiting", core_n_waiting(core));
    text_add(out, "\n");
}

void snapshot_add_end(struct text *out)
{
    text_add(out, "end\n");
}

/* ---- a resource ---- */

static const char *const kind_words[] = {
    [KIND_SEMAPHORE] = "semaphore",
    [KIND_LOCK] = "lock",
    [KIND_POOL] = "pool",
};

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

static void add_unit_name(struct text *out, const struct unit *unit)
{
    if (unit->item) {
        text_add(out, unit->item);
    } else {
        text_add_number(out, unit->index);
    }
}

/* " key=a,b,..." of the units that `belongs` says; nothing if there is none. */
static void add_unit_list(struct text *out, const char *key, const struct resource *resource,
    bool (*belongs)(const struct unit *unit))
{
    size_t start = 0;
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        if (!belongs(unit)) {
            continue;
        }
        if (start == 0) {
            text_add_key(out, key, "");
            start = out->length;
        } else {
            text_add(out, ",");
        }
        if (out->length - start > LIST_BYTES) {
            text_add(out, "...");
            return;
        }
        add_unit_name(out, unit);
    }
}

static void add_reservations(struct text *out, const struct resource *resource)
{
    size_t start = out->length;
    for (uint32_t i = 0; i < resource->n_units && out->length - start < LIST_BYTES; i++) {
        const struct unit *unit = resource->units[i];
        if (unit->reserved && unit->reason) {
            text_add_key(out, "reserve", "");
            add_unit_name(out, unit);
            text_add(out, ",");
            text_add_encoded(out, unit->reason);
        }
    }
}

static void add_changes(struct text *out, const struct resource *resource)
{
    bool limit = resource->runtime_limit != UNBOUNDED;
    if (limit || resource->items_changed) {
        text_add_key(out, "changed", limit ? "limit" : "items");
    }
}

static void add_resource_line(struct text *out, const struct resource *resource)
{
    text_add(out, "resource ");
    text_add(out, resource->name);
    text_add_key(out, "kind", kind_words[resource->definition->kind]);
    text_add_key(out, "scope", "host");
    text_add_number_key(out, "limit", resource_limit(resource));
    text_add_number_key(out, "in_use", resource_in_use(resource));
    text_add_number_key(
        out, "free", resource_is_blocked(resource) ? 0 : resource_available(resource));
    text_add_number_key(out, "waiting", resource_waiting(resource));
    if (resource->n_in_state[UNIT_COOLING] > 0) {
        text_add_number_key(out, "cooling", resource->n_in_state[UNIT_COOLING]);
    }
    if (resource->paused) {
        text_add_key(out, "paused", "1");
        text_add_key(out, "reason", resource->pause_reason);
    }
    if (!resource->is_defined) {
        text_add_key(out, "removed", "1");
    }
    if (resource->is_instance) {
        text_add_key(out, "template", resource->definition->name);
    }
    add_changes(out, resource);
    if (resource_is_pool(resource)) {
        add_unit_list(out, "items", resource, unit_is_in_service);
        add_unit_list(out, "draining", resource, unit_is_draining);
    }
    add_unit_list(out, "reserved", resource, unit_is_reserved);
    add_reservations(out, resource);
    text_add(out, "\n");
}

/* ---- leases ---- */

static void add_milliseconds(struct text *out, const char *key, nanoseconds span)
{
    text_add_number_key(out, key, (uint64_t)(span < 0 ? 0 : span) / 1000000);
}

static void add_who(struct text *out, const struct lease *lease)
{
    text_add_number_key(out, "pid", (uint64_t)lease->pid);
    text_add_number_key(out, "uid", lease->uid);
    text_add_key(out, "holder", lease->holder);
    text_add_key(out, "program", lease->program);
    text_add_key(out, "reason", lease->reason);
}

static void add_holder(struct text *out, const struct claim *claim, nanoseconds now)
{
    text_add(out, "holder ");
    answer_lease_id(out, claim->lease);
    text_add_key(out, "units", "");
    answer_claim_units(out, claim, LIST_BYTES);
    text_add_number_key(out, "token", claim->token);
    add_milliseconds(out, "age", now - claim->lease->granted_at);
    add_who(out, claim->lease);
    text_add(out, "\n");
}

/* Why a waiter is passed over for the time being. */
static const char *why_aside(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        if (resource_is_blocked(lease->claims[i].resource)) {
            return "other";
        }
    }
    return "quota";
}

static void add_waiter(
    struct text *out, const struct claim *claim, uint32_t position, nanoseconds now)
{
    const struct lease *lease = claim->lease;
    text_add(out, "waiter ");
    answer_lease_id(out, lease);
    text_add_number_key(out, "position", position);
    text_add_number_key(out, "wants", claim->count);
    add_milliseconds(out, "age", now - lease->asked_at);
    text_add_format(out, " priority=%d", (int)lease->priority);
    if (lease->waiting->aside) {
        text_add_key(out, "blocked", why_aside(lease));
    }
    add_who(out, lease);
    text_add(out, "\n");
}

/* Both trees together, in the one order: who is aside keeps the place. */
static void add_waiters(struct text *out, const struct resource *resource, nanoseconds now)
{
    struct order_node *active = order_first(&resource->queue);
    struct order_node *aside = order_first(&resource->aside);
    for (uint32_t position = 1; active || aside; position++) {
        bool take_active =
            !aside || (active && order_node_is_before(active, aside));
        struct order_node **fromp = take_active ? &active : &aside;
        add_waiter(out, container_of(*fromp, struct place, node)->claim, position, now);
        *fromp = order_next(*fromp);
    }
}

void snapshot_add_resource(struct text *out, const struct resource *resource, nanoseconds now)
{
    const struct claim *claim;
    add_resource_line(out, resource);
    TAILQ_FOREACH (claim, &resource->holders, link) {
        add_holder(out, claim, now);
    }
    add_waiters(out, resource, now);
}

void snapshot_add_resource_for(struct text *out, const struct resource *resource,
    const struct lease *lease, nanoseconds now)
{
    const struct claim *claim;
    int n = 0;
    add_resource_line(out, resource);
    TAILQ_FOREACH (claim, &resource->holders, link) {
        if (n++ == FEW_HOLDERS) {
            break;
        }
        add_holder(out, claim, now);
    }
    for (size_t i = 0; lease->state == LEASE_WAITING && i < lease->n_claims; i++) {
        if (lease->claims[i].resource == resource) {
            add_waiter(out, &lease->claims[i], claim_position(&lease->claims[i]), now);
        }
    }
}
