/* test_core_client.c - clients going away, leases ended by others, ancestors. */
#include "core_fixture.h"

WORLD_SUITE(client);

/* ---- going away ---- */

Test(client, gives_back_what_it_held)
{
    given("semaphore s limit=2", "lock d", "ann has A: s d", "ann has B: s", "bob waits C: d",
        "cy waits D: s:2");
    EXPECT(client_gone("ann"), "ok; C granted d=0; D granted s=0,1");
    EXPECT(lease_state("A"), "gone");
    EXPECT(lease_state("B"), "gone");
}

/* Exactly the next one gets it. */
Test(client, exactly_the_next_waiter_gets_it)
{
    given("lock d", "ann has A: d", "bob waits B: d", "cy waits C: d");
    EXPECT(client_gone("ann"), "ok; B granted d=0");
    EXPECT(client_gone("bob"), "ok; C granted d=0");
    EXPECT(client_gone("cy"), "ok");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0");
}

/* Its own waiters leave first: nothing is granted to a client that is gone. */
Test(client, its_waiters_get_nothing)
{
    given("lock d", "lock e", "ann has A: d", "ann waits B: d", "ann waits C: d e wait=5",
        "bob waits D: d", "bob has E: e");
    EXPECT(client_gone("ann"), "ok; D granted d=0");
    EXPECT(deadline(), "never");
}

Test(client, a_waiter_that_goes_unblocks)
{
    given("semaphore s limit=3", "ann has A: s", "bob waits B: s:3", "cy waits C: s",
        "di waits D: s");
    EXPECT(client_gone("bob"), "ok; C granted s=1; D granted s=2");
}

Test(client, with_nothing)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(connect_client("ann"), "ok");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(connect_client("ann"), "ok");
}

/* Two connections of one user: one going takes nothing from the other. */
Test(client, the_other_connection_stays)
{
    given("semaphore s limit=2", "ann has A: s", "ann2 has B: s");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lease_state("B"), "granted s=1");
    EXPECT(state("s"), "1/2 free=1 waiting=0+0");
}

/* ---- ended by somebody else ---- */

Test(client, released_by_another)
{
    given("lock d", "ann has A: d", "bob waits B: d");
    EXPECT(end_lease("ann2", "A"), "ok; A lost released; B granted d=0");
    EXPECT(lease_state("A"), "gone");
}

Test(client, cancelled_by_another)
{
    given("semaphore s limit=2", "ann has A: s", "bob waits B: s:2", "cy waits C: s");
    EXPECT(end_lease("root", "B"), "ok; B denied cancelled; C granted s=1");
}

Test(client, releasing_sends_no_event)
{
    given("lock d", "ann has A: d", "ann waits B: d");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
}

/* Ids are never used again. */
Test(client, ids_are_new)
{
    EXPECT(define("lock d"), "ok");
    uint64_t last = 0;
    for (int i = 0; i < 50; i++) {
        EXPECT(acquire("ann", "A", "d"), "ok d=0");
        cr_assert_gt(lease_of("A")->id, last);
        last = lease_of("A")->id;
        EXPECT(end_lease("ann", "A"), "ok");
        EXPECT(acquire("ann", "A", "d:2"), "impossible d");
    }
    cr_expect_null(core_find_lease(the_core(), last));
    cr_expect_null(core_find_lease(the_core(), 0));
}

/* ---- ancestors ---- */

Test(client, waiting_for_ones_own_parent)
{
    given("semaphore s limit=3", "ann has P: s:2", "bob has B: s");
    EXPECT(acquire("ann", "C", "s:2 parent=P"), "ancestor s");
    EXPECT(acquire("ann", "C", "s:2 parent=P wait=0"), "ancestor s");
    EXPECT(acquire("ann", "C", "s parent=P"), "waiting");
    EXPECT(end_lease("bob", "B"), "ok; C granted s=2");
    EXPECT(acquire("ann", "D", "s parent=C"), "ancestor s");
    EXPECT(acquire("ann", "D", "s"), "waiting");
}

/* Through a parent that holds none of it. */
Test(client, waiting_for_the_parents_parent)
{
    given("lock d", "lock e", "lock f", "ann has P: d", "ann has Q: e parent=P");
    EXPECT(acquire("ann", "R", "f d parent=Q"), "ancestor d");
    EXPECT(acquire("ann", "R", "f parent=Q"), "ok f=0");
    EXPECT(acquire("ann", "S", "e parent=R"), "ancestor e");
}

Test(client, a_parent_that_is_over_is_none)
{
    given("lock d", "ann has P: d");
    EXPECT(end_lease("ann", "P"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(acquire("ann", "B", "d parent=P"), "waiting");
    EXPECT(acquire("ann", "C", "d parent=nobody"), "waiting");
}

Test(client, the_parent_does_not_block_what_fits)
{
    given(
        "semaphore s limit=2", "ann has P: s", "ann has A: s parent=P", "ann waits B: s parent=P");
}

/* A child of the same user runs into that user's quota... */
Test(client, ancestors_and_the_quota)
{
    given("semaphore s limit=5 max-units-per-user=2", "ann has P: s:2");
    EXPECT(acquire("ann", "A", "s parent=P"), "ancestor s");
}

/* ...but what another user's ancestor holds does not count towards it (berth run sudo berth
 * run). */
Test(client, ancestors_of_another_user_and_the_quota)
{
    given("semaphore s limit=3 max-units-per-user=2", "ann has P: s:2", "cy has C: s",
        "bob waits B: s parent=P");
    EXPECT(end_lease("cy", "C"), "ok; B granted s=2");
    EXPECT(acquire("bob", "D", "s:2 parent=P"), "ancestor s");
}
