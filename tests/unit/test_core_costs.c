/* test_core_costs.c - ten times as much costs some ten times as much, not a hundred times. CPU time
 * is compared with CPU time of the same process, and generously: what is quadratic is far off. */
#include "core/core.h"
#include "core/memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SMALL = 1000, LARGE = 10 * SMALL, AT_MOST = 40, TRIES = 5 };

static struct core *core;
static struct effects effects = EFFECTS_INIT;

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A pool of i0, i1 ...; the first `n_gone` of them are missing. */
static struct definition pool_of(size_t n, size_t n_gone, bool is_reversed)
{
    struct definition pool = {.name = memory_string("g"),
        .kind = KIND_POOL,
        .selection = SELECT_FIRST,
        .max_waiters = 9,
        .max_units_per_user = UNBOUNDED,
        .max_hold = NEVER,
        .n_items = n - n_gone};
    pool.items = memory_new(n * sizeof *pool.items);
    for (size_t i = 0; i < pool.n_items; i++) {
        char item[16];
        snprintf(item, sizeof item, "i%zu", is_reversed ? n - 1 - i : n_gone + i);
        pool.items[i] = memory_string(item);
    }
    return pool;
}

/* What it costs to go from one file to the other. */
static double reload(const struct definition *pool)
{
    const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    double start = cpu_seconds();
    cr_assert_eq(core_define(core, pool, 1, &bounds, 0, &effects, &refused), OUTCOME_OK);
    double cost = cpu_seconds() - start;
    effects_clear(&effects);
    return cost;
}

/* The least of some tries, there and back again. */
static double cost_of_reload(size_t n, size_t n_gone, bool is_reversed)
{
    struct definition before = pool_of(n, 0, false), after = pool_of(n, n_gone, is_reversed);
    double least = 1e9;
    core = core_new(&(const struct core_options){.first_id = 1, .first_token = 1});
    reload(&before);
    for (int i = 0; i < TRIES; i++) {
        double cost = reload(&after) + reload(&before);
        least = cost < least ? cost : least;
    }
    core_check(core);
    core = core_free(core);
    definition_deinit(&before);
    definition_deinit(&after);
    return least;
}

static void expect_no_square(size_t n_gone_of_ten, bool is_reversed)
{
    double small = cost_of_reload(SMALL, SMALL * n_gone_of_ten / 10, is_reversed);
    double large = cost_of_reload(LARGE, LARGE * n_gone_of_ten / 10, is_reversed);
    cr_log_info("%g ms for %d items, %g ms for %d", small * 1e3, SMALL, large * 1e3, LARGE);
    cr_expect_lt(large, small * AT_MOST, "%g s for %d items, %g s for %d", small, SMALL, large, LARGE);
}

Test(costs, items_reversed)
{
    expect_no_square(0, true);
}

Test(costs, half_of_the_items_gone)
{
    expect_no_square(5, false);
}

Test(costs, half_of_the_items_gone_and_the_rest_reversed)
{
    expect_no_square(5, true);
}
