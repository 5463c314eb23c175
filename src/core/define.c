/* define.c - start and reload: from one set of definitions to the next. */
#include "base/memory.h"
#include "core/fair.h"
#include "core/internal.h"
#include "core/queue.h"

#include <stdlib.h>
#include <string.h>

static bool is_template(const struct definition *definition)
{
    return definition->name[strlen(definition->name) - 1] == '*';
}

/* The new definitions in the order of their names, during one core_define(). */
struct catalogue {
    const struct definition **list;
    size_t n;
};

static int compare_names(const void *left, const void *right)
{
    const struct definition *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static struct catalogue catalogue_new(const struct definition *definitions, size_t n)
{
    struct catalogue catalogue = {memory_new((n + 1) * sizeof *catalogue.list), n};
    for (size_t i = 0; i < n; i++) {
        catalogue.list[i] = &definitions[i];
    }
    qsort(catalogue.list, n, sizeof *catalogue.list, compare_names);
    return catalogue;
}

static const struct definition *catalogue_exact(
    const struct catalogue *catalogue, const char *name)
{
    const struct definition wanted = {.name = (char *)name}, *key = &wanted;
    const struct definition **found =
        bsearch(&key, catalogue->list, catalogue->n, sizeof key, compare_names);
    return found ? *found : NULL;
}

/* An exact name beats the template above it. */
static const struct definition *catalogue_find(
    const struct catalogue *catalogue, const char *name)
{
    const struct definition *definition = catalogue_exact(catalogue, name);
    char above[NAME_BYTES + 1];
    return definition || !template_name_above(name, above) ? definition
                                                           : catalogue_exact(catalogue, above);
}

static bool lasts(
    enum change_kind kind, const struct definition *before, const struct definition *next)
{
    const struct basis then = definition_basis(before), now = definition_basis(next);
    return change_lasts(kind, &then, &now);
}

/* The units keep their meaning, and so does a pause. */
static bool is_same_sort(const struct definition *before, const struct definition *next)
{
    return lasts(CHANGE_PAUSE, before, next);
}

static bool is_in_use(const struct resource *resource)
{
    return !sorted_set_is_empty(&resource->holders) || resource_waiting(resource) > 0;
}

static const struct resource *find_kind_conflict(
    const struct core *core, const struct catalogue *catalogue)
{
    const struct resource *resource;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        const struct definition *next = catalogue_find(catalogue, resource->name);
        if (next && !is_same_sort(resource->definition, next) && is_in_use(resource)) {
            return resource;
        }
    }
    return NULL;
}

static void claim_rekey(struct core *core, struct claim *claim)
{
    if (!claim_is_share(claim)) {
        identity_remove(core, claim);
        identity_add(core, claim);
    }
}

/* Its key `identity` has changed. */
static void identity_rekey(struct core *core, struct resource *resource)
{
    struct claim *claim = resource_first_holder(resource);
    for (; claim; claim = claim_next_holder(claim)) {
        claim_rekey(core, claim);
    }
    size_t n;
    struct claim **waiters = place_waiters(resource, &n);
    for (size_t i = 0; i < n; i++) {
        claim_rekey(core, waiters[i]);
    }
    free(waiters);
}

static void rejoin_waiters(const struct resource *resource)
{
    size_t n;
    struct claim **waiters = place_waiters(resource, &n);
    for (size_t i = 0; i < n; i++) {
        fair_rejoin(waiters[i]->lease);
    }
    free(waiters);
}

/* The units are of the same kind as before. Runtime changes last until their key's value
 * changes. */
static void resource_redefine(
    struct core *core, struct resource *resource, const struct definition *next)
{
    struct definition *remains = resource->remains;
    const struct definition *before = resource->definition;
    const struct saved_rate rate = resource_rate(resource);
    resource->definition = next;
    resource->remains = NULL;
    if (!lasts(CHANGE_LIMIT, before, next) ||
        definition_is_exceeded(next, resource->runtime_limit)) {
        resource->runtime_limit = UNBOUNDED;
    }
    operator_drop_moot(resource);
    if (definition_is_pool(next) && next->database == 0 && !lasts(CHANGE_ADD, before, next)) {
        resource_reset_items(resource, &core->cooldown_timers);
        resource->items_changed = false;
    }
    meter_define(&core->meters, resource, &rate);
    if (before->selection != next->selection) {
        resource_rekey_free(resource);
    }
    if (before->identity_shared != next->identity_shared) {
        identity_rekey(core, resource);
    }
    if (before->order != next->order || before->fair_by_share != next->fair_by_share) {
        rejoin_waiters(resource);
    }
    registry_list_changed(core, resource);
    definition_free(remains);
}

/* The definition is exact, or the resource is from now on a template's instance. */
static void resource_attach(
    struct core *core, struct resource *resource, const struct definition *definition)
{
    resource->is_defined = true;
    resource->is_instance = is_template(definition);
    resource->template =
        resource->is_instance ? registry_find_template(core, resource->name) : NULL;
    if (resource->template) {
        resource->template->n_instances++;
    } else {
        charge_give_back(&resource->instance_charge, &core->accounts);
    }
}

static void resource_apply(struct core *core, struct resource *resource,
    const struct definition *next, nanoseconds now)
{
    if (next && is_same_sort(resource->definition, next)) {
        resource_attach(core, resource, next);
        resource_redefine(core, resource, next);
        tally_move(resource, tallies_find(core, next->name), now);
    } else {
        /* The definition is gone, or of another sort and nobody uses the resource: it drains, then
         * goes. The definition is about to be freed; `remains` is a copy. */
        if (resource->is_defined && !resource_is_fleet(resource)) {
            operator_end_changes(core, resource);
            registry_list_changed(core, resource);
        }
        resource->is_defined = false;
        resource->template = NULL;
        registry_keep_remains(resource);
    }
    queue_mark_dirty(core, resource);
}

/* Runtime changes last as with a resource. */
static void template_take_over(struct template *next, struct template *before)
{
    const struct definition *now = next->definition, *then = before->definition;
    if (!is_same_sort(then, now)) {
        return;
    }
    next->pause = before->pause;
    next->decision = before->decision;
    before->pause.decision.reason = before->decision.reason = NULL;
    if (lasts(CHANGE_LIMIT, then, now) && !definition_is_exceeded(now, before->runtime_limit)) {
        next->runtime_limit = before->runtime_limit;
    }
}

static void replace_templates(
    struct core *core, const struct definition *definitions, size_t n)
{
    struct resource *resource;
    struct templates before = {.by_name = core->templates.by_name};
    struct template *template;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        resource->template = NULL;
    }
    core->templates.by_name = (struct table)TABLE_INIT;
    TAILQ_INIT(&before.list);
    TAILQ_CONCAT(&before.list, &core->templates.list, link);
    for (size_t i = 0; i < n; i++) {
        if (is_template(&definitions[i])) {
            registry_add_template(core, &definitions[i]);
        }
    }
    TAILQ_FOREACH (template, &before.list, link) {
        const char *name = template->definition->name;
        struct template *next = registry_find_template(core, name);
        if (next) {
            template_take_over(next, template);
        }
    }
    registry_free_templates(&before);
}

/* Makes new resources, and puts all in file order, instances last. */
static void arrange(struct core *core, const struct definition *definitions, size_t n)
{
    for (size_t i = n; i-- > 0; ) {
        if (is_template(&definitions[i])) {
            continue;
        }
        struct resource *resource = core_find_resource(core, definitions[i].name);
        if (!resource) {
            resource = registry_add(core, definitions[i].name, &definitions[i]);
        }
        TAILQ_REMOVE(&core->resource_list, resource, link);
        TAILQ_INSERT_HEAD(&core->resource_list, resource, link);
    }
}

/* ---- waiters that may no longer wait ---- */

void core_set_waiter_filter(struct core *core, core_waiter_filter *judge, void *context)
{
    core->judge = judge;
    core->waiter_filter_context = context;
}

/* Of all the resources that the lease has named. */
static enum outcome judge(const struct core *core, const struct claim *claim)
{
    const struct lease *lease = claim->lease;
    enum outcome outcome = OUTCOME_OK;
    for (size_t i = 0; core->judge && i < lease->n_claims && outcome == OUTCOME_OK; i++) {
        const struct resource *resource = lease->claims[i].resource;
        if (resource->is_defined && !lease->claims[i].is_level) {
            outcome = core->judge(lease, resource->definition, core->waiter_filter_context);
        }
    }
    return outcome;
}

static void redefine(struct core *core, const struct catalogue *catalogue,
    const struct definition *definitions, size_t n, nanoseconds now, struct effects *effects)
{
    struct resource *resource;
    core->has_levels = false;
    for (size_t i = 0; i < n; i++) {
        core->has_levels |= definitions[i].n_levels > 0;
    }
    core->meters.now = now;
    tallies_define(core, definitions, n);
    replace_templates(core, definitions, n);
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        resource_apply(core, resource, catalogue_find(catalogue, resource->name), now);
    }
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        operator_deny_waiters(core, resource, judge, now, effects);
    }
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        operator_changed(core, resource, now, effects);
    }
    queue_pump(core, now, effects); /* forgets drained resources, which frees their names */
    arrange(core, definitions, n);
}

enum outcome core_define(struct core *core, const struct definition *definitions, size_t n,
    const struct user_bounds *bounds, nanoseconds now, struct effects *effects,
    const char **refusedp)
{
    struct catalogue catalogue = catalogue_new(definitions, n);
    const struct resource *conflict = find_kind_conflict(core, &catalogue);
    *refusedp = conflict ? conflict->name : NULL;
    if (!conflict) {
        accounts_set_bounds(&core->accounts, bounds);
        redefine(core, &catalogue, definitions, n, now, effects);
        core_settle(core, now, effects);
        news_all(&core->news);
    }
    free(catalogue.list);
    return conflict ? OUTCOME_KIND : OUTCOME_OK;
}
