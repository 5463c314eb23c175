/* test_core_quota.c - what one uid may have: units of one resource, and clients, waiters, leases
 * and instances over all. Nobody's quota delays anybody else. */
#include "core_fixture.h"

WORLD_SUITE(quota);

Test(quota, units_per_user)
{
    EXPECT(define("semaphore s limit=5 max-units-per-user=2"), "ok");
    EXPECT(acquire("ann", "A", "s:3"), "impossible s");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("ann2", "B", "s"), "ok s=1");
    EXPECT(acquire("ann", "C", "s wait=0"), "quota s");
    EXPECT(acquire("ann", "C", "s"), "waiting");
    EXPECT(state("s"), "2/5 free=3 waiting=0+1");
    EXPECT(acquire("bob", "D", "s:2"), "ok s=2,3");
    EXPECT(end_lease("ann2", "B"), "ok; C granted s=1");
}

/* At the quota is one thing, a full resource another. */
Test(quota, would_wait_below_the_quota)
{
    given("semaphore s limit=2 max-units-per-user=2", "bob has A: s:2");
    EXPECT(acquire("ann", "B", "s wait=0"), "would-wait s");
    EXPECT(acquire("ann", "B", "s"), "waiting");
    EXPECT(acquire("ann", "C", "s wait=0"), "would-wait s");
    EXPECT(lines("s"), "A | B |");
}

Test(quota, the_refusal_names_the_resource)
{
    given("lock a", "semaphore s limit=3 max-units-per-user=1", "ann has A: s", "bob has B: a");
    EXPECT(acquire("ann", "C", "a s wait=0"), "quota s");
}

/* The first in the line is at the quota: those behind go past. */
Test(quota, set_aside_delays_nobody)
{
    given("semaphore s limit=3 max-units-per-user=1", "ann has A: s", "bob has B: s", "cy has C: s",
        "ann waits D: s", "di waits E: s", "bob waits F: s");
    EXPECT(lines("s"), "A B C | E | D F");
    EXPECT(end_lease("cy", "C"), "ok; E granted s=2");
    EXPECT(end_lease("bob", "B"), "ok; F granted s=1");
    EXPECT(end_lease("ann", "A"), "ok; D granted s=0");
}

/* The place counts again once the quota allows it. */
Test(quota, the_old_place_comes_back)
{
    given("semaphore s limit=2 max-units-per-user=1", "ann has A: s", "bob has B: s",
        "ann waits C: s", "cy waits D: s", "di waits E: s");
    EXPECT(lines("s"), "A B | D E | C");
    EXPECT(end_lease("ann", "A"), "ok; C granted s=0");
}

/* Several units at once never take a user above. */
Test(quota, counts)
{
    given("semaphore s limit=9 max-units-per-user=3", "ann has A: s:2", "ann waits B: s:2",
        "ann has C: s");
    EXPECT(end_lease("ann", "C"), "ok");
    EXPECT(end_lease("ann", "A"), "ok; B granted s=0,1");
}

/* Requests of one user wait in order among themselves. */
Test(quota, one_users_requests_stay_in_order)
{
    given("semaphore s limit=4 max-units-per-user=2", "ann has A: s", "ann has B: s",
        "ann waits C: s", "ann waits D: s priority=1", "ann waits E: s");
    EXPECT(end_lease("ann", "A"), "ok; D granted s=0");
    EXPECT(end_lease("ann", "B"), "ok; C granted s=1");
    EXPECT(end_lease("ann", "D"), "ok; E granted s=0");
}

/* At the quota of one resource: does not block the other one that the request wants. */
Test(quota, set_aside_in_all_queues)
{
    given("semaphore s limit=3 max-units-per-user=1", "lock d", "ann has A: s", "ann waits B: d s",
        "bob has C: d s", "bob waits D: d");
    EXPECT(lines("d"), "C | D | B");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(lines("d"), "C | B D |");
    EXPECT(end_lease("bob", "C"), "ok; B granted d=0 s=0");
}

Test(quota, reload_raises_and_lowers_it)
{
    given("semaphore s limit=9 max-units-per-user=3", "ann has A: s:3", "ann waits B: s",
        "ann waits C: s:3");
    EXPECT(define("semaphore s limit=9 max-units-per-user=4"), "ok; B granted s=3");
    EXPECT(define("semaphore s limit=9 max-units-per-user=2"), "ok; C denied impossible");
    EXPECT(lease_state("A"), "granted s=0,1,2");
    EXPECT(acquire("ann", "D", "s"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; D granted s=0");
    EXPECT(acquire("ann", "E", "s"), "waiting");
    EXPECT(define("semaphore s limit=9"), "ok; E granted s=1");
    EXPECT(define("semaphore s limit=9 max-units-per-user=1"), "ok");
    EXPECT(acquire("ann", "F", "s wait=0"), "quota s");
}

/* ---- bounds over all resources ---- */

Test(quota, clients)
{
    EXPECT(define("lock d", "user clients=2"), "ok");
    EXPECT(connect_client("ann"), "ok");
    EXPECT(connect_client("ann2"), "ok");
    EXPECT(connect_client("ann3"), "quota");
    EXPECT(connect_client("bob"), "ok");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(connect_client("ann3"), "ok");
}

Test(quota, leases_held_and_waiting)
{
    given(
        "semaphore s limit=2", "user leases=3", "ann has A: s", "ann2 has B: s", "ann waits C: s");
    EXPECT(acquire("ann2", "D", "s"), "quota");
    EXPECT(acquire("bob", "D", "s"), "waiting");
    EXPECT(end_lease("ann", "C"), "ok");
    EXPECT(acquire("ann", "E", "s"), "waiting");
    EXPECT(client_gone("ann2"), "ok; D granted s=1");
    EXPECT(acquire("ann", "F", "s"), "waiting");
    EXPECT(acquire("ann", "G", "s"), "quota");
}

Test(quota, waiters)
{
    given("lock d", "lock e", "user waiters=1", "ann has A: d e", "ann waits B: d");
    EXPECT(acquire("ann2", "C", "e"), "quota");
    EXPECT(acquire("ann2", "C", "e wait=0"), "would-wait e");
    EXPECT(acquire("bob", "C", "e"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0; C granted e=0");
    EXPECT(acquire("ann", "D", "e"), "waiting");
    EXPECT(acquire("ann", "E", "e"), "quota");
    EXPECT(end_lease("ann", "D"), "ok");
    EXPECT(acquire("ann", "E", "e wait=5"), "waiting");
    EXPECT(tick(5), "ok; E denied timeout");
    EXPECT(acquire("ann", "F", "e"), "waiting");
}

/* A refusal charges nothing. */
Test(quota, refusals_charge_nothing)
{
    given("lock d max-waiters=1", "user waiters=2 leases=3", "ann has A: d", "ann waits B: d");
    for (int i = 0; i < 5; i++) {
        EXPECT(acquire("ann", "C", "d wait=0"), "would-wait d");
        EXPECT(acquire("ann", "C", "d"), "queue-full d");
        EXPECT(acquire("ann", "C", "none"), "unknown none");
        EXPECT(acquire("ann", "C", "d:7"), "impossible d");
    }
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "d"), "waiting");
}

Test(quota, a_lower_bound_takes_nothing_away)
{
    given("semaphore s limit=3", "user leases=3", "ann has A: s", "ann has B: s");
    EXPECT(define("semaphore s limit=3", "user leases=1"), "ok");
    EXPECT(acquire("ann", "C", "s"), "quota");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "C", "s"), "quota");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "s"), "ok s=0");
}
