#include "core/resource.h"

#include "core/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- figures ---- */

uint32_t resource_limit(const struct resource *resource)
{
    if (resource_is_fleet(resource) && resource_is_pool(resource)) {
        return (uint32_t)resource->definition->n_items;
    }
    if (resource_is_pool(resource)) {
        return resource->n_units - resource->n_removed;
    }
    return resource->runtime_limit != UNBOUNDED ? resource->runtime_limit
                                                : resource->definition->limit;
}

uint32_t resource_in_use(const struct resource *resource)
{
    return resource->n_in_state[UNIT_HELD];
}

uint32_t resource_waiting(const struct resource *resource)
{
    return order_size(&resource->queue) + order_size(&resource->aside);
}

/* Free slots that may be granted: all but those above a lowered limit. */
static uint32_t free_below_limit(const struct resource *resource, uint32_t limit)
{
    uint32_t never_used = limit > resource->n_units ? limit - resource->n_units : 0;
    return never_used + order_count_below(&resource->free, limit, 0);
}

uint32_t resource_available(const struct resource *resource)
{
    if (resource_is_pool(resource) && !resource_is_fleet(resource)) {
        return resource->n_in_state[UNIT_FREE]; /* each item is its own limit */
    }
    uint32_t limit = resource_limit(resource);
    uint32_t taken = resource->n_in_state[UNIT_HELD] + resource->n_in_state[UNIT_COOLING];
    uint32_t spare = limit > taken ? limit - taken : 0;
    if (resource->n_in_state[UNIT_RESERVED] == 0 || spare == 0) {
        return spare; /* then at least as many are free below the limit */
    }
    uint32_t free_units = free_below_limit(resource, limit);
    return spare < free_units ? spare : free_units;
}

bool resource_is_blocked(const struct resource *resource)
{
    return resource->paused || !resource->is_defined || resource_limit(resource) == 0;
}

uint32_t resource_most(const struct resource *resource)
{
    const struct definition *definition = resource->definition;
    uint32_t in_file =
        definition_is_pool(definition) ? (uint32_t)definition->n_items : definition->limit;
    uint32_t now = resource_limit(resource);
    if (resource_is_fleet(resource) || (in_file == 0 && now == 0)) {
        return UNBOUNDED;
    }
    return in_file > now ? in_file : now;
}

bool resource_can_give(const struct resource *resource, uint32_t count)
{
    return count != 0 && count <= resource_most(resource) &&
        count <= resource->definition->max_units_per_user;
}

/* ---- units ---- */

/* `first` and slots go by their index, `lru` by when they became free. */
static uint64_t unit_free_key(struct unit *unit)
{
    struct resource *resource = unit->resource;
    bool by_age = resource_is_pool(resource) && resource->definition->selection == SELECT_LRU;
    return by_age ? resource->n_frees++ : unit->index;
}

/* A slot becomes free, or is so no more: between two free ones it makes one range of two. */
static void count_range(const struct unit *unit, bool becomes_free)
{
    struct resource *resource = unit->resource;
    if (resource_is_pool(resource)) {
        return;
    }
    uint32_t i = unit->index, n = resource->n_units;
    uint32_t neighbours = (i > 0 && resource->units[i - 1]->state == UNIT_FREE) +
        (uint32_t)(i + 1 < n && resource->units[i + 1]->state == UNIT_FREE);
    uint32_t change = 1 - neighbours; /* of an unsigned figure, modulo 2^32 */
    resource->n_free_ranges += becomes_free ? change : -change;
}

/* State = membership: leaves the set of the old state, enters that of the new one. */
static void unit_set_state(struct unit *unit, enum unit_state state)
{
    struct resource *resource = unit->resource;
    if (unit->state == state) {
        return;
    }
    if (unit->state == UNIT_FREE) {
        order_remove(&resource->free, &unit->node);
        count_range(unit, false);
    }
    resource->n_in_state[unit->state]--;
    unit->state = (uint8_t)state;
    resource->n_in_state[state]++;
    if (state == UNIT_FREE) {
        order_insert(&resource->free, &unit->node, unit_free_key(unit), 0);
        count_range(unit, true);
    }
}

static struct unit *unit_new(struct resource *resource)
{
    if (resource->n_units == resource->size_units) {
        resource->size_units = resource->size_units < 4 ? 4 : resource->size_units * 2;
        resource->units =
            memory_resize(resource->units, resource->size_units, sizeof(struct unit *));
    }
    struct unit *unit = memory_new(sizeof *unit);
    unit->resource = resource;
    unit->index = resource->n_units;
    unit->state = UNIT_FREE;
    resource->units[resource->n_units++] = unit;
    resource->n_in_state[UNIT_FREE]++;
    order_insert(&resource->free, &unit->node, unit_free_key(unit), 0);
    count_range(unit, true);
    return unit;
}

static void unit_free(struct unit *unit)
{
    free(unit->item);
    free(unit->reason);
    free(unit);
}

void resource_rekey_free(struct resource *resource)
{
    while (!order_is_empty(&resource->free)) {
        order_remove(&resource->free, order_first(&resource->free));
    }
    for (uint32_t i = 0; i < resource->n_units; i++) {
        struct unit *unit = resource->units[i];
        if (unit->state == UNIT_FREE) {
            order_insert(&resource->free, &unit->node, unit_free_key(unit), 0);
        }
    }
}

/* After units have come, gone or changed places: closes gaps in the indices. */
static void resource_renumber(struct resource *resource)
{
    for (uint32_t i = 0; i < resource->n_units; i++) {
        resource->units[i]->index = i;
    }
    if (resource->definition->selection != SELECT_LRU) {
        resource_rekey_free(resource);
    }
}

/* Leaves a gap in the indices: resource_renumber() closes it. */
static void unit_delete(struct unit *unit, struct order *timers)
{
    struct resource *resource = unit->resource;
    if (unit->state == UNIT_FREE) {
        order_remove(&resource->free, &unit->node);
    } else if (unit->state == UNIT_COOLING) {
        order_remove(timers, &unit->node);
    }
    resource->n_in_state[unit->state]--;
    resource->n_removed -= unit->removed;
    memmove(&resource->units[unit->index], &resource->units[unit->index + 1],
        (resource->n_units - unit->index - 1) * sizeof resource->units[0]);
    resource->n_units--;
    unit_free(unit);
}

/* From `hint` on, round the end: items are mostly looked up in their order. */
static struct unit *find_item(const struct resource *resource, const char *item, uint32_t hint)
{
    for (uint32_t i = 0; i < resource->n_units; i++) {
        struct unit *unit = resource->units[(hint + i) % resource->n_units];
        if (strcmp(unit->item, item) == 0) {
            return unit;
        }
    }
    return NULL;
}

bool slot_parse(const char *text, uint32_t *slotp)
{
    uint32_t slot = 0;
    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0')) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || slot >= MAX_LIMIT) {
            return false;
        }
        slot = slot * 10 + (uint32_t)(*text - '0');
    }
    *slotp = slot;
    return true;
}

struct unit *resource_find_unit(const struct resource *resource, const char *item)
{
    uint32_t slot = 0;
    bool is_pool = resource_is_pool(resource);
    if (!is_pool && !slot_parse(item, &slot)) {
        return NULL;
    }
    if (resource_is_fleet(resource)) {
        return resource_find_given(resource, is_pool ? item : NULL, slot);
    }
    if (is_pool) {
        return find_item(resource, item, 0);
    }
    return slot < resource->n_units ? resource->units[slot] : NULL;
}

struct unit *resource_slot(struct resource *resource, uint32_t slot)
{
    while (slot >= resource->n_units) {
        unit_new(resource);
    }
    return resource->units[slot];
}

struct unit *resource_add_item(struct resource *resource, const char *item)
{
    struct unit *unit = unit_new(resource);
    unit->item = memory_string(item);
    return unit;
}

/* ---- units that a database has given ---- */

static uint64_t given_key(const char *item, uint32_t slot)
{
    return item ? hash_string(item, 0) : slot;
}

struct unit *resource_find_given(const struct resource *resource, const char *item, uint32_t slot)
{
    if (resource_is_pool(resource) != (item != NULL)) {
        return NULL;
    }
    uint64_t key = given_key(item, slot);
    uint32_t rank = order_count_below(&resource->given, key, 0);
    struct order_node *node =
        rank < order_size(&resource->given) ? order_at(&resource->given, rank) : NULL;
    for (; node && node->major == key; node = order_next(node)) {
        struct unit *unit = container_of(node, struct unit, node);
        if (!item || strcmp(unit->item, item) == 0) {
            return unit;
        }
    }
    return NULL;
}

bool resource_take_given(struct claim *claim, const char *item, uint32_t slot)
{
    struct resource *resource = claim->resource;
    bool is_pool = resource_is_pool(resource);
    if (is_pool != (item != NULL) || slot >= MAX_SLOTS ||
        resource_find_given(resource, item, slot)) {
        return false;
    }
    struct unit *unit = memory_new(sizeof *unit);
    unit->resource = resource;
    unit->item = memory_string(item);
    unit->index = slot;
    unit->state = UNIT_HELD;
    unit->claim = claim;
    unit->next_of_claim = claim->units;
    claim->units = unit;
    resource->n_in_state[UNIT_HELD]++;
    order_insert(
        &resource->given, &unit->node, given_key(item, slot), is_pool ? resource->n_frees++ : 0);
    return true;
}

static void given_delete(struct unit *unit)
{
    order_remove(&unit->resource->given, &unit->node);
    unit->resource->n_in_state[UNIT_HELD]--;
    unit_free(unit);
}

/* ---- what becomes of units ---- */

static void unit_remove_unnumbered(struct unit *unit, struct order *timers)
{
    if (unit->state == UNIT_HELD) {
        unit->resource->n_removed += !unit->removed;
        unit->removed = true;
    } else {
        unit_delete(unit, timers);
    }
}

void unit_remove(struct unit *unit, struct order *timers)
{
    struct resource *resource = unit->resource;
    unit_remove_unnumbered(unit, timers);
    resource_renumber(resource);
}

void resource_return_item(struct unit *unit)
{
    unit->resource->n_removed -= unit->removed;
    unit->removed = false;
}

void unit_set_reserved(struct unit *unit, bool reserved, const char *reason)
{
    free(unit->reason);
    unit->reason = memory_string(reason);
    unit->reserved = reserved;
    if (unit->state == UNIT_FREE || unit->state == UNIT_RESERVED) {
        unit_set_state(unit, reserved ? UNIT_RESERVED : UNIT_FREE);
    }
}

void unit_settle(struct unit *unit)
{
    unit->claim = NULL;
    unit->next_of_claim = NULL;
    if (resource_is_fleet(unit->resource)) {
        given_delete(unit);
    } else if (unit->removed) {
        struct resource *resource = unit->resource;
        unit_delete(unit, NULL); /* HELD, so in no timer */
        resource_renumber(resource);
    } else {
        unit_set_state(unit, unit->reserved ? UNIT_RESERVED : UNIT_FREE);
    }
}

void unit_set_cooling(struct unit *unit, struct order *timers, nanoseconds until, uint64_t serial)
{
    unit->claim = NULL;
    unit->next_of_claim = NULL;
    unit_set_state(unit, UNIT_COOLING);
    order_insert(timers, &unit->node, (uint64_t)until, serial);
}

/* xorshift64* (Vigna 2016): select = random needs spread, not secrecy. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static struct unit *pick_free(struct resource *resource, uint64_t *random)
{
    uint32_t n_free = order_size(&resource->free);
    bool by_chance = resource_is_pool(resource) && resource->definition->selection == SELECT_RANDOM;
    if (n_free == 0) {
        assert(!resource_is_pool(resource));
        return unit_new(resource); /* the next slot that nobody has used yet */
    }
    struct order_node *node = by_chance
        ? order_at(&resource->free, (uint32_t)(random_next(random) % n_free))
        : order_first(&resource->free);
    return container_of(node, struct unit, node);
}

void resource_take_units(struct resource *resource, struct claim *claim, uint64_t *random)
{
    assert(claim->count <= resource_available(resource));
    struct unit **lastp = &claim->units;
    for (uint32_t i = 0; i < claim->count; i++) {
        struct unit *unit = pick_free(resource, random);
        unit_set_state(unit, UNIT_HELD);
        unit->claim = claim;
        *lastp = unit;
        lastp = &unit->next_of_claim;
    }
}

void resource_take_unit(struct claim *claim, struct unit *unit)
{
    if (unit->state == UNIT_HELD) {
        abort();
    }
    unit_set_state(unit, UNIT_HELD);
    unit->claim = claim;
    unit->next_of_claim = claim->units;
    claim->units = unit;
}

/* ---- life ---- */

struct resource *resource_new(const char *name, const struct definition *definition)
{
    struct resource *resource = memory_new(sizeof *resource);
    resource->name = memory_string(name);
    resource->definition = definition;
    resource->runtime_limit = UNBOUNDED;
    resource->is_defined = true;
    TAILQ_INIT(&resource->holders);
    for (size_t i = 0; !resource_is_fleet(resource) && i < definition->n_items; i++) {
        resource_add_item(resource, definition->items[i]);
    }
    return resource;
}

void resource_keep_remains(struct resource *resource)
{
    if (!resource->remains) {
        resource->remains = definition_copy(resource->definition);
        resource->definition = resource->remains;
    }
}

void resource_free(struct resource *resource)
{
    assert(TAILQ_EMPTY(&resource->holders) && resource_waiting(resource) == 0);
    table_deinit(&resource->usages);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        unit_free(resource->units[i]);
    }
    free(resource->units);
    definition_free(resource->remains);
    free(resource->pause_reason);
    free(resource->name);
    free(resource);
}

/* `place` is at or before the unit's own; those between move up by one. */
static void put_unit_at(struct resource *resource, struct unit *unit, uint32_t place)
{
    for (uint32_t i = unit->index; i > place; i--) {
        resource->units[i] = resource->units[i - 1];
        resource->units[i]->index = i;
    }
    resource->units[place] = unit;
    unit->index = place;
}

void resource_order_items(struct resource *resource)
{
    const struct definition *definition = resource->definition;
    uint32_t place = 0;
    for (size_t i = 0; i < definition->n_items; i++) {
        struct unit *unit = find_item(resource, definition->items[i], place);
        if (unit) {
            put_unit_at(resource, unit, place++);
        }
    }
    resource_renumber(resource);
}

static bool definition_has_item(const struct definition *definition, const char *item, size_t hint)
{
    for (size_t i = 0; i < definition->n_items; i++) {
        if (strcmp(definition->items[(hint + i) % definition->n_items], item) == 0) {
            return true;
        }
    }
    return false;
}

void resource_reset_items(struct resource *resource, struct order *timers)
{
    const struct definition *definition = resource->definition;
    for (uint32_t i = resource->n_units; i-- > 0;) {
        if (!definition_has_item(definition, resource->units[i]->item, i)) {
            unit_remove_unnumbered(resource->units[i], timers);
        }
    }
    resource_renumber(resource);
    for (uint32_t i = 0; i < definition->n_items; i++) {
        struct unit *unit = find_item(resource, definition->items[i], i);
        if (unit) {
            resource_return_item(unit);
        } else {
            resource_add_item(resource, definition->items[i]);
        }
    }
    resource_order_items(resource);
}
