/* test_core_ranges.c - many slots of scattered ones: granted exactly if the longest free ranges
 * have them, and then in as few. */
#include "base/memory.h"
#include "core/core.h"

#include "../sim/random.h"
#include "tests/core_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { LIMIT = 2000, ROUNDS = 300 };

static struct core *core;
static struct client client;
static struct effects effects = EFFECTS_INIT;
static struct lease *singles[LIMIT];

static struct lease *acquire(uint32_t count)
{
    const struct acquire_request ask = {.wants = {{"s", count}}, .n_wants = 1};
    const char *at_fault;
    struct lease *lease;
    core_acquire(core, &client, &ask, 0, &effects, &lease, &at_fault);
    effects_clear_changed(&effects);
    effects_clear(&effects);
    return lease;
}

static void release(struct lease *lease)
{
    core_end(core, lease, &client, 0, &effects);
    effects_clear_changed(&effects);
    effects_clear(&effects);
}

static void set_limit(uint32_t limit)
{
    const struct change change = {.kind = CHANGE_LIMIT, .limit = limit};
    cr_assert_eq(core_change(core, "s", &change, 0, &effects), OUTCOME_OK);
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* How many slots the longest free ranges have. */
static uint32_t max_that_fit(const struct resource *resource)
{
    uint32_t lengths[LIMIT + 1], n = 0, sum = 0;
    bool was_free = false;
    for (uint32_t slot = 0; slot < resource_limit(resource); slot++) {
        bool is_free = slot >= resource->n_units || resource->units[slot]->state == UNIT_FREE;
        n += is_free && !was_free;
        if (is_free) {
            lengths[n - 1] = was_free ? lengths[n - 1] + 1 : 1;
        }
        was_free = is_free;
    }
    qsort(lengths, n, sizeof lengths[0], compare);
    for (uint32_t i = 0; i < n && i < MAX_RANGES; i++) {
        sum += lengths[i];
    }
    return sum;
}

static void expect_few_ranges(const struct lease *lease, uint32_t limit)
{
    const struct unit *before = NULL, *unit = lease->claims[0].units;
    uint32_t n = 0, n_ranges = 0;
    for (; unit; before = unit, unit = unit->next_of_claim, n++) {
        cr_assert(unit->index < limit && (!before || unit->index > before->index));
        n_ranges += !before || unit->index > before->index + 1;
    }
    cr_assert_eq(n, lease->claims[0].count);
    cr_assert(n_ranges <= MAX_RANGES || n <= 2 * MAX_RANGES, "%u in %u", n, n_ranges);
}

/* All are held, then some of them no more. */
static void scatter(struct random *random)
{
    uint32_t percent = 40 + random_below(random, 55);
    set_limit(LIMIT);
    for (uint32_t i = 0; i < LIMIT; i++) {
        singles[i] = singles[i] ? singles[i] : acquire(1);
        cr_assert(singles[i]);
    }
    for (uint32_t i = 0; i < LIMIT; i++) {
        if (random_percent(random, percent)) {
            release(singles[i]);
            singles[i] = NULL;
        }
    }
}

static void one_round(struct random *random, const struct resource *resource)
{
    uint32_t limit = LIMIT / 2 + random_below(random, LIMIT / 2 + 1);
    set_limit(limit);
    uint32_t max = max_that_fit(resource);
    uint32_t count = 2 * MAX_RANGES + 1 + random_below(random, LIMIT / 2 - 2 * MAX_RANGES);
    bool is_near = random_below(random, 2) == 0 && max > 2 * MAX_RANGES;
    count = is_near ? max + random_below(random, 2) : count;
    bool fits = count <= max && count <= resource_available(resource);
    struct lease *lease = acquire(count);
    cr_assert_eq(lease != NULL, fits, "%u of %u", count, max);
    if (lease) {
        expect_few_ranges(lease, limit);
        core_check(core);
        release(lease);
    }
}

Test(ranges, whatever_is_free)
{
    static char name[] = "s";
    struct definition definition = {.name = name,
        .kind = KIND_SEMAPHORE,
        .limit = LIMIT,
        .max_waiters = 9,
        .max_units_per_user = UNBOUNDED,
        .max_hold = NEVER};
    const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    struct random random = {1};
    core = core_new(0);
    cr_assert_eq(core_define(core, &definition, 1, &bounds, 0, &effects, &refused), OUTCOME_OK);
    cr_assert_eq(core_client_init(core, &client, 7), OUTCOME_OK);
    for (int i = 0; i < ROUNDS; i++) {
        scatter(&random);
        one_round(&random, core_find_resource(core, "s"));
    }
}
