/* test_session_layouts.c - a berthd that has the scripts of several layouts follows the data from
 * one to another, forward and back. */
#include "session_fixture.h"

static void know_two_layouts(void)
{
    world_begin();
    session = session_free(session);
    world_layouts.to = 3;
    world_session();
}
TestSuite(session_layouts, .init = know_two_layouts, .fini = world_end);

Test(session_layouts, a_new_database_begins_with_the_oldest)
{
    go_up();
    cr_assert_eq(last_layout, 2);
    cr_assert_eq(view()->layout, 2);
}

Test(session_layouts, the_data_are_newer)
{
    connect_link();
    CALL("hello begin 30000 11000 'this host' 0 0 0 '' '' 0");
    cr_assert_eq(last_layout, 2);
    answer("layout '3'");
    cr_assert_eq(view()->state, SESSION_LISTING);
    say_hello("30000 '0' 1 1");
    cr_assert_eq(last_layout, 3);
    cr_assert_eq(view()->state, SESSION_UP);
    cr_assert_eq(view()->layout, 3);
}

/* It lists what it has. */
Test(session_layouts, an_upgrade_is_finished_while_it_has_leases)
{
    go_up();
    hold("A", "s", "5000 2");
    wait_for(5);
    CALL_ANSWERED("renew 0", "layout '3'");
    HAPPENS("");
    NOTICE("its data have layout 3 now");
    cr_assert_eq(view()->state, SESSION_LISTING);
    say_hello("30000 '0' 0 1");
    cr_assert_eq(view()->state, SESSION_UP);
    cr_assert_eq(last_layout, 3);
    EXPECT(good_for(), "24.950");
}

/* Nothing was touched: what was under way is asked again. */
Test(session_layouts, a_request_is_under_way)
{
    go_up();
    ask("A", "s");
    CALL_ANSWERED("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 3", "layout '3'");
    HAPPENS("");
    begin_hello("30000 '0' 0 1");
    CALL_ANSWERED("hello end ''", "ok -1 0 ''");
    CALL_ANSWERED("renew 0", "ok -1 0 0");
    CALL("acquire $A 0 0 0 7 7 '' i '' 1 s s 1 3");
    cr_assert_eq(last_layout, 3);
}

Test(session_layouts, many_calls_were_under_way)
{
    go_up_and_send_two_calls();
    answer("layout '3'");
    NO_CALL(); /* begin is not sent before the others are over */
    answer("layout '3'");
    say_hello("30000 '0' 0 1");
    cr_assert_eq(last_layout, 3);
    cr_assert_eq(view()->state, SESSION_UP);
}

Test(session_layouts, older_data_come_back)
{
    go_up();
    wait_for(5);
    CALL_ANSWERED("renew 0", "layout '3'");
    say_hello("30000 '0' 0 1");
    wait_for(5);
    CALL("renew 0");
    cr_assert_eq(last_layout, 3);
    answer("layout '2'");
    say_hello("30000 '0' 0 1");
    cr_assert_eq(last_layout, 2);
    cr_assert_eq(view()->layout, 2);
}

/* Also over a connection that breaks: the data that it lists belong to that layout. */
Test(session_layouts, lost_data_begin_as_they_were)
{
    connect_link();
    answer_next("layout '3'");
    say_hello("30000 '0' 1 1");
    reconnect();
    CALL("hello begin 30000 11000 'this host' 0 0 30000 '' '' 0");
    cr_assert_eq(last_layout, 3);
}

Test(session_layouts, neither_of_them)
{
    static const char *const others[] = {"layout '1'", "layout '4'", "layout ''", "layout 'x'"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        connect_link();
        answer_next(others[i]);
        cr_assert_eq(view()->state, SESSION_DOWN);
        cr_assert(strstr(view()->why, "this berthd knows 2 to 3"), "%s", view()->why);
        break_link("gone");
    }
}

/* A server that makes no sense is not called all the time. */
Test(session_layouts, to_and_fro)
{
    connect_link();
    for (int i = 0; i < 3; i++) {
        CALL("hello begin 30000 11000 'this host' 0 0 0 '' '' 0");
        answer(i % 2 ? "layout '2'" : "layout '3'");
    }
    NO_CALL();
    EXPECT(next_deadline(), "1.250");
}
