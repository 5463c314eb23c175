/* fleet_resources.c - what the simulated fleet shares. */
#include "fleet_internal.h"

#include <string.h>

const char *const resource_names[N_NAMES] = {
    "r0", "r1", "r2", "r3", "rest", "quota", "pool", "rate", "rare/x", "each/x", "each/y"};

enum turns { TURNS_NONE, TURNS_OF_USERS, TURNS_OF_WORDS };

static const struct {
    const char *name;
    uint32_t limit; /* 0: a pool */
    uint32_t max_units_per_user;
    nanoseconds cooldown;
    struct rate rate;
    enum turns turns;
} table[N_DEFINITIONS] = {
    {"r0", 1, UNBOUNDED, 0, {0}, TURNS_NONE},
    {"r1", 2, UNBOUNDED, 0, {0}, TURNS_OF_USERS},
    {"r2", 3, UNBOUNDED, 0, {0}, TURNS_NONE},
    {"r3", 5, UNBOUNDED, 0, {0}, TURNS_OF_USERS},
    {"rest", 1, UNBOUNDED, COOLDOWN, {0}, TURNS_NONE},
    {"quota", 4, 2, 0, {0}, TURNS_OF_USERS},
    {"pool", 0, UNBOUNDED, 0, {0}, TURNS_OF_WORDS},
    {"rate", 3, UNBOUNDED, 0, {RATE_UNITS, RATE_WINDOW}, TURNS_OF_USERS},
    {"rare/*", 2, UNBOUNDED, 0, {0}, TURNS_NONE},
    {"each/*", 2, UNBOUNDED, 0, {0}, TURNS_OF_WORDS},
};
enum { FIRST_CHANGED = 2, AFTER_CHANGED = 4, RARE = 8, CHANGED_TEMPLATE = 9 };

static char *items[] = {"a", "b", "c"};
enum { N_ITEMS = 3 };

/* In every other fleet: what else is taken of whom; quota takes r3 by way of r2. */
static struct {
    const char *name;
    struct level level;
} levels[] = {
    {"r1", {"pool", 1}}, {"r2", {"r3", 2}}, {"quota", {"r2", 1}}, {"each/*", {"r3", 1}}};
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

static void add_level(struct definition *definition)
{
    for (size_t i = 0; i < N_LEVELS; i++) {
        if (strcmp(levels[i].name, definition->name) == 0) {
            definition->levels = &levels[i].level;
            definition->n_levels = 1;
        }
    }
}

void resources_define(struct fleet *fleet, bool has_levels)
{
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        bool is_pool = table[i].limit == 0;
        fleet->definitions[i] = (struct definition){.name = (char *)(uintptr_t)table[i].name,
            .kind = is_pool ? KIND_POOL : KIND_SEMAPHORE,
            .database = 1,
            .selection = SELECT_LRU,
            .order = table[i].turns == TURNS_NONE ? ORDER_FIFO : ORDER_FAIR,
            .fair_by_share = table[i].turns == TURNS_OF_WORDS,
            .limit = table[i].limit,
            .items = is_pool ? items : NULL,
            .n_items = is_pool ? N_ITEMS : 0,
            .cooldown = table[i].cooldown,
            .rate = table[i].rate,
            .burst = RATE_BURST,
            .keep = chance(fleet, 2, 10) * SECOND,
            .max_hold = NEVER,
            .kill_after = fleet->ttl / 30,
            .on_lost = ON_LOST_KILL,
            .max_waiters = 1000,
            .max_units_per_user = table[i].max_units_per_user,
            .max_instances = 100,
            .max_priority = 10};
        if (has_levels) {
            add_level(&fleet->definitions[i]);
        }
    }
}

uint32_t resource_number(const char *name)
{
    uint32_t i = 0;
    while (strcmp(resource_names[i], name) != 0) {
        i++;
    }
    return i;
}

/* A definition, or from CHANGED_TEMPLATE on an instance. */
static bool is_changed_by_operators(uint32_t number)
{
    return (number >= FIRST_CHANGED && number < AFTER_CHANGED) || number >= CHANGED_TEMPLATE;
}

uint32_t resource_max_units(uint32_t number)
{
    uint32_t limit = number < N_DEFINITIONS - 1 ? table[number].limit : 2;
    return is_changed_by_operators(number) ? MAX_CHANGED : limit == 0 ? N_ITEMS : limit;
}

const char *resource_to_forget(struct fleet *fleet)
{
    uint32_t i = random_below(&fleet->random, N_DEFINITIONS);
    return table[is_changed_by_operators(i) || table[i].cooldown > 0 ? RARE : i].name;
}

bool resource_is_rare(uint32_t number)
{
    return number == RARE;
}

uint32_t unit_number(const struct unit *unit)
{
    return unit->item ? (uint32_t)(unit->item[0] - 'a') : unit->index;
}

bool resource_rests(uint32_t number)
{
    return number < N_DEFINITIONS - 1 && table[number].cooldown > 0;
}

bool resource_has_turns(uint32_t number, bool *by_words)
{
    uint32_t i = number < N_DEFINITIONS - 1 ? number : CHANGED_TEMPLATE;
    *by_words = table[i].turns == TURNS_OF_WORDS;
    return table[i].turns != TURNS_NONE;
}

bool resource_has_quota(uint32_t number)
{
    return number < N_DEFINITIONS - 1 && table[number].max_units_per_user != UNBOUNDED;
}
