/* rules.c - random configurations: few resources, and a little of every key. */
#include "operation.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t percent; /* how often it is in the file */
    uint32_t pool_percent; /* and then a pool */
} known[] = {
    {"a", 98, 2},
    {"b", 98, 2},
    {"c", 93, 6},
    {"d", 93, 5},
    {"p", 98, 98},
    {"q", 93, 95},
    {"t/x", 15, 5},
    {"t/*", 97, 3},
    {"u/*", 95, 97},
};

static void make_items(struct rules *rules, struct random *random)
{
    uint32_t used = 0;
    uint32_t n = PICK(random, 1, 2, 3, 3, 4, 5);
    while (rules->n_items < n) {
        uint32_t item = random_below(random, 6);
        if (!(used & UINT32_C(1) << item)) {
            used |= UINT32_C(1) << item;
            rules->items[rules->n_items++] = (uint8_t)item;
        }
    }
}

static void make_rules(struct rules *rules, bool is_pool, struct random *random)
{
    rules->kind = is_pool ? KIND_POOL : random_percent(random, 15) ? KIND_LOCK : KIND_SEMAPHORE;
    if (is_pool) {
        make_items(rules, random);
    } else {
        rules->limit = rules->kind == KIND_LOCK ? 1 : PICK(random, 1, 2, 3, 3, 4, 4, 5, 6, 7, 0);
    }
    rules->order = PICK(random, ORDER_FIRST_FIT, ORDER_FIFO, ORDER_FAIR);
    rules->fair_by_share = random_percent(random, 30);
    rules->selection = (enum selection)random_below(random, 3);
    rules->cooldown = (nanoseconds)PICK(random, 0, 0, 0, 0, 1, 2, 5) * NANOSECONDS_PER_SECOND;
    if (random_percent(random, 25)) {
        rules->rate = (struct rate){PICK(random, 1, 1, 2, 3, 7),
            (nanoseconds)PICK(random, 1, 2, 3, 10) * NANOSECONDS_PER_SECOND};
    }
    rules->burst = PICK(random, 1, 1, 2, 3, 5);
    rules->keep = (nanoseconds)PICK(random, 1, 2, 3, 10) * NANOSECONDS_PER_SECOND;
    rules->max_waiters = PICK(random, 1000, 1000, 1000, 1000, 1000, 8, 3, 0);
    rules->max_units_per_user =
        PICK(random, UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED, 1, 2, 3, 3, 4, 5);
    rules->max_overtakes = PICK(random, 100, 3, 2, 1, 0);
    rules->max_instances = PICK(random, 100, 100, 100, 3, 2, 1);
    rules->max_priority = (int32_t)PICK(random, 10, 10, 10, 10, 10, 10, 10, 2, 1, 0);
    rules->identity_shared = random_percent(random, 20);
    rules->max_hold = random_percent(random, 75)
        ? NEVER
        : (nanoseconds)PICK(random, 3, 10, 30) * NANOSECONDS_PER_SECOND;
    rules->kill_after = (nanoseconds)PICK(random, 0, 1, 3, 10) * NANOSECONDS_PER_SECOND;
    rules->on_lost = (enum on_lost)PICK(
        random, ON_LOST_KILL, ON_LOST_KILL, ON_LOST_KILL, ON_LOST_TERM, ON_LOST_WARN);
}

/* Of those that come later, so that none leads back: a, b and c have some, and only c is a level
 * that has others. */
static void make_levels(struct rules *rules, struct random *random)
{
    static const char *const above[] = {"c", "d", "p", "q", "t/x", "t/1", "u/1"};
    bool is_c = rules->name[0] == 'c';
    size_t n = PICK(random, 0, 0, 1, 2);
    while (rules->n_levels < n) {
        const char *name = above[is_c + random_below(random, 7 - is_c)];
        bool is_there = rules->n_levels > 0 && strcmp(rules->levels[0].name, name) == 0;
        if (!is_there) {
            strcpy(rules->levels[rules->n_levels].name, name);
            rules->levels[rules->n_levels++].count = PICK(random, 1, 1, 1, 2);
        }
    }
}

void rules_make(struct rules_file *file, uint64_t seed)
{
    struct random random = {.state = seed};
    *file = (struct rules_file){.n = 0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (random_percent(&random, known[i].percent)) {
            struct rules *rules = &file->list[file->n++];
            strcpy(rules->name, known[i].name);
            make_rules(rules, random_percent(&random, known[i].pool_percent), &random);
            if (known[i].name[0] <= 'c' && random_percent(&random, 30)) {
                make_levels(rules, &random);
            }
        }
    }
    file->bounds = (struct user_bounds){
        .clients = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 4, 2),
        .waiters = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 12, 6, 2),
        .leases = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 20, 9, 4),
        .instances = PICK(&random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 3, 1),
    };
    for (size_t i = file->n; i > 1 && random_percent(&random, 30); i--) {
        size_t j = random_below(&random, (uint32_t)i);
        struct rules swapped = file->list[i - 1];
        file->list[i - 1] = file->list[j];
        file->list[j] = swapped;
    }
}
