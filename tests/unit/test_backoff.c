/* test_backoff.c - when to try again. */
#include "base/backoff.h"

#include <criterion/criterion.h>

#define MS NANOSECONDS_PER_MILLISECOND

Test(backoff, doubles_up_to_the_longest)
{
    struct backoff backoff = {0};
    for (nanoseconds pause = 50 * MS; pause <= 2000 * MS; pause *= 2) {
        nanoseconds longest = earlier(pause, 1000 * MS);
        struct backoff same = backoff;
        cr_assert_eq(backoff_next(&same, 50 * MS, 1000 * MS, 0), longest / 2);
        nanoseconds latest = backoff_next(&backoff, 50 * MS, 1000 * MS, UINT64_MAX);
        cr_assert(latest >= longest / 2 && latest < longest);
    }
    backoff_reset(&backoff);
    cr_assert_lt(backoff_next(&backoff, 50 * MS, 1000 * MS, UINT64_MAX), 50 * MS);
}

Test(backoff, few_clients_do_not_wait_for_each_other)
{
    cr_assert_eq(backoff_spread(70 * MS, 0, true, 12345), 70 * MS);
    cr_assert_eq(backoff_spread(70 * MS, 0, false, 12345), 70 * MS);
    cr_assert_eq(backoff_spread(70 * MS, 40 * MS, true, 12345), 70 * MS);
    cr_assert_eq(backoff_spread(70 * MS, 1, true, 12345), 70 * MS);
}

Test(backoff, many_clients_are_spread)
{
    nanoseconds least = 1000 * MS, most = 0, least_later = 1000 * MS;
    for (uint64_t random = 0; random < 1000; random++) {
        nanoseconds first = backoff_spread(70 * MS, 1000 * MS, true, random * MS);
        nanoseconds next = backoff_spread(70 * MS, 1000 * MS, false, random * MS);
        cr_assert(first >= 0 && first < 1000 * MS && next >= 500 * MS && next < 1000 * MS);
        least = earlier(least, first);
        most = later(most, first);
        least_later = earlier(least_later, next);
    }
    cr_assert(least < 10 * MS && most > 990 * MS && least_later < 510 * MS);
    cr_assert_eq(backoff_spread(2000 * MS, 1000 * MS, false, 1), 2000 * MS);
}

Test(backoff, is_jittered)
{
    struct backoff one = {0}, other = {0};
    cr_assert_neq(
        backoff_next(&one, 100 * MS, 1000 * MS, 1), backoff_next(&other, 100 * MS, 1000 * MS, 2));
}
