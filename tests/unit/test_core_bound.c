/* test_core_bound.c - what a lease is bound to: its connection, a process, or time. */
#include "core_fixture.h"

WORLD_SUITE(bound);

/* ---- the end of the connection ---- */

Test(bound, to_the_connection)
{
    given("lock d", "ann has A: d", "bob waits B: d");
    EXPECT(client_gone("ann"), "ok; B granted d=0");
}

Test(bound, to_a_process_that_outlives_the_connection)
{
    given("lock d", "ann has A: d pid=7", "bob waits B: d");
    EXPECT(client_gone("ann"), "ok; A watch");
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

Test(bound, to_time)
{
    given("lock d", "ann has A: d ttl=5", "bob waits B: d");
    EXPECT(tick(2), "ok");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(deadline(), "5");
    EXPECT(tick(4.999), "ok");
    EXPECT(tick(5), "ok; A stop expired unheard; B granted d=0");
}

/* One connection, everything at once: waiters leave first, so nothing is granted to a client that
 * is gone. */
Test(bound, one_client_with_all_kinds)
{
    given("semaphore s limit=4", "lock d", "ann has A: s", "ann has P: s pid=7",
        "ann has T: s ttl=9", "ann has Q: s pid=8", "ann waits W: s pid=9",
        "ann waits V: s ttl=9 wait=3", "bob waits B: s:2", "cy waits C: s");
    EXPECT(client_gone("ann"), "ok; Q watch; P watch");
    EXPECT(lines("s"), "P T Q | B C |");
    EXPECT(process_gone("P"), "ok; B granted s=0,1");
    EXPECT(process_gone("Q"), "ok; C granted s=3");
    EXPECT(deadline(), "9");
}

Test(bound, waiting_with_a_process_ends_with_the_connection)
{
    given("lock d", "ann has A: d", "bob waits B: d pid=7", "cy waits C: d ttl=7", "di waits D: d");
    EXPECT(client_gone("bob"), "ok");
    EXPECT(client_gone("cy"), "ok");
    EXPECT(client_gone("ann"), "ok; D granted d=0");
}

/* The ttl begins with the grant, not with the request. */
Test(bound, the_ttl_begins_with_the_grant)
{
    given("lock d", "ann has A: d", "bob waits B: d ttl=5");
    EXPECT(deadline(), "never");
    EXPECT(tick(7), "ok");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(good_until("B"), "12 gone by 25.3333");
    EXPECT(tick(12), "ok; B stop expired");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0");
}

/* ---- every order of what may end ---- */

/* Watched because it is being stopped: the only way in which a process that has a client is. */
Test(bound, process_then_connection)
{
    given("lock d", "lock e", "ann has A: d e pid=7", "bob waits B: e");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "granted d=0 e=0");
    EXPECT(client_gone("ann"), "ok; B granted e=0");
}

Test(bound, connection_then_process_with_another_client_of_the_user)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(connect_client("ann"), "ok");
    EXPECT(process_gone("A"), "ok");
    EXPECT(acquire("ann", "B", "d"), "ok d=0");
}

Test(bound, released_by_another_connection_while_detached)
{
    given("lock d", "ann has A: d pid=7", "bob waits B: d");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(end_lease("ann2", "A"), "ok; A lost released unheard; B granted d=0");
}

Test(bound, released_with_its_process_alive)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0");
}

/* Several resources are freed together. */
Test(bound, all_units_at_once)
{
    given("semaphore s limit=3 cooldown=2", "pool g items=a,b select=first",
        "ann has A: s:2 g pid=7", "bob waits B: g:2", "cy waits C: s:3");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(process_gone("A"), "ok; B granted g=a,b");
    EXPECT(tick(2), "ok; C granted s=0,1,2");
}

/* ---- half-close ---- */

/* The client still gets its answers, but its leases are treated as if it had gone. */
Test(bound, half_close)
{
    given("semaphore s limit=4", "ann has A: s", "ann has P: s pid=7", "ann has T: s ttl=9",
        "bob has B: s", "ann waits W: s", "bob waits C: s");
    EXPECT(half_close("ann"), "ok; P watch; C granted s=0");
    EXPECT(half_close("ann"), "ok");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lines("s"), "P T B C | |");
    EXPECT(process_gone("P"), "ok");
}

/* ---- back again ---- */

Test(bound, watched_while_detached)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(reclaim("ann", "A"), "ok d=0; A unwatch");
    cr_expect_not(lease_is_detached(lease_of("A")));
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(reclaim("ann2", "A"), "ok d=0; A unwatch");
    EXPECT(client_gone("ann2"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(bound, watched_while_it_is_being_stopped)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
}

Test(bound, another_clients_lease_cannot_be_had)
{
    given("lock d", "ann has A: d pid=7", "bob waits B: d");
    EXPECT(reclaim("ann2", "A"), "held");
    EXPECT(reclaim("bob2", "B"), "held");
    EXPECT(reclaim("ann", "A"), "held");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(reclaim("ann2", "A"), "ok d=0; A unwatch");
    EXPECT(reclaim("ann3", "A"), "held");
}

Test(bound, to_time_and_back)
{
    given("lock d", "ann has A: d ttl=5");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(tick(3), "ok");
    EXPECT(reclaim("ann", "A"), "ok d=0");
    EXPECT(deadline(), "5");
    EXPECT(tick(5), "ok; A stop expired");
}

/* ---- what the lease is counted in while its client is away ---- */

Test(bound, the_quota_of_a_detached_lease)
{
    given("semaphore s limit=5 max-units-per-user=2", "user leases=3", "ann has A: s:2 pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(acquire("ann", "B", "s wait=0"), "quota s");
    EXPECT(acquire("ann", "C", "s"), "waiting");
    EXPECT(acquire("ann", "D", "s"), "waiting");
    EXPECT(acquire("ann", "E", "s"), "quota");
    EXPECT(acquire("bob", "F", "s"), "ok s=2");
    EXPECT(process_gone("A"), "ok; C granted s=0; D granted s=1");
    EXPECT(acquire("ann", "E", "s"), "waiting");
}

Test(bound, a_connection_that_is_gone_is_not_counted)
{
    given("lock d", "user clients=1", "ann has A: d pid=7");
    EXPECT(connect_client("ann2"), "quota");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(connect_client("ann2"), "ok");
    EXPECT(reclaim("ann2", "A"), "ok d=0; A unwatch");
}

Test(bound, the_identity_of_a_detached_lease)
{
    given("semaphore s limit=2", "ann has A: s holder=x pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(acquire("ann", "B", "s holder=x"), "held s");
    EXPECT(acquire("bob", "C", "s holder=x"), "ok s=1");
    EXPECT(process_gone("A"), "ok");
    EXPECT(acquire("ann", "D", "s holder=x"), "ok s=0");
}

/* The parent's wrapper is gone, its job is not: the job's child still waits for it. */
Test(bound, a_detached_ancestor)
{
    given("lock d", "ann has P: d pid=7");
    EXPECT(client_gone("ann"), "ok; P watch");
    EXPECT(acquire("ann", "A", "d parent=P"), "ancestor d");
}

Test(bound, drained_when_the_last_process_is_gone)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(drain(true), "ok");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(process_gone("A"), "ok; drained");
}

Test(bound, a_resource_is_removed_while_its_holder_is_detached)
{
    given("lock d", "lock e", "ann has A: d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(define("lock e"), "ok");
    EXPECT(resources(), "e d");
    EXPECT(process_gone("A"), "ok");
    EXPECT(resources(), "e");
}

Test(bound, an_instance_lives_as_long_as_its_process)
{
    given("semaphore t/* limit=1", "user instances=1", "ann has A: t/x pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(acquire("ann", "B", "t/y"), "quota t/y");
    EXPECT(process_gone("A"), "ok");
    EXPECT(resources(), "");
    EXPECT(acquire("ann", "B", "t/y"), "ok t/y=0");
}

/* ---- bind ---- */

Test(bound, bound_to_a_process_later)
{
    given("lock d", "ann has A: d");
    EXPECT(bind_to("ann", "A", 8), "ok");
    cr_expect_eq(lease_of("A")->pid, 8);
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(bound, a_waiter_bound_to_another_process)
{
    given("lock d", "ann has A: d", "bob waits B: d pid=7");
    EXPECT(bind_to("bob", "B", 8), "ok");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(client_gone("bob"), "ok; B watch");
    cr_expect_eq(lease_of("B")->process.started, 80);
}

/* Away: the new process is watched at once, and the old one's death does not matter. */
Test(bound, bound_while_detached)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(bind_to("ann2", "A", 8), "ok; A watch");
    EXPECT(client_gone("ann2"), "ok");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
}

/* The process died while the client was there; the lease has another one now. */
Test(bound, bound_after_its_process_is_gone)
{
    given("lock d", "ann has A: d pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(bind_to("ann", "A", 8), "ok; A watch");
    EXPECT(client_gone("ann"), "ok; A signal 15");
    EXPECT(lease_state("A"), "granted d=0");
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
