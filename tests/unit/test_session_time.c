/* test_session_time.c - until when leases are good, renewals, time-outs, errors of the server. With
 * a ttl of 30 s: a renewal every 5 s, an answer within 2.5 s, the next try after 1.25 s. */
#include "core/timing.h"
#include "session_fixture.h"

SESSION_SUITE(session_time_first);

static nanoseconds seconds(double n)
{
    return (nanoseconds)(n * 1e9);
}

/* The first renewal, whenever that is, is sent and answered at once. */
static void first_renewal(void)
{
    world_up();
    wait_for(5);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
}

TestSuite(session_time, .init = first_renewal, .fini = world_end);

/* ---- good until ---- */

Test(session_time, counts_from_the_send)
{
    EXPECT(good_for(), "24.950");
    wait_for(5);
    CALL("renew 0");
    wait_for(2);
    EXPECT(good_for(), "17.950"); /* sent is not answered */
    answer("ok -1 0 0");
    EXPECT(good_for(), "22.950"); /* 24.95 s from the send */
    cr_assert_eq(core_fleet_deadline(core, 1), now + seconds(22.95));
}

Test(session_time, an_error_puts_nothing_off)
{
    wait_for(5);
    CALL_ANSWERED("renew 0", "-MISCONF Redis is configured to save RDB snapshots");
    NOTICE("renew: MISCONF Redis is configured to save RDB snapshots");
    EXPECT(good_for(), "19.950");
    EXPECT(next_deadline(), "1.250");
    wait_for(1.249);
    NO_CALL();
    wait_for(0.001);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    EXPECT(good_for(), "24.950");
}

Test(session_time_first, begins_after_a_part_of_the_period)
{
    go_up();
    double first = strtod(next_deadline(), NULL);
    cr_assert(first >= 0 && first < 5);
    wait_for(first);
    wait_for(0.001);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    EXPECT(next_deadline(), "5.000"); /* without a random part from then on */
}

Test(session_time, one_at_a_time)
{
    wait_for(5);
    CALL("renew 0");
    message("000000000007 sing it"); /* one has been missed */
    NO_CALL();
    answer("ok -1 0 0");
    CALL("renew 0");
}

/* ---- no answer ---- */

Test(session_time, a_late_answer_resets_the_link)
{
    ask("A", "s");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 3");
    EXPECT(next_deadline(), "2.500");
    wait_for(2.499);
    EXPECT(reset_wanted(), "");
    wait_for(0.001);
    EXPECT(reset_wanted(), "no answer to acquire for 2500 ms");
    EXPECT(reset_wanted(), "");
    NO_CALL();
    EXPECT(next_deadline(), "never");
}

Test(session_time, each_call_has_its_own_time)
{
    ask_and_send("A", "s");
    wait_for(2);
    ask("B", "s");
    answer_next("ok -1 0 waiting '1' 1");
    wait_for(2);
    EXPECT(reset_wanted(), "");
    wait_for(0.5);
    EXPECT(reset_wanted(), "no answer to acquire for 2500 ms");
}

/* ---- errors ---- */

Test(session_time_first, errors_that_reset_the_link)
{
    static const char *const errors[] = {"-BUSY Redis is busy", "-LOADING Redis is loading",
        "-MASTERDOWN Link with MASTER is down", "-TRYAGAIN Multiple keys", "-READONLY You can't",
        "-NOAUTH Authentication required.", "-WRONGPASS invalid", "-NOPERM this user",
        "-CLUSTERDOWN Hash slot", "-MOVED 1 host:1", "-ASK 1 host:1", "-NOSCRIPT No matching"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        go_up();
        ask("A", "s");
        answer_next(errors[i]);
        cr_assert(strstr(reset_wanted(), errors[i] + 1), "%s", errors[i]);
        HAPPENS(""); /* the link may be back soon */
        end("A");
        break_link("reset");
    }
}

Test(session_time_first, errors_of_an_acquire_refuse_it)
{
    static const char *const errors[] = {
        "-OOM command not allowed", "-MISCONF x", "-NOREPLICAS x", "-ERR Error running script"};
    go_up();
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        ask("A", "s");
        ANSWER_NEXT(errors[i], "A denied down");
        CALL("release $A"); /* whether it took effect before the error is unknown */
        answer("ok -1 0");
    }
    EXPECT(reset_wanted(), "");
}

Test(session_time, an_error_does_not_refuse_a_queued_waiter)
{
    ask("A", "l");
    answer_next("ok -1 0 waiting '5' 1");
    drain(true);
    answer_next("ok -1 0");
    drain(false);
    answer_next("ok -1 0 0"); /* the renewal that is first */
    CALL_ANSWERED("acquire $A 0 0 5 7 7 '' i '' 1 l l 1 1", "-OOM command not allowed");
    HAPPENS("A place 1");
    NO_CALL();
    wait_for(5);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    CALL("acquire $A 0 0 5 7 7 '' i '' 1 l l 1 1");
}

Test(session_time, a_release_is_tried_again_after_the_next_renewal)
{
    hold("A", "s", "17 0");
    end("A");
    CALL_ANSWERED("release $A", "-ERR Error running script");
    NO_CALL();
    wait_for(5);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    CALL_ANSWERED("release $A", "ok -1 0");
    NO_CALL();
}

Test(session_time_first, a_hello_is_tried_again_and_refuses_meanwhile)
{
    ask("A", "s");
    connect_link();
    ANSWER_NEXT("-OOM command not allowed", "A denied down");
    EXPECT(next_deadline(), "1.250");
    NO_CALL();
    wait_for(1.25);
    CALL("hello begin 30000 11000 'this host' 0 0 0 '' '' 0");
}

/* All of them were sent before the first error. */
Test(session_time_first, errors_of_several_calls_at_once)
{
    go_up_and_send_two_calls();
    ask("A", "s");
    ask("B", "s");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 5 $B 0 0 0 7 7 '' i '' 1 s s 1 5");
    ANSWER("-MISCONF x", "");
    ANSWER("-NOREPLICAS x", "");
    ANSWER("ok -1 0 granted '5' 's 1 17 0' waiting '6' 1", "A granted s=0; B place 1");
    NO_CALL();
    wait_for(1.25);
    CALL("hello begin 30000 11000 'this host' 17 6 30000 '' '' 0");
}

/* ---- late grants ---- */

/* kill-after is 3 s, its margin 1 s: K = 4 s. */
Test(session_time, a_grant_in_the_last_instant_is_taken)
{
    ask_and_send("A", "s now");
    now += seconds(20.949);
    ANSWER("ok -1 0 granted '5' 's 1 17 0'", "A granted s=0");
}

Test(session_time, a_grant_that_is_later_is_given_back)
{
    ask("A", "s now");
    ask("B", "s");
    ask_and_send("C", "warn");
    now += seconds(20.95);
    answer("ok -1 0 granted '5' 's 1 17 0' granted '6' 's 1 18 1' granted '7' 'warn 1 19 0'");
    HAPPENS("A denied down; C granted warn=0"); /* C has no job that would have to be stopped */
    CALL("renew 0"); /* it is due */
    CALL_ANSWERED("release $A $B", "ok -1 0 0");
    NO_CALL();
    answer("ok -1 0");
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    CALL("acquire $B 0 0 0 7 7 '' i '' 1 s s 1 3"); /* B goes on waiting */
}

Test(session_time, a_late_message_is_given_back_after_the_answer)
{
    ask_and_send("A", "s");
    now += seconds(20.95);
    MESSAGE("000000000001 granted $A 5 s 1 17 0", "");
    CALL("renew 1");
    answer_later(1, "ok -1 0 0");
    NO_CALL();
    answer("ok -1 0 waiting '5' 1");
    CALL("release $A");
}

Test(session_time_first, no_time_is_long_enough)
{
    connect_link();
    say_hello("6000 '0' 1 1"); /* good for 4.79 s, renewed each second: 4 s are too many */
    ask("A", "s");
    ANSWER_NEXT("ok -1 0 granted '5' 's 1 17 0'", "A granted s=0");
    now += seconds(0.79);
    ask("B", "s");
    answer_next("ok -1 0 0");
    answer_next("ok -1 0 granted '6' 's 1 18 1'");
    happened();
}

/* ---- something is due ---- */

Test(session_time, calls_when_something_is_due)
{
    ask("A", "s");
    answer_next("ok 2000 0 waiting '5' 1");
    EXPECT(next_deadline(), "2.000");
    wait_for(1.999);
    NO_CALL();
    wait_for(0.001);
    CALL_ANSWERED("renew 0", "ok 30000 0 0");
    EXPECT(next_deadline(), "3.000"); /* its own turn stays where it was */
    wait_for(3);
    CALL_ANSWERED("renew 0", "ok 30000 0 0");
    EXPECT(next_deadline(), "5.000");
}

Test(session_time, unfinished_work_of_a_call_is_done_at_once)
{
    hold("A", "s", "17 0");
    end("A");
    answer_next("ok 0 0");
    CALL_ANSWERED("renew 0", "ok 0 0 0"); /* although nobody waits here */
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    NO_CALL();
}

Test(session_time, a_crowd_that_hears_of_a_grace_is_spread)
{
    message("hello 500");
    double first = strtod(next_deadline(), NULL);
    cr_assert(first > 0 && first <= 1, "%f", first);
    message("hello 1000000");
    first = strtod(next_deadline(), NULL);
    cr_assert(first > 0 && first <= 2.5, "%f", first);
    wait_for(2.5);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    NO_CALL();
}

/* ---- all hosts come back ---- */

static void come_back(const char *begun)
{
    reconnect();
    say_hello(begun);
}

static void expect_spread(double n)
{
    cr_assert_eq(session_spread(session, now), seconds(n));
}

Test(session_time_first, many_hosts_come_back_over_a_while)
{
    go_up();
    come_back("30000 '0' 0 3");
    expect_spread(0.003);
    come_back("30000 '0' 0 3000");
    expect_spread(3);
    come_back("30000 '0' 0 100000");
    expect_spread(5);
}

Test(session_time_first, hosts_come_back_before_a_job_is_stopped)
{
    connect_link();
    say_hello("30000 '0' 1 100000");
    hold("A", "s", "17 0"); /* 4 s to stop it */
    break_link("gone");
    expect_spread(5);
    wait_for(16.95);
    expect_spread(2); /* half of what is left of 20.95 s */
    wait_for(3);
    expect_spread(0.5);
    wait_for(2);
    expect_spread(5); /* it is too late for this one */
    end("A");
}

Test(session_time_first, a_database_that_has_lost_its_sessions_does_not_say_how_many_come_back)
{
    connect_link();
    say_hello("30000 '0' 1 3000");
    reconnect();
    answer_next("ok -1 41000 2 30000 '0' 1 1");
    expect_spread(3);
    message("hello 4000");
    expect_spread(4);
}

/* So many calls of others come before it. */
static void renewed(double after, uint64_t others)
{
    wait_for(after);
    CALL("renew 0");
    others_call(others);
    answer("ok -1 0 0");
}

Test(session_time_first, numbers_tell_how_many_calls_all_hosts_send)
{
    go_up();
    cr_assert_eq(view()->call_rate, 0);
    renewed(5, 1999);
    cr_assert_eq(view()->call_rate, 400 * 1000);
    renewed(5, 4);
    cr_assert_eq(view()->call_rate, 1000);
    message("000000000007 sing it"); /* one has been missed */
    renewed(0.5, 10000);
    cr_assert_eq(view()->call_rate, 1000); /* too soon to tell */
    come_back("30000 '0' 0 3"); /* perhaps to another server */
    cr_assert_eq(view()->call_rate, 0);
}

/* A call moves the session clock on by 0.16 T + 250 ms at most. */
Test(session_time_first, one_daemon_alone_keeps_the_session_clock_right)
{
    for (int ttl = 6; ttl <= 86400; ttl += 3) {
        cr_assert_lt(timing_renewal(seconds(ttl)), seconds(0.16 * ttl + 0.25), "%d s", ttl);
    }
    cr_assert_eq(timing_renewal(seconds(30)), seconds(5));
}

/* It may be for a waiter of another host, whose daemon knows nothing of that. */
Test(session_time, calls_when_something_is_due_though_nobody_waits_here)
{
    hold("A", "s", "17 0");
    end("A");
    answer_next("ok 100 0");
    wait_for(0.099);
    NO_CALL();
    wait_for(0.001);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    NO_CALL();
}

/* ---- graces ---- */

Test(session_time, the_grace_of_the_database_is_shown)
{
    wait_for(5);
    answer_next("ok 7000 7000 0");
    cr_assert_eq(view()->grace_until, now + seconds(7));
    wait_for(5);
    answer_next("ok -1 0 0");
    cr_assert_eq(view()->grace_until, NEVER);
}

/* A hello whose end says that there is a grace, and perhaps that it is the first. */
static void go_up_in_a_grace(const char *end)
{
    connect_link();
    begin_hello("30000 '0' 1 1");
    CALL_ANSWERED("hello end ''", end);
    cr_assert_eq(view()->state, SESSION_UP);
}

Test(session_time_first, data_are_new_in_their_first_grace)
{
    go_up_in_a_grace("ok -1 41000 '' 1");
    cr_expect(view()->is_new);
    wait_for(6);
    CALL_ANSWERED("renew 0", "ok -1 35000 0");
    cr_expect(view()->is_new);
    break_link("x");
    cr_expect_not(view()->is_new);
}

Test(session_time_first, data_are_not_new_in_a_later_grace)
{
    go_up_in_a_grace("ok -1 41000 '' 1");
    wait_for(6);
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    cr_expect_not(view()->is_new);
    wait_for(6);
    CALL_ANSWERED("renew 0", "ok -1 41000 0");
    cr_expect_not(view()->is_new);
}

Test(session_time_first, data_are_not_new_unless_it_is_said)
{
    go_up_in_a_grace("ok -1 41000 ''");
    cr_expect_not(view()->is_new);
}

/* ---- how fast it answers ---- */

static void renew_in(double span)
{
    wait_for(strtod(next_deadline(), NULL));
    CALL("renew 0");
    wait_for(span);
    answer("ok -1 0 0");
}

/* A tenth of 5 s is not slow yet. */
Test(session_time, a_slow_renewal_is_a_trouble_until_all_of_a_ttl_were_quick)
{
    renew_in(0.5);
    NOTICE("");
    renew_in(0.501);
    NOTICE("Redis, or the way to it, is slow: a renewal took 501ms, more than 500ms "
           "(berthctl hosts shows how fast it answers)");
    renew_in(2);
    NOTICE("");
    nanoseconds slow_at = now;
    const char *said = "";
    while (said[0] == '\0') {
        renew_in(0);
        said = notice();
    }
    EXPECT(said, "it is not slow any more: no renewal was for a whole ttl");
    cr_expect(now - slow_at >= seconds(30) && now - slow_at < seconds(36));
    renew_in(0.7);
    cr_expect(strstr(notice(), "a renewal took 700ms"), "another trouble");
}

/* The silence ends a link after a twelfth of the ttl. */
Test(session_time, a_call_that_is_given_up_counts_as_a_slow_answer)
{
    struct latency_view before = session_latency(session, now);
    wait_for(5);
    CALL("renew 0");
    wait_for(2.5);
    EXPECT(reset_wanted(), "no answer to renew for 2500 ms");
    cr_expect_eq(session_latency(session, now).n, before.n);
    session_disconnected(session, "no answer", now);
    struct latency_view after = session_latency(session, now);
    cr_expect(after.last == 2500000 && after.n == before.n + 1 && after.p99 == 2500000);
    cr_expect_eq(session_look(session).answered_at, now - seconds(7.5));
}

Test(session_time, a_connection_that_breaks_at_once_is_not_slow)
{
    struct latency_view before = session_latency(session, now);
    wait_for(5);
    CALL("renew 0");
    wait_for(0.5);
    session_disconnected(session, "gone", now);
    struct latency_view after = session_latency(session, now);
    cr_expect(after.n == before.n && after.last == before.last);
}

Test(session_time, times_count_from_the_send)
{
    struct latency_view before = session_latency(session, now);
    renew_in(0.25);
    struct latency_view after = session_latency(session, now);
    cr_expect(after.last == 250000 && after.n == before.n + 1 && after.p99 == 250000);
}
