#include "core/resource.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/meter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- units ---- */

static struct keyed_unit *keyed(struct unit *unit)
{
    return container_of(unit, struct keyed_unit, unit);
}

/* Items are ordered by place or (`lru`) by when they became free. */
static uint64_t item_free_key(struct unit *unit)
{
    struct resource *resource = unit->resource;
    return resource->definition->selection == SELECT_LRU ? resource->n_frees++ : keyed(unit)->rank;
}

static void enter_free(struct unit *unit)
{
    struct resource *resource = unit->resource;
    if (resource_is_pool(resource)) {
        sorted_set_insert(&resource->free, &keyed(unit)->node, item_free_key(unit), 0);
    } else {
        bitset_add(&resource->free_slots, unit->index);
    }
}

static void leave_free(struct unit *unit)
{
    struct resource *resource = unit->resource;
    if (resource_is_pool(resource)) {
        sorted_set_remove(&resource->free, &keyed(unit)->node);
    } else {
        bitset_remove(&resource->free_slots, unit->index);
    }
}

/* State = membership: leaves the set of the old state, enters that of the new one. */
static void unit_set_state(struct unit *unit, enum unit_state state)
{
    struct resource *resource = unit->resource;
    if (unit->state == state) {
        return;
    }
    if (unit->state == UNIT_FREE) {
        leave_free(unit);
    }
    resource->n_in_state[unit->state]--;
    unit->state = (uint8_t)state;
    resource->n_in_state[state]++;
    if (state == UNIT_FREE) {
        enter_free(unit);
    }
}

static void resource_make_room(struct resource *resource)
{
    resource->size_units = resource->size_units < 4 ? 4 : resource->size_units * 2;
    resource->units = memory_resize(resource->units, resource->size_units, sizeof(struct unit *));
    if (!resource_is_pool(resource)) {
        bitset_grow(&resource->free_slots, resource->size_units);
    }
}

/* Slots of host scope are found by their index alone. */
static struct unit *new_unit_of(struct resource *resource)
{
    bool is_keyed = resource_is_pool(resource) || resource_is_fleet(resource);
    struct unit *unit = memory_new(is_keyed ? sizeof(struct keyed_unit) : sizeof *unit);
    unit->resource = resource;
    if (is_keyed) {
        keyed(unit)->rank = resource->n_ranks++;
    }
    return unit;
}

static struct unit *unit_new(struct resource *resource)
{
    if (resource->n_units == resource->size_units) {
        resource_make_room(resource);
    }
    struct unit *unit = new_unit_of(resource);
    unit->index = resource->n_units;
    unit->state = UNIT_FREE;
    resource->units[resource->n_units++] = unit;
    resource->n_in_state[UNIT_FREE]++;
    enter_free(unit);
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
    while (!sorted_set_is_empty(&resource->free)) {
        sorted_set_remove(&resource->free, sorted_set_first(&resource->free));
    }
    for (uint32_t i = 0; resource_is_pool(resource) && i < resource->n_units; i++) {
        if (resource->units[i]->state == UNIT_FREE) {
            enter_free(resource->units[i]);
        }
    }
}

/* After units have gone: those behind them move up. */
static void close_gaps(struct resource *resource, uint32_t from)
{
    uint32_t n = from;
    for (uint32_t i = from; i < resource->n_units; i++) {
        if (resource->units[i]) {
            resource->units[n] = resource->units[i];
            resource->units[n]->index = n;
            n++;
        }
    }
    resource->n_units = n;
}

/* An item's. Leaves a gap, which the caller fills with close_gaps(). */
static void unit_delete(struct unit *unit, struct sorted_set *timers)
{
    struct resource *resource = unit->resource;
    if (unit->state == UNIT_FREE) {
        leave_free(unit);
    } else if (unit->state == UNIT_COOLING) {
        unit_end_cooldown(unit, timers);
    }
    resource->n_in_state[unit->state]--;
    resource->n_removed -= unit->removed;
    resource->n_reserved -= unit->reserved;
    resource->units[unit->index] = NULL;
    table_remove(&resource->items, &keyed(unit)->by_item);
    unit_free(unit);
}

static struct unit *find_item(const struct resource *resource, const char *item)
{
    struct table_node *node = table_find(&resource->items, hash_name(item));
    while (node && strcmp(container_of(node, struct keyed_unit, by_item)->unit.item, item) != 0) {
        node = table_find_next(node);
    }
    return node ? &container_of(node, struct keyed_unit, by_item)->unit : NULL;
}

bool resource_has_item(const struct resource *resource, const char *item)
{
    const struct unit *unit = find_item(resource, item);
    return unit && !unit->removed;
}

bool slot_parse(const char *text, uint32_t *slotp)
{
    uint64_t slot = 0;
    bool is_slot = number_parse(text, MAX_SLOTS - 1, &slot);
    *slotp = (uint32_t)slot;
    return is_slot;
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
        return find_item(resource, item);
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
    table_insert(&resource->items, &keyed(unit)->by_item, hash_name(item));
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
    struct sorted_set_node *node = sorted_set_from(&resource->given, key, 0);
    for (; node && node->major == key; node = sorted_set_next(node)) {
        struct unit *unit = &container_of(node, struct keyed_unit, node)->unit;
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
    struct unit *unit = new_unit_of(resource);
    unit->item = memory_string(item);
    unit->index = slot;
    unit->state = UNIT_HELD;
    unit->claim = claim;
    unit->next_of_claim = claim->units;
    claim->units = unit;
    resource->n_in_state[UNIT_HELD]++;
    sorted_set_insert(&resource->given, &keyed(unit)->node, given_key(item, slot),
        is_pool ? resource->n_frees++ : 0);
    return true;
}

static void given_delete(struct unit *unit)
{
    sorted_set_remove(&unit->resource->given, &keyed(unit)->node);
    unit->resource->n_in_state[UNIT_HELD]--;
    unit_free(unit);
}

/* ---- removing and reserving ---- */

/* False if it is held: it goes when it is given back. */
static bool unit_goes(struct unit *unit, struct sorted_set *timers)
{
    if (unit->state != UNIT_HELD) {
        unit_delete(unit, timers);
        return true;
    }
    unit->resource->n_removed += !unit->removed;
    unit->removed = true;
    unit_set_reserved(unit, false, NULL);
    return false;
}

void unit_remove(struct unit *unit, struct sorted_set *timers)
{
    struct resource *resource = unit->resource;
    uint32_t place = unit->index;
    if (unit_goes(unit, timers)) {
        close_gaps(resource, place);
    }
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
    unit->resource->n_reserved += reserved;
    unit->resource->n_reserved -= unit->reserved;
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
        uint32_t place = unit->index;
        unit_delete(unit, NULL); /* HELD, so in no timer */
        close_gaps(resource, place);
    } else {
        unit_set_state(unit, unit->reserved ? UNIT_RESERVED : UNIT_FREE);
    }
}

void unit_set_cooling(
    struct unit *unit, struct sorted_set *timers, nanoseconds until, uint64_t serial)
{
    unit->claim = NULL;
    unit->next_of_claim = NULL;
    unit_set_state(unit, UNIT_COOLING);
    unit->cooldown = memory_new(sizeof *unit->cooldown);
    unit->cooldown->unit = unit;
    sorted_set_insert(timers, &unit->cooldown->timer, (uint64_t)until, serial);
}

void unit_end_cooldown(struct unit *unit, struct sorted_set *timers)
{
    sorted_set_remove(timers, &unit->cooldown->timer);
    free(unit->cooldown);
    unit->cooldown = NULL;
}

/* xorshift64* (Vigna 2016): select = random needs spread, not secrecy. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static struct unit *pick_slot(struct resource *resource)
{
    return resource->n_in_state[UNIT_FREE] > 0
        ? resource->units[bitset_first(&resource->free_slots)]
        : unit_new(resource); /* the next that nobody has used yet */
}

static struct unit *pick_item(struct resource *resource, uint64_t *random)
{
    struct sorted_set_node *node = resource->definition->selection == SELECT_RANDOM
        ? sorted_set_at(
              &resource->free, (uint32_t)(random_next(random) % sorted_set_size(&resource->free)))
        : sorted_set_first(&resource->free);
    return &container_of(node, struct keyed_unit, node)->unit;
}

void resource_take_units(struct resource *resource, struct claim *claim, uint64_t *random)
{
    assert(claim->count <= resource_available(resource));
    struct unit **lastp = &claim->units;
    bool is_pool = resource_is_pool(resource);
    for (uint32_t i = 0; i < claim->count; i++) {
        struct unit *unit = is_pool ? pick_item(resource, random) : pick_slot(resource);
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

void decision_clear(struct decision *decision)
{
    free(decision->reason);
    *decision = (struct decision){.at = 0};
}

struct resource *resource_new(const char *name, const struct definition *definition)
{
    struct resource *resource = memory_new(sizeof *resource);
    resource->name = memory_string(name);
    resource->definition = definition;
    resource->runtime_limit = UNBOUNDED;
    resource->is_defined = true;
    for (size_t i = 0; !resource_is_fleet(resource) && i < definition->n_items; i++) {
        resource_add_item(resource, definition->items[i]);
    }
    return resource;
}

void resource_free(struct resource *resource)
{
    assert(sorted_set_is_empty(&resource->holders) && resource_waiting(resource) == 0);
    table_deinit(&resource->usages);
    table_deinit(&resource->flows);
    table_deinit(&resource->fair_clocks);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        if (resource->units[i]->item) {
            table_remove(&resource->items, &keyed(resource->units[i])->by_item);
        }
        unit_free(resource->units[i]);
    }
    table_deinit(&resource->items);
    bitset_deinit(&resource->free_slots);
    free(resource->units);
    definition_free(resource->remains);
    decision_clear(&resource->pause.decision);
    decision_clear(&resource->decision);
    meter_free(resource);
    free(resource->name);
    free(resource);
}

/* Numbers the units after they were put in another order. */
static void resource_rank(struct resource *resource)
{
    for (uint32_t i = 0; i < resource->n_units; i++) {
        resource->units[i]->index = i;
        keyed(resource->units[i])->rank = i;
    }
    resource->n_ranks = resource->n_units;
    if (resource->definition->selection != SELECT_LRU) {
        resource_rekey_free(resource);
    }
}

/* `taken` is by index, false at first. Appends the definition's items to `units`. */
static uint32_t list_items_of_file(
    const struct resource *resource, struct unit **units, bool *is_taken)
{
    const struct definition *definition = resource->definition;
    uint32_t n = 0;
    for (size_t i = 0; i < definition->n_items; i++) {
        struct unit *unit = find_item(resource, definition->items[i]);
        if (unit) {
            is_taken[unit->index] = true;
            units[n++] = unit;
        }
    }
    return n;
}

void resource_order_items(struct resource *resource)
{
    struct unit **units = memory_new((resource->size_units + 1) * sizeof *units);
    bool *is_taken = memory_new(resource->n_units + 1);
    uint32_t n = list_items_of_file(resource, units, is_taken);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        if (!is_taken[i]) {
            units[n++] = resource->units[i];
        }
    }
    free(is_taken);
    free(resource->units);
    resource->units = units;
    resource_rank(resource);
}

static void remove_others(struct resource *resource, struct sorted_set *timers)
{
    struct unit **units = memory_new((resource->size_units + 1) * sizeof *units);
    bool *is_of_file = memory_new(resource->n_units + 1);
    list_items_of_file(resource, units, is_of_file);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        if (!is_of_file[i]) {
            unit_goes(resource->units[i], timers);
        }
    }
    close_gaps(resource, 0);
    free(is_of_file);
    free(units);
}

void resource_reset_items(struct resource *resource, struct sorted_set *timers)
{
    const struct definition *definition = resource->definition;
    remove_others(resource, timers);
    for (size_t i = 0; i < definition->n_items; i++) {
        struct unit *unit = find_item(resource, definition->items[i]);
        if (unit) {
            resource_return_item(unit);
        } else {
            resource_add_item(resource, definition->items[i]);
        }
    }
    resource_order_items(resource);
}
