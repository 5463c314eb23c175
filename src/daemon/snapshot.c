#include "daemon/snapshot.h"

#include "core/memory.h"
#include "daemon/clock.h"
#include "daemon/describe.h"
#include "wire/protocol.h"
#include "wire/text.h"

#include <stdlib.h>
#include <string.h>

enum part { PART_HOLDERS, PART_WAITERS };

struct snapshot {
    struct core *core;
    struct text held_back;

    bool of_all;
    struct core_cursor cursor; /* of_all */
    char *names[MAX_ARGUMENTS]; /* otherwise; owned */
    size_t n_names, next_name;

    /* Where it stands in the resource that is being shown: behind the holder with that token, or
     * behind the waiter with that key. */
    char name[NAME_BYTES + 1]; /* empty between two resources */
    enum part part;
    uint64_t token;
    uint64_t major, minor;
};

struct snapshot *snapshot_new(struct core *core)
{
    struct snapshot *snapshot = memory_new(sizeof *snapshot);
    snapshot->core = core;
    snapshot->of_all = true;
    core_cursor_init(core, &snapshot->cursor);
    return snapshot;
}

struct snapshot *snapshot_new_of(struct core *core, const char *const names[], size_t n)
{
    struct snapshot *snapshot = memory_new(sizeof *snapshot);
    snapshot->core = core;
    for (size_t i = 0; i < n; i++) {
        snapshot->names[snapshot->n_names++] = memory_string(names[i]);
    }
    return snapshot;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
    if (snapshot) {
        if (snapshot->of_all) {
            core_cursor_deinit(snapshot->core, &snapshot->cursor);
        }
        for (size_t i = 0; i < snapshot->n_names; i++) {
            free(snapshot->names[i]);
        }
        text_deinit(&snapshot->held_back);
        free(snapshot);
    }
    return NULL;
}

struct text *snapshot_held_back(struct snapshot *snapshot)
{
    return &snapshot->held_back;
}

/* ---- from resource to resource ---- */

static void begin(struct snapshot *snapshot, struct text *out, const struct resource *resource)
{
    describe_resource(out, resource);
    strcpy(snapshot->name, resource->name);
    snapshot->part = PART_HOLDERS;
    snapshot->token = snapshot->major = snapshot->minor = 0;
}

/* Looking at an instance that nobody uses does not make it. */
static void show_idle_instance(
    struct text *out, const char *name, const struct definition *template)
{
    struct resource *idle = resource_new(name, template);
    idle->is_instance = true;
    describe_resource(out, idle);
    resource_free(idle);
}

/* False if there is no next one. */
static bool begin_next(struct snapshot *snapshot, struct text *out)
{
    const struct resource *resource;
    if (snapshot->of_all) {
        resource = core_cursor_next(snapshot->core, &snapshot->cursor);
        if (resource) {
            begin(snapshot, out, resource);
        }
        return resource;
    }
    if (snapshot->next_name == snapshot->n_names) {
        return false;
    }
    const char *name = snapshot->names[snapshot->next_name++];
    const struct definition *definition = core_find_definition(snapshot->core, name);
    resource = core_find_resource(snapshot->core, name);
    if (resource) {
        begin(snapshot, out, resource);
    } else if (definition) {
        show_idle_instance(out, name, definition);
    }
    return true;
}

/* ---- within a resource ---- */

/* They stand in the order of their tokens. False when `out` has enough. */
static bool show_holders(struct snapshot *snapshot, const struct resource *resource,
    struct text *out, size_t enough, nanoseconds now)
{
    const struct claim *claim;
    TAILQ_FOREACH (claim, &resource->holders, link) {
        if (claim->token <= snapshot->token) {
            continue;
        }
        if (out->length >= enough) {
            return false;
        }
        describe_holder(out, claim, now);
        snapshot->token = claim->token;
    }
    return true;
}

static struct order_node *next_in(const struct order *order, uint32_t rank)
{
    return rank < order_size(order) ? order_at(order, rank) : NULL;
}

/* Both sets together, in the one order: who is aside keeps the place. */
static bool show_waiters(struct snapshot *snapshot, const struct resource *resource,
    struct text *out, size_t enough, nanoseconds now)
{
    uint32_t n_active = order_count_below(&resource->queue, snapshot->major, snapshot->minor + 1);
    uint32_t n_aside = order_count_below(&resource->aside, snapshot->major, snapshot->minor + 1);
    struct order_node *active = next_in(&resource->queue, n_active);
    struct order_node *aside = next_in(&resource->aside, n_aside);
    for (uint32_t position = 1 + n_active + n_aside; active || aside; position++) {
        bool take_active = !aside || (active && order_node_is_before(active, aside));
        struct order_node **fromp = take_active ? &active : &aside;
        if (out->length >= enough) {
            return false;
        }
        describe_waiter(out, container_of(*fromp, struct place, node)->claim, position, now);
        snapshot->major = (*fromp)->major;
        snapshot->minor = (*fromp)->minor;
        *fromp = order_next(*fromp);
    }
    return true;
}

static void go_on(struct snapshot *snapshot, struct text *out, size_t enough, nanoseconds now)
{
    const struct resource *resource = core_find_resource(snapshot->core, snapshot->name);
    if (resource && snapshot->part == PART_HOLDERS) {
        if (!show_holders(snapshot, resource, out, enough, now)) {
            return;
        }
        snapshot->part = PART_WAITERS;
    }
    if (!resource || show_waiters(snapshot, resource, out, enough, now)) {
        snapshot->name[0] = '\0';
    }
}

bool snapshot_continue(struct snapshot *snapshot, struct text *out, size_t enough)
{
    nanoseconds now = clock_now();
    while (out->length < enough) {
        if (snapshot->name[0] != '\0') {
            go_on(snapshot, out, enough, now);
        } else if (!begin_next(snapshot, out)) {
            text_add(out, "end\n");
            text_add_bytes(out, snapshot->held_back.bytes, snapshot->held_back.length);
            return false;
        }
    }
    return true;
}
