/* test_percentiles.c - many durations in three figures (view/stats.h). */
#include "print_help.h"
#include "view/stats.h"

#include <criterion/criterion.h>

/* Of 1 to n, the figure is its own rank. */
static uint64_t rank(size_t n, unsigned percent)
{
    uint64_t list[1000];
    for (size_t i = 0; i < n; i++) {
        list[i] = i + 1;
    }
    return nearest_rank(list, n, percent);
}

Test(spread, nearest_rank)
{
    static const struct {
        size_t n;
        unsigned percent;
        uint64_t rank;
    } rows[] = {
        {1, 1, 1},
        {1, 50, 1},
        {1, 95, 1},
        {1, 100, 1}, /* */
        {2, 50, 1},
        {2, 51, 2},
        {2, 95, 2}, /* */
        {3, 50, 2},
        {4, 50, 2},
        {5, 50, 3}, /* */
        {5, 30, 2},
        {5, 40, 2},
        {5, 41, 3}, /* */
        {19, 95, 19},
        {20, 95, 19},
        {21, 95, 20},
        {40, 95, 38}, /* */
        {100, 1, 1},
        {100, 95, 95},
        {100, 100, 100},
        {101, 95, 96},
        {1000, 95, 950},
    };
    for (size_t i = 0; i < N(rows); i++) {
        cr_expect_eq(rank(rows[i].n, rows[i].percent), rows[i].rank, "%u%% of %zu: %llu",
            rows[i].percent, rows[i].n, (unsigned long long)rank(rows[i].n, rows[i].percent));
    }
}

Test(spread, of_nothing)
{
    struct durations durations = {0};
    struct percentiles spread = percentiles_of(&durations);
    cr_expect_eq(spread.n, 0);
    durations_deinit(&durations);
}

Test(spread, whatever_their_order)
{
    static const uint64_t list[] = {7, 0, UINT64_MAX, 5, 5, 1};
    struct durations durations = {0};
    for (size_t i = 0; i < N(list); i++) {
        durations_add(&durations, list[i]);
    }
    struct percentiles spread = percentiles_of(&durations);
    cr_expect_eq(spread.n, 6);
    cr_expect_eq(spread.median, 5);
    cr_expect_eq(spread.percentile_95, UINT64_MAX);
    cr_expect_eq(spread.longest, UINT64_MAX);
    cr_expect_eq(spread.sum, UINT64_MAX); /* more does not fit */
    durations_deinit(&durations);
}

Test(spread, the_sum)
{
    struct durations durations = {0};
    for (uint64_t i = 1; i <= 100; i++) {
        durations_add(&durations, i);
    }
    cr_expect_eq(percentiles_of(&durations).sum, 5050);
    durations_deinit(&durations);
}
