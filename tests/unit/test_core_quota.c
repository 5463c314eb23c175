/* test_core_quota.c - what one uid may have: units of one resource, and clients, waiters, leases
 * and instances over all. Nobody's quota delays anybody else. */
#include "core_fixture.h"

WORLD_SUITE(quota);

static const struct story stories[] = {
    /* At the quota is one thing, a full resource another. */
    {"would wait below the quota",
        {"semaphore s limit=2 max-units-per-user=2", "bob has A: s:2",
            "ann acquires B: s wait=0 -> would-wait s", "ann waits B: s",
            "ann acquires C: s wait=0 -> would-wait s", "lines s -> A | B |"}},
    {"the refusal names the resource",
        {"lock a", "semaphore s limit=3 max-units-per-user=1", "ann has A: s", "bob has B: a",
            "ann acquires C: a s wait=0 -> quota s"}},
    /* The place counts again once the quota allows it. */
    {"the old place comes back",
        {"semaphore s limit=2 max-units-per-user=1", "ann has A: s", "bob has B: s",
            "ann waits C: s", "cy waits D: s", "di waits E: s", "lines s -> A B | D E | C",
            "ann ends A -> ok; C granted s=0"}},
    /* Several units at once never take a user above. */
    {"counts",
        {"semaphore s limit=9 max-units-per-user=3", "ann has A: s:2", "ann waits B: s:2",
            "ann has C: s", "ann ends C", "ann ends A -> ok; B granted s=0,1"}},
    /* Requests of one user wait in order among themselves. */
    {"one user's requests stay in order",
        {"semaphore s limit=4 max-units-per-user=2", "ann has A: s", "ann has B: s",
            "ann waits C: s", "ann waits D: s priority=1", "ann waits E: s",
            "ann ends A -> ok; D granted s=0", "ann ends B -> ok; C granted s=1",
            "ann ends D -> ok; E granted s=0"}},
    /* At the quota of one resource: does not block the other one that the request wants. */
    {"set aside in all queues",
        {"semaphore s limit=3 max-units-per-user=1", "lock d", "ann has A: s", "ann waits B: d s",
            "bob has C: d s", "bob waits D: d", "lines d -> C | D | B", "ann ends A",
            "lines d -> C | B D |", "bob ends C -> ok; B granted d=0 s=0"}},
    {"reload raises and lowers it",
        {"semaphore s limit=9 max-units-per-user=3", "ann has A: s:3", "ann waits B: s",
            "ann waits C: s:3",
            "reload: semaphore s limit=9 max-units-per-user=4 -> ok; B granted s=3",
            "reload: semaphore s limit=9 max-units-per-user=2 -> ok; C denied impossible",
            "lease A -> granted s=0,1,2", "ann waits D: s", "ann ends A -> ok; D granted s=0",
            "ann waits E: s", "reload: semaphore s limit=9 -> ok; E granted s=1",
            "reload: semaphore s limit=9 max-units-per-user=1",
            "ann acquires F: s wait=0 -> quota s"}},
};

Test(quota, stories)
{
    tell(stories);
}

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

/* ---- bounds over all resources ---- */

static const struct story bounds_over_all_resources[] = {
    {"clients",
        {"lock d", "user clients=2", "ann comes", "ann2 comes", "ann3 comes -> quota", "bob comes",
            "ann goes", "ann3 comes"}},
    {"a lower bound takes nothing away",
        {"semaphore s limit=3", "user leases=3", "ann has A: s", "ann has B: s",
            "reload: semaphore s limit=3; user leases=1", "ann acquires C: s -> quota",
            "ann ends A", "ann acquires C: s -> quota", "ann ends B",
            "ann acquires C: s -> ok s=0"}},
};

Test(quota, bounds_over_all_resources)
{
    tell(bounds_over_all_resources);
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
