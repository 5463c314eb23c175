#include "status/describe.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/units.h"
#include "status/answer_lines.h"

#include <string.h>

/* Sizes of a line's parts. A resource has a name (or two: its template's), a reason and, for a
 * pool, three lists; this leaves the given room for the reasons of reservations. */
enum {
    UNITS_BYTES = 1200, /* of a holder */
    LIST_BYTES = 600,
    RESERVATIONS_BYTES = 1000,
};

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

/* Appends " key=a,b,..." of the units for which `belongs` is true; nothing if there is none. */
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
        if (out->length - start + ITEM_BYTES + sizeof ",..." > LIST_BYTES) {
            text_add(out, "...");
            return;
        }
        add_unit_name(out, unit);
    }
}

/* Appends " reserve=ITEM,REASON" for as many as there is room for. */
static void add_reservations(struct text *out, const struct resource *resource)
{
    size_t start = out->length;
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        if (!unit->reserved || !unit->reason) {
            continue;
        }
        size_t max = sizeof " reserve=," + ITEM_BYTES + percent_encode(NULL, 0, unit->reason);
        if (out->length - start + max > RESERVATIONS_BYTES) {
            return;
        }
        text_add_key(out, "reserve", "");
        add_unit_name(out, unit);
        text_add(out, ",");
        text_add_encoded(out, unit->reason);
    }
}

static void add_changes(struct text *out, const struct resource *resource)
{
    bool limit = resource->runtime_limit != UNBOUNDED;
    if (limit || resource->items_changed) {
        text_add_key(out, "changed", limit ? "limit" : "items");
    }
}

/* While a database does not say what is free, it gives nothing out. */
static uint32_t free_units(const struct resource *resource, const struct describe_where *where)
{
    bool gives_nothing = resource_is_blocked(resource) || (where && where->state);
    return gives_nothing ? 0 : resource_available(resource);
}

/* Appends how many units are kept, and the first waiter for whom they are. */
static void add_kept(struct text *out, const struct resource *resource)
{
    const struct order_node *first = order_first(&resource->kept);
    if (first) {
        const struct place *place = container_of(first, struct place, node);
        text_add_number_key(out, "kept", resource_kept(resource));
        text_add_number_key(out, "keeper", claim_position(place->claim));
    }
}

static void add_kind(
    struct text *out, const struct definition *definition, const struct describe_where *where)
{
    text_add_key(out, "kind", kind_words[definition->kind]);
    text_add_key(out, "scope", where ? "fleet" : "host");
    if (where) {
        text_add_key(out, "database", where->database);
        text_add_key(out, "database_state", where->state);
    }
}

void describe_template(struct text *out, const struct definition *template, uint32_t n_instances,
    const struct describe_where *where)
{
    text_add(out, "template ");
    text_add(out, template->name);
    add_kind(out, template, where);
    text_add_number_key(
        out, "limit", definition_is_pool(template) ? template->n_items : template->limit);
    text_add_number_key(out, "instances", n_instances);
    text_add(out, "\n");
}

void describe_resource(
    struct text *out, const struct resource *resource, const struct describe_where *where)
{
    text_add(out, "resource ");
    text_add(out, resource->name);
    add_kind(out, resource->definition, where);
    text_add_number_key(out, "limit", resource_limit(resource));
    text_add_number_key(out, "in_use", resource_in_use(resource));
    text_add_number_key(out, "free", free_units(resource, where));
    text_add_number_key(out, "waiting", where ? where->n_waiting : resource_waiting(resource));
    add_kept(out, resource);
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

void describe_life(struct text *out, const struct lease *lease, nanoseconds now)
{
    static const char *const binding_words[] = {
        [BOUND_CONNECTION] = "connection",
        [BOUND_PROCESS] = "process",
        [BOUND_TIME] = "time",
    };
    text_add_key(out, "bound", binding_words[lease->binding]);
    if (lease_is_detached(lease)) {
        text_add_key(out, "away", "1");
    }
    if (lease_own_until(lease) != NEVER) {
        add_milliseconds(out, "left", lease_own_until(lease) - now);
    }
    if (lease->stopping != OUTCOME_OK) {
        text_add_key(out, "stopping", code_table[outcome_code((enum outcome)lease->stopping)].word);
    }
}

static void add_shown(struct text *out, const struct terms *terms)
{
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        if (attribute_rows[i].is_shown) {
            text_add_key(out, attribute_rows[i].word, terms_text(terms, &attribute_rows[i]));
        }
    }
}

static void add_who(struct text *out, const struct lease *lease, const struct viewer *viewer)
{
    text_add_number_key(out, "pid", (uint64_t)viewer->pid_of(lease));
    text_add_number_key(out, "uid", lease->uid);
    if (viewer_sees(viewer, lease)) {
        text_add_key(out, "holder", lease->terms.holder);
        add_shown(out, &lease->terms);
    }
}

void describe_holder(struct text *out, const struct claim *claim, const struct viewer *viewer,
    nanoseconds now)
{
    text_add(out, "holder ");
    answer_lease_id(out, claim->lease);
    text_add_key(out, "units", "");
    units_write_claim(out, claim, UNITS_BYTES);
    text_add_number_key(out, "token", claim->token);
    add_milliseconds(out, "age", now - claim->lease->granted_at);
    describe_life(out, claim->lease, now);
    add_who(out, claim->lease, viewer);
    text_add(out, "\n");
}

/* Why a waiter is passed over at present, if it is, and because of which resource. */
static void add_blocker(struct text *out, const struct claim *claim)
{
    const struct resource *resource;
    enum wait_kind kind = lease_waits_for(claim->lease, &resource);
    if (kind != WAIT_TURN || (resource && resource != claim->resource)) {
        text_add_key(out, "blocked", kind == WAIT_QUOTA ? "quota" : "other");
        text_add_key(out, "blocker", resource ? resource->name : NULL);
    }
    if (claim_place(claim)->standing == STANDS_KEEPING) {
        text_add_number_key(out, "kept", claim->count);
    }
}

void describe_waiter(struct text *out, const struct claim *claim, uint32_t position,
    const struct viewer *viewer, nanoseconds now)
{
    const struct lease *lease = claim->lease;
    text_add(out, "waiter ");
    answer_lease_id(out, lease);
    if (position > 0) {
        text_add_number_key(out, "position", position);
    }
    text_add_number_key(out, "wants", claim->count);
    add_milliseconds(out, "age", now - lease->asked_at);
    text_add_format(out, " priority=%d", (int)lease->terms.priority);
    if (lease_is_detached(lease)) {
        text_add_key(out, "away", "1");
    }
    add_blocker(out, claim);
    add_who(out, lease, viewer);
    text_add(out, "\n");
}

/* ---- databases ---- */

static const char *const state_words[] = {
    [SESSION_DOWN] = "down",
    [SESSION_LISTING] = "listing",
    [SESSION_UP] = "up",
    [SESSION_REPLACED] = "replaced",
};

const char *describe_state(enum session_state state)
{
    return state_words[state];
}

/* A server's description of itself may be anything. */
static void add_bounded(struct text *out, const char *key, const char *value, size_t max)
{
    char copy[512];
    size_t n = value ? strnlen(value, max) : 0;
    if (n > 0) {
        memcpy(copy, value, n);
        copy[n] = '\0';
        text_add_key(out, key, copy);
    }
}

void describe_database(struct text *out, const struct database *database,
    const struct session_view *view, const struct link_info *info, nanoseconds now)
{
    text_add(out, "database ");
    text_add_encoded(out, database->name);
    text_add_key(out, "state", state_words[view->state]);
    add_milliseconds(out, "ttl", view->ttl);
    if (view->grace_until != NEVER) {
        add_milliseconds(out, "grace", view->grace_until - now);
    }
    if (view->good_until != 0) {
        add_milliseconds(out, "good", view->good_until - now);
    }
    text_add_number_key(out, "incarnation", view->incarnation);
    text_add_number_key(out, "differing", view->n_differing);
    text_add_number_key(out, "calls", view->n_calls);
    if (info) {
        add_bounded(out, "server", info->address, 160);
        add_bounded(out, "version", info->version, 32);
        add_bounded(out, "warning", info->warning, 256);
    }
    if (view->state != SESSION_UP) {
        add_bounded(out, "why", view->why, 256);
    }
    text_add(out, "\n");
}
