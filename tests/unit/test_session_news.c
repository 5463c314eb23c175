/* test_session_news.c - what is stored for all: it is followed, kept, and told to a database that
 * has lost it; and undone changes stay undone. */
#include "session_fixture.h"

SESSION_SUITE(session_news);

/* This database's place, as it is written down. */
static const char *here(void)
{
    static char place[136];
    struct text line = TEXT_INIT;
    session_write(session, &line);
    snprintf(place, sizeof place, "%s", strstr(line.bytes, "place=") + strlen("place="));
    *strchr(place, ' ') = '\0';
    text_deinit(&line);
    return place;
}

/* `text` with each `from` as `to`; good until the next call. */
static const char *replaced(const char *text, const char *from, const char *to)
{
    static struct text out;
    const char *found;
    out.length = 0;
    text_add(&out, "");
    for (; (found = strstr(text, from)); text = found + strlen(from)) {
        text_add_bytes(&out, text, (size_t)(found - text));
        text_add(&out, to);
    }
    text_add(&out, text);
    return out.bytes;
}

/* Without the line that says how far the database was; its place is "HERE". */
static const char *kept(void)
{
    static struct text out;
    out.length = 0;
    text_add(&out, "");
    session_write_changes(session, &out);
    return replaced(
        out.bytes[0] == '@' ? strchr(out.bytes, '\n') + 1 : out.bytes, here(), "HERE");
}

static void restore(const char *lines)
{
    const char *text = replaced(lines, "HERE", here());
    session_restore_changes(session, text, strlen(text));
}

/* A hello, up to the point where everything is fetched. */
static void fetch_all(const char *answered)
{
    connect_link();
    answer_next("ok -1 0 '1' 30000 '0' 1 1");
    CALL_ANSWERED("hello news 0", answered);
}

static void expect_definitions(void)
{
    CALL_BEGINS("hello define s 1 {");
    answer("ok -1 0");
}

/* ---- following ---- */

Test(session_news, a_renewal_says_that_there_is_more)
{
    go_up();
    message("hello 0");
    CALL_ANSWERED("renew 0", "ok -1 0 2");
    CALL("hello news 0");
    NO_CALL();
    answer("ok -1 0 9 0 9 'c s' 4 {}");
    message("hello 0");
    CALL_ANSWERED("renew 0", "ok -1 0 3 1 'sing it'"); /* and of events as well */
    CALL("renew 1");
    CALL("hello news 9");
}

Test(session_news, a_page_may_not_be_all)
{
    go_up();
    message("news 9 0");
    CALL_ANSWERED("hello news 0", "ok -1 0 9 0 4 'c s' 3 '{\"limit\":1}' 5 'c l' 4 {}");
    CALL_ANSWERED("hello news 5", "ok -1 0 9 0 9 'c l' 8 '{\"limit\":0}'");
    NO_CALL();
    EXPECT(kept(), "s 3 {\"limit\":1}\nl 8 {\"limit\":0}\n");
    message("news 9 0");
    NO_CALL(); /* nothing new */
}

/* All are told at once, and each fetches at a random time. */
Test(session_news, hosts_spread_their_fetches)
{
    double soonest = 60, latest = 0;
    for (int i = 0; i < 50; i++) {
        go_up();
        wait_for(5);
        /* The next renewal is far away, and so is what has had no answer. */
        answer_next("ok -1 0 0");
        message("news 1 4000");
        NO_CALL();
        double at = strtod(next_deadline(), NULL);
        soonest = at < soonest ? at : soonest;
        latest = at > latest ? at : latest;
        cr_assert(at < 4);
        wait_for(at + 0.001);
        CALL("hello news 0");
        break_link("gone");
    }
    cr_assert(soonest < 0.5 && latest > 3.5);
}

Test(session_news, wrong_answers_reset_the_link)
{
    static const char *const answers[] = {"ok -1 0", "ok -1 0 9", "ok -1 0 x 0", "ok -1 0 9 0 9",
        "ok -1 0 9 0 x 'c s' 4 {}", "ok -1 0 9 0 0 'c s' 4 {}", "ok -1 0 9 0 9 'c s' x {}",
        "ok -1 0 9 0 5 'c s' 4 {} 5 'c s' 4 {}", "refused -1 0 9 0"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        go_up();
        message("news 1 0");
        answer_next(answers[i]);
        cr_assert(strstr(reset_wanted(), "news"), "%s", answers[i]);
        break_link("reset");
    }
}

/* ---- what is kept ---- */

Test(session_news, the_newest_change_is_kept)
{
    go_up();
    kept();
    cr_assert_not(session_changes_changed(session));
    hear(1, "1 'c s' 4 '{\"paused\":true}'");
    cr_assert(session_changes_changed(session));
    EXPECT(kept(), "s 4 {\"paused\":true}\n");
    cr_assert_not(session_changes_changed(session));
    hear(2, "2 'c s' 3 {}");
    cr_assert_not(session_changes_changed(session));
    CALL("hello change 0 2 s 4 {\"paused\":true}"); /* it has lost the newer one */
    answer("ok -1 0 0");
    hear(4, "3 'c t/x' 5 '{\"limit\":2}' 4 'c s' 6 {}");
    EXPECT(kept(), "s 6 {}\nt/x 5 {\"limit\":2}\n");
}

Test(session_news, nonsense_is_not_kept)
{
    go_up();
    hear(6, "1 'c .' 4 {} 2 'c s' 4 x 3 'c s' 4 '{' 4 'z s' 4 {} 5 c 4 {} 6 'd none' 0 {}");
    NO_CALL();
    EXPECT(kept(), "");
}

Test(session_news, changes_are_read_back)
{
    restore(
        "s 4 {\"limit\":1}\nbad\nfloor x HERE\n. 5 {}\nl x {}\nl 5 {\nl 6\n t 7 {}\nfloor 3 HERE\n"
        "floor 9\nfloor 9 \nfloor 9 1\nt/x 8 {\"paused\":true}\nfloor 8 {}\n");
    cr_assert_not(session_changes_changed(session));
    EXPECT(kept(), "floor 3 HERE\ns 4 {\"limit\":1}\nt/x 8 {\"paused\":true}\nfloor 8 {}\n");
}

Test(session_news, lines_of_a_later_version_are_carried)
{
    restore("s 4 {\"limit\":1}\n~ what 1 2\n@more\n! x\nl 5 {\"limit\":0}\n");
    EXPECT(kept(), "~ what 1 2\n@more\n! x\ns 4 {\"limit\":1}\nl 5 {\"limit\":0}\n");
    go_up();
    hear(6, "6 'c s' 6 {}");
    EXPECT(kept(), "~ what 1 2\n@more\n! x\ns 6 {}\nl 5 {\"limit\":0}\n");
}

Test(session_news, changes_are_bounded)
{
    char line[64];
    struct text lines = TEXT_INIT;
    for (int i = 0; i < 10000; i++) {
        snprintf(line, sizeof line, "t/%d 4 %s\n", i, i == 7 ? "{}" : "{\"limit\":1}");
        text_add(&lines, line);
    }
    restore(lines.bytes);
    go_up();
    hear(1, "1 'c s' 5 '{\"limit\":1}'"); /* instead of one that takes something back */
    hear(2, "2 'c l' 6 '{\"limit\":1}'");
    cr_assert(strstr(notice(), "more than 10000 changes"));
    const char *now_kept = kept();
    cr_assert_not(strstr(now_kept, "t/7 "));
    cr_assert(strstr(now_kept, "s 5 "));
    cr_assert_not(strstr(now_kept, "l 6 "));
    text_deinit(&lines);
}

/* What the scripts take is kept, and nothing longer. */
Test(session_news, a_long_change_is_kept_if_the_scripts_take_it)
{
    enum { LONGEST = 65536 };
    for (int more = 0; more < 2; more++) {
        struct text line = TEXT_INIT;
        text_add(&line, "s 4 {\"reason\":\"");
        while (line.length < strlen("s 4 ") + LONGEST - 2 + (size_t)more) {
            text_add(&line, "x");
        }
        text_add(&line, "\"}\n");
        world_session();
        session_restore_changes(session, line.bytes, line.length);
        cr_assert_eq(strlen(kept()), more ? 0 : line.length);
        text_deinit(&line);
    }
}

/* ---- a database that has lost them ---- */

Test(session_news, changes_that_the_database_lacks_are_sent)
{
    restore("s 4 {\"limit\":1}\nl 5 {}\np 6 {\"paused\":true}\n");
    fetch_all("ok -1 0 3 0 1 'c l' 5 {} 2 'c s' 3 {} 3 'c warn' 2 {}");
    CALL("hello change 0 3 s 4 {\"limit\":1} p 6 {\"paused\":true}");
    answer("ok -1 0 0 s '9' {\"limit\":2}"); /* somebody else was faster */
    CALL_BEGINS("hello define ");
    EXPECT(kept(), "s 9 {\"limit\":2}\nl 5 {}\np 6 {\"paused\":true}\nwarn 2 {}\n");
}

Test(session_news, a_hundred_at_once)
{
    char line[64];
    struct text lines = TEXT_INIT;
    for (int i = 0; i < 150; i++) {
        snprintf(line, sizeof line, "t/%d 4 {}\n", i);
        text_add(&lines, line);
    }
    restore(lines.bytes);
    fetch_all("ok -1 0 0 0");
    cr_assert(strstr(next_call(), " t/99 4 {}"));
    answer("ok -1 0 0");
    EXPECT(strstr(next_call(), " t/148"), " t/148 4 {} t/149 4 {}");
    text_deinit(&lines);
}

/* ---- the floor ---- */

Test(session_news, below_the_databases_floor_all_was_taken_back)
{
    restore("s 4 {\"limit\":1}\nl 5 {}\np 16 {\"paused\":true}\n");
    fetch_all("ok -1 0 20 10 20 'c warn' 3 '{\"limit\":2}'");
    CALL("hello change 10 20 p 16 {\"paused\":true}");
    cr_assert(session_changes_changed(session));
    EXPECT(kept(), "floor 10 HERE\np 16 {\"paused\":true}\nwarn 3 {\"limit\":2}\n");
}

Test(session_news, below_its_own_floor_it_knows_better)
{
    restore("floor 10 HERE\np 6 {\"paused\":true}\n");
    fetch_all(
        "ok -1 0 20 0 18 'c s' 4 '{\"limit\":1}' 19 'c l' 5 {} 20 'c t/x' 14 '{\"limit\":1}'");
    CALL_ANSWERED("hello change 10 20 p 6 {\"paused\":true} s 10 {}", "ok -1 0 0");
    CALL("hello news 20"); /* others may have told something meanwhile */
    answer("ok -1 0 22 0 21 'c p' 6 '{\"paused\":true}' 22 'c s' 10 {}");
    CALL_ANSWERED("hello change 10 22", "ok -1 0 0"); /* that was all */
    CALL_ANSWERED("hello news 22", "ok -1 0 22 0"); /* once more */
    CALL_ANSWERED("hello change 10 22", "ok -1 0 10");
    CALL_BEGINS("hello define ");
}

Test(session_news, missed_news_is_fetched_from_the_beginning)
{
    go_up();
    hear(5, "4 'c s' 3 '{\"limit\":1}' 5 'c l' 4 '{\"limit\":0}'");
    message("news 20 0");
    /* The change to s was undone, and that is forgotten. */
    CALL_ANSWERED("hello news 5", "ok -1 0 20 12 20 'c p' 19 {}");
    expect_definitions();
    CALL_ANSWERED("hello news 0", "ok -1 0 20 12 5 'c l' 4 '{\"limit\":0}' 20 'c p' 19 {}");
    NO_CALL();
    EXPECT(kept(), "floor 12 HERE\nl 4 {\"limit\":0}\np 19 {}\n");
}

/* ---- definitions ---- */

Test(session_news, a_forgotten_definition_is_sent_each_time)
{
    go_up();
    hear(1, "1 'd l' 0 {}");
    CALL_BEGINS("hello define l 1 {");
    message("news 2 0"); /* before the answer */
    CALL("hello news 1");
    answer_later(1, "ok -1 0 2 0 2 'd l' 0 {}");
    NO_CALL();
    answer("ok -1 0 l stored {}");
    CALL_BEGINS("hello define l 1 {");
    answer("ok -1 0 l stored {}");
    NO_CALL();
}

Test(session_news, a_definition_forgotten_during_hello_is_sent_again)
{
    fetch_all("ok -1 0 0 0");
    CALL_BEGINS("hello define s 1 {");
    message("news 3 0");
    answer("ok -1 0 s same {} l same {} p same {} t/* same {} warn same {}");
    CALL_ANSWERED("hello news 0", "ok -1 0 3 0 3 'd l' 0 {}");
    CALL_BEGINS("hello define l 1 {");
    answer("ok -1 0 l stored {}");
    CALL("hello end ''");
}

/* Of a forget there may be no news any more. */
Test(session_news, after_missed_news_all_definitions_are_sent)
{
    go_up();
    message("news 20 0");
    CALL_ANSWERED("hello news 0", "ok -1 0 20 12");
    expect_definitions();
    CALL("hello news 0");
}

/* ---- another database of the same name ---- */

/* A database has undone changes up to number 10, and has these. */
static void follow_undoing(void)
{
    go_up();
    message("news 20 0");
    CALL("hello news 0");
    answer("ok -1 0 20 10 18 'c l' 4 '{\"limit\":0}' 20 'c p' 12 '{\"paused\":true}'");
    expect_definitions();
    CALL("hello news 0"); /* it has forgotten something meanwhile */
    answer("ok -1 0 20 10 18 'c l' 4 '{\"limit\":0}' 20 'c p' 12 '{\"paused\":true}'");
    EXPECT(kept(), "floor 10 HERE\nl 4 {\"limit\":0}\np 12 {\"paused\":true}\n");
}

static void knew_another_one(void)
{
    follow_undoing();
    restart_other_host();
}

static void begin_after_a_move(const char *grace)
{
    char answered[64];
    snprintf(answered, sizeof answered, "ok -1 %s '%ju' 30000 '0' 1 1", grace,
        (uintmax_t)view()->incarnation + 1);
    connect_link();
    answer_next(answered);
    CALL("hello news 0");
}

static void fetch_all_after_a_move(const char *answered)
{
    begin_after_a_move("0");
    answer(answered);
}

Test(session_news, anothers_floor_takes_nothing_back)
{
    knew_another_one();
    fetch_all_after_a_move("ok -1 0 3 0 3 'c s' 3 '{\"limit\":1}'");
    CALL_BEGINS("hello define ");
    EXPECT(kept(), "s 3 {\"limit\":1}\n");
}

Test(session_news, anothers_changes_are_not_brought_along)
{
    knew_another_one();
    fetch_all_after_a_move("ok -1 0 3 0 3 'c l' 3 '{\"limit\":1}'");
    CALL_BEGINS("hello define ");
    EXPECT(kept(), "l 3 {\"limit\":1}\n");
}

/* Before it is reached, it still knows whose they are. */
Test(session_news, anothers_changes_stay_so_while_it_is_not_reached)
{
    knew_another_one();
    restart();
    fetch_all_after_a_move("ok -1 0 3 0 3 'c l' 3 '{\"limit\":1}'");
    CALL_BEGINS("hello define ");
    EXPECT(kept(), "l 3 {\"limit\":1}\n");
}

Test(session_news, the_floor_stays_as_a_sentinel_is_replaced)
{
    say_sentinels("a", "b");
    follow_undoing();
    restart_with_sentinels("b", "c");
    EXPECT(kept(), "floor 10 HERE\nl 4 {\"limit\":0}\np 12 {\"paused\":true}\n");
    fetch_all_after_a_move("ok -1 0 3 0 3 'c s' 3 '{\"limit\":1}'");
    CALL("hello change 10 3 l 4 {\"limit\":0} p 12 {\"paused\":true} s 10 {}");
}

/* It may have moved. */
Test(session_news, changes_move_with_their_database)
{
    knew_another_one();
    begin_after_a_move("41000"); /* in a grace */
    answer("ok -1 41000 0 0");
    CALL("hello change 0 0 l 4 {\"limit\":0} p 12 {\"paused\":true}");
    EXPECT(kept(), "l 4 {\"limit\":0}\np 12 {\"paused\":true}\n");
}

/* ---- definitions ---- */

/* Our own definition is told again, and gets that verdict. */
static void somebody_stores(const char *verdict)
{
    static unsigned number;
    char row[32], answered[64];
    snprintf(row, sizeof row, "%u 'd s' 0 {}", ++number);
    hear(number, row);
    CALL_BEGINS("hello define s 1 {");
    NO_CALL();
    snprintf(answered, sizeof answered, "ok -1 0 s %s {}", verdict);
    answer(answered);
}

Test(session_news, a_definition_that_differs_may_not_be_used)
{
    go_up();
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    somebody_stores("differs");
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_DIFFERS);
    cr_assert_eq(session_may_use(session, definition("l")), OUTCOME_OK);
    cr_assert_eq(view()->n_differing, 1);
    cr_assert(strstr(notice(), "another definition"));
    somebody_stores("limit");
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    cr_assert_eq(view()->n_differing, 1);
    somebody_stores("same");
    cr_assert_eq(view()->n_differing, 0);
}

static const char sent[] =
    "hello define s %d {\"kind\":\"semaphore\",\"limit\":5,\"select\":\"lru\","
    "\"cooldown\":0,\"keep\":0,\"max-waiters\":1000,\"max-units-per-user\":0,"
    "\"shared\":false,\"items\":[]}";

Test(session_news, a_reload_sends_the_definitions)
{
    char expected[640];
    go_up();
    redefine(5, 1000, 1);
    snprintf(expected, sizeof expected, sent, 1);
    CALL_ANSWERED(expected, "ok -1 0 s differs {}");
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_DIFFERS);
    redefine(5, 1000, 1); /* the same again: what differs may be out of use */
    CALL_ANSWERED(expected, "ok -1 0 s stored {}");
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK);
    redefine(5, 1000, 1);
    NO_CALL();
    redefine(5, 1000, 2);
    cr_assert(strstr(next_call(), "hello define s 2 "));
    cr_assert_eq(session_may_use(session, definition("s")), OUTCOME_OK); /* not known yet */
}
