/* test_session_identity.c - the id of a database's data: kept, said at each hello, and believed
 * only when what was known has been said; and that the data are new. */
#include "session_fixture.h"

SESSION_SUITE(session_identity);

#define ID "0123456789abcdef0123456789abcdef"
#define BEGIN "hello begin 30000 11000 'this host' 0 0 30000"
#define FIRST_BEGIN "hello begin 30000 11000 'this host' 0 0 0" /* nothing was promised yet */

/* What is on disk of it, without the place; "" for nothing. */
static const char *kept(void)
{
    static char id[128];
    struct text out = TEXT_INIT;
    text_add(&out, "");
    session_write_changes(session, &out);
    const char *line = strstr(out.bytes, "= ");
    const char *word = line ? strchr(line + 2, ' ') : NULL;
    snprintf(id, sizeof id, "%.*s", word ? (int)strcspn(word + 1, "\n") : 0, word ? word + 1 : "");
    text_deinit(&out);
    return id;
}

/* The line of that place. */
static void restore(const char *place, const char *id)
{
    char line[256];
    snprintf(line, sizeof line, "= %s %s\n", place, id);
    session_restore_changes(session, line, strlen(line));
}

static bool is_new(void)
{
    struct session_view view;
    session_look(session, &view);
    return view.is_new;
}

/* A new connection's begin says this of what is known. */
static void expect_said(const char *begin)
{
    connect_link();
    CALL(begin);
}

/* A hello whose news are these rows; with a grace of that many ms. `end` is what its end says. */
static void say_hello_in(unsigned grace, const char *begin, const char *news, const char *end)
{
    char text[256];
    expect_said(begin);
    snprintf(text, sizeof text, "ok -1 %u '%ju' 30000 '0' 1", grace, (uintmax_t)incarnation());
    answer(text);
    CALL("hello news 0");
    snprintf(text, sizeof text, "ok -1 %u 9 0 %s", grace, news);
    answer(text);
    cr_assert_eq(strncmp(next_call(), "hello define ", 13), 0);
    snprintf(text, sizeof text, "ok -1 %u", grace);
    answer(text);
    CALL("hello end ''");
    snprintf(text, sizeof text, "ok -1 %u '' %s", grace, end);
    answer(text);
    cr_assert_eq(session_state(), SESSION_UP);
}

Test(session_identity, is_kept_and_said)
{
    go_up();
    EXPECT(kept(), "");
    hear(6, "6 'i " ID "' 0 {}");
    cr_expect(session_changes_changed(session));
    EXPECT(kept(), ID);
    cr_expect_not(session_changes_changed(session));
    hear(7, "7 'i " ID "' 0 {}");
    cr_expect_not(session_changes_changed(session));
    break_link("x");
    expect_said(BEGIN " '' " ID);
}

Test(session_identity, outlives_the_journal)
{
    go_up();
    hear(6, "6 'i " ID "' 0 {}");
    restart_without_journal();
    EXPECT(kept(), ID);
    expect_said(BEGIN " '' " ID);
}

/* Its daemon says so, and that it does not know the id of the data there. */
Test(session_identity, is_that_of_a_place)
{
    go_up();
    hear(6, "6 'i " ID "' 0 {}");
    restart_other_host();
    EXPECT(kept(), ID);
    say_hello_in(0, BEGIN " '' moved", "9 'i ab' 0 {}", "");
    EXPECT(kept(), "ab");
    break_link("x");
    expect_said(BEGIN " '' ab");
}

/* Its server may not be able to say so. */
Test(session_identity, where_it_is_follows)
{
    say_cluster(true);
    expect_said(FIRST_BEGIN " '' '' cluster");
    break_link("x");
    say_cluster(false);
    go_up();
    hear(6, "6 'i " ID "' 0 {}");
    break_link("x");
    say_cluster(true);
    expect_said(BEGIN " '' " ID " cluster");
}

/* Outside a hello the daemon has not said what it knows, and nobody has put its leases back. */
Test(session_identity, another_one_is_believed_in_a_hello)
{
    go_up();
    hear(6, "6 'i " ID "' 0 {}");
    hear(7, "7 'i ab' 0 {}");
    EXPECT(kept(), ID);
    break_link("x");
    say_hello_in(41000, BEGIN " '' " ID, "9 'i ab' 0 {}", "");
    EXPECT(kept(), "ab");
    NOTICE("it has other data than before: it was emptied or replaced");
}

/* The answer belongs to what was asked before. */
Test(session_identity, not_between_two_hellos)
{
    go_up();
    hear(6, "6 'i " ID "' 0 {}");
    message("news 7 0");
    CALL("hello news 6");
    message("hello 0");
    CALL("renew 0");
    answer_later(1, "hello grace");
    answer("ok -1 0 7 0 7 'i ab' 0 {}");
    EXPECT(kept(), ID);
    CALL(BEGIN " '' " ID);
}

Test(session_identity, damage)
{
    static const char *const ids[] = {"", "moved", "AB", "0 1", "x", ID ID "0"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        restore("1", ids[i]);
        EXPECT(kept(), "");
    }
    restore("-1", ID);
    restore("99999999999999999999", ID);
    EXPECT(kept(), "");
    restore("1", ID ID);
    EXPECT(kept(), ID ID);
    go_up();
    hear(6, "6 'i ' 0 {} 7 'i moved' 0 {} 8 'i AB' 0 {}");
    EXPECT(kept(), ID ID);
}

/* ---- new ---- */

Test(session_identity, data_are_new)
{
    say_hello_in(41000, FIRST_BEGIN, "", "1");
    cr_expect(is_new());
    wait_for(6);
    CALL("renew 0");
    answer("ok -1 35000 0");
    cr_expect(is_new());
    break_link("x");
    cr_expect_not(is_new());
}

Test(session_identity, not_when_the_grace_is_over)
{
    say_hello_in(41000, FIRST_BEGIN, "", "1");
    wait_for(6);
    CALL("renew 0");
    answer("ok -1 0 0");
    cr_expect_not(is_new());
    wait_for(6);
    CALL("renew 0");
    answer("ok -1 41000 0"); /* another one */
    cr_expect_not(is_new());
}

/* Somebody has founded it, or knew an id. */
Test(session_identity, not_with_an_id)
{
    say_hello_in(41000, FIRST_BEGIN, "", "1");
    message("news 10 0");
    CALL("hello news 9");
    answer("ok -1 41000 10 0 10 'i " ID "' 0 {}");
    cr_expect_not(is_new());
}

Test(session_identity, not_unless_it_is_said)
{
    say_hello_in(41000, FIRST_BEGIN, "", "");
    cr_expect_not(is_new());
    break_link("x");
    say_hello_in(41000, BEGIN, "", "0");
    cr_expect_not(is_new());
}
