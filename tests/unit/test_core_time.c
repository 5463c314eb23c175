/* test_core_time.c - waits that end, cooldowns, and the next deadline. */
#include "core_fixture.h"

WORLD_SUITE(time);

Test(time, a_wait_ends)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(deadline(), "never");
    EXPECT(acquire("ann", "A", "d wait=3"), "ok d=0");
    EXPECT(deadline(), "never");
    EXPECT(acquire("bob", "B", "d wait=10"), "waiting");
    EXPECT(acquire("cy", "C", "d wait=5"), "waiting");
    EXPECT(acquire("di", "D", "d"), "waiting");
    EXPECT(deadline(), "5");
    EXPECT(tick(4.999999), "ok");
    EXPECT(tick(5), "ok; C denied timeout");
    EXPECT(deadline(), "10");
    EXPECT(tick(11), "ok; B denied timeout");
    EXPECT(deadline(), "never");
    EXPECT(end_lease("ann", "A"), "ok; D granted d=0");
}

Test(time, granted_in_time)
{
    given("lock d", "ann has A: d", "bob waits B: d wait=5");
    EXPECT(tick(4), "ok");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(deadline(), "never");
    EXPECT(tick(100), "ok");
    EXPECT(lease_state("B"), "granted d=0");
}

/* The wait begins with the request, not with the tick before it. */
Test(time, waits_count_from_the_request)
{
    given("lock d", "ann has A: d");
    EXPECT(tick(7), "ok");
    EXPECT(acquire("bob", "B", "d wait=5"), "waiting");
    EXPECT(deadline(), "12");
    cr_expect_eq(lease_of("B")->asked_at - lease_of("A")->asked_at, 7 * NANOSECONDS_PER_SECOND);
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(deadline(), "never");
}

/* A head that gives up lets those behind it go, in the same tick. */
Test(time, a_timeout_unblocks_those_behind)
{
    given("semaphore s limit=2", "ann has A: s", "bob waits B: s:2 wait=5", "cy waits C: s wait=5");
    EXPECT(tick(5), "ok; B denied timeout; C granted s=1");
}

/* A late tick decides as prompt ones would have. */
Test(time, a_late_tick)
{
    given("lock d cooldown=2", "semaphore s limit=2", "ann has A: d", "bob waits B: d wait=3",
        "cy waits C: d wait=1");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(60), "ok; C denied timeout; B granted d=0");
}

Test(time, a_late_tick_after_the_wait)
{
    given("lock d cooldown=4", "ann has A: d", "bob waits B: d wait=3");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(60), "ok; B denied timeout");
}

/* Free at the very instant at which the wait ends: granted. */
Test(time, free_and_over_at_once)
{
    given("lock d cooldown=3", "ann has A: d", "bob waits B: d wait=3");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(3), "ok; B granted d=0");
}

Test(time, ties_go_by_age)
{
    given("lock d", "ann has A: d", "bob waits B: d wait=5", "cy waits C: d wait=5 priority=9",
        "di waits D: d wait=5");
    EXPECT(tick(5), "ok; B denied timeout; C denied timeout; D denied timeout");
}

Test(time, set_aside_waits_end_too)
{
    given("lock d", "semaphore s limit=3 max-units-per-user=1", "change: pause d",
        "ann waits A: d wait=5", "ann has B: s", "ann waits C: s wait=4");
    EXPECT(tick(4), "ok; C denied timeout");
    EXPECT(tick(5), "ok; A denied timeout");
}

Test(time, a_wait_beyond_the_end_of_time)
{
    given("lock d", "ann has A: d", "bob waits B: d wait=9223372036");
    EXPECT(deadline(), "never");
}

/* ---- cooldown ---- */

Test(time, a_freed_unit_rests)
{
    given("semaphore s limit=2 cooldown=10", "ann has A: s");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("s"), "0/2 free=1 waiting=0+0");
    EXPECT(deadline(), "10");
    EXPECT(acquire("ann", "B", "s"), "ok s=1");
    EXPECT(acquire("ann", "C", "s wait=0"), "would-wait s");
    EXPECT(acquire("bob", "D", "s"), "waiting");
    EXPECT(tick(9), "ok");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(tick(10), "ok; D granted s=0");
    EXPECT(deadline(), "19");
    EXPECT(tick(19), "ok");
    EXPECT(state("s"), "1/2 free=1 waiting=0+0");
}

Test(time, a_client_that_goes_leaves_units_cooling)
{
    given("lock d cooldown=1", "ann has A: d", "bob waits B: d");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(tick(1), "ok; B granted d=0");
}

/* In the limit, a unit that cools counts. */
Test(time, cooling_counts_against_the_limit)
{
    given("semaphore s limit=2 cooldown=10", "ann has A: s:2");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(change("limit s 3"), "ok");
    EXPECT(acquire("ann", "B", "s"), "ok s=2");
    EXPECT(change("limit s 1"), "ok");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "s"), "waiting");
    EXPECT(tick(10), "ok; C granted s=0");
}

Test(time, a_removed_item_does_not_rest)
{
    given("pool g items=a,b select=first cooldown=10", "ann has A: g:2", "change: remove g a");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("g"), "0/1 free=0 waiting=0+0");
    EXPECT(change("remove g b"), "ok");
    EXPECT(deadline(), "never");
    EXPECT(change("reset g"), "ok");
    EXPECT(acquire("ann", "B", "g:2"), "ok g=a,b");
}

Test(time, a_reserved_unit_cools_and_stays_reserved)
{
    given("semaphore s limit=1 cooldown=10", "ann has A: s");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(change("reserve s 0"), "ok");
    EXPECT(acquire("ann", "B", "s"), "waiting");
    EXPECT(tick(10), "ok");
    EXPECT(change("add s 0"), "ok; B granted s=0");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(change("reserve s 0"), "ok");
    EXPECT(change("add s 0"), "ok");
    EXPECT(acquire("ann", "C", "s"), "waiting");
    EXPECT(tick(20), "ok; C granted s=0");
}

/* Units that rest until the same instant are free together: the head that wants both gets them. */
Test(time, free_together)
{
    given("semaphore s limit=2 cooldown=3 order=first-fit max-overtakes=9", "ann has A: s:2",
        "bob waits B: s:2", "cy waits C: s");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(3), "ok; B granted s=0,1");
}
