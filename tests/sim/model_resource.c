/* model_resource.c - the model's resources: rules, units, figures. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

bool rules_are_template(const struct rules *rules)
{
    return rules->name[strlen(rules->name) - 1] == '*';
}

bool rules_are_pool(const struct rules *rules)
{
    return rules->kind == KIND_POOL;
}

bool rules_may_have_limit(const struct rules *rules, uint32_t limit)
{
    return !rules_are_pool(rules) && (rules->kind != KIND_LOCK || limit <= 1);
}

const struct rules *file_find(const struct rules_file *file, const char *name)
{
    const struct rules *best = NULL;
    const char *slash = strrchr(name, '/');
    for (size_t i = 0; i < file->n; i++) {
        const struct rules *rules = &file->list[i];
        if (strcmp(rules->name, name) == 0) {
            return rules;
        }
        size_t above = slash ? (size_t)(slash - name) + 1 : 0;
        if (above > 0 && rules_are_template(rules) && strlen(rules->name) == above + 1 &&
            memcmp(rules->name, name, above) == 0) {
            best = rules;
        }
    }
    return best;
}

/* ---- figures ---- */

static bool unit_exists(const struct model_resource *resource, uint32_t unit)
{
    return !rules_are_pool(&resource->rules) || resource->units[unit].exists;
}

static uint32_t in_service(const struct model_resource *resource)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        n += resource->units[i].exists && !resource->units[i].removed;
    }
    return n;
}

uint32_t model_limit(const struct model_resource *resource)
{
    if (rules_are_pool(&resource->rules)) {
        return in_service(resource);
    }
    const struct model_template *template = resource->template;
    return resource->runtime_limit >= 0    ? (uint32_t)resource->runtime_limit
        : template && template->limit >= 0 ? (uint32_t) template->limit
                                           : resource->rules.limit;
}

uint32_t model_in_use(const struct model_resource *resource)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        n += resource->units[i].holder != 0;
    }
    return n;
}

uint32_t model_cooling(const struct model_resource *resource)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        n += resource->units[i].cooling;
    }
    return n;
}

bool model_unit_is_free(const struct model_resource *resource, uint32_t unit)
{
    const struct model_unit *it = &resource->units[unit];
    return unit_exists(resource, unit) && it->holder == 0 && !it->cooling && !it->reserved;
}

bool model_is_untaken(const struct model_resource *resource)
{
    return model_in_use(resource) + model_cooling(resource) == 0;
}

bool model_is_all_held(const struct model_resource *resource)
{
    bool is = false;
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        is |= resource->units[i].holder_has_all;
    }
    return is;
}

uint32_t model_free_units(const struct model_resource *resource)
{
    if (model_is_all_held(resource)) {
        return 0;
    }
    uint32_t limit = model_limit(resource);
    uint32_t taken = model_in_use(resource) + model_cooling(resource);
    uint32_t spare = limit > taken ? limit - taken : 0, n_free = 0;
    bool is_pool = rules_are_pool(&resource->rules);
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        n_free += (is_pool || i < limit) && model_unit_is_free(resource, i);
    }
    return is_pool || n_free < spare ? n_free : spare; /* each item is its own limit */
}

uint32_t model_available(const struct model_resource *resource)
{
    uint32_t free_units = model_free_units(resource), going = model_going(resource);
    return free_units < going ? free_units : going;
}

uint32_t model_max(const struct model_resource *resource)
{
    bool is_pool = rules_are_pool(&resource->rules);
    uint32_t in_file = is_pool ? resource->rules.n_items : resource->rules.limit;
    uint32_t limit = model_limit(resource);
    return in_file == 0 && limit == 0 ? UNBOUNDED : in_file > limit ? in_file : limit;
}

bool model_can_give(const struct model_resource *resource, uint32_t count, bool is_all)
{
    uint32_t per_user = resource->rules.max_units_per_user;
    bool is_one = count == 1 && per_user == UNBOUNDED;
    bool may_go = resource->rules.rate.units == 0 || count <= resource->rules.burst;
    return count != 0 && count <= model_max(resource) && count <= per_user && may_go &&
        (!is_all || is_one);
}

uint32_t model_waiting(const struct model *model, const struct model_resource *resource)
{
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_waiters; i++) {
        n += model_claim_on(model->waiters[i], resource) != NULL;
    }
    return n;
}

bool model_is_blocked(const struct model_resource *resource)
{
    return model_is_paused(resource) || !resource->defined || model_limit(resource) == 0;
}

/* ---- units ---- */

static void unit_forget(struct model_resource *resource, uint32_t unit)
{
    uint32_t n = 0;
    resource->units[unit] = (struct model_unit){.exists = false};
    for (uint32_t i = 0; i < resource->n_order; i++) {
        if (resource->order[i] != unit) {
            resource->order[n++] = resource->order[i];
        }
    }
    resource->n_order = n;
}

static void unit_add(struct model *model, struct model_resource *resource, uint32_t unit)
{
    resource->units[unit] = (struct model_unit){.exists = true, .free_since = model->moment};
    resource->order[resource->n_order++] = (uint8_t)unit;
}

void model_unit_give_back(struct model *model, struct model_resource *resource, uint32_t unit)
{
    struct model_unit *it = &resource->units[unit];
    it->holder = 0;
    it->holder_has_all = false;
    if (it->removed) {
        unit_forget(resource, unit);
    } else if (resource->rules.cooldown > 0) {
        it->cooling = true;
        it->cooling_until = model->now + resource->rules.cooldown;
        it->cooling_serial = ++model->moment;
    } else {
        it->free_since = model->moment;
    }
}

void model_unit_remove(struct model_resource *resource, uint32_t unit)
{
    if (resource->units[unit].holder != 0) {
        resource->units[unit].removed = true;
        resource->units[unit].reserved = false;
    } else {
        unit_forget(resource, unit);
    }
}

void model_unit_reserve(
    struct model *model, struct model_resource *resource, uint32_t unit, bool reserved)
{
    struct model_unit *it = &resource->units[unit];
    if (it->reserved && !reserved) {
        it->free_since = model->moment;
    }
    it->reserved = reserved;
}

static bool is_in_file(const struct model_resource *resource, uint32_t unit)
{
    return memchr(resource->rules.items, (int)unit, resource->rules.n_items) != NULL;
}

/* First the file's items, in its order; then the others. */
void model_resource_order_items(struct model_resource *resource)
{
    uint8_t order[MODEL_UNITS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < resource->rules.n_items; i++) {
        if (resource->units[resource->rules.items[i]].exists) {
            order[n++] = resource->rules.items[i];
        }
    }
    for (uint32_t i = 0; i < resource->n_order; i++) {
        if (!is_in_file(resource, resource->order[i])) {
            order[n++] = resource->order[i];
        }
    }
    memcpy(resource->order, order, n);
}

void model_resource_reset_items(struct model *model, struct model_resource *resource)
{
    for (uint32_t unit = 0; unit < MODEL_UNITS; unit++) {
        struct model_unit *it = &resource->units[unit];
        if (!is_in_file(resource, unit)) {
            if (it->exists) {
                model_unit_remove(resource, unit);
            }
        } else if (it->exists) {
            it->removed = false;
        } else {
            unit_add(model, resource, unit);
        }
    }
    model_resource_order_items(resource);
}

void model_require_token(struct model *model, const char *name, uint64_t token)
{
    size_t i = 0;
    while (i < model->n_tokens && strcmp(model->tokens[i].name, name) != 0) {
        i++;
    }
    if (i == model->n_tokens) {
        strcpy(model->tokens[model->n_tokens].name, name);
        model->tokens[model->n_tokens++].last = 0;
    }
    REQUIRE(token > model->tokens[i].last && token > model->token_floor,
        "%s: token %ju after %ju, %ju remembered", name, token, model->tokens[i].last,
        model->token_floor);
    model->tokens[i].last = token;
}

/* Which unit may not be left free if `unit` is taken? */
static bool goes_before(const struct model_resource *resource, uint32_t other, uint32_t unit)
{
    const struct rules *rules = &resource->rules;
    if (!rules_are_pool(rules)) {
        return other < unit;
    }
    if (rules->selection == SELECT_LRU) {
        return resource->units[other].free_since < resource->units[unit].free_since;
    }
    if (rules->selection == SELECT_RANDOM) {
        return false;
    }
    const uint8_t *order = resource->order;
    return (const uint8_t *)memchr(order, (int)other, resource->n_order) <
        (const uint8_t *)memchr(order, (int)unit, resource->n_order);
}

void model_claim_take_units(struct model *model, struct model_lease *lease,
    struct model_claim *claim, const uint8_t *units, uint32_t n, uint64_t token)
{
    struct model_resource *resource = claim->resource;
    REQUIRE(n == claim->count, "%s: %u units instead of %u", resource->name, n, claim->count);
    model_require_token(model, resource->name, token);
    REQUIRE(n <= model_available(resource), "%s: over the limit", resource->name);
    REQUIRE(!claim->is_all || model_is_untaken(resource), "%s: all, though some is taken",
        resource->name);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t unit = units[i];
        REQUIRE(unit < MODEL_UNITS && model_unit_is_free(resource, unit), "%s: unit %u is not free",
            resource->name, unit);
        REQUIRE(rules_are_pool(&resource->rules) || unit < model_limit(resource),
            "%s: slot %u is not below the limit", resource->name, unit);
        for (uint32_t other = 0; other < MODEL_UNITS; other++) {
            REQUIRE(!model_unit_is_free(resource, other) || !goes_before(resource, other, unit),
                "%s: unit %u should have gone before %u", resource->name, other, unit);
        }
        resource->units[unit].holder = lease->id;
        resource->units[unit].holder_has_all = claim->is_all;
        claim->units[i] = units[i];
    }
    claim->token = token;
}

/* ---- life ---- */

struct model_resource *model_resource_make(
    struct model *model, const char *name, const struct rules *rules)
{
    struct model_resource *resource = calloc(1, sizeof *resource);
    strcpy(resource->name, name);
    strcpy(resource->counts_as, rules->name);
    resource->rules = *rules;
    resource->defined = true;
    resource->is_instance = rules_are_template(rules);
    resource->template = resource->is_instance ? model_template_named(model, rules->name) : NULL;
    resource->charged_uid = -1;
    resource->runtime_limit = -1;
    for (uint32_t i = 0; i < rules->n_items; i++) {
        unit_add(model, resource, rules->items[i]);
    }
    resource->model = model;
    model_rate_begin(model, resource);
    REQUIRE(model->n_resources < MODEL_RESOURCES, "too many resources for the model");
    model->resources[model->n_resources++] = resource;
    return resource;
}

static bool items_are_the_files(const struct model_resource *resource)
{
    for (uint32_t i = 0; i < resource->rules.n_items; i++) {
        const struct model_unit *unit = &resource->units[resource->rules.items[i]];
        if (!unit->exists || unit->removed) {
            return false;
        }
    }
    return in_service(resource) == resource->rules.n_items;
}

bool model_is_changed(const struct model_resource *resource)
{
    bool changed = resource->paused || resource->exempt || resource->runtime_limit >= 0 ||
        (rules_are_pool(&resource->rules) && !items_are_the_files(resource));
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        changed |= resource->units[i].reserved;
    }
    return changed;
}

/* Nothing about it is worth remembering. */
static bool is_idle(const struct model *model, const struct model_resource *resource)
{
    if (model_in_use(resource) > 0 || model_waiting(model, resource) > 0) {
        return false;
    }
    if (!resource->defined) {
        return true;
    }
    bool rests = false;
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        rests |= resource->units[i].cooling;
    }
    return resource->is_instance && !rests && !model_owes(resource) && !model_is_changed(resource);
}

/* Who has left pays for nobody who stays. */
static void charge_claimant(const struct model *model, struct model_resource *resource)
{
    int lowest = -1;
    bool pays = false;
    for (size_t i = 0; i < model->n_leases; i++) {
        struct model_lease *lease = model->leases[i];
        if (model_claim_on(lease, resource)) {
            int uid = (int)lease->uid;
            pays |= uid == resource->charged_uid;
            lowest = lowest < 0 || uid < lowest ? uid : lowest;
        }
    }
    if (resource->template && !model_is_changed(resource) && !pays && lowest >= 0) {
        resource->charged_uid = lowest;
    }
}

void model_forget_idle(struct model *model)
{
    size_t n = 0;
    for (size_t i = 0; i < model->n_resources; i++) {
        if (is_idle(model, model->resources[i])) {
            model_rate_forget(model, model->resources[i]);
            free(model->resources[i]);
        } else {
            charge_claimant(model, model->resources[i]);
            model->resources[n++] = model->resources[i];
        }
    }
    model->n_resources = n;
}

struct model_resource *model_find_resource(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->n_resources; i++) {
        if (strcmp(model->resources[i]->name, name) == 0) {
            return model->resources[i];
        }
    }
    return NULL;
}
