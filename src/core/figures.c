/* figures.c - figures of a resource's units: how many there may be, are, and are left. */
#include "core/meter.h"
#include "core/resource.h"

uint32_t resource_limit(const struct resource *resource)
{
    if (resource_is_fleet(resource) && resource_is_pool(resource)) {
        return (uint32_t)resource->definition->n_items;
    }
    if (resource_is_pool(resource)) {
        return resource->n_units - resource->n_removed;
    }
    return resource->runtime_limit != UNBOUNDED ? resource->runtime_limit
        : resource->template                    ? template_limit(resource->template)
                                                : resource->definition->limit;
}

uint32_t resource_in_use(const struct resource *resource)
{
    return resource->n_in_state[UNIT_HELD];
}

uint32_t resource_waiting(const struct resource *resource)
{
    return sorted_set_size(&resource->queue) + sorted_set_size(&resource->kept) +
        sorted_set_size(&resource->aside);
}

uint32_t resource_kept(const struct resource *resource)
{
    uint32_t kept = sorted_set_sum(&resource->kept), free_units = resource_free_units(resource);
    return kept < free_units ? kept : free_units;
}

/* The free slots that may be granted: all but those above a lowered limit. */
static uint32_t free_below_limit(const struct resource *resource, uint32_t limit)
{
    uint32_t never_used = limit > resource->n_units ? limit - resource->n_units : 0;
    uint32_t used = limit < resource->n_units ? limit : resource->n_units;
    return never_used + bitset_count(&resource->free_slots, used);
}

bool resource_is_untaken(const struct resource *resource)
{
    return resource->n_in_state[UNIT_HELD] == 0 && resource->n_in_state[UNIT_COOLING] == 0;
}

uint32_t resource_spare(const struct resource *resource)
{
    if (resource->n_all > 0) {
        return 0;
    }
    if (resource_is_pool(resource) && !resource_is_fleet(resource)) {
        return UNBOUNDED;
    }
    uint32_t limit = resource_limit(resource);
    uint32_t taken = resource->n_in_state[UNIT_HELD] + resource->n_in_state[UNIT_COOLING];
    return limit > taken ? limit - taken : 0;
}

uint32_t resource_free_units(const struct resource *resource)
{
    uint32_t spare = resource_spare(resource);
    if (spare == UNBOUNDED) {
        return resource->n_in_state[UNIT_FREE];
    }
    if (resource->n_in_state[UNIT_RESERVED] == 0 || spare == 0) {
        return spare; /* then at least that many are free below the limit */
    }
    uint32_t free_units = free_below_limit(resource, resource_limit(resource));
    return spare < free_units ? spare : free_units;
}

uint32_t resource_available(const struct resource *resource)
{
    uint32_t free_units = resource_free_units(resource);
    uint32_t going = resource->meter ? meter_units(resource->meter) : free_units;
    return free_units < going ? free_units : going;
}

bool resource_limit_is_changed(const struct resource *resource)
{
    return resource->runtime_limit != UNBOUNDED ||
        (resource->template && resource->template->runtime_limit != UNBOUNDED);
}

const struct decision *resource_decision(const struct resource *resource)
{
    bool is_own = resource->runtime_limit != UNBOUNDED || resource->items_changed;
    return is_own                             ? &resource->decision
        : resource_limit_is_changed(resource) ? &resource->template->decision
                                              : NULL;
}

const struct pause *resource_pause(const struct resource *resource)
{
    const struct template *template = resource->template;
    bool is_with_template = template && template->pause.is_on && !resource->is_exempt;
    return is_with_template && !resource->pause.is_on ? &template->pause : &resource->pause;
}

bool resource_is_paused(const struct resource *resource)
{
    return resource_pause(resource)->is_on;
}

bool resource_is_blocked(const struct resource *resource)
{
    return resource_is_paused(resource) || !resource->is_defined || resource_limit(resource) == 0;
}

bool resource_is_changed(const struct resource *resource)
{
    return resource->pause.is_on || resource->is_exempt || resource->runtime_limit != UNBOUNDED ||
        resource->items_changed || resource->n_reserved > 0;
}

uint32_t resource_max(const struct resource *resource)
{
    uint32_t in_file = definition_limit(resource->definition);
    uint32_t now = resource_limit(resource);
    if (resource_is_fleet(resource) || (in_file == 0 && now == 0)) {
        return UNBOUNDED;
    }
    return in_file > now ? in_file : now;
}

bool resource_can_give(const struct resource *resource, uint32_t count, bool is_all)
{
    const struct definition *definition = resource->definition;
    uint32_t quota = definition->max_units_per_user;
    return count != 0 && count <= resource_max(resource) && count <= quota &&
        count <= definition_at_once(definition) &&
        (!is_all || (count == 1 && quota == UNBOUNDED));
}
