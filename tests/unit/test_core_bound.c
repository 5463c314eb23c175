/* test_core_bound.c - what a lease is bound to: its connection, a process, or time. */
#include "core_fixture.h"

WORLD_SUITE(bound);

/* ---- the end of the connection ---- */

static const struct story the_end_of_the_connection[] = {
    {"to the connection",
        {"lock d", "ann has A: d", "bob waits B: d", "ann goes -> ok; B granted d=0"}},
    {"to time",
        {"lock d", "ann has A: d ttl=5", "bob waits B: d", "at 2", "ann goes",
            "lease A -> granted d=0", "deadline -> 5", "at 4.999",
            "at 5 -> ok; A stop expired unheard; B granted d=0"}},
    /* One connection, everything at once: waiters leave first, so nothing is granted to a client
     * that is gone. */
    {"one client with all kinds",
        {"semaphore s limit=4", "lock d", "ann has A: s", "ann has P: s pid=7",
            "ann has T: s ttl=9", "ann has Q: s pid=8", "ann waits W: s pid=9",
            "ann waits V: s ttl=9 wait=3", "bob waits B: s:2", "cy waits C: s",
            "ann goes -> ok; Q watch; P watch", "lines s -> P T Q | B C |",
            "exit P -> ok; B granted s=0,1", "exit Q -> ok; C granted s=3", "deadline -> 9"}},
    {"waiting with a process ends with the connection",
        {"lock d", "ann has A: d", "bob waits B: d pid=7", "cy waits C: d ttl=7", "di waits D: d",
            "bob goes", "cy goes", "ann goes -> ok; D granted d=0"}},
    /* The ttl begins with the grant, not with the request. */
    {"the ttl begins with the grant",
        {"lock d", "ann has A: d", "bob waits B: d ttl=5", "deadline -> never", "at 7",
            "ann ends A -> ok; B granted d=0", "good-until B -> 12 gone by 25.3333",
            "at 12 -> ok; B stop expired", "state d -> 0/1 free=1 waiting=0+0"}},
    /* The client still gets its answers, but its leases are treated as if it had gone. */
    {"half close",
        {"semaphore s limit=4", "ann has A: s", "ann has P: s pid=7", "ann has T: s ttl=9",
            "bob has B: s", "ann waits W: s", "bob waits C: s",
            "ann half-closes -> ok; P watch; C granted s=0", "ann half-closes", "ann goes",
            "lines s -> P T B C | |", "exit P"}},
};

Test(bound, the_end_of_the_connection)
{
    tell(the_end_of_the_connection);
}

Test(bound, to_a_process_that_outlives_the_connection)
{
    given("lock d", "ann has A: d pid=7", "bob waits B: d", "ann goes -> ok; A watch");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(state("d"), "1/1 free=0 waiting=1+0");
    cr_expect(lease_is_detached(lease_of("A")));
    EXPECT(deadline(), "never");
    EXPECT(process_gone("A"), "ok; B granted d=0");
    EXPECT(lease_state("A"), "gone");
}

/* While the client is there, its process is the client's matter. */
Test(bound, to_a_process_whose_client_lives)
{
    given("lock d", "ann has A: d pid=7");
    cr_expect_not(lease_is_detached(lease_of("A")));
    EXPECT(acquire("bob", "B", "d"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
}

/* ---- every order of what may end ---- */

static const struct story every_order_of_what_may_end[] = {
    {"connection then process with another client of the user",
        {"lock d", "ann has A: d pid=7", "ann goes -> ok; A watch", "ann comes", "exit A",
            "ann acquires B: d -> ok d=0"}},
    {"released by another connection while detached",
        {"lock d", "ann has A: d pid=7", "bob waits B: d", "ann goes -> ok; A watch",
            "ann2 ends A -> ok; A lost released unheard; B granted d=0"}},
    {"released with its process alive",
        {"lock d", "ann has A: d pid=7", "ann ends A", "ann goes",
            "state d -> 0/1 free=1 waiting=0+0"}},
    /* Several resources are freed together. */
    {"all units at once",
        {"semaphore s limit=3 cooldown=2", "pool g items=a,b select=first",
            "ann has A: s:2 g pid=7", "bob waits B: g:2", "cy waits C: s:3",
            "ann goes -> ok; A watch", "exit A -> ok; B granted g=a,b",
            "at 2 -> ok; C granted s=0,1,2"}},
};

Test(bound, every_order_of_what_may_end)
{
    tell(every_order_of_what_may_end);
}

/* Watched because it is being stopped: the only way in which a process that has a client is. */
Test(bound, process_then_connection)
{
    given("lock d", "lock e", "ann has A: d e pid=7", "bob waits B: e");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "granted d=0 e=0");
    EXPECT(client_gone("ann"), "ok; B granted e=0");
}

/* ---- back again ---- */

static const struct story back_again[] = {
    {"watched while it is being stopped",
        {"lock d", "ann has A: d pid=7", "ann goes -> ok; A watch", "revoke A -> ok; A signal 15",
            "ann reclaims A -> ok d=0; A stop revoked", "exit A", "ann ends A"}},
    {"another client's lease cannot be had",
        {"lock d", "ann has A: d pid=7", "bob waits B: d", "ann2 reclaims A -> held",
            "bob2 reclaims B -> held", "ann reclaims A -> held", "ann goes -> ok; A watch",
            "ann2 reclaims A -> ok d=0; A unwatch", "ann3 reclaims A -> held"}},
    {"to time and back",
        {"lock d", "ann has A: d ttl=5", "ann goes", "at 3", "ann reclaims A -> ok d=0",
            "deadline -> 5", "at 5 -> ok; A stop expired"}},
};

Test(bound, back_again)
{
    tell(back_again);
}

Test(bound, watched_while_detached)
{
    given("lock d", "ann has A: d pid=7", "ann goes -> ok; A watch");
    EXPECT(reclaim("ann", "A"), "ok d=0; A unwatch");
    cr_expect_not(lease_is_detached(lease_of("A")));
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(reclaim("ann2", "A"), "ok d=0; A unwatch");
    EXPECT(client_gone("ann2"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
}

/* ---- what the lease is counted in while its client is away ---- */

static const struct story what_the_lease_is_counted_in_while_its_client_is_away[] = {
    {"the quota of a detached lease",
        {"semaphore s limit=5 max-units-per-user=2", "user leases=3", "ann has A: s:2 pid=7",
            "ann goes -> ok; A watch", "ann acquires B: s wait=0 -> quota s", "ann waits C: s",
            "ann waits D: s", "ann acquires E: s -> quota", "bob acquires F: s -> ok s=2",
            "exit A -> ok; C granted s=0; D granted s=1", "ann waits E: s"}},
    {"a connection that is gone is not counted",
        {"lock d", "user clients=1", "ann has A: d pid=7", "ann2 comes -> quota",
            "ann goes -> ok; A watch", "ann2 comes", "ann2 reclaims A -> ok d=0; A unwatch"}},
    {"the identity of a detached lease",
        {"semaphore s limit=2", "ann has A: s holder=x pid=7", "ann goes -> ok; A watch",
            "ann acquires B: s holder=x -> held s", "bob acquires C: s holder=x -> ok s=1",
            "exit A", "ann acquires D: s holder=x -> ok s=0"}},
    /* The parent's wrapper is gone, its job is not: the job's child still waits for it. */
    {"a detached ancestor",
        {"lock d", "ann has P: d pid=7", "ann goes -> ok; P watch",
            "ann acquires A: d parent=P -> ancestor d"}},
    {"a resource is removed while its holder is detached",
        {"lock d", "lock e", "ann has A: d pid=7", "ann goes -> ok; A watch", "reload: lock e",
            "resources -> e d", "exit A", "resources -> e"}},
    {"an instance lives as long as its process",
        {"semaphore t/* limit=1", "user instances=1", "ann has A: t/x pid=7",
            "ann goes -> ok; A watch", "ann acquires B: t/y -> quota t/y", "exit A",
            "resources -> ", "ann acquires B: t/y -> ok t/y=0"}},
};

Test(bound, what_the_lease_is_counted_in_while_its_client_is_away)
{
    tell(what_the_lease_is_counted_in_while_its_client_is_away);
}

Test(bound, drained_when_the_last_process_is_gone)
{
    given("lock d", "ann has A: d pid=7", "drain", "ann goes -> ok; A watch");
    EXPECT(process_gone("A"), "ok; drained");
}

/* ---- bind ---- */

static const struct story bind[] = {
    /* Away: the new process is watched at once, and the old one's death does not matter. */
    {"bound while detached",
        {"lock d", "ann has A: d pid=7", "ann goes -> ok; A watch",
            "ann2 binds A: 8 -> ok; A watch", "ann2 goes", "exit A", "lease A -> gone"}},
    /* The process died while the client was there; the lease has another one now. */
    {"bound after its process is gone",
        {"lock d", "ann has A: d pid=7", "revoke A -> ok; A watch; A stop revoked", "exit A",
            "ann binds A: 8 -> ok; A watch", "ann goes -> ok; A signal 15",
            "lease A -> granted d=0"}},
};

Test(bound, bind)
{
    tell(bind);
}

Test(bound, bound_to_a_process_later)
{
    given("lock d", "ann has A: d", "ann binds A: 8");
    cr_expect_eq(lease_of("A")->pid, 8);
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(bound, a_waiter_bound_to_another_process)
{
    given("lock d", "ann has A: d", "bob waits B: d pid=7", "bob binds B: 8");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(client_gone("bob"), "ok; B watch");
    cr_expect_eq(lease_of("B")->process.started, 80);
}

Test(bound, bound_to_the_connection_again)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(bind_to_connection("ann2", "A"), "kind");
    EXPECT(bind_to_connection("ann", "A"), "ok");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(bound, a_lease_bound_to_time_stays_bound_to_time)
{
    given("lock d", "ann has A: d ttl=5");
    EXPECT(bind_to("ann", "A", 8), "kind");
    EXPECT(bind_to_connection("ann", "A"), "kind");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(tick(5), "ok; A stop expired unheard");
}
