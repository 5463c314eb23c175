#include "base/memory.h"
#include "core/internal.h"
#include "core/usage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct resource *core_find_resource(const struct core *core, const char *name)
{
    struct table_node *node = table_find(&core->resources, hash_name(name));
    while (node && strcmp(container_of(node, struct resource, by_name)->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct resource, by_name) : NULL;
}

struct template *registry_add_template(struct core *core, const struct definition *definition)
{
    struct template *template = memory_new(sizeof *template);
    template->definition = definition;
    template->runtime_limit = UNBOUNDED;
    TAILQ_INSERT_TAIL(&core->templates.list, template, link);
    table_insert(&core->templates.by_name, &template->by_name, hash_name(definition->name));
    return template;
}

struct template *core_find_template(const struct core *core, const char *name)
{
    struct table_node *node = table_find(&core->templates.by_name, hash_name(name));
    while (node &&
        strcmp(container_of(node, struct template, by_name)->definition->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct template, by_name) : NULL;
}

struct template *registry_find_template(const struct core *core, const char *name)
{
    char above[NAME_BYTES + 1];
    return template_name_above(name, above) ? core_find_template(core, above) : NULL;
}

struct resource *registry_add(
    struct core *core, const char *name, const struct definition *definition)
{
    struct resource *resource = resource_new(name, definition);
    meter_define(&core->meters, resource, NULL);
    tally_move(resource, tallies_find(core, definition->name), 0);
    table_insert(&core->resources, &resource->by_name, hash_name(name));
    TAILQ_INSERT_TAIL(&core->resource_list, resource, link);
    news_resource(&core->news, name);
    return resource;
}

void registry_keep_remains(struct resource *resource)
{
    if (!resource->remains) {
        resource->remains = definition_copy(resource->definition);
        resource->definition = resource->remains;
    }
}

struct resource *core_idle_instance(
    struct core *core, const char *name, const struct definition *definition)
{
    struct resource *resource = resource_new(name, definition);
    resource->is_instance = true;
    resource->template = registry_find_template(core, name);
    meter_define(&core->meters, resource, NULL);
    return resource;
}

enum outcome registry_get(
    struct core *core, const char *name, const uint32_t *payer, struct resource **resourcep)
{
    struct resource *resource = core_find_resource(core, name);
    if (resource) {
        *resourcep = resource;
        return resource->is_defined ? OUTCOME_OK : OUTCOME_UNKNOWN;
    }
    struct template *template = registry_find_template(core, name);
    if (!template) {
        return OUTCOME_UNKNOWN;
    }
    struct charge charge = {.account = NULL};
    if (payer &&
        (template->n_instances >= template->definition->max_instances ||
            !charge_take(&charge, &core->accounts, *payer, ACCOUNT_INSTANCES))) {
        return OUTCOME_QUOTA;
    }
    resource = registry_add(core, name, template->definition);
    resource->is_instance = true;
    resource->template = template;
    resource->instance_charge = charge;
    template->n_instances++;
    news_template(&core->news, template->definition->name);
    *resourcep = resource;
    return OUTCOME_OK;
}

void registry_list_changed(struct core *core, struct resource *resource)
{
    bool is_changed = resource_is_changed(resource);
    if (is_changed && !resource->is_listed) {
        TAILQ_INSERT_TAIL(&core->changed, resource, changed_link);
    } else if (!is_changed && resource->is_listed) {
        TAILQ_REMOVE(&core->changed, resource, changed_link);
    }
    resource->is_listed = is_changed;
}

static void registry_forget(struct core *core, struct resource *resource)
{
    assert(!resource->is_dirty);
    struct core_cursor *cursor = core->cursors;
    for (; cursor; cursor = cursor->next_cursor) {
        if (cursor->next == resource) {
            cursor->next = TAILQ_NEXT(resource, link);
        }
    }
    for (uint32_t i = 0; i < resource->n_units; i++) {
        if (resource->units[i]->state == UNIT_COOLING) {
            unit_end_cooldown(resource->units[i], &core->cooldown_timers);
        }
    }
    news_resource(&core->news, resource->name);
    if (resource->template) {
        resource->template->n_instances--;
        news_template(&core->news, resource->template->definition->name);
    }
    if (resource->is_listed) {
        TAILQ_REMOVE(&core->changed, resource, changed_link);
    }
    charge_give_back(&resource->instance_charge, &core->accounts);
    tally_move(resource, NULL, 0);
    table_remove(&core->resources, &resource->by_name);
    TAILQ_REMOVE(&core->resource_list, resource, link);
    usage_forget_idle(resource);
    resource_free(resource);
}

static bool is_as_defined(const struct resource *resource)
{
    return !resource_is_changed(resource) && resource->n_in_state[UNIT_COOLING] == 0 &&
        !(resource->meter && meter_is_in_debt(resource->meter));
}

/* An operator's change keeps it at the expense of whoever pays, and so do units that rest. Else a
 * user who has left would pay for those who stay. */
static void charge_who_has_a_claim(struct core *core, struct resource *resource)
{
    const struct account *payer = resource->instance_charge.account;
    uint32_t uid;
    bool is_paid = payer && usage_has_claim(resource, payer->uid);
    if (!is_paid && !resource_is_changed(resource) && usage_first_claimant(resource, &uid)) {
        charge_give_back(&resource->instance_charge, &core->accounts);
        charge_force(&resource->instance_charge, &core->accounts, uid, ACCOUNT_INSTANCES);
    }
}

void registry_settle(struct core *core, struct resource *resource)
{
    bool in_use = !sorted_set_is_empty(&resource->holders) || resource_waiting(resource) > 0;
    bool keeps_itself =
        resource->is_defined && !(resource->is_instance && is_as_defined(resource));
    if (!in_use && !keeps_itself) {
        registry_forget(core, resource);
    } else if (resource->template) {
        charge_who_has_a_claim(core, resource);
    }
}

void core_begin_rates(struct core *core, nanoseconds now)
{
    struct resource *resource;
    core->meters.unknown_at = now;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        meter_free(resource);
        meter_define(&core->meters, resource, NULL);
    }
}

nanoseconds core_rates_begun(const struct core *core)
{
    return core->meters.unknown_at;
}

void registry_free_templates(struct templates *templates)
{
    struct template *template;
    while ((template = TAILQ_FIRST(&templates->list))) {
        TAILQ_REMOVE(&templates->list, template, link);
        table_remove(&templates->by_name, &template->by_name);
        decision_clear(&template->pause.decision);
        decision_clear(&template->decision);
        free(template);
    }
    table_deinit(&templates->by_name);
}

void registry_free(struct core *core)
{
    while (!TAILQ_EMPTY(&core->resource_list)) {
        registry_forget(core, TAILQ_FIRST(&core->resource_list));
    }
    registry_free_templates(&core->templates);
    table_deinit(&core->resources);
}
