/* test_session_requests.c - operators' requests to the database, and their changes. */
#include "session_fixture.h"

SESSION_SUITE(session_requests_begin);
SESSION_SUITE_UP(session_requests);

static int asker, other;

#define ADMIN(...) admin((const char *const[]){__VA_ARGS__, NULL})
static void admin(const char *const words[])
{
    size_t n = 0;
    while (words[n]) {
        n++;
    }
    session_admin(session, NULL, &asker, n, words);
}

Test(session_requests, a_change)
{
    ADMIN("reserve", "s", "1", "for me");
    EXPECT(result(), "none");
    CALL("admin reserve s 1 'for me'");
    NO_CALL();
    answer("ok -1 0");
    EXPECT(result(), "ok '' ");
    EXPECT(result(), "none");
}

Test(session_requests, one_that_is_done_in_parts)
{
    ADMIN("forget", "s", "");
    ADMIN("pause", "p");
    CALL("admin forget s ''");
    CALL_ANSWERED("admin pause p", "ok -1 0 '3 s 1'");
    CALL("admin forget s '3 s 1'");
    EXPECT(result(), "none");
    answer("ok -1 0");
    EXPECT(result(), "ok '' ");
    session_forget(session, &asker);
    answer("ok -1 0 '7 '");
    CALL_ANSWERED("admin forget s '7 '", "ok -1 0 ''"); /* also if nobody waits for it any more */
    EXPECT(result(), "nobody ok '' ");
}

Test(session_requests, a_cursor_that_was_not_asked_for)
{
    ADMIN("pause", "s");
    answer_next("ok -1 0 'more'");
    cr_assert_str_neq(reset_wanted(), "");
}

Test(session_requests, in_use)
{
    ADMIN("forget", "t/*", "");
    answer_next("refused -1 0 in-use 't/1 3'");
    EXPECT(result(), "in-use 't/1 3' ");
}

Test(session_requests, refusals)
{
    ADMIN("limit", "p", "3");
    ADMIN("add", "p", "d");
    ADMIN("drop", "0123/1");
    CALL("admin limit p 3");
    CALL_ANSWERED("admin add p d", "refused -1 0 kind p");
    CALL_ANSWERED("admin drop 0123/1", "refused -1 0 too-much p");
    answer("refused -1 0 unknown 0123/1");
    EXPECT(result(), "kind 'p' ");
    EXPECT(result(), "too-much 'p' ");
    EXPECT(result(), "unknown '0123/1' ");
}

/* An operator on another host has had "s" and "t/" + star forgotten. */
Test(session_requests, about_what_only_the_file_has)
{
    ADMIN("pause", "s", "", "x");
    ADMIN("pause", "t/1", "", "x");
    ADMIN("resume", "p");
    CALL("admin pause s '' x");
    CALL_ANSWERED("admin pause t/1 '' x", "refused -1 0 unknown s");
    EXPECT(result(), "none");
    CALL_BEGINS("hello define s 1 {");
    CALL_ANSWERED("admin pause s '' x", "refused -1 0 unknown t/1");
    CALL_BEGINS("hello define t/* 1 {");
    CALL_ANSWERED("admin pause t/1 '' x", "ok -1 0 s stored {}");
    answer("refused -1 0 unknown s"); /* it has been forgotten again */
    EXPECT(result(), "unknown 's' ");
    CALL_ANSWERED("admin resume p", "ok -1 0 t/* stored {}");
    answer("ok -1 0");
    EXPECT(result(), "ok '' ");
    answer("ok -1 0");
    EXPECT(result(), "ok '' ");
    NO_CALL();
}

Test(session_requests, about_what_is_unknown_everywhere)
{
    ADMIN("remove", "p", "d");
    ADMIN("pause", "other");
    ADMIN("revoke", "s/1");
    next_call();
    answer_next("refused -1 0 unknown d");
    answer("refused -1 0 unknown other");
    answer_next("refused -1 0 unknown s/1");
    EXPECT(result(), "unknown 'd' ");
    EXPECT(result(), "unknown 'other' ");
    EXPECT(result(), "unknown 's/1' ");
    NO_CALL();
}

Test(session_requests, what_an_item_was)
{
    ADMIN("add", "p", "d");
    CALL_ANSWERED("admin add p d", "ok -1 0 '' draining");
    EXPECT(result(), "ok 'draining' ");
}

Test(session_requests, errors)
{
    ADMIN("pause", "s", "", "x");
    answer_next("-OOM command not allowed");
    EXPECT(result(), "down 'OOM command not allowed' ");
    ADMIN("pause", "s", "", "x");
    answer_next("ok 1");
    cr_assert_str_neq(reset_wanted(), "");
}

Test(session_requests_begin, errors_of_other_calls)
{
    go_up_and_send_two_calls();
    ADMIN("pause", "s");
    CALL("admin pause s");
    ADMIN("pause", "p");
    answer("-MISCONF x");
    answer("-NOREPLICAS x");
    EXPECT(result(), "none");
    answer("ok -1 0");
    EXPECT(result(), "ok '' ");
    EXPECT(result(), "none");
}

Test(session_requests_begin, down)
{
    ADMIN("pause", "s");
    EXPECT(result(), "none"); /* it may be up soon */
    break_link("no way");
    EXPECT(result(), "down 'no way' ");
    wait_for(1);
    ADMIN("pause", "s");
    EXPECT(result(), "down 'no way' ");
    connect_link();
    ADMIN("pause", "s");
    say_hello("30000 '0' 1 1");
    CALL("admin pause s");
    ADMIN("resume", "s");
    break_link("gone");
    EXPECT(result(), "down 'the answer did not come: the request may have been carried out' ");
    EXPECT(result(), "down 'gone' ");
}

Test(session_requests_begin, an_early_request_waits_without_a_deadline)
{
    connect_link();
    ADMIN("pause", "s");
    next_call();
    session_hold_listing(session, true);
    EXPECT(next_deadline(), "2.500"); /* until the answer must have come */
}

Test(session_requests_begin, a_hello_that_fails)
{
    connect_link();
    ADMIN("pause", "s");
    answer_next("-OOM command not allowed");
    EXPECT(result(), "down 'OOM command not allowed' ");
}

Test(session_requests, repeated_after_a_hello)
{
    ADMIN("pause", "s");
    ADMIN("pause", "l");
    next_call();
    answer_next("hello grace");
    answer("hello grace");
    say_hello("30000 '0' 1 1");
    CALL("admin pause s");
    CALL("admin pause l");
}

Test(session_requests, the_asker_may_leave)
{
    ADMIN("pause", "s");
    next_call();
    session_forget(session, &other);
    session_forget(session, &asker);
    answer("ok -1 0");
    EXPECT(result(), "nobody ok '' ");
}

Test(session_requests, not_too_many)
{
    for (int i = 0; i < 1000; i++) {
        ADMIN("pause", "s");
    }
    EXPECT(result(), "none");
    ADMIN("pause", "s");
    EXPECT(result(), "down 'too many such requests at once' ");
}

/* ---- snapshots ---- */

Test(session_requests, a_snapshot_has_pages)
{
    static const char *const names[] = {"s", "l"};
    session_snapshot(session, NULL, &asker, 2, names);
    CALL_ANSWERED("snapshot '' s l", "ok -1 0 'l' [ resource l lock ] [ holder l '0123/7' ]");
    EXPECT(result(), "none");
    CALL_ANSWERED("snapshot l s l", "ok -1 0 '' [ resource s ] [ ]");
    EXPECT(result(), "ok '' resource|l|lock|/holder|l|0123/7|/resource|s|//");
}

Test(session_requests, a_page_is_asked_for_again_after_a_hello)
{
    session_snapshot(session, NULL, &asker, 0, NULL);
    CALL_ANSWERED("snapshot ''", "ok -1 0 'l' [ resource a ]");
    CALL_ANSWERED("snapshot l", "hello expired");
    say_hello("30000 '0' 1 1");
    CALL_ANSWERED("snapshot l", "ok -1 0 '' [ resource s ]");
    EXPECT(result(), "ok '' resource|a|/resource|s|/");
}

Test(session_requests_begin, a_snapshot_is_bounded)
{
    struct text page = TEXT_INIT;
    text_add(&page, "ok -1 0 'l'");
    for (int i = 0; i < 100; i++) {
        text_add(&page, " [ 'resource ");
        text_add_repeated(&page, 'x', 500);
        text_add(&page, "' ]");
    }
    go_up();
    session_snapshot(session, NULL, &asker, 0, NULL);
    int n = 0;
    for (; strcmp(next_call(), "nothing") != 0; n++) {
        answer(page.bytes);
    }
    cr_assert(n > 640 && n < 680, "%d", n);
    EXPECT(result(), "no-space 'too much to show: name resources' ");
    text_deinit(&page);
}

Test(session_requests_begin, rows_that_are_none)
{
    static const char *const wrong[] = {
        "ok -1 0", "ok -1 0 '' row", "ok -1 0 '' [ [ a ] ]", "refused -1 0 a b"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        go_up();
        session_snapshot(session, NULL, &asker, 0, NULL);
        answer_next(wrong[i]);
        cr_assert_str_neq(reset_wanted(), "", "%s", wrong[i]);
        break_link("reset");
        cr_assert_eq(strncmp(result(), "down ", 5), 0);
    }
}
