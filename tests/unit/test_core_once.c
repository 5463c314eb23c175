/* test_core_once.c - a repeated acquire: it gets the lease that the first one made, for as long as
 * that lives, and the last client has it. */
#include "core_fixture.h"

WORLD_SUITE(once);

/* ---- found by the word ---- */

Test(once, found_as_long_as_the_lease_lives)
{
    given("semaphore s limit=3", "ann has A: s pid=7 once=w", "bob has B: s pid=8 once=w",
        "ann has C: s once=v", "ann waits D: s once=u");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(find_once("bob", "w"), "B");
    EXPECT(find_once("ann", "v"), "C");
    EXPECT(find_once("ann", "u"), "D");
    EXPECT(find_once("bob", "v"), "none");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(find_once("ann", "v"), "none");
    EXPECT(find_once("ann", "u"), "none");
    EXPECT(reclaim("ann", "A"), "ok s=0; A unwatch");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(find_once("ann", "w"), "none");
    EXPECT(acquire("ann", "E", "s pid=7 once=w"), "ok s=0");
    EXPECT(find_once("ann", "w"), "E");
}

/* An earlier version has granted it twice: the later one is meant. */
Test(once, found_in_two_records)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 s:1:0:5 once=w"), "ok");
    EXPECT(restore("B", "ann id=11 s:1:1:6 once=w"), "ok");
    EXPECT(find_once("ann", "w"), "B");
    EXPECT(repeat("ann", "B"), "ok s=1");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(find_once("ann", "w"), "A");
}

/* ---- whose lease it is ---- */

/* The first one may end whenever it likes. */
Test(once, the_later_connection_has_it)
{
    given("semaphore s limit=2", "ann has A: s once=w", "ann has B: s pid=7 once=v");
    EXPECT(repeat("ann2", "A"), "ok s=0");
    EXPECT(repeat("ann2", "B"), "ok s=1");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lines("s"), "A B | |");
    EXPECT(client_gone("ann2"), "ok; B watch");
    EXPECT(lines("s"), "B | |");
}

/* Repeated on its own connection: nothing has changed. */
Test(once, the_same_connection_keeps_it)
{
    given("lock d", "ann has A: d once=w", "bob waits B: d once=w");
    EXPECT(repeat("ann", "A"), "ok d=0");
    EXPECT(repeat("bob", "B"), "waiting");
    EXPECT(client_gone("ann"), "ok; B granted d=0");
    EXPECT(repeat("bob", "B"), "ok d=0");
}

/* An earlier connection's line is read last: it must not end what the later one has. */
Test(once, an_earlier_connection_does_not_get_it)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(connect_client("ann"), "ok");
    EXPECT(acquire("ann2", "A", "d once=w"), "ok d=0");
    EXPECT(acquire("ann2", "B", "d once=v"), "waiting");
    EXPECT(repeat("ann", "A"), "held");
    EXPECT(repeat("ann", "B"), "held");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lines("d"), "A | B |");
}

Test(once, an_earlier_connection_gets_it_when_the_later_is_gone)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(connect_client("ann"), "ok");
    EXPECT(acquire("ann2", "A", "d pid=7 once=w"), "ok d=0");
    EXPECT(client_gone("ann2"), "ok; A watch");
    EXPECT(repeat("ann", "A"), "ok d=0; A unwatch");
}

Test(once, a_waiter_keeps_its_place)
{
    given("lock d", "ann has A: d", "bob waits B: d once=w wait=9", "cy waits C: d");
    EXPECT(repeat("bob2", "B"), "waiting");
    EXPECT(lines("d"), "A | B C |");
    EXPECT(half_close("bob"), "ok");
    EXPECT(client_gone("bob"), "ok");
    EXPECT(lines("d"), "A | B C |");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(client_gone("bob2"), "ok; C granted d=0");
}

/* Only the client that has the lease gets the event of its end, and once. */
Test(once, being_stopped)
{
    given("lock d kill-after=3", "ann has A: d pid=7 once=w");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(repeat("ann", "A"), "ok d=0");
    EXPECT(repeat("ann2", "A"), "ok d=0; A stop revoked");
    EXPECT(repeat("ann2", "A"), "ok d=0");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(end_lease("ann2", "A"), "ok");
}

/* ---- another run ---- */

Test(once, after_a_restart)
{
    given("semaphore s limit=2", "ann has A: s once=w", "ann has B: s pid=7 once=v",
        "ann waits C: s once=u");
    EXPECT(restart("semaphore s limit=2"), "A B C; B watch");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(find_once("ann", "v"), "B");
    EXPECT(find_once("ann", "u"), "C");
    EXPECT(repeat("ann", "A"), "ok s=0");
    EXPECT(repeat("ann", "B"), "ok s=1; B unwatch");
    EXPECT(repeat("ann", "C"), "waiting");
    EXPECT(repeat("ann2", "C"), "waiting");
    EXPECT(client_gone("ann"), "ok; B watch; C granted s=0");
}

/* ---- fleet scope ---- */

Test(once, of_a_database)
{
    given("semaphore s limit=2 database=1", "ann asks A: s once=w");
    EXPECT(repeat("ann", "A"), "pending");
    EXPECT(repeat("ann2", "A"), "pending");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(waits("A", 5, 2), "ok; A place 2");
    EXPECT(repeat("ann2", "A"), "waiting");
    EXPECT(repeat("ann3", "A"), "waiting");
    EXPECT(client_gone("ann2"), "ok");
    EXPECT(granted("A", "5 s:0:7"), "ok; A granted s=0");
    EXPECT(repeat("ann4", "A"), "ok s=0");
    EXPECT(client_gone("ann3"), "ok");
    EXPECT(client_gone("ann4"), "ok; A give-back");
}
