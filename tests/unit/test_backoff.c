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

Test(backoff, is_jittered)
{
    struct backoff one = {0}, other = {0};
    cr_assert_neq(
        backoff_next(&one, 100 * MS, 1000 * MS, 1), backoff_next(&other, 100 * MS, 1000 * MS, 2));
}
