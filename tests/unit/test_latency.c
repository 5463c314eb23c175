/* test_latency.c - the median and the 99th percentile of the last minute, beside the times
 * themselves, sorted. */
#include "fleet/latency.h"
#include "seed.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SECOND NANOSECONDS_PER_SECOND
#define BEGAN (1000 * 30 * SECOND)

static struct latency latency;

static void begin(void)
{
    latency = (struct latency){0};
}

TestSuite(latency, .init = begin);

static struct latency_view seen(nanoseconds after)
{
    return latency_look(&latency, BEGAN + after);
}

static void note(nanoseconds after, uint64_t microseconds)
{
    latency_note(&latency, BEGAN + after, microseconds);
}

Test(latency, nothing_is_known_at_first)
{
    struct latency_view view = seen(0);
    cr_expect(view.last == 0 && view.n == 0 && view.median == 0 && view.p99 == 0);
    view = latency_look(&latency, SECOND);
    cr_expect_eq(view.n, 0, "also as the clock begins");
}

Test(latency, few_times_are_exact)
{
    note(0, 1500000);
    struct latency_view view = seen(0);
    cr_expect(view.last == 1500000 && view.n == 1 && view.median == 1500000);
    cr_expect_eq(view.p99, 1500000);
    note(SECOND, 3);
    view = seen(SECOND);
    cr_expect(view.last == 3 && view.n == 2 && view.median == 3);
    cr_expect_eq(view.p99, 1500000, "%ju", (uintmax_t)view.p99);
}

Test(latency, one_slow_answer_of_a_hundred_is_not_the_99th)
{
    for (int i = 0; i < 99; i++) {
        note(0, 10);
    }
    note(0, 5000000);
    cr_expect_eq(seen(0).p99, 10);
    note(0, 5000000);
    cr_expect_eq(seen(0).p99, 5000000);
    cr_expect_eq(seen(0).median, 10);
}

/* Between half a minute and a minute. */
Test(latency, it_forgets)
{
    note(SECOND, 700);
    cr_expect_eq(seen(59 * SECOND).n, 1);
    cr_expect_eq(seen(60 * SECOND).n, 0);
    cr_expect_eq(seen(60 * SECOND).last, 700, "the last one stays");
    note(61 * SECOND, 5);
    cr_expect_eq(seen(61 * SECOND).n, 1);
    cr_expect_eq(seen(61 * SECOND).median, 5);
}

Test(latency, the_half_before_counts)
{
    note(29 * SECOND, 700);
    note(31 * SECOND, 5);
    cr_expect_eq(seen(31 * SECOND).n, 2);
    cr_expect_eq(seen(31 * SECOND).p99, 700);
}

Test(latency, any_time_has_a_place)
{
    note(0, UINT64_MAX);
    note(0, 0);
    struct latency_view view = seen(0);
    cr_expect(view.n == 2 && view.median == 0 && view.p99 == (UINT64_C(1) << 33) - 1);
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void expect_near(uint64_t shown, uint64_t is)
{
    cr_expect(is <= shown && shown <= is + is / 8, "%ju instead of %ju", (uintmax_t)shown,
        (uintmax_t)is);
}

Test(latency, at_most_an_eighth_too_long)
{
    enum { MOST = 3000 };
    static uint64_t times[MOST];
    srandom((unsigned)seed_of_test());
    for (int run = 0; run < 200; run++) {
        size_t n = 1 + (size_t)random() % MOST;
        begin();
        for (size_t i = 0; i < n; i++) {
            times[i] = (uint64_t)random() >> random() % 31;
            note((nanoseconds)i * 59 * SECOND / MOST, times[i]);
        }
        struct latency_view view = seen(59 * SECOND);
        cr_expect_eq(view.last, times[n - 1]);
        qsort(times, n, sizeof times[0], compare);
        cr_assert_eq(view.n, n);
        expect_near(view.median, times[(n + 1) / 2 - 1]);
        expect_near(view.p99, times[(n * 99 + 99) / 100 - 1]);
    }
}
