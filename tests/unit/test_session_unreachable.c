/* test_session_unreachable.c - the link breaks, the database forgets, the daemon is restarted,
 * another lease has the identity: what is listed, what is requested again, what is refused. */
#include "session_fixture.h"

SESSION_SUITE(session_unreachable_begin);
SESSION_SUITE_UP(session_unreachable);

/* The link breaks and is there again at once; as far as the leases. */
static void come_back(void)
{
    reconnect();
    begin_hello("30000 '0' 0 1");
}

static void end_hello(void)
{
    CALL_ANSWERED("hello end ''", "ok -1 0 ''");
}

/* The link breaks and is there again; the hello that lists A, up to the call behind the first `n`
 * answers. */
static void come_back_for(int n)
{
    char begun[64];
    const char *const answers[] = {
        begun, "ok -1 0 0 0", "ok -1 0", "ok -1 0 $A held '5' 's 1 17 2'"};
    reconnect();
    next_call();
    snprintf(begun, sizeof begun, "ok -1 0 '%ju' 30000 '0' 0 1", (uintmax_t)view()->incarnation);
    for (int i = 0; i < n; i++) {
        answer(answers[i]);
        cr_assert_str_neq(next_call(), "nothing");
    }
}

/* After a hello with an old session: events may still be under way. */
static void renew_first(void)
{
    CALL_BEGINS("renew ");
    NO_CALL();
    answer("ok -1 0 0");
}

/* ---- the link breaks ---- */

Test(session_unreachable, unqueued_requests_are_refused_after_a_second)
{
    hold("A", "s", "17 0");
    wait_in_line("B", "s", "6");
    ask_and_send("C", "s"); /* in flight */
    ask("D", "s");
    break_link("gone");
    cr_assert_eq(view()->state, SESSION_DOWN);
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    ask("E", "s");
    HAPPENS("");
    EXPECT(next_deadline(), "1.000");
    wait_for(0.999);
    HAPPENS("");
    wait_for(0.001);
    HAPPENS("C denied down; D denied down; E denied down");
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_DOWN);
    ask("F", "s");
    HAPPENS("F denied down");
    NO_CALL();
}

Test(session_unreachable, a_link_that_comes_and_goes_is_down)
{
    break_link("gone");
    wait_for(0.5);
    connect_link();
    ask("A", "s");
    wait_for(0.5);
    next_call();
    HAPPENS("");
    break_link("LOADING");
    wait_for(0);
    HAPPENS("A denied down");
    connect_link();
    ask("B", "s");
    break_link("LOADING");
    wait_for(0);
    HAPPENS("B denied down");
}

Test(session_unreachable, queued_leases_are_listed)
{
    hold("A", "s", "17 2");
    wait_in_line("B", "l", "6");
    ask_and_send("C", "p now");
    ask("D", "s");
    reconnect();
    CALL_ANSWERED(
        "hello begin 30000 11000 'this host' 17 6 30000 '' '' 0", "ok -1 0 '2' 30000 '0' 0 1");
    answer_next("ok -1 0 0 0");
    answer_next("ok -1 0");
    CALL("hello lease $A held 0 5 7 7 '' i '' 1 s s 1 3 17 2 0"
         " $B waiting 0 6 7 7 '' i '' 1 l l 1 1 0 - 0 $C asked 0 0 7 7 '' i '' 1 p p 1 2 0 - 0");
    answer("ok -1 0 $A held '5' 's 1 17 2' $B waiting '6' '1' $C lost '0' -");
    end_hello();
    renew_first();
    CALL("acquire $C 1 0 0 7 7 '' i '' 1 p p 1 2 $D 0 0 0 7 7 '' i '' 1 s s 1 3");
    HAPPENS("");
}

/* B waits by now, and C has been granted: these answers are lost. */
Test(session_unreachable, an_acquire_whose_answer_is_lost_keeps_its_place)
{
    hold("A", "s", "17 2");
    ask("B", "s");
    ask_and_send("C", "p");
    come_back();
    CALL("hello lease $A held 0 5 7 7 '' i '' 1 s s 1 3 17 2 0"
         " $B asked 0 0 7 7 '' i '' 1 s s 1 3 0 - 0 $C asked 0 0 7 7 '' i '' 1 p p 1 2 0 - 0");
    answer("ok -1 0 $A held '5' 's 1 17 2' $B waiting '6' '1' $C held '7' 'p 1 18 b'");
    cr_assert_eq(lease("C")->ticket, 7); /* if the data are lost now, it has its place */
    end_hello();
    HAPPENS("B place 1; C granted p=b"); /* who is not told gives up */
    cr_assert_eq(lease("B")->ticket, 6);
    NO_CALL();
}

/* Others who are before it may not be listed yet. */
Test(session_unreachable, a_listing_repeats_no_known_place)
{
    ask("A", "s");
    ANSWER_NEXT("ok -1 0 waiting '6' 2", "A place 2");
    come_back();
    ANSWER_NEXT("ok -1 0 $A waiting '6' '1'", "");
}

Test(session_unreachable, an_acquire_whose_answer_is_lost_and_that_does_not_wait)
{
    ask_and_send("A", "l now");
    come_back();
    ANSWER_NEXT("ok -1 0 $A waiting '6' '1'", "A denied would-wait");
    end_hello();
    CALL("release $A");
}

Test(session_unreachable, a_grace_takes_back_what_was_granted_to_one_that_does_not_wait)
{
    ask_and_send("A", "l now");
    come_back();
    ANSWER_NEXT("ok -1 41000 $A waiting '6' '1'", "A denied grace");
    CALL_ANSWERED("hello end ''", "ok -1 41000 ''");
    CALL("release $A");
}

Test(session_unreachable, a_request_from_before_a_restart_keeps_its_place)
{
    ask_and_send("A", "s");
    restart();
    connect_link();
    begin_hello("30000 '0' 0 1");
    CALL("hello lease $A asked 0 0 7 7 '' i '' 1 s s 1 3 0 - 0");
    answer("ok -1 0 $A waiting '6' '1'");
    cr_assert_eq(lease("A")->ticket, 6);
}

/* It would be granted what this host gives back at once, and its job refused. */
Test(session_unreachable, a_lease_given_back_before_a_restart_is_not_listed)
{
    wait_in_line("A", "s", "6");
    drain(true);
    CALL("release $A");
    restart();
    connect_link();
    begin_hello("30000 '0' 1 1");
    end_hello();
    NO_CALL();
    drain(false);
    CALL("acquire $A 0 0 6 7 7 '' i '' 1 s s 1 3");
}

Test(session_unreachable, in_chunks)
{
    char name[8], text[4096];
    for (int i = 0; i < 150; i++) {
        snprintf(name, sizeof name, "W%d", i);
        snprintf(text, sizeof text, "%d", i + 1);
        wait_in_line(name, "s", text);
    }
    come_back();
    size_t n = 0;
    for (const char *at = next_call(); (at = strstr(at, "waiting")); at++) {
        n++;
    }
    cr_assert_eq(n, 100);
    NO_CALL();
}

Test(session_unreachable, granted_while_unreachable)
{
    wait_in_line("A", "s", "5");
    wait_in_line("B", "warn", "6");
    reconnect();
    begin_hello("30000 '3' 0 1");
    answer_next("ok -1 0 $A held '5' 's 1 17 2' $B held '6' 'warn 1 18 0'");
    HAPPENS(""); /* only once the leases are good until some time */
    end("B");
    end_hello();
    HAPPENS("A granted s=2");
    CALL("renew 0");
    CALL("release $B");
    /* Older than the listing: what they say about leases is not true any more. */
    ANSWER("ok -1 0 0 1 'granted $B 6 warn 1 18 0' 2 'lost $A' 3 'sing it'", "");
}

Test(session_unreachable, lost_while_unreachable)
{
    hold("A", "s", "17 2");
    hold("B", "warn", "17 0");
    wait_in_line("C", "s", "6");
    hold("D", "s", "19 1");
    come_back();
    answer_next("ok -1 0 $A lost '0' - $B lost '0' - $C lost '0' - $D waiting '9' '1'");
    HAPPENS("A stop lost; B lost lost; D stop lost");
    end_hello();
    renew_first();
    CALL("acquire $C 0 0 6 7 7 '' i '' 1 s s 1 3"); /* waiters ask again */
}

Test(session_unreachable, leases_that_have_ended_are_not_listed)
{
    hold("A", "s", "17 2");
    hold("B", "s", "18 1");
    hold("C", "s", "19 0");
    end("A");
    next_call(); /* the release is in flight */
    end("B"); /* and this one is not */
    break_link("gone");
    end("C");
    connect_link();
    begin_hello("30000 '0' 0 1");
    CALL_ANSWERED("hello end ''", "ok -1 0 ''"); /* which drops them */
    NO_CALL();
}

/* The next call releases so many, saying these, in any order. */
static void expect_endings(size_t n, const char *const endings[])
{
    char call[1000];
    snprintf(call, sizeof call, "%s", next_call());
    size_t length = strlen("release");
    cr_assert_eq(strncmp(call, "release", length), 0, "%s", call);
    for (size_t i = 0; i < n; i++) {
        cr_assert(strstr(call, endings[i]), "%s", call);
        length += strlen(" 'z8") + strlen(endings[i]);
    }
    cr_assert_eq(strlen(call), length, "%s", call);
}

/* Its history hears how, before it drops them: of those that it may know. */
Test(session_unreachable, how_leases_have_ended_is_told_before_the_listing_ends)
{
    hold("A", "s", "17 2");
    hold("B", "s", "18 1");
    hold("C", "s", "19 0");
    end_saying("A", "how=released exit=3");
    expect_endings(1, (const char *const[]){" how=released exit=3'"}); /* in flight */
    end_saying("B", "how=gone");
    break_link("gone");
    end_saying("C", "how=released exit=4");
    wait_for(1.5);
    connect_link();
    begin_hello("30000 '0' 0 1");
    expect_endings(3,
        (const char *const[]){
            " 1500 how=gone'", " 1500 how=released exit=3'", " 1500 how=released exit=4'"});
    NO_CALL();
    answer("ok -1 0");
    CALL_ANSWERED("hello end ''", "ok -1 0 ''");
    NO_CALL();
}

/* What ends all the same is counted. */
Test(session_unreachable, who_may_keep_no_history_wants_no_length)
{
    hold("A", "s", "17 2");
    session_allow_history(session, false);
    end_saying("A", "how=released exit=3");
    expect_endings(1, (const char *const[]){" how=released exit=3'"});
    break_link("gone");
    connect_link();
    CALL("hello begin 30000 11000 'this host' 17 5 30000 '' ''");
}

Test(session_unreachable, a_lease_that_ends_while_it_is_listed_is_given_back)
{
    hold("A", "s", "17 2");
    hold("B", "s", "18 1");
    come_back();
    next_call();
    end("A");
    answer("ok -1 0 $A held '5' 's 1 17 2' $B held '5' 's 1 18 1'");
    end("B");
    CALL("hello end ''");
    NO_CALL();
    answer("ok -1 0 ''");
    CALL("release $A $B");
}

Test(session_unreachable, breaks_again_at_each_step)
{
    hold("A", "s", "17 2");
    for (int n = 0; n < 5; n++) {
        come_back_for(n);
    }
    reconnect();
    say_hello("30000 '0' 0 1");
    cr_assert_eq(view()->state, SESSION_UP);
    end("A");
    CALL("release $A");
}

Test(session_unreachable, messages_wait_until_all_is_listed)
{
    wait_in_line("A", "s", "5");
    come_back();
    next_call();
    MESSAGE("000000000001 granted $A 5 s 1 17 2", ""); /* between the listing and its answer */
    answer("ok -1 0 $A waiting '5' '1'");
    end_hello();
    CALL_ANSWERED("renew 0", "ok -1 0 0 1 'granted $A 5 s 1 17 2'");
    HAPPENS("A granted s=2");
}

Test(session_unreachable, one_more_while_the_listing_ends)
{
    hold("A", "s", "17 2");
    world_session();
    connect_link();
    begin_hello("30000 '0' 0 1");
    CALL("hello end ''");
    session_restore(session, lease("A"));
    answer("ok -1 0 ''");
    cr_assert_eq(view()->state, SESSION_LISTING);
    begin_hello("30000 '0' 0 1");
    CALL("hello lease $A held 0 5 7 7 '' i '' 1 s s 1 3 17 2 0");
    answer("ok -1 0 $A held '5' 's 1 17 2'");
    CALL("hello end ''");
}

Test(session_unreachable, one_more_once_it_is_up)
{
    hold("A", "s", "17 2");
    world_session();
    go_up();
    session_restore(session, lease("A"));
    begin_hello("30000 '0' 0 1");
    CALL("hello lease $A held 0 5 7 7 '' i '' 1 s s 1 3 17 2 0");
}

/* A wait is no part of it. */
Test(session_unreachable, says_for_how_long_it_has_been_held)
{
    wait_in_line("A", "s", "5");
    wait_for(2);
    MESSAGE("000000000001 granted $A 5 s 1 17 2", "A granted s=2");
    wait_for(1.5);
    come_back();
    CALL("hello lease $A held 0 5 7 7 '' i '' 1 s s 1 3 17 2 1500");
}

/* ---- the database asks for a hello ---- */

Test(session_unreachable, hello_is_sent_once_all_answers_are_in)
{
    wait_in_line("A", "l", "5");
    hold("D", "warn", "9 0");
    ask_and_send("B", "s");
    ask("C", "s");
    answer_next("hello grace");
    cr_assert_eq(view()->state, SESSION_LISTING);
    NO_CALL();
    answer("hello grace");
    CALL("hello begin 30000 11000 'this host' 9 5 30000 '' '' 0");
    answer("ok 41000 41000 '2' 30000 '0' 1 1");
    answer_next("ok -1 0 0 0");
    answer_next("ok -1 0");
    CALL_ANSWERED("hello lease $A waiting 0 5 7 7 '' i '' 1 l l 1 1 0 - 0 $D held 0 5 7 7 '' "
                  "i '' 1 warn warn 1 3 9 0 0",
        "ok -1 0 $A waiting '5' '1' $D held '5' 'warn 1 9 0'");
    ANSWER_NEXT("ok -1 0 ''", "");
    CALL("acquire $B 0 0 0 7 7 '' i '' 1 s s 1 3 $C 0 0 0 7 7 '' i '' 1 s s 1 3");
}

Test(session_unreachable, a_release_that_was_not_done_needs_no_repeating)
{
    hold("A", "s", "17 2");
    end("A");
    answer_next("hello expired");
    begin_hello("30000 '0' 1 1");
    end_hello();
    NO_CALL();
}

Test(session_unreachable, everywhere_in_hello)
{
    static const char *const phases[] = {"begin", "news", "define", "lease", "end"};
    hold("A", "s", "17 2");
    for (int phase = 0; phase < 5; phase++) {
        come_back_for(phase);
        answer("hello grace");
        cr_assert_eq(strncmp(next_call(), "hello begin", 11), 0, "%s", phases[phase]);
    }
}

static const char with_limit_3[] = "hello lease $A waiting 0 5 7 7 '' i '' 1 s s 1 3 0 - 0";
static const char with_limit_5[] = "hello lease $A waiting 0 5 7 7 '' i '' 1 s s 1 5 0 - 0";

static void begin_to_list_a_waiter(void)
{
    go_up();
    wait_in_line("A", "s", "5");
    come_back();
    CALL(with_limit_3);
}

/* The database has the limits of the file before. */
static void all_is_listed_again(void)
{
    begin_hello("30000 '0' 0 1");
    CALL_ANSWERED(with_limit_5, "ok -1 0 $A waiting '5' '1'");
    end_hello();
    cr_assert_eq(view()->state, SESSION_UP);
}

Test(session_unreachable_begin, a_reload_while_waiters_are_listed)
{
    begin_to_list_a_waiter();
    redefine(5, 1000, 2);
    answer("ok -1 0 $A waiting '5' '1'");
    all_is_listed_again();
}

Test(session_unreachable_begin, a_reload_while_the_listing_ends)
{
    begin_to_list_a_waiter();
    answer("ok -1 0 $A waiting '5' '1'");
    CALL("hello end ''");
    redefine(5, 1000, 2);
    answer("ok -1 0 ''");
    all_is_listed_again();
}

Test(session_unreachable, a_reload_before_anything_is_listed)
{
    wait_in_line("A", "s", "5");
    reconnect();
    next_call();
    redefine(5, 1000, 2);
    answer("ok -1 0 '2' 30000 '0' 0 1");
    CALL_ANSWERED("hello news 0", "ok -1 0 0 0");
    CALL_BEGINS("hello define ");
    answer("ok -1 0");
    CALL(with_limit_5);
}

Test(session_unreachable_begin, not_for_ever_as_fast_as_it_can)
{
    connect_link();
    for (int i = 0; i < 3; i++) {
        answer_next("hello unknown");
    }
    NO_CALL();
    EXPECT(next_deadline(), "1.250");
    wait_for(1.25);
    cr_assert_str_neq(next_call(), "nothing");
}

Test(session_unreachable, a_message_to_all_has_it_renew)
{
    message("hello 0");
    CALL_ANSWERED("renew 0", "hello grace");
    CALL("hello begin 30000 11000 'this host' 0 0 30000 '' '' 0");
    message("hello 0"); /* comes again while it says hello */
    NO_CALL();
}

/* ---- the listing is held ---- */

Test(session_unreachable_begin, renews_while_the_listing_is_held)
{
    session_hold_listing(session, true);
    connect_link();
    begin_hello("30000 '0' 1 1");
    NO_CALL();
    EXPECT(good_for(), "-1000.000");
    EXPECT(next_deadline(), "5.000");
    wait_for(5);
    CALL_ANSWERED("renew 0", "ok -1 0 0 1 'sing it'"); /* comes again */
    EXPECT(good_for(), "-1005.000");
    wait_for(1);
    session_hold_listing(session, false);
    end_hello();
    EXPECT(good_for(), "23.950"); /* from that renewal */
    wait_for(5);
    CALL("renew 0");
}

/* ---- not the only one ---- */

Test(session_unreachable, another_daemon_has_the_name)
{
    hold("A", "s", "17 2");
    wait_in_line("B", "s", "6");
    ask_and_send("C", "s");
    message("hello 0");
    next_call();
    answer_later(1, "stale");
    HAPPENS("B denied down; C denied down");
    cr_assert_eq(view()->state, SESSION_REPLACED);
    cr_assert(strstr(view()->why, "identity"));
    cr_assert(strstr(notice(), "identity"));
    NO_CALL();
    ask("D", "s");
    HAPPENS("D denied down");
    reconnect();
    NO_CALL();
    cr_assert_eq(view()->state, SESSION_REPLACED);
}

Test(session_unreachable, a_new_name_when_nothing_is_left_of_the_old_one)
{
    hold("A", "s", "17 2");
    wait_for(5);
    answer_next("stale");
    notice();
    cr_assert(!session_needs_name(session));
    break_link("gone");
    cr_assert(!session_needs_name(session));
    end("A");
    cr_assert(session_needs_name(session));
    session_rename(session, "fedcba9876543210");
    NOTICE("this berthd goes on as session fedcba9876543210");
    cr_assert(!session_needs_name(session));
    NO_CALL();
    connect_link();
    CALL("hello begin 30000 11000 'this host' 17 5 30000 '' '' 0");
    cr_assert_eq(view()->incarnation, 1);
    EXPECT(last_reached, reached(0));
}

Test(session_unreachable, other_data)
{
    wait_in_line("A", "s", "6");
    ask("B", "s");
    ANSWER_NEXT("layout '3'", "B denied down");
    cr_assert_eq(view()->state, SESSION_DOWN);
    EXPECT(view()->why, "its data has layout 3, this berthd knows 2 to 2");
    NO_CALL();
    EXPECT(next_deadline(), "30.000");
    wait_for(30);
    CALL("hello begin 30000 11000 'this host' 0 6 30000 '' '' 0");
}

/* ---- restarted ---- */

Test(session_unreachable, a_restart)
{
    hold("A", "s", "5000 2");
    wait_in_line("B", "l", "6");
    hear(1, "1 'c s' 4 '{\"paused\":true}'");
    ask_and_send("C", "s");
    wait_for(2);
    restart();
    EXPECT(good_for(), "22.950");
    cr_assert_eq(core_fleet_deadline(core, 1), now + (nanoseconds)(22.95 * 1e9));
    connect_link();
    /* The largest numbers seen, or larger; the next incarnation. */
    CALL("hello begin 30000 11000 'this host' 5000 6 30000 '' '' 0");
    cr_assert_eq(view()->incarnation, 2);
    answer("ok -1 0 '2' 30000 '7' 0 1");
    CALL_ANSWERED("hello news 0", "ok -1 0 0 0");
    CALL_ANSWERED("hello change 0 0 s 4 {\"paused\":true}", "ok -1 0 0 s '5' {}");
    answer_next("ok -1 0");
    CALL("hello lease $A held 0 5 7 7 '' i '' 1 s s 1 3 5000 2 2000"
         " $B waiting 0 6 7 7 '' i '' 1 l l 1 1 0 - 0 $C asked 0 0 7 7 '' i '' 1 s s 1 3 0 - 0");
    answer("ok -1 0 $A held '5' 's 1 5000 2' $B waiting '6' '1' $C lost '0' -");
    end_hello();
    CALL_ANSWERED("renew 0", "ok -1 0 0 6 'granted $B 6 l 1 17 0' 7 'sing it'");
    HAPPENS("");
    CALL("acquire $C 0 0 0 7 7 '' i '' 1 s s 1 3");
    MESSAGE("000000000008 granted $B 6 l 1 5001 0", "B granted l=0");
}

Test(session_unreachable_begin, the_tenure_is_written_when_it_must_be)
{
    struct text out = TEXT_INIT;
    cr_assert_not(session_is_changed(session));
    go_up();
    cr_assert(session_is_changed(session));
    session_write(session, &out);
    cr_assert_not(session_is_changed(session));
    hold("A", "s", "17 0");
    cr_assert(session_is_changed(session));
    session_write(session, &out);
    message("hello 0");
    answer_next("ok -1 0 0");
    cr_assert(session_is_changed(session));
    text_deinit(&out);
}

Test(session_unreachable_begin, a_later_versions_keys_are_written_back)
{
    static const char later[] = "until=0 color=red ttl=30000000000 incarnation=4 token=1 ticket=1"
                                " session=0123456789abcdef shape=round,2 place=7 tokens=3";
    static const char kept[] = " color=red shape=round,2 tokens=3";
    struct effects effects = EFFECTS_INIT;
    const char *line = later;
    struct text written[2] = {TEXT_INIT, TEXT_INIT};
    for (size_t i = 0; i < 2; i++) {
        cr_assert(session_restore_tenure(session, line, strlen(line), now, &effects));
        session_write(session, &written[i]);
        line = written[i].bytes;
        cr_assert_str_eq(line + strlen(line) - strlen(kept), kept);
    }
    cr_assert_str_eq(written[0].bytes, written[1].bytes);
    for (size_t i = 0; i < 2; i++) {
        text_deinit(&written[i]);
    }
    effects_deinit(&effects);
}

Test(session_unreachable_begin, a_damaged_tenure_is_none)
{
    static const char *const lines[] = {"", "until=5",
        "until=x ttl=30000000000 incarnation=1 token=1"
        " ticket=1",
        "until=5 ttl=0 incarnation=1 token=1 ticket=1",
        "until=5 ttl=30000000000 incarnation=9007199254740992 token=1 ticket=1"};
    struct effects effects = EFFECTS_INIT;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_assert_not(
            session_restore_tenure(session, lines[i], strlen(lines[i]), now, &effects), "%zu", i);
    }
    static const char fits[] = "until=9000000000000000000 ttl=30000000000 incarnation=4 token=1"
                               " ticket=1 more=1";
    cr_assert(session_restore_tenure(session, fits, strlen(fits), now, &effects));
    EXPECT(good_for(), "-1000.000"); /* of another boot */
    cr_assert_eq(view()->incarnation, 4);
    effects_deinit(&effects);
}
