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

/* The least and the most that one of many may wait: for its first try, or the n-th of those after
 * it. */
static void draw(nanoseconds span, bool is_first, int n, nanoseconds *least, nanoseconds *most)
{
    *least = NEVER;
    *most = 0;
    for (uint64_t random = 0; random < 8000; random++) {
        struct backoff backoff = {0};
        nanoseconds pause = 0;
        for (int i = 0; i < n; i++) {
            pause = backoff_next_spread(&backoff, 100 * MS, 1000 * MS, span, is_first, random * MS);
        }
        *least = earlier(*least, pause);
        *most = later(*most, pause);
    }
}

Test(backoff, few_clients_do_not_wait_for_each_other)
{
    nanoseconds least, most;
    for (nanoseconds span = 0; span <= 100 * MS; span += 50 * MS) {
        draw(span, true, 1, &least, &most);
        cr_assert(least == 50 * MS && most == 99 * MS);
        draw(span, false, 2, &least, &most);
        cr_assert(least == 100 * MS && most == 199 * MS);
    }
}

Test(backoff, many_clients_are_spread)
{
    nanoseconds least, most;
    draw(4000 * MS, true, 1, &least, &most);
    cr_assert(least == 0 && most == 3999 * MS);
    draw(4000 * MS, false, 1, &least, &most);
    cr_assert(least == 500 * MS && most == 999 * MS);
    draw(4000 * MS, false, 3, &least, &most);
    cr_assert(least == 2000 * MS && most == 3999 * MS);
    draw(4000 * MS, false, 9, &least, &most);
    cr_assert(least == 2000 * MS && most == 3999 * MS);
}

Test(backoff, is_jittered)
{
    struct backoff one = {0}, other = {0};
    cr_assert_neq(
        backoff_next(&one, 100 * MS, 1000 * MS, 1), backoff_next(&other, 100 * MS, 1000 * MS, 2));
}
