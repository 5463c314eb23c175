/* test_session_events.c - numbered events: each is taken once, in order, whichever way it comes. */
#include "session_fixture.h"

SESSION_SUITE(session_events_begin);
SESSION_SUITE_UP(session_events);

/* ---- order ---- */

Test(session_events, a_gap_is_asked_for_at_once)
{
    wait_in_line("A", "s", "5");
    wait_in_line("B", "s", "6");
    MESSAGE("000000000002 granted $B 6 s 1 18 1", "");
    CALL_ANSWERED("renew 0", "ok -1 0 0 1 'granted $A 5 s 1 17 0' 2 'granted $B 6 s 1 18 1'");
    HAPPENS("A granted s=0; B granted s=1");
    NO_CALL();
}

Test(session_events, repeated_ones_are_nothing_new)
{
    wait_in_line("A", "s", "5");
    MESSAGE("000000000001 granted $A 5 s 1 17 0", "A granted s=0");
    MESSAGE("000000000001 lost $A", "");
    message("000000000003 drop $A");
    CALL_ANSWERED("renew 1", "ok -1 0 0 1 'lost $A' 2 'sing it'");
    HAPPENS("");
    NO_CALL();
}

Test(session_events, more_are_asked_for_at_once)
{
    message("hello 0");
    CALL_ANSWERED("renew 0", "ok -1 0 1 1 'sing it'");
    CALL_ANSWERED("renew 1", "ok -1 0 0 2 'sing it'");
    NO_CALL();
}

Test(session_events, a_message_may_be_faster_than_the_answer)
{
    ask("A", "s");
    ask_and_send("B", "s");
    MESSAGE("000000000001 granted $A 5 s 1 17 0", "A granted s=0");
    ANSWER("ok -1 0 waiting '5' 1 waiting '6' 2", "B place 2");
    end("A");
    CALL("release $A");
}

Test(session_events, lost_while_it_is_asked_for)
{
    ask_and_send("A", "s");
    message("000000000001 lost $A");
    ANSWER("ok -1 0 granted '5' 's 1 17 0'", ""); /* was that before, or after? */
    CALL_ANSWERED("release $A", "ok -1 0");
    CALL_ANSWERED("renew 1", "ok -1 0 0");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 3");
}

Test(session_events, many_are_acknowledged_early)
{
    char text[64];
    for (int i = 1; i <= 1000; i++) {
        snprintf(text, sizeof text, "%012d sing it", i);
        message(text);
        if (i == 999) {
            NO_CALL();
        }
    }
    CALL("renew 1000");
}

Test(session_events_begin, nonsense_is_passed_over)
{
    static const char *const texts[] = {"000000000001", "x", "", "000000000001 ",
        "000000000002 granted", "000000000003 granted 7", "000000000004 granted ! 5 s 1 17 0",
        "000000000005 lost", "000000000006 lost a b", "news", "news 5", "news x 5", "news 5 x",
        "news 5 5 5", "news  5", "news 99999999999999999999999999 5"};
    go_up();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        message(texts[i]);
        cr_assert_str_neq(notice(), "", "%s", texts[i]);
    }
    message("000000000007 newer whatever"); /* of a newer berthd */
    EXPECT(notice(), "");
    EXPECT(reset_wanted(), "");
}

/* ---- what they do ---- */

Test(session_events, a_grant_to_an_ended_lease_is_given_back)
{
    wait_in_line("A", "s", "5");
    end("A");
    CALL("release $A");
    message("000000000001 granted $A 5 s 1 17 0"); /* was under way */
    answer("ok -1 0");
    NO_CALL();
    message("000000000002 granted $A 5 s 1 18 0");
    CALL_ANSWERED("release $A", "ok -1 0");
    HAPPENS("");
}

Test(session_events, lost)
{
    hold("A", "s", "17 0");
    hold("B", "warn", "17 0");
    wait_in_line("C", "s", "7");
    message("000000000001 lost $A");
    message("000000000002 lost $B");
    MESSAGE("000000000003 lost $C", "A stop lost; B lost lost");
    CALL("acquire $C 0 0 7 7 7 '' i '' 1 s s 1 3"); /* waiters ask again */
    end("A");
    NO_CALL(); /* nobody has to be told */
}

/* A may have its units by now, and B's answer is still to come. */
Test(session_events, a_circle)
{
    hold("A", "s", "17 0");
    ask_and_send("B", "s");
    wait_in_line("C", "s", "7");
    message("000000000001 circle $A s");
    message("000000000002 circle $B s");
    MESSAGE("000000000003 circle $C s", "B denied circle; C denied circle");
    ANSWER("ok -1 0 waiting '5' 1", "");
    CALL("release $B $C");
    NO_CALL();
}

/* The same where a newer request takes its place. D's answer says so: the event was not heard. */
Test(session_events, a_place_that_is_taken)
{
    hold("A", "s", "17 0");
    ask_and_send("B", "s");
    wait_in_line("C", "s", "7");
    message("000000000001 replaced $A ab/1");
    message("000000000002 replaced $B ab/1");
    message("000000000003 replaced $C ab/1");
    MESSAGE("000000000004 revoke $C", "B denied replaced; C denied replaced");
    ANSWER("ok -1 0 waiting '5' 1", "");
    CALL_ANSWERED("release $B $C", "ok -1 0");
    ask_and_send("D", "s");
    ANSWER("ok -1 0 refused replaced ab/1", "D denied replaced");
    CALL_ANSWERED("release $D", "ok -1 0");
    ask_and_send("E", "s");
    end("E");
    answer("ok -1 0 refused replaced ab/1");
    CALL("release $E");
}

/* For a newer request of its own user, with that user's rights: an operator's revoke takes over. */
Test(session_events, a_job_that_is_withdrawn)
{
    hold("A", "s", "17 0");
    hold("B", "s", "17 1");
    message("000000000001 withdraw $A 7|it%20ends");
    MESSAGE("000000000002 withdraw $B 7|", "A stop revoked; B stop revoked");
    cr_expect_eq(lease("A")->stopping, OUTCOME_WITHDRAWN);
    cr_expect_str_eq(lease_stop_reason(lease("A")), "it ends");
    message("000000000003 revoke $A 8|");
    cr_expect_eq(lease("A")->stopping, OUTCOME_REVOKED);
}

static void hold_all_of_s(void)
{
    hold("A", "s", "17 0");
    hold("B", "s", "17 1");
    hold("C", "s", "17 2");
}

Test(session_events, operators)
{
    hold_all_of_s();
    wait_in_line("D", "s", "7");
    message("000000000001 revoke $A");
    message("000000000002 drop $B");
    message("000000000003 release $C");
    message("000000000004 revoke $D");
    HAPPENS("A stop revoked; B lost dropped; C lost released; D denied cancelled");
    CALL("release $B $C $D");
    end("A");
    CALL("release $A");
}

/* A ends before its revoke comes: B, which is revoked next, does not hear the reason for A. */
Test(session_events, a_reason_is_for_one_lease)
{
    hold_all_of_s();
    end("A");
    message("000000000001 revoke $A 8|disk%20full");
    message("000000000002 revoke $B 8|");
    MESSAGE("000000000003 revoke $C 8|too%20long", "B stop revoked; C stop revoked");
    cr_expect_null(lease_stop_reason(lease("B")));
    cr_expect_str_eq(lease_stop_reason(lease("C")), "too long");
}

static struct text takings;

static bool note_taking(
    void *context, const struct lease *lease, const struct session_taking *taking)
{
    static const char *const verbs[] = {"revoke", "withdraw", "drop", "release"};
    char by[ACTOR_SIZE];
    (void)context, (void)lease;
    actor_format(by, &taking->by);
    text_add_format(&takings, "%s%s by '%s'%s%s%s", takings.length > 0 ? "; " : "",
        verbs[taking->verb], by, taking->reason ? " because " : "",
        taking->reason ? taking->reason : "", taking->is_repeat ? ", again" : "");
    return taking->verb != SESSION_WITHDRAW;
}

static void expect_takings(const char *expected)
{
    text_add(&takings, "");
    cr_expect_str_eq(takings.bytes, expected);
    text_deinit(&takings);
}

Test(session_events, who_takes_a_lease_away)
{
    session_on_taken(session, note_taking, NULL);
    hold_all_of_s();
    message("000000000001 revoke $A 0 1000|a%20b");
    message("000000000002 revoke $A 8|later");
    cr_expect_str_eq(lease_stop_reason(lease("A")), "a b");
    message("000000000003 drop $B x|");
    message("000000000004 release $C");
    message("000000000005 withdraw $A 7|");
    expect_takings("revoke by '0 1000' because a b; revoke by '8' because later, again; "
                   "drop by ''");
}

/* Its user may not signal the job, as the one who hears of it says. */
Test(session_events, a_job_that_may_not_be_withdrawn)
{
    session_on_taken(session, note_taking, NULL);
    hold("A", "s", "17 0");
    message("000000000001 withdraw $A 7|it%20ends");
    HAPPENS("");
    expect_takings("withdraw by '7' because it ends");
}

/* A release by the lease's own user takes nothing away. */
Test(session_events, who_releases_a_lease)
{
    session_on_taken(session, note_taking, NULL);
    hold("A", "s", "17 0");
    hold("B", "s", "17 1");
    message("000000000001 release $A 8|");
    MESSAGE("000000000002 release $B 7|", "A lost released; B lost released");
    expect_takings("release by '8'");
}

Test(session_events, leases_of_others_are_not_touched)
{
    hold("A", "s", "17 0");
    struct lease *other = lease("A");
    other->entry = NULL; /* as one of another session */
    session = session_free(session);
    cr_assert_null(lease("A")->entry);
    world_session();
    go_up();
    message("000000000001 revoke $A");
    MESSAGE("000000000002 lost $A", "");
}

/* With the first call over a new connection. */
static void expect_reached(const char *expected)
{
    connect_link();
    next_call();
    EXPECT(last_reached, expected);
}

/* If older data come back, the database has not got that far. */
Test(session_events, each_call_says_how_far_the_database_was)
{
    hold("A", "s", "4711 0");
    wait_for(5.0);
    CALL("renew 0");
    EXPECT(last_reached, reached(0));
    answer("ok -1 0 0");
    message("000000000001 changed s 4 {}");
    ask_and_send("B", "s");
    EXPECT(last_reached, reached(1));
    restart();
    expect_reached(reached(1));
}

Test(session_events, the_state_directory_says_it_if_the_journal_is_lost)
{
    cr_assert(session_changes_changed(session));
    restart_without_journal();
    expect_reached(reached(0));
}

Test(session_events, the_journal_says_it_if_the_state_directory_is_lost)
{
    hold("A", "s", "4711 0");
    restart_without_state();
    expect_reached(reached(0));
}

Test(session_events, another_database_has_got_nowhere_yet)
{
    hold("A", "s", "4711 0");
    restart_other_host();
    expect_reached("0-0");
}

Test(session_events_begin, one_of_its_sentinels_is_enough_to_know_a_database)
{
    say_sentinels("a", "b");
    go_up();
    hold("A", "s", "4711 0");
    restart();
    cr_assert_not(session_is_changed(session) || session_changes_changed(session));
    restart_with_sentinels("c", "b");
    cr_assert(session_is_changed(session)); /* the next file may have c alone */
    cr_assert(session_changes_changed(session));
    expect_reached(reached(0));
    restart_with_sentinels("a", "d");
    expect_reached("0-0");
}

/* ---- hosts that are gone ---- */

Test(session_events, a_host_that_is_gone_is_told_each_time)
{
    for (int i = 0; i < 2; i++) {
        MESSAGE("gone 1\t00000000000000aa 2 etl,gpu/a batch 3", "");
        NOTICE("host batch 3 is gone, silent for 30s: it held 2 (etl,gpu/a), free again");
    }
    MESSAGE("gone 1\t00000000000000ab 0  batch4", "");
    NOTICE("host batch4 is gone, silent for 30s: it held nothing");
    NO_CALL();
}

Test(session_events, of_many_names_whole_ones_are_told)
{
#define LONG "resource-with-a-name-of-40-bytes-in-all-"
    MESSAGE("gone 1\t00000000000000aa 5 " LONG "1," LONG "2," LONG "3," LONG "4," LONG "5 h", "");
    NOTICE("host h is gone, silent for 30s: it held 5 (" LONG "1," LONG "2," LONG "3,...), "
           "free again");
#undef LONG
}

Test(session_events, of_many_hosts_some_are_told)
{
    MESSAGE("gone 9\t00000000000000aa 0  a\t00000000000000ab 1 s b", "");
    NOTICE("host a is gone, silent for 30s: it held nothing");
    NOTICE("host b is gone, silent for 30s: it held 1 (s), free again");
    NOTICE("7 more hosts are gone: berthctl hosts shows which");
}

Test(session_events, what_is_gone_makes_sense_or_is_not_told)
{
    static const char *const texts[] = {"gone 1\tx", "gone 1\tx 1", "gone 1\tx 1 s",
        "gone 1\tx -1 s h", "gone 1\t\t", "gone 0", "gone 0\t"};
    char own[64];
    snprintf(own, sizeof own, "gone 1\t%s 1 s this host", session_id(session));
    MESSAGE(own, "");
    NOTICE("");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        MESSAGE(texts[i], "");
        NOTICE("");
    }
    MESSAGE("gone many", "");
    NOTICE("a malformed message: gone many");
}
