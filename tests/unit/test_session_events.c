/* test_session_events.c - numbered events: each is taken once, in order, whichever way it comes. */
#include "session_fixture.h"

SESSION_SUITE(session_events);

/* ---- order ---- */

Test(session_events, a_gap_is_asked_for_at_once)
{
    go_up();
    wait_in_line("A", "s", "5");
    wait_in_line("B", "s", "6");
    message("000000000002 granted $B 6 s 1 18 1");
    HAPPENS("");
    CALL("renew 0");
    answer("ok -1 0 0 1 'granted $A 5 s 1 17 0' 2 'granted $B 6 s 1 18 1'");
    HAPPENS("A granted s=0; B granted s=1");
    NO_CALL();
}

Test(session_events, repeated_ones_are_nothing_new)
{
    go_up();
    wait_in_line("A", "s", "5");
    message("000000000001 granted $A 5 s 1 17 0");
    HAPPENS("A granted s=0");
    message("000000000001 lost $A");
    HAPPENS("");
    message("000000000003 drop $A");
    CALL("renew 1");
    answer("ok -1 0 0 1 'lost $A' 2 'changed s 4 {}'");
    HAPPENS("");
    NO_CALL();
}

Test(session_events, more_are_asked_for_at_once)
{
    go_up();
    message("hello");
    CALL("renew 0");
    answer("ok -1 0 1 1 'changed s 4 {}'");
    CALL("renew 1");
    answer("ok -1 0 0 2 'changed s 5 {}'");
    NO_CALL();
}

Test(session_events, a_message_may_be_faster_than_the_answer)
{
    go_up();
    ask("A", "s");
    ask("B", "s");
    next_call();
    message("000000000001 granted $A 5 s 1 17 0");
    HAPPENS("A granted s=0");
    answer("ok -1 0 waiting '5' 1 waiting '6' 2");
    HAPPENS("B place 2");
    end("A");
    CALL("release $A");
}

Test(session_events, lost_while_it_is_asked_for)
{
    go_up();
    ask("A", "s");
    next_call();
    message("000000000001 lost $A");
    answer("ok -1 0 granted '5' 's 1 17 0'"); /* was that before, or after? */
    HAPPENS("");
    CALL("release $A");
    answer("ok -1 0");
    CALL("renew 1");
    answer("ok -1 0 0");
    CALL("acquire $A 0 0 0 7 7 '' i 1 s s 1 3 0");
}

Test(session_events, many_are_acknowledged_early)
{
    char text[64];
    go_up();
    for (int i = 1; i <= 1000; i++) {
        snprintf(text, sizeof text, "%012d changed s %d {}", i, i);
        message(text);
        if (i == 999) {
            NO_CALL();
        }
    }
    CALL("renew 1000");
}

Test(session_events, nonsense_is_passed_over)
{
    static const char *const texts[] = {"000000000001", "x", "", "000000000001 ",
        "000000000002 granted", "000000000003 granted 7", "000000000004 granted ! 5 s 1 17 0",
        "000000000005 lost", "000000000006 changed", "000000000007 changed . 5 {}",
        "000000000008 changed s x {}", "000000000009 defined s 5", "000000000010 lost a b"};
    go_up();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        message(texts[i]);
        cr_assert_str_neq(notice(), "", "%s", texts[i]);
    }
    message("000000000011 newer whatever"); /* of a newer berthd */
    EXPECT(notice(), "");
    EXPECT(reset_wanted(), "");
}

/* ---- what they do ---- */

Test(session_events, a_grant_of_what_has_ended_is_given_back)
{
    go_up();
    wait_in_line("A", "s", "5");
    end("A");
    CALL("release $A");
    message("000000000001 granted $A 5 s 1 17 0"); /* was under way */
    answer("ok -1 0");
    NO_CALL();
    message("000000000002 granted $A 5 s 1 18 0");
    CALL("release $A");
    answer("ok -1 0");
    HAPPENS("");
}

Test(session_events, lost)
{
    go_up();
    hold("A", "s", "17 0");
    hold("B", "warn", "17 0");
    wait_in_line("C", "s", "7");
    message("000000000001 lost $A");
    message("000000000002 lost $B");
    message("000000000003 lost $C");
    HAPPENS("A stop lost; B lost lost");
    CALL("acquire $C 0 0 7 7 7 '' i 1 s s 1 3 0"); /* whoever waits asks again */
    end("A");
    NO_CALL(); /* nobody has to be told */
}

Test(session_events, operators)
{
    go_up();
    hold("A", "s", "17 0");
    hold("B", "s", "17 1");
    hold("C", "s", "17 2");
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

Test(session_events, leases_of_others_are_not_touched)
{
    go_up();
    hold("A", "s", "17 0");
    struct lease *other = lease("A");
    other->entry = NULL; /* as one of another session */
    session = session_free(session);
    cr_assert_null(lease("A")->entry);
    world_session();
    go_up();
    message("000000000001 revoke $A");
    message("000000000002 lost $A");
    HAPPENS("");
}

/* ---- changes and definitions ---- */

static const char *changes(void)
{
    static struct text out;
    out.length = 0;
    text_add(&out, "");
    session_write_changes(session, &out);
    return out.bytes;
}

Test(session_events, the_newest_change_is_kept)
{
    go_up();
    cr_assert_not(session_changes_changed(session));
    message("000000000001 changed s 4 {\"paused\":true}");
    cr_assert(session_changes_changed(session));
    EXPECT(changes(), "s 4 {\"paused\":true}\n");
    cr_assert_not(session_changes_changed(session));
    message("000000000002 changed s 3 {}");
    cr_assert_not(session_changes_changed(session));
    message("000000000003 changed t/x 5 {\"limit\":2}");
    message("000000000004 changed s 6 {}");
    EXPECT(changes(), "s 6 {}\nt/x 5 {\"limit\":2}\n");
}

static uint32_t n_differing(void)
{
    struct session_view view;
    session_look(session, &view);
    return view.n_differing;
}

static const char stored[] =
    "{\"kind\":\"semaphore\",\"limit\":%d,\"select\":\"lru\",\"cooldown\":0,"
    "\"max-waiters\":%d,\"max-units-per-user\":0,\"shared\":false,"
    "\"items\":[]}";

static void somebody_stores(int number, int generation, int limit, int max_waiters)
{
    char json[512], text[640];
    snprintf(json, sizeof json, stored, limit, max_waiters);
    snprintf(text, sizeof text, "%012d defined s %d %s", number, generation, json);
    message(text);
}

Test(session_events, a_definition_that_differs_may_not_be_used)
{
    go_up();
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    somebody_stores(1, 1, 3, 7);
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_DIFFERS);
    cr_assert_eq(session_may_use(session, definition("l")), OUTCOME_OK);
    cr_assert_eq(n_differing(), 1);
    cr_assert(strstr(notice(), "another definition"));
    somebody_stores(2, 1, 2, 1000); /* the limit alone: the smaller one holds */
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    cr_assert_eq(n_differing(), 1);
    somebody_stores(3, 2, 3, 7); /* a newer file of somebody else's */
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    message("000000000004 defined s 3 {\"kind\":\"pool\"}"); /* has other units */
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_DIFFERS);
    somebody_stores(5, 1, 3, 1000);
    cr_assert_eq(n_differing(), 0);
}

/* Should older data come back, the database has not got so far. */
Test(session_events, each_call_says_how_far_the_database_was)
{
    go_up();
    hold("A", "s", "4711 0");
    wait_for(5.0);
    CALL("renew 0");
    EXPECT(last_reached, reached(0));
    answer("ok -1 0 0");
    message("000000000001 changed s 4 {}");
    ask("B", "s");
    next_call();
    EXPECT(last_reached, reached(1));
    restart();
    connect_link();
    next_call();
    EXPECT(last_reached, reached(1));
}

Test(session_events, another_database_has_got_nowhere_yet)
{
    go_up();
    hold("A", "s", "4711 0");
    restart_elsewhere();
    connect_link();
    next_call();
    EXPECT(last_reached, "0-0");
}

Test(session_events, a_reload_is_told)
{
    char expected[640], json[512];
    go_up();
    redefine(5, 1000, 1);
    snprintf(json, sizeof json, stored, 5, 1000);
    snprintf(expected, sizeof expected, "hello define s 1 %s", json);
    CALL(expected);
    snprintf(expected, sizeof expected, "ok -1 0 s differs '%s'", json);
    answer(expected);
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_DIFFERS);
    redefine(5, 1000, 1); /* the same again: what differs may be in use no more */
    snprintf(expected, sizeof expected, "hello define s 1 %s", json);
    CALL(expected);
    snprintf(expected, sizeof expected, "ok -1 0 s stored '%s'", json);
    answer(expected);
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    redefine(5, 1000, 1);
    NO_CALL();
    redefine(5, 1000, 2);
    cr_assert(strstr(next_call(), "hello define s 2 "));
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK); /* not known yet */
}
