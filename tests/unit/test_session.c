/* test_session.c - a session begins, asks for leases and gives them back: at most one call that
 * names a lease is in flight at any time. */
#include "fleet/session_text.h"
#include "session_fixture.h"

SESSION_SUITE(session_begin);
SESSION_SUITE_UP(session);

static const char definitions_sent[] =
    "hello define"
    " s 1 {\"kind\":\"semaphore\",\"limit\":3,\"select\":\"lru\",\"cooldown\":0,\"keep\":0,"
    "\"max-waiters\":1000,\"max-units-per-user\":0,\"shared\":false,\"items\":[]}"
    " l 1 {\"kind\":\"lock\",\"limit\":1,\"select\":\"lru\",\"cooldown\":0,\"keep\":0,"
    "\"max-waiters\":1000,\"max-units-per-user\":0,\"shared\":false,\"items\":[]}"
    " p 1 {\"kind\":\"pool\",\"limit\":0,\"select\":\"lru\",\"cooldown\":0,\"keep\":0,"
    "\"max-waiters\":1000,\"max-units-per-user\":0,\"shared\":false,\"items\":[\"a\",\"b\"]}"
    " t/* 1 {\"kind\":\"semaphore\",\"limit\":5,\"select\":\"lru\",\"cooldown\":0,\"keep\":0,"
    "\"max-waiters\":1000,\"max-units-per-user\":0,\"shared\":false,\"items\":[]}"
    " warn 1 {\"kind\":\"semaphore\",\"limit\":3,\"select\":\"lru\",\"cooldown\":0,\"keep\":0,"
    "\"max-waiters\":1000,\"max-units-per-user\":0,\"shared\":false,\"items\":[]}";

/* ---- hello ---- */

Test(session_begin, says_hello)
{
    NO_CALL();
    EXPECT(next_deadline(), "never");
    connect_link();
    CALL("hello begin 30000 11000 'this host' 0 0 0 '' '' 0");
    NO_CALL(); /* one at a time */
    wait_for(1);
    answer("ok -1 0 '1' 30000 '0' 1 1");
    CALL_ANSWERED("hello news 0", "ok -1 0 0 0");
    CALL(definitions_sent);
    answer("ok -1 0 s same {} l same {} p same {} t/* stored {} warn same {}");
    CALL("hello end ''");
    EXPECT(good_for(), "-1001.000");
    wait_for(1);
    answer("ok -1 0 ''");
    EXPECT(good_for(), "22.950"); /* 0.84 * 30 s - 250 ms, from the send of begin */
    cr_assert_eq(view()->state, SESSION_UP);
}

/* Its server may not be able to say so. */
Test(session_begin, says_that_the_data_are_in_a_cluster)
{
    say_cluster();
    connect_link();
    CALL("hello begin 30000 11000 'this host' 0 0 0 '' cluster 0");
}

Test(session_begin, end_goes_on_where_it_was)
{
    connect_link();
    CALL_ANSWERED("hello begin 30000 11000 'this host' 0 0 0 '' '' 0", "ok -1 0 '1' 30000 '0' 1 1");
    answer_next("ok -1 0 0 0");
    answer_next("ok -1 0");
    CALL_ANSWERED("hello end ''", "ok -1 0 '200'");
    cr_assert_eq(view()->state, SESSION_LISTING);
    CALL_ANSWERED("hello end 200", "ok -1 0 ''");
    cr_assert_eq(view()->state, SESSION_UP);
}

Test(session_begin, begins_again_if_the_database_knows_a_later_incarnation)
{
    connect_link();
    next_call();
    cr_assert_eq(view()->incarnation, 1);
    answer("ok -1 0 '7' 30000 '0' 0 1");
    CALL("hello begin 30000 11000 'this host' 0 0 30000 '' '' 0");
    cr_assert_eq(view()->incarnation, 8);
    answer("ok -1 0 '8' 30000 '0' 0 1");
    CALL("hello news 0");
}

Test(session_begin, uses_the_ttl_of_the_database)
{
    connect_link();
    say_hello("20000 '0' 1 1");
    NOTICE("its ttl is 20000 ms, not the file's: other hosts use it");
    EXPECT(good_for(), "16.550"); /* 0.84 * 20 s - 250 ms */
    restart(); /* the session remembers the ttl, but each berthd logs it */
    connect_link();
    say_hello("20000 '0' 0 1");
    NOTICE("its ttl is 20000 ms, not the file's: other hosts use it");
}

Test(session_begin, says_the_ttl_that_its_leases_were_promised)
{
    connect_link();
    say_hello("20000 '0' 1 1");
    restart();
    connect_link();
    CALL("hello begin 30000 11000 'this host' 0 0 20000 '' '' 0");
}

Test(session_begin, asks_for_nothing_before_it_is_up)
{
    ask("A", "s");
    connect_link();
    next_call();
    ask("B", "s");
    answer("ok -1 0 '1' 30000 '0' 1 1");
    answer_next("ok -1 0 0 0");
    answer_next("ok -1 0");
    CALL("hello end ''");
    NO_CALL();
    answer("ok -1 0 ''");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 3 $B 0 0 0 7 7 '' i '' 1 s s 1 3");
}

Test(session_begin, malformed_answers_to_hello_reset_the_link)
{
    static const char *const wrong[] = {"ok -1 0", "ok -1 0 '0' 30000 '0' 1 1",
        "ok -1 0 '1' 999 '0' 1 1", "ok -1 0 '1' 86400001 '0' 1 1", "ok -1 0 '1' 30000 x 1 1",
        "ok -1 0 '1' 30000 '0' 2 1", "ok -1 0 '1' 30000 '0' 1", "ok", "ok -1",
        "what -1 0", "7", "[ ok ]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        connect_link();
        answer_next(wrong[i]);
        cr_assert_str_neq(reset_wanted(), "", "%s", wrong[i]);
        NO_CALL();
        EXPECT(reset_wanted(), "");
        break_link("reset");
        cr_assert_eq(view()->state, SESSION_DOWN);
    }
}

/* ---- acquire ---- */

Test(session, asks_and_gives_back)
{
    ask("A", "s:2 reason=a|b priority=3");
    CALL("acquire $A 0 3 0 7 7 '' i '' 1 s s 2 3");
    NO_CALL();
    ANSWER("ok -1 0 granted '5' 's 2 17 0,1'", "A granted s=0,1");
    end("A");
    CALL("release $A");
    NO_CALL();
    answer("ok -1 0");
    NO_CALL();
}

Test(session, several_resources)
{
    ask("A", "s:2 p t/x holder=me now");
    CALL("acquire $A 1 0 0 7 7 me i '' 3 s s 2 3 p p 1 2 t/x t/* 1 5");
    answer("ok -1 0 granted '5' 'p 1 18 b|t/x 1 19 4|s 2 17 0,2'"); /* whatever their order */
    HAPPENS("A granted s=0,2 p=b t/x=4");
}

Test(session, waits_until_a_message)
{
    ask("A", "l");
    CALL_ANSWERED("acquire $A 0 0 0 7 7 '' i '' 1 l l 1 1", "ok -1 0 waiting '5' 2");
    HAPPENS("A place 2");
    MESSAGE("000000000001 granted $A 5 l 1 17 0", "A granted l=0");
}

Test(session, refusals)
{
    ask("A", "s now");
    ask("B", "s now");
    ask("C", "s");
    answer_next("ok -1 0 refused would-wait s refused paused s refused nonsense s");
    HAPPENS("A denied would-wait; B denied paused; C denied down");
    NO_CALL(); /* the database keeps nothing of them */
}

/* ---- an operator of another host has forgotten what the file of this one has ---- */

Test(session, a_forgotten_definition_is_sent_and_the_request_repeated)
{
    ask("A", "t/x now");
    ask("B", "s");
    ANSWER_NEXT("ok -1 0 refused unknown t/x waiting '5' 1", "B place 1");
    CALL_BEGINS("hello define t/* 1 {");
    CALL("acquire $A 1 0 0 7 7 '' i '' 1 t/x t/* 1 5");
    NO_CALL();
    answer("ok -1 0 t/* stored {}");
    ANSWER("ok -1 0 granted '6' 't/x 1 17 0'", "A granted t/x=0");
}

/* Each time between the definition and the request behind it. */
Test(session, a_repeatedly_forgotten_definition_is_never_unknown)
{
    ask_and_send("A", "l");
    for (int i = 0; i < 8; i++) {
        answer("ok -1 0 refused unknown l");
        CALL_BEGINS("hello define l 1 {");
        CALL_ANSWERED("acquire $A 0 0 0 7 7 '' i '' 1 l l 1 1", "ok -1 0 l stored {}");
    }
    for (int i = 0; i < 3; i++) { /* then once in each renewal period */
        answer("ok -1 0 refused unknown l");
        CALL_BEGINS("hello define l 1 {");
        NO_CALL();
        answer("ok -1 0 l stored {}");
        wait_for(5);
        CALL("renew 0");
        NO_CALL();
        answer("ok -1 0 0");
        CALL("acquire $A 0 0 0 7 7 '' i '' 1 l l 1 1");
    }
    ANSWER("ok -1 0 granted '6' 'l 1 17 0'", "A granted l=0");
    ask("B", "l");
    answer_next("ok -1 0 refused unknown l");
    CALL_BEGINS("hello define l 1 {");
    CALL("acquire $B 0 0 0 7 7 '' i '' 1 l l 1 1");
}

/* What was told behind the refused request need not be told again. */
Test(session, a_forgotten_definition_is_sent_once_for_many_requests)
{
    ask_and_send("A", "l");
    ask("B", "l");
    answer_next("ok -1 0 refused unknown l");
    CALL_BEGINS("hello define l 1 {");
    CALL_ANSWERED("acquire $A 0 0 0 7 7 '' i '' 1 l l 1 1", "ok -1 0 refused unknown l");
    CALL("acquire $B 0 0 0 7 7 '' i '' 1 l l 1 1");
    NO_CALL();
}

/* The request is not sent ahead of its definition. */
Test(session, a_missing_definition_is_sent_while_another_is_under_way)
{
    ask_and_send("A", "l");
    ask("B", "s");
    answer_next("ok -1 0 refused unknown l");
    CALL_BEGINS("hello define l 1 {");
    CALL_ANSWERED("acquire $A 0 0 0 7 7 '' i '' 1 l l 1 1", "ok -1 0 refused unknown s");
    CALL_BEGINS("hello define s 1 {");
    CALL("acquire $B 0 0 0 7 7 '' i '' 1 s s 1 3");
}

Test(session, a_definition_not_in_the_file_is_unknown)
{
    ask("A", "s l");
    ANSWER_NEXT("ok -1 0 refused unknown p", "A denied unknown");
}

Test(session, one_that_does_not_want_to_wait_never_does)
{
    ask("A", "s now");
    ANSWER_NEXT("ok -1 0 waiting '5' 1", "A denied would-wait");
    CALL("release $A");
}

Test(session, many_are_asked_for_in_few_calls_and_in_order)
{
    for (const char *name = "ABCDEFGHIJKLM"; *name; name++) {
        ask((const char[]){*name, '\0'}, "s");
    }
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 3 $B 0 0 0 7 7 '' i '' 1 s s 1 3"
         " $C 0 0 0 7 7 '' i '' 1 s s 1 3 $D 0 0 0 7 7 '' i '' 1 s s 1 3"
         " $E 0 0 0 7 7 '' i '' 1 s s 1 3 $F 0 0 0 7 7 '' i '' 1 s s 1 3"
         " $G 0 0 0 7 7 '' i '' 1 s s 1 3 $H 0 0 0 7 7 '' i '' 1 s s 1 3");
    CALL_BEGINS("acquire $I ");
    NO_CALL();
}

/* Up to a weight: one claim of 400 slots is 51, of 16 384 no more than one of 448. */
Test(session_begin, heavy_ones_are_asked_for_in_more_calls)
{
    redefine(100000, 1000, 2);
    go_up();
    ask("A", "s:400");
    ask("B", "s:16384");
    ask("C", "s:300 warn:2");
    ask("D", "s");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 400 100000");
    CALL("acquire $B 0 0 0 7 7 '' i '' 1 s s 16384 100000"
         " $C 0 0 0 7 7 '' i '' 2 s s 300 100000 warn warn 2 3"
         " $D 0 0 0 7 7 '' i '' 1 s s 1 100000");
    NO_CALL();
    answer("ok -1 0 waiting '1' 1");
    answer("ok -1 0 waiting '2' 1 waiting '3' 1 waiting '4' 1");
    end("A");
    end("B");
    CALL("release $A");
    CALL("release $B");
    NO_CALL();
}

Test(session, releases_are_batched)
{
    char name[8], ticket[8], expected[512] = "release";
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "W%d", i);
        snprintf(ticket, sizeof ticket, "%d", i + 1);
        wait_in_line(name, "s", ticket);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "W%d", i);
        end(name);
        if (i < 32) {
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), " $W%d", i);
        }
    }
    CALL(expected);
    CALL_ANSWERED("release $W32 $W33 $W34 $W35 $W36 $W37 $W38 $W39", "ok -1 0");
    answer("ok -1 0");
    NO_CALL();
}

/* ---- ends while something is in flight ---- */

Test(session, ended_before_it_was_asked_for)
{
    ask("A", "s");
    end("A");
    NO_CALL();
}

Test(session_begin, ended_while_it_is_asked_for)
{
    static const char *const answers[] = {
        "ok -1 0 granted '5' 's 1 17 0'", "ok -1 0 waiting '5' 1"};
    go_up();
    for (size_t i = 0; i < 2; i++) {
        ask_and_send("A", "s");
        end("A");
        NO_CALL(); /* one call for a lease at a time */
        answer(answers[i]);
        CALL_ANSWERED("release $A", "ok -1 0");
    }
    ask_and_send("A", "s");
    end("A");
    answer("ok -1 0 refused paused s");
    NO_CALL();
    HAPPENS("");
}

Test(session, drained_and_asked_for_again)
{
    ask("A", "l");
    answer_next("ok -1 0 waiting '5' 2");
    drain(true);
    CALL("release $A");
    drain(false);
    NO_CALL(); /* first the answer */
    answer("ok -1 0");
    /* An earlier grant may be under way: that renewal brings it, if it does not come before. */
    CALL("renew 0");
    NO_CALL();
    MESSAGE("000000000001 granted $A 5 l 1 17 0", "A place 2");
    ANSWER("ok -1 0 0 1 'granted $A 5 l 1 17 0'", "");
    CALL("acquire $A 0 0 5 7 7 '' i '' 1 l l 1 1"); /* with its ticket */
    answer("ok -1 0 waiting '5' 1");
    MESSAGE("000000000001 granted $A 5 l 1 17 0", "A place 1"); /* still that one */
    MESSAGE("000000000002 granted $A 5 l 1 18 0", "A granted l=0");
}

Test(session, drained_while_it_is_asked_for)
{
    ask_and_send("A", "l");
    drain(true);
    drain(false);
    answer("ok -1 0 granted '5' 'l 1 17 0'");
    CALL_ANSWERED("release $A", "ok -1 0"); /* given back once is given back */
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 l l 1 1");
}

/* ---- what cannot be true ---- */

Test(session_begin, grants_that_cannot_be_true_are_given_back)
{
    static const char *const claims[] = {"l 1 17 0", "s 1 17 0", "s 2 17 0", "s 2 17 0,0",
        "s 2 0 0,1", "s 2 17 0,1,2", "s 2 x 0,1", "s 2 17 a,b", "s 2 17 0,1|s 2 17 0,1",
        "s 2 17 0,1|l 1 18 0", "s 2 17 0,9999999999", "s 2 17 ,", "s", "", "|", "s 2 17", "s 2",
        "s 2 99999999999999999999 0,1", "s 2 17 -"};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        char text[256];
        if (i == 0) {
            go_up();
        }
        ask_and_send("A", "s:2");
        snprintf(text, sizeof text, "ok -1 0 granted '5' '%s'", claims[i]);
        ANSWER(text, "A denied down");
        cr_assert_str_neq(notice(), "", "%s", claims[i]);
        EXPECT(reset_wanted(), "");
        CALL_ANSWERED("release $A", "ok -1 0");
    }
}

Test(session_begin, malformed_answers_to_acquire_reset_the_link)
{
    static const char *const wrong[] = {"ok -1 0", "ok -1 0 granted '5'",
        "ok -1 0 granted x 's 1 17 0'", "ok -1 0 waiting '0' 1", "ok -1 0 waiting '5' x",
        "ok -1 0 denied a b", "ok -1 0 granted '5' [ a ]", "refused -1 0 paused s",
        "ok x 0 waiting '5' 1", "ok -1 -1 waiting '5' 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        go_up();
        ask("A", "s");
        answer_next(wrong[i]);
        cr_assert_str_neq(reset_wanted(), "", "%s", wrong[i]);
        end("A");
        break_link("reset");
    }
}

/* ---- leaving ---- */

static bool leaves(void)
{
    struct script_call call;
    bool is_left = session_leave(session, now, &call);
    cr_assert(!is_left || (call.script == SCRIPT_HELLO && call.argc == CALL_HEAD + 1 &&
        strcmp(call.argv[CALL_HEAD], "leave") == 0));
    return is_left;
}

Test(session_begin, who_has_not_begun_need_not_leave)
{
    cr_assert_not(leaves());
    connect_link();
    CALL("hello begin 30000 11000 'this host' 0 0 0 '' '' 0");
    cr_assert_not(leaves());
    answer("ok -1 0 '1' 30000 '0' 1 1");
    cr_assert(leaves());
}

Test(session, leaves_whatever_is_in_flight)
{
    ask("A", "s");
    CALL_BEGINS("acquire $A ");
    cr_assert(leaves());
}
