/* test_core_client.c - clients going away, leases ended by others, ancestors. */
#include "core_fixture.h"

WORLD_SUITE(client);

/* ---- going away ---- */

static const struct story going_away[] = {
    {"a waiter that goes unblocks",
        {"semaphore s limit=3", "ann has A: s", "bob waits B: s:3", "cy waits C: s",
            "di waits D: s", "bob goes -> ok; C granted s=1; D granted s=2"}},
    {"with nothing", {"lock d", "ann comes", "ann goes", "ann comes"}},
    /* Two connections of one user: one going takes nothing from the other. */
    {"the other connection stays",
        {"semaphore s limit=2", "ann has A: s", "ann2 has B: s", "ann goes",
            "lease B -> granted s=1", "state s -> 1/2 free=1 waiting=0+0"}},
};

Test(client, going_away)
{
    tell(going_away);
}

Test(client, gives_back_what_it_held)
{
    given("semaphore s limit=2", "lock d", "ann has A: s d", "ann has B: s", "bob waits C: d",
        "cy waits D: s:2");
    EXPECT(client_gone("ann"), "ok; C granted d=0; D granted s=0,1");
    EXPECT(lease_state("A"), "gone");
    EXPECT(lease_state("B"), "gone");
}

/* Its own waiters leave first: nothing is granted to a client that is gone. */
Test(client, its_waiters_get_nothing)
{
    given("lock d", "lock e", "ann has A: d", "ann waits B: d", "ann waits C: d e wait=5",
        "bob waits D: d", "bob has E: e");
    EXPECT(client_gone("ann"), "ok; D granted d=0");
    EXPECT(deadline(), "never");
}

/* ---- ended by somebody else ---- */

static const struct story ended_by_somebody_else[] = {
    {"released by another",
        {"lock d", "ann has A: d", "bob waits B: d",
            "ann2 ends A -> ok; A lost released; B granted d=0", "lease A -> gone"}},
    {"cancelled by another",
        {"semaphore s limit=2", "ann has A: s", "bob waits B: s:2", "cy waits C: s",
            "root ends B -> ok; B denied cancelled; C granted s=1"}},
    {"releasing sends no event",
        {"lock d", "ann has A: d", "ann waits B: d", "ann ends B", "ann ends A"}},
};

Test(client, ended_by_somebody_else)
{
    tell(ended_by_somebody_else);
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

static const struct story ancestors[] = {
    {"waiting for one's own parent",
        {"semaphore s limit=3", "ann has P: s:2", "bob has B: s",
            "ann acquires C: s:2 parent=P -> ancestor s",
            "ann acquires C: s:2 parent=P wait=0 -> ancestor s", "ann waits C: s parent=P",
            "bob ends B -> ok; C granted s=2", "ann acquires D: s parent=C -> ancestor s",
            "ann waits D: s"}},
    /* Through a parent that holds none of it. */
    {"waiting for the parent's parent",
        {"lock d", "lock e", "lock f", "ann has P: d", "ann has Q: e parent=P",
            "ann acquires R: f d parent=Q -> ancestor d", "ann acquires R: f parent=Q -> ok f=0",
            "ann acquires S: e parent=R -> ancestor e"}},
    {"a parent that is over is none",
        {"lock d", "ann has P: d", "ann ends P", "ann acquires A: d -> ok d=0",
            "ann waits B: d parent=P", "ann waits C: d parent=nobody"}},
    {"the parent does not block what fits",
        {"semaphore s limit=2", "ann has P: s", "ann has A: s parent=P",
            "ann waits B: s parent=P"}},
    /* A child of the same user runs into that user's quota... */
    {"ancestors and the quota",
        {"semaphore s limit=5 max-units-per-user=2", "ann has P: s:2",
            "ann acquires A: s parent=P -> ancestor s"}},
    /* ...but what another user's ancestor holds does not count towards it (berth run sudo berth
     * run). */
    {"ancestors of another user and the quota",
        {"semaphore s limit=3 max-units-per-user=2", "ann has P: s:2", "cy has C: s",
            "bob waits B: s parent=P", "cy ends C -> ok; B granted s=2",
            "bob acquires D: s:2 parent=P -> ancestor s"}},
};

Test(client, ancestors)
{
    tell(ancestors);
}
