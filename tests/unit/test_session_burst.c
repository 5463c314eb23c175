/* test_session_burst.c - many requests at once: how many are sent before others are answered. With
 * a ttl of 30 s: an answer after 0.625 s is late, and 2.5 s without any are too many. */
#include "session_fixture.h"

SESSION_SUITE(session_burst);

static size_t n_leases, n_answered;

/* No further renewal is due for 5 s. */
static void begin(void)
{
    go_up();
    wait_for(5);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
}

static void ask_many(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "A%zu", n_leases++);
        ask(name, "s");
    }
}

/* How many leases the next call asks for. */
static size_t n_asked(void)
{
    const char *call = next_call();
    size_t n = 0;
    for (const char *at = call; (at = strchr(at, '$')); at++) {
        n++;
    }
    return n;
}

/* To the oldest call, which asked for `n`. */
static void all_wait(size_t n)
{
    char text[2048] = "ok -1 0";
    for (size_t i = 0; i < n; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), " waiting '%zu' 1", ++n_answered);
    }
    answer(text);
}

/* After so many quick answers a call may carry 32. */
static void warm_up(void)
{
    for (size_t i = 0; i < 24; i++) {
        ask_many(1);
        n_asked();
        all_wait(1);
    }
}

Test(session_burst, two_calls_at_once_which_grow)
{
    begin();
    ask_many(100);
    cr_assert_eq(n_asked(), 8);
    cr_assert_eq(n_asked(), 8);
    NO_CALL();
    all_wait(8);
    cr_assert_eq(n_asked(), 9);
    NO_CALL();
    all_wait(8);
    cr_assert_eq(n_asked(), 10);
}

Test(session_burst, up_to_32_and_from_8_again_after_a_renewal)
{
    begin();
    warm_up();
    ask_many(33);
    cr_assert_eq(n_asked(), 32);
    cr_assert_eq(n_asked(), 1);
    all_wait(32);
    all_wait(1);
    wait_for(5);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    ask_many(33);
    cr_assert_eq(n_asked(), 8);
}

Test(session_burst, a_renewal_is_not_delayed)
{
    begin();
    wait_for(4.5);
    ask_many(100);
    n_asked();
    n_asked();
    wait_for(0.5);
    CALL("renew 0");
    NO_CALL();
    answer_later(2, "ok -1 0 0");
    NO_CALL();
    EXPECT(good_for(), "24.950");
}

Test(session_burst, a_link_that_answers_is_not_given_up)
{
    begin();
    ask_many(16);
    n_asked();
    wait_for(1);
    n_asked();
    wait_for(1.4);
    all_wait(8);
    wait_for(2.4); /* 3.8 s after it was sent */
    EXPECT(reset_wanted(), "");
    EXPECT(next_deadline(), "0.100");
    wait_for(0.1);
    EXPECT(reset_wanted(), "no answer to acquire for 2500 ms");
}

Test(session_burst, late_answers_make_calls_smaller)
{
    begin();
    warm_up();
    ask_many(200);
    n_asked();
    n_asked();
    wait_for(0.625);
    all_wait(32);
    cr_assert_eq(n_asked(), 16);
    all_wait(32); /* sent before the first one was late */
    cr_assert_eq(n_asked(), 16);
    wait_for(0.624);
    all_wait(16);
    cr_assert_eq(n_asked(), 17);
}

Test(session_burst, a_late_renewal_makes_calls_smaller)
{
    begin();
    wait_for(5);
    CALL("renew 0");
    wait_for(1);
    answer("ok -1 0 0");
    ask_many(100);
    cr_assert_eq(n_asked(), 4);
}

Test(session_burst, the_smallest_calls_come_one_by_one)
{
    begin();
    ask_many(100);
    n_asked();
    n_asked();
    for (size_t n = 4; n >= 1; n /= 2) {
        wait_for(0.625);
        all_wait(2 * n);
        cr_assert_eq(n_asked(), n == 1 ? 0 : n);
        all_wait(2 * n);
        cr_assert_eq(n_asked(), n);
    }
    NO_CALL();
    all_wait(1);
    cr_assert_eq(n_asked(), 2);
    cr_assert_eq(n_asked(), 2);
    NO_CALL();
}

Test(session_burst, a_crowd_asks_for_less_at_once)
{
    connect_link();
    say_hello("30000 '0' 1 1000");
    ask_many(100);
    cr_assert_eq(n_asked(), 3);
    cr_assert_eq(n_asked(), 3);
    NO_CALL();
    message("hello 100000");
    all_wait(3);
    NO_CALL();
    all_wait(3);
    cr_assert_eq(n_asked(), 1);
    NO_CALL();
}
