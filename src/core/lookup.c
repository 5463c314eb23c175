/* lookup.c - leases and resources by name, by id, or one after the other; what state the core
 * is in. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/resource.h"

struct lease *core_find_lease(struct core *core, uint64_t id)
{
    struct table_node *node = table_find_number(&core->leases, id);
    return node ? container_of(node, struct lease, by_id) : NULL;
}

bool core_find_want(const struct core *core, struct requested_resource *want)
{
    struct resource *resource = core_find_resource(core, want->name);
    const struct template *template = resource ? NULL : registry_find_template(core, want->name);
    want->resource = resource && resource->is_defined ? resource : NULL;
    want->definition = want->resource ? resource->definition
        : template                    ? template->definition
                                      : NULL;
    return want->definition;
}

const struct definition *core_find_definition(struct core *core, const char *name)
{
    struct requested_resource want = {.name = name};
    core_find_want(core, &want);
    return want.definition;
}

uint32_t core_limit(const struct core *core, const char *name)
{
    const struct resource *resource = core_find_resource(core, name);
    const struct template *template = registry_find_template(core, name);
    struct requested_resource want = {.name = name};
    return resource                   ? resource_limit(resource)
        : template                    ? template_limit(template)
        : core_find_want(core, &want) ? definition_limit(want.definition)
                                      : 0;
}

const struct pause *core_pause(const struct core *core, const char *name)
{
    static const struct pause none;
    const struct resource *resource = core_find_resource(core, name);
    const struct template *template = registry_find_template(core, name);
    return resource ? resource_pause(resource) : template ? &template->pause : &none;
}

bool core_is_drained(const struct core *core)
{
    return core->draining && core->n_held == 0 && !core_is_closed(core);
}

bool core_is_closed(const struct core *core)
{
    return core->is_closed || core->closed_why;
}

bool core_is_granting_suspended(const struct core *core)
{
    return core->draining || core_is_closed(core);
}

nanoseconds core_misses_leases_until(const struct core *core)
{
    return core->is_closed ? NEVER : core->awaited.until;
}

const char *core_closed_why(const struct core *core)
{
    return core->closed_why;
}

nanoseconds core_grace_until(const struct core *core)
{
    return core->is_closed || !LIST_EMPTY(&core->absent.leases) ? core->grace_until : NEVER;
}

void core_begin_numbers(struct core *core, uint64_t first)
{
    core->first_id = first;
    core->last_id = core->last_token = first - 1;
}

uint64_t core_next_number(const struct core *core)
{
    return 1 + (core->last_id > core->last_token ? core->last_id : core->last_token);
}

bool core_for_each_lease(
    struct core *core, bool (*function)(struct lease *lease, void *context), void *context)
{
    for (size_t i = 0; i < core->leases.n_buckets; i++) {
        for (struct table_node *node = core->leases.buckets[i]; node; node = node->next) {
            if (!function(container_of(node, struct lease, by_id), context)) {
                return false;
            }
        }
    }
    return true;
}

void core_walk_leases(struct core *core, uint64_t *cursorp, size_t n,
    void (*function)(struct lease *lease, void *context), void *context)
{
    do {
        struct table_node *node = table_walk(&core->leases, cursorp);
        for (; node; node = node->next) {
            function(container_of(node, struct lease, by_id), context);
        }
    } while (*cursorp != 0 && --n > 0);
}

bool core_is_draining(const struct core *core)
{
    return core->draining;
}

size_t core_n_held(const struct core *core)
{
    return core->n_held;
}

size_t core_n_waiting(const struct core *core)
{
    return core->n_waiting;
}

void core_for_each_changed(
    const struct core *core, void (*function)(const struct resource *, void *), void *context)
{
    const struct resource *resource;
    TAILQ_FOREACH (resource, &core->changed, changed_link) {
        function(resource, context);
    }
}

void core_for_each_changed_template(
    const struct core *core, void (*function)(const struct template *, void *), void *context)
{
    const struct template *template;
    TAILQ_FOREACH (template, &core->templates.list, link) {
        if (template_is_changed(template)) {
            function(template, context);
        }
    }
}

struct news *core_news(struct core *core)
{
    return &core->news;
}

void core_cursor_init(struct core *core, struct core_cursor *cursor)
{
    cursor->next = TAILQ_FIRST(&core->resource_list);
    cursor->next_cursor = core->cursors;
    core->cursors = cursor;
}

struct resource *core_cursor_next(struct core *core, struct core_cursor *cursor)
{
    (void)core;
    struct resource *resource = cursor->next;
    if (resource) {
        cursor->next = TAILQ_NEXT(resource, link);
    }
    return resource;
}

void core_cursor_deinit(struct core *core, struct core_cursor *cursor)
{
    struct core_cursor **linkp = &core->cursors;
    while (*linkp != cursor) {
        linkp = &(*linkp)->next_cursor;
    }
    *linkp = cursor->next_cursor;
}

/* ---- the leases that a lease runs under ---- */

/* Leases that lie about it form no ring: ids grow. */
struct lease *core_lease_above(struct core *core, const struct lease *below)
{
    uint64_t id = below->attributes.parent;
    bool is_older = id != 0 && (id < below->id || below->id == 0);
    struct lease *above = is_older ? core_find_lease(core, id) : NULL;
    return above && above->state == LEASE_HELD ? above : NULL;
}

struct lease *core_lease_held_up(struct core *core, const struct lease *by)
{
    struct lease *above = core_lease_above(core, by);
    return above && !above->is_ending ? above : NULL;
}

/* ---- the claims of those who hold units of a resource, one after the other ---- */

static struct claim *claim_of_node(struct sorted_set_node *node)
{
    return node ? container_of(node, struct claim, node) : NULL;
}

struct claim *resource_first_holder(const struct resource *resource)
{
    return claim_of_node(sorted_set_first(&resource->holders));
}

struct claim *resource_holder_from(const struct resource *resource, uint64_t token, uint64_t lease)
{
    return claim_of_node(sorted_set_from(&resource->holders, token, lease));
}

struct claim *claim_next_holder(const struct claim *claim)
{
    return claim_of_node(sorted_set_next(&claim->node));
}
