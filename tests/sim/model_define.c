/* model_define.c - the model's operations for operators: at runtime, and by a reload. */
#include "model.h"

#include <string.h>

/* ---- changes of the rules ---- */

/* Does the rule that `why` stands for end this lease's wait? */
static bool is_to_be_denied(struct model_lease *lease, enum outcome why)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct model_claim *claim = &lease->claims[i];
        bool impossible = !model_can_give(claim->resource, claim->count, claim->is_all);
        if (why == (claim->resource->defined ? OUTCOME_IMPOSSIBLE : OUTCOME_UNKNOWN) &&
            (impossible || !claim->resource->defined)) {
            return true;
        }
    }
    return false;
}

/* Denies those that can never be granted any more, in any order. */
static void deny_the_impossible(struct model *model)
{
    size_t n = 0;
    for (size_t i = 0; i < model->n_waiters; i++) {
        n += is_to_be_denied(model->waiters[i], OUTCOME_UNKNOWN) ||
            is_to_be_denied(model->waiters[i], OUTCOME_IMPOSSIBLE);
    }
    while (n-- > 0) {
        const struct trace_event *event = model_next_event(model, EFFECT_DENIED);
        struct model_lease *lease = model_find_lease(model, event->lease);
        REQUIRE(lease && !lease->held && is_to_be_denied(lease, event->why),
            "lease %ju is denied for reason %d", event->lease, (int)event->why);
        REQUIRE(event->client == (lease->client >= 0 ? lease->client : -1),
            "of the end of %ju client %d is told", event->lease, event->client);
        model_lease_leave(model, lease, event->why);
    }
}

static enum outcome change_units(struct model *model, struct model_resource *resource,
    const struct change *change, uint32_t number)
{
    enum change_kind kind = change->kind;
    struct model_unit *unit = &resource->units[number];
    bool is_pool = rules_are_pool(&resource->rules);
    if (kind == CHANGE_RESERVE) {
        bool is_above =
            !change->is_old && number >= model_limit(resource) && number >= resource->rules.limit;
        if (is_pool ? !unit->exists || unit->removed : is_above) {
            return OUTCOME_UNKNOWN;
        }
        model_unit_reserve(model, resource, number, true);
    } else if (!is_pool) {
        if (kind == CHANGE_REMOVE || !unit->reserved) {
            return OUTCOME_KIND;
        }
        model_unit_reserve(model, resource, number, false);
    } else if (kind == CHANGE_REMOVE) {
        if (!unit->exists) {
            return OUTCOME_UNKNOWN;
        }
        model_unit_remove(resource, number);
    } else if (unit->exists) {
        model_unit_reserve(model, resource, number, false);
        unit->removed = false;
    } else {
        *unit = (struct model_unit){.exists = true, .free_since = model->moment};
        resource->order[resource->n_order++] = (uint8_t)number;
        model_resource_order_items(resource);
    }
    return OUTCOME_OK;
}

static enum outcome change_resource(struct model *model, struct model_resource *resource,
    const struct change *change, uint32_t number)
{
    switch (change->kind) {
    case CHANGE_LIMIT:
        if (!rules_may_have_limit(&resource->rules, number)) {
            return OUTCOME_KIND;
        }
        resource->runtime_limit = number;
        return OUTCOME_OK;
    case CHANGE_PAUSE:
    case CHANGE_RESUME:
        resource->paused = change->kind == CHANGE_PAUSE;
        resource->exempt = change->kind == CHANGE_RESUME;
        return OUTCOME_OK;
    case CHANGE_RESET:
        for (uint32_t unit = 0; unit < MODEL_UNITS; unit++) {
            model_unit_reserve(model, resource, unit, false);
        }
        if (rules_are_pool(&resource->rules)) {
            model_resource_reset_items(model, resource);
        }
        resource->runtime_limit = -1;
        resource->paused = resource->exempt = false;
        return OUTCOME_OK;
    default:
        return change_units(model, resource, change, number);
    }
}

/* Who pays for an instance that the change keeps. */
static enum outcome charge(
    const struct model *model, struct model_resource *resource, const struct change *change)
{
    int payer = change->is_charged ? (int)change->payer : -1;
    bool must_have_room = payer >= 0 && !change->is_old;
    bool stays = change->kind == CHANGE_RESET || (!change->is_old && model_is_changed(resource));
    if (payer >= 0 && stays) {
        return OUTCOME_OK;
    }
    if (must_have_room && resource->charged_uid < 0) {
        return OUTCOME_OK; /* an operator's, for whom nobody pays */
    }
    if (must_have_room && resource->charged_uid != payer && !model_may_pay(model, payer)) {
        return OUTCOME_QUOTA;
    }
    resource->charged_uid = resource->is_instance ? payer : -1;
    return OUTCOME_OK;
}

void model_change(
    struct model *model, const char *name, const struct change *change, uint32_t number)
{
    int payer = change->is_charged && !change->is_old ? (int)change->payer : -1;
    struct model_resource *resource;
    const struct rules *rules = file_find(&model->file, name);
    enum outcome outcome;
    int before = -1;
    model->moment++;
    if (rules && rules_are_template(rules) && strcmp(rules->name, name) == 0) {
        outcome = model_change_template(model, rules, change->kind, number);
    } else if ((outcome = model_get_resource(model, name, payer, &resource)) == OUTCOME_OK &&
        (before = resource->charged_uid, outcome = charge(model, resource, change)) == OUTCOME_OK) {
        outcome = change_resource(model, resource, change, number);
        resource->charged_uid = outcome == OUTCOME_OK ? resource->charged_uid : before;
        model_drop_what_is_moot(resource);
    }
    deny_the_impossible(model);
    model_require_outcome(model, outcome, NULL);
    model_settle(model);
}

void model_drain(struct model *model, bool draining)
{
    model->draining = draining;
    model->drain_reported = false;
    model_settle(model);
}

/* ---- reload ---- */

static bool is_conflict(
    const struct model *model, const struct model_resource *resource, const struct rules_file *file)
{
    const struct rules *next = file_find(file, resource->name);
    return next && rules_are_pool(next) != rules_are_pool(&resource->rules) &&
        (model_in_use(resource) > 0 || model_waiting(model, resource) > 0);
}

static void take_over_rules(
    struct model *model, struct model_resource *resource, const struct rules *next)
{
    struct rules before = resource->rules;
    resource->rules = *next;
    strcpy(resource->counts_as, next->name);
    resource->is_instance = rules_are_template(next);
    resource->template = resource->is_instance ? model_template_named(model, next->name) : NULL;
    resource->defined = true;
    resource->charged_uid = resource->is_instance ? resource->charged_uid : -1;
    if (before.limit != next->limit || (next->kind == KIND_LOCK && resource->runtime_limit > 1)) {
        resource->runtime_limit = -1;
    }
    model_drop_what_is_moot(resource);
    model_rate_redefine(model, resource, &before);
    if (before.n_items != next->n_items || memcmp(before.items, next->items, next->n_items) != 0) {
        model_resource_reset_items(model, resource);
    }
    for (uint32_t unit = 0; before.selection != next->selection && unit < MODEL_UNITS; unit++) {
        resource->units[unit].free_since = model->moment;
    }
}

/* First the file's, in its order, made if they are new; then the others. */
static void arrange(struct model *model)
{
    struct model_resource *list[MODEL_RESOURCES];
    size_t n = 0;
    for (size_t i = 0; i < model->file.n; i++) {
        const struct rules *rules = &model->file.list[i];
        if (!rules_are_template(rules)) {
            struct model_resource *resource = model_find_resource(model, rules->name);
            list[n++] = resource ? resource : model_resource_make(model, rules->name, rules);
        }
    }
    for (size_t i = 0; i < model->n_resources; i++) {
        struct model_resource *resource = model->resources[i];
        if (!resource->defined || resource->is_instance) {
            list[n++] = resource;
        }
    }
    REQUIRE(n == model->n_resources, "the model has lost a resource");
    memcpy(model->resources, list, n * sizeof list[0]);
}

void model_define(struct model *model, const struct rules_file *file)
{
    bool refused = false;
    model->moment++;
    model->rate_now = model->now;
    for (size_t i = 0; i < model->n_resources; i++) {
        refused |= is_conflict(model, model->resources[i], file);
    }
    if (refused) {
        const struct model_resource *at_fault =
            model->trace->at_fault ? model_find_resource(model, model->trace->at_fault) : NULL;
        REQUIRE(
            model->trace->outcome == OUTCOME_KIND && at_fault && is_conflict(model, at_fault, file),
            "outcome %d about %s of a reload that had to be refused", (int)model->trace->outcome,
            model->trace->at_fault ? model->trace->at_fault : "-");
        model_settle(model);
        return;
    }
    model_require_outcome(model, OUTCOME_OK, NULL);
    model_define_templates(model, file);
    model->file = *file;
    model_count_definitions(model);
    for (size_t i = 0; i < model->n_resources; i++) {
        struct model_resource *resource = model->resources[i];
        const struct rules *next = file_find(&model->file, resource->name);
        if (next && rules_are_pool(next) == rules_are_pool(&resource->rules)) {
            take_over_rules(model, resource, next);
        } else {
            if (resource->defined) {
                change_resource(model, resource, &(struct change){.kind = CHANGE_RESET}, 0);
            }
            resource->defined = false;
            resource->template = NULL;
        }
    }
    model_fair_forget(model);
    deny_the_impossible(model);
    model_pump(model);
    arrange(model);
    model_settle(model);
}
