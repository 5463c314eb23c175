/* operator.c - what operators change at runtime: limit, items, reservations, pause. */
#include "base/memory.h"
#include "base/ticket.h"
#include "core/circle.h"
#include "core/fair.h"
#include "core/internal.h"
#include "core/queue.h"

#include <stdlib.h>

static enum outcome still_possible(const struct core *core, const struct claim *claim)
{
    (void)core;
    if (!claim->resource->is_defined) {
        return OUTCOME_UNKNOWN;
    }
    bool can = resource_can_give(claim->resource, claim->count, claim->is_all);
    return can ? OUTCOME_OK : OUTCOME_IMPOSSIBLE;
}

void operator_deny_waiters(struct core *core, struct resource *resource, waiter_judge *judge,
    nanoseconds now, struct effects *effects)
{
    size_t n;
    struct claim **waiters = place_waiters(resource, &n);
    for (size_t i = 0; i < n; i++) {
        enum outcome outcome = judge(core, waiters[i]);
        if (outcome != OUTCOME_OK) {
            core_deny(core, waiters[i]->lease, outcome, now, effects);
        }
    }
    free(waiters);
}

void operator_changed(
    struct core *core, struct resource *resource, nanoseconds now, struct effects *effects)
{
    operator_deny_waiters(core, resource, still_possible, now, effects);
    queue_reclassify(core, resource);
    circle_look(core);
}

void operator_drop_moot(struct resource *resource)
{
    const struct template *template = resource->template;
    bool is_of_template = template && template->runtime_limit != UNBOUNDED;
    if (resource->runtime_limit == resource->definition->limit && !is_of_template) {
        resource->runtime_limit = UNBOUNDED;
    }
    if (!template || !template->pause.is_on) {
        resource->is_exempt = false;
    }
}

bool change_lasts(enum change_kind kind, const struct basis *then, const struct basis *now)
{
    bool is_of_key = kind == CHANGE_LIMIT || kind == CHANGE_ADD || kind == CHANGE_REMOVE;
    return then->is_pool == now->is_pool && then->database == now->database &&
        (!is_of_key || then->value == now->value);
}

/* Whether the items in service differ from the file's. */
static bool items_differ(const struct resource *resource)
{
    const struct definition *definition = resource->definition;
    if (resource_limit(resource) != definition->n_items) {
        return true;
    }
    for (size_t i = 0; i < definition->n_items; i++) {
        if (!resource_has_item(resource, definition->items[i])) {
            return true;
        }
    }
    return false;
}

/* NULL: there is none any more. */
static void decision_set(struct decision *decision, const struct change *change)
{
    decision_clear(decision);
    if (change) {
        decision->by = change->by;
        decision->at = change->at;
        decision->reason = memory_string(change->reason);
    }
}

/* `is_again`: it has been so before. Who has decided that, and when, stays: only why is new. */
static void decision_say(struct decision *decision, const struct change *change, bool is_again)
{
    bool is_known = decision->at != 0 || decision->by.is_known;
    if (is_again && is_known && change && !change->is_old) {
        free(decision->reason);
        decision->reason = memory_string(change->reason);
    } else {
        decision_set(decision, change);
    }
}

static void set_items_changed(struct resource *resource, const struct change *change)
{
    bool is_said = !change->is_old || change->at != 0; /* of several lines, the first says it */
    resource->items_changed = items_differ(resource);
    if (is_said) {
        decision_set(&resource->decision, change);
    }
}

/* ---- one function for each change; core.h says what they are given ---- */

static enum outcome may_limit(const struct definition *definition, uint32_t limit)
{
    if (definition_is_pool(definition) || definition_is_exceeded(definition, limit)) {
        return OUTCOME_KIND;
    }
    return limit > MAX_LIMIT ? OUTCOME_IMPOSSIBLE : OUTCOME_OK;
}

static enum outcome change_limit(
    struct core *core, struct resource *resource, const struct change *change)
{
    (void)core;
    enum outcome outcome = may_limit(resource->definition, change->limit);
    if (outcome == OUTCOME_OK) {
        decision_say(&resource->decision, change, resource->runtime_limit == change->limit);
        resource->runtime_limit = change->limit;
    }
    return outcome;
}

static enum outcome change_add(
    struct core *core, struct resource *resource, const struct change *change)
{
    (void)core;
    struct unit *unit = resource_find_unit(resource, change->item);
    bool is_new = !unit || unit->removed; /* else only a reservation may end */
    if (!resource_is_pool(resource)) {
        if (!unit || !unit->reserved) {
            return OUTCOME_KIND;
        }
        unit_set_reserved(unit, false, NULL);
        return OUTCOME_OK;
    }
    if (unit) {
        unit_set_reserved(unit, false, NULL);
        resource_return_item(unit);
    } else if (resource->n_units >= MAX_LIMIT) {
        return OUTCOME_IMPOSSIBLE;
    } else {
        resource_add_item(resource, change->item);
        if (definition_has_item(resource->definition, change->item)) {
            resource_order_items(resource);
        }
    }
    if (is_new) {
        set_items_changed(resource, change);
    }
    return OUTCOME_OK;
}

static enum outcome change_remove(
    struct core *core, struct resource *resource, const struct change *change)
{
    if (!resource_is_pool(resource)) {
        return OUTCOME_KIND;
    }
    struct unit *unit = resource_find_unit(resource, change->item);
    if (!unit) {
        return OUTCOME_UNKNOWN;
    }
    bool was_there = !unit->removed;
    unit_remove(unit, &core->cooldown_timers);
    if (was_there) {
        set_items_changed(resource, change);
    }
    return OUTCOME_OK;
}

/* Also a slot above a limit that is lowered for a while. */
static enum outcome change_reserve(
    struct core *core, struct resource *resource, const struct change *change)
{
    (void)core;
    uint32_t slot;
    struct unit *unit = NULL;
    if (resource_is_pool(resource)) {
        unit = resource_find_unit(resource, change->item);
    } else if (slot_parse(change->item, &slot) &&
        (slot < resource->definition->limit ||
            slot < (change->is_old ? MAX_LIMIT : resource_limit(resource)))) {
        unit = resource_slot(resource, slot);
    }
    if (!unit || unit->removed) {
        return OUTCOME_UNKNOWN;
    }
    unit_set_reserved(unit, true, change->reason);
    return OUTCOME_OK;
}

/* NULL: there is none any more. */
static void pause_set(struct pause *pause, const struct change *change)
{
    decision_say(&pause->decision, change, pause->is_on);
    pause->is_on = change;
}

static enum outcome change_pause(
    struct core *core, struct resource *resource, const struct change *change)
{
    (void)core;
    pause_set(&resource->pause, change);
    resource->is_exempt = false;
    return OUTCOME_OK;
}

static enum outcome change_resume(
    struct core *core, struct resource *resource, const struct change *change)
{
    (void)core, (void)change;
    pause_set(&resource->pause, NULL);
    resource->is_exempt = true; /* if its template is paused */
    return OUTCOME_OK;
}

void operator_end_changes(struct core *core, struct resource *resource)
{
    for (uint32_t i = 0; i < resource->n_units; i++) {
        unit_set_reserved(resource->units[i], false, NULL);
    }
    if (resource_is_pool(resource)) {
        resource_reset_items(resource, &core->cooldown_timers);
    }
    resource->items_changed = false;
    resource->runtime_limit = UNBOUNDED;
    resource->is_exempt = false;
    pause_set(&resource->pause, NULL);
}

static enum outcome change_reset(
    struct core *core, struct resource *resource, const struct change *change)
{
    (void)change;
    operator_end_changes(core, resource);
    return OUTCOME_OK;
}

typedef enum outcome change_function(
    struct core *core, struct resource *resource, const struct change *change);

static change_function *const change_functions[N_CHANGES] = {
    [CHANGE_LIMIT] = change_limit,
    [CHANGE_ADD] = change_add,
    [CHANGE_REMOVE] = change_remove,
    [CHANGE_RESERVE] = change_reserve,
    [CHANGE_PAUSE] = change_pause,
    [CHANGE_RESUME] = change_resume,
    [CHANGE_RESET] = change_reset,
};

/* ---- the same for all instances of a template ---- */

static enum outcome change_template(struct template *template, const struct change *change)
{
    enum outcome outcome = OUTCOME_KIND;
    const struct definition *definition = template->definition;
    bool is_pause = change->kind == CHANGE_PAUSE, is_reset = change->kind == CHANGE_RESET;
    if (change->kind == CHANGE_LIMIT) {
        outcome = may_limit(definition, change->limit);
        if (outcome == OUTCOME_OK) {
            decision_say(
                &template->decision, change, template->runtime_limit == change->limit);
            template->runtime_limit =
                change->limit == definition->limit ? UNBOUNDED : change->limit;
        }
    } else if (is_pause || change->kind == CHANGE_RESUME || is_reset) {
        pause_set(&template->pause, is_pause ? change : NULL);
        template->runtime_limit = is_reset ? UNBOUNDED : template->runtime_limit;
        outcome = OUTCOME_OK;
    }
    return outcome;
}

static void instances_changed(
    struct core *core, const struct template *template, nanoseconds now, struct effects *effects)
{
    struct resource *resource;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        if (resource->template == template) {
            operator_drop_moot(resource);
            registry_list_changed(core, resource);
            operator_changed(core, resource, now, effects);
        }
    }
}

/* ---- changes ---- */

/* Takes the charge that replaces the instance's if the change is made. False: quota. */
static bool take_next_charge(struct core *core, const struct resource *resource,
    const struct change *change, struct charge *nextp)
{
    const struct account *payer = resource->instance_charge.account;
    bool stays = !resource->is_instance || change->kind == CHANGE_RESET ||
        (resource_is_changed(resource) && !change->is_old);
    *nextp = (struct charge){.account = NULL};
    if (!change->is_charged || (!payer && (stays || !change->is_old))) {
        return true; /* nobody is to pay */
    }
    uint32_t uid = stays ? payer->uid : change->payer;
    bool is_free = change->is_old || payer->uid == uid;
    if (is_free) {
        charge_force(nextp, &core->accounts, uid, ACCOUNT_INSTANCES);
    }
    return is_free || charge_take(nextp, &core->accounts, uid, ACCOUNT_INSTANCES);
}

enum outcome core_change(struct core *core, const char *name, const struct change *change,
    nanoseconds now, struct effects *effects)
{
    const struct definition *definition = core_find_definition(core, name);
    if (definition && definition->database != 0) {
        return OUTCOME_KIND;
    }
    enum outcome outcome;
    struct resource *resource;
    struct template *template = core_find_template(core, name);
    if (template) {
        outcome = change_template(template, change);
        news_template(&core->news, name);
        instances_changed(core, template, now, effects);
        core_settle(core, now, effects);
        return outcome;
    }
    const uint32_t *payer = change->is_charged && !change->is_old ? &change->payer : NULL;
    outcome = registry_get(core, name, payer, &resource);
    struct charge next;
    if (outcome == OUTCOME_OK && !take_next_charge(core, resource, change, &next)) {
        outcome = OUTCOME_QUOTA;
    }
    if (outcome == OUTCOME_OK) {
        outcome = change_functions[change->kind](core, resource, change);
        if (outcome == OUTCOME_OK) {
            struct charge before = resource->instance_charge;
            resource->instance_charge = next;
            next = before;
        }
        charge_give_back(&next, &core->accounts);
        operator_drop_moot(resource);
        registry_list_changed(core, resource);
        operator_changed(core, resource, now, effects);
        core_settle(core, now, effects);
    }
    return outcome;
}

/* ---- a drain: core_drain() ---- */

void core_note_drain(struct core *core, const struct change *change)
{
    decision_say(&core->drain_decision, change, core_is_draining(core));
}

const struct decision *core_drain_decision(const struct core *core)
{
    return &core->drain_decision;
}

void core_move(struct core *core, struct lease *lease, bool is_first, nanoseconds now,
    struct effects *effects)
{
    uint64_t number = ++core->last_id;
    uint64_t ticket =
        is_first ? ticket_of_first(number) : fair_next_ticket(core, lease, number);
    lease->waiting->number = number;
    queue_move(core, lease, ticket);
    effects_change(effects, lease);
    core_settle(core, now, effects);
}
