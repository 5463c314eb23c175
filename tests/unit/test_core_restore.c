/* test_core_restore.c - leases made again from their records: holders, waiters in order, clients
 * that come back, and until when. */
#include "core_fixture.h"

WORLD_SUITE(restore);

/* ---- as if nothing had been ---- */

Test(restore, bound_to_processes_and_time)
{
    given("semaphore s limit=3", "pool g items=a,b,c select=first", "ann has A: s:2 g pid=7",
        "bob has B: g:2 s ttl=9");
    EXPECT(tick(1), "ok");
    EXPECT(restart("semaphore s limit=3", "pool g items=a,b,c select=first"), "A B; A watch");
    EXPECT(lease_state("A"), "granted s=0,1 g=a");
    EXPECT(lease_state("B"), "granted g=b,c s=2");
    EXPECT(grace_until(), "never");
    EXPECT(deadline(), "9");
    EXPECT(acquire("cy", "C", "s wait=0"), "would-wait s");
    EXPECT(acquire("cy", "C", "s"), "waiting");
    EXPECT(tick(9), "ok; B stop expired unheard; C granted s=2");
    EXPECT(process_gone("A"), "ok");
}

Test(restore, the_client_comes_back)
{
    given("lock d", "lock e", "ann has A: d", "bob has B: e pid=7");
    EXPECT(restart("lock d", "lock e"), "A B; B watch");
    cr_expect(lease_is_detached(lease_of("A")));
    EXPECT(grace_until(), "10");
    EXPECT(deadline(), "10");
    EXPECT(reclaim("ann", "A"), "ok d=0");
    EXPECT(reclaim("bob", "B"), "ok e=0; B unwatch");
    EXPECT(reclaim("ann2", "A"), "held");
    EXPECT(deadline(), "never");
    EXPECT(tick(100), "ok");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(restore, all_members_of_a_record)
{
    given("lock d max-priority=9", "ann has P: d",
        "ann waits A: d pid=7 signal=2 kill-after=3 holder=x reason=r program=p once=w priority=4 wait=60");
    EXPECT(tick(1), "ok");
    EXPECT(restart("lock d max-priority=9"), "P A; A watch");
    EXPECT(restart("lock d max-priority=9"), "P A; A watch");
    const struct lease *lease = lease_of("A");
    cr_expect_eq(lease->pid, 7);
    cr_expect_eq(lease->process.started, 70);
    cr_expect_eq(lease->attributes.signal, 2);
    cr_expect_eq(lease->attributes.priority, 4);
    cr_expect_str_eq(lease->attributes.holder, "x");
    cr_expect_str_eq(lease->attributes.reason, "r");
    cr_expect_str_eq(lease->attributes.program, "p");
    EXPECT(stop_rules("A"), "kill 3");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(acquire("ann", "X", "d holder=x"), "held d");
    EXPECT(reclaim("ann2", "A"), "waiting; A unwatch");
    EXPECT(reclaim("ann", "P"), "ok d=0");
    EXPECT(deadline(), "60");
    EXPECT(tick(60), "ok; A denied timeout");
}

Test(restore, a_wait_that_ends_while_its_client_is_absent)
{
    given("lock d", "ann has A: d pid=7", "bob waits B: d wait=5", "cy waits C: d");
    EXPECT(restart("lock d"), "A B C; A watch");
    EXPECT(tick(5), "ok; B denied timeout unheard");
    EXPECT(lines("d"), "A | C |");
}

/* The instants were written down, not the spans. */
Test(restore, time_goes_on_while_there_is_no_core)
{
    given("semaphore s limit=3 max-hold=9", "ann has A: s pid=7", "ann has T: s ttl=4");
    EXPECT(tick(2), "ok");
    EXPECT(renew("T", 3), "ok");
    EXPECT(restart("semaphore s limit=3 max-hold=9"), "A T; A watch");
    EXPECT(good_until("A"), "9 gone by 22.3333");
    EXPECT(good_until("T"), "5 gone by 18.3333");
    EXPECT(renew("T", 0), "ok");
    EXPECT(deadline(), "5");
    EXPECT(renew("T", 100), "ok");
    EXPECT(deadline(), "9");
    EXPECT(tick(9), "ok; A signal 15; T lost max-hold unheard");
}

/* A lease keeps the max-hold with which it was granted, also none. */
Test(restore, a_limit_in_time_that_is_new)
{
    given("lock d", "lock e", "lock f max-hold=90", "ann has A: d pid=7", "ann has T: e ttl=50",
        "ann has U: f ttl=50");
    EXPECT(tick(3), "ok");
    EXPECT(restart("lock d max-hold=5", "lock e max-hold=5", "lock f"), "A T U; A watch");
    EXPECT(restart("lock d max-hold=5", "lock e max-hold=5", "lock f"), "A T U; A watch");
    EXPECT(good_until("A"), "never");
    EXPECT(renew("T", 100), "ok");
    EXPECT(good_until("T"), "103 gone by 116.333");
    EXPECT(renew("U", 100), "ok");
    EXPECT(good_until("U"), "90 gone by 103.333");
}

/* ... while it is stopped by its own user, too: then all signals reach the whole job. */
Test(restore, a_limit_in_time_during_a_stop)
{
    given("lock d max-hold=9 kill-after=3", "ann has A: d pid=7");
    EXPECT(tick(5), "ok");
    EXPECT(withdraw("A"), "ok; A watch; A stop withdrawn");
    EXPECT(restart("lock d"), "A; A watch");
    EXPECT(tick(8.5), "ok; A signal 9");
    cr_expect_eq(lease_of("A")->stopping, OUTCOME_WITHDRAWN);
    EXPECT(tick(9.5), "ok; A signal 9");
    cr_expect_eq(lease_of("A")->stopping, OUTCOME_MAX_HOLD);
}

/* A wrapper keeps the lease when its main process has ended, and the other way round. */
Test(restore, bound_to_a_process_and_its_wrapper)
{
    given("semaphore s limit=2 kill-after=3", "ann has A: s pid=7 wrapper=8",
        "bob has B: s pid=9 wrapper=10");
    EXPECT(restart("semaphore s limit=2 kill-after=3"), "A B; A watch; B watch");
    EXPECT(process_gone("A"), "ok; A watch");
    cr_expect_eq(lease_bound_process(lease_of("A"))->pid, 8);
    EXPECT(restart("semaphore s limit=2 kill-after=3"), "A B; A watch; B watch");
    EXPECT(process_gone("A"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
    EXPECT(revoke("B"), "ok; B signal 15");
    EXPECT(process_gone("B"), "ok; B watch");
    EXPECT(tick(3), "ok; B signal 9");
    EXPECT(tick(4), "ok; B signal 9");
    EXPECT(process_gone("B"), "ok");
    EXPECT(lease_state("B"), "gone");
}

/* ---- the line ---- */

Test(restore, waiters_keep_their_order)
{
    given("semaphore s limit=2", "ann has A: s pid=7", "ann has B: s pid=8", "bob waits C: s",
        "cy waits D: s:2 priority=3", "di waits E: s");
    EXPECT(restart("semaphore s limit=2"), "A B C D E; A watch; B watch");
    EXPECT(lines("s"), "A B | D C E |");
    EXPECT(acquire("ed", "F", "s priority=3"), "waiting");
    EXPECT(acquire("fi", "G", "s"), "waiting");
    EXPECT(lines("s"), "A B | D F C E G |");
    EXPECT(reclaim("di", "E"), "waiting");
    EXPECT(reclaim("bob", "C"), "waiting");
    EXPECT(reclaim("cy", "D"), "waiting");
    EXPECT(process_gone("A"), "ok");
    EXPECT(process_gone("B"), "ok; D granted s=0,1");
    EXPECT(client_gone("cy"), "ok; F granted s=0; C granted s=1");
    EXPECT(client_gone("bob"), "ok; E granted s=1");
    EXPECT(client_gone("ed"), "ok; G granted s=0");
}

/* In whatever order they are found. */
Test(restore, waiters_found_in_any_order)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("C", "cy id=30 d"), "ok");
    EXPECT(restore("A", "ann id=10 d"), "ok");
    EXPECT(restore("B", "bob id=20 d"), "ok");
    EXPECT(restore("H", "di id=5 d:1:0:77 pid=7"), "ok; H watch");
    EXPECT(lines("d"), "H | A B C |");
}

/* An absent head keeps its place, and those behind it wait. */
Test(restore, an_absent_head_blocks)
{
    given("semaphore s limit=2", "ann has A: s:2 pid=7", "bob waits B: s", "cy waits C: s");
    EXPECT(restart("semaphore s limit=2"), "A B C; A watch");
    EXPECT(reclaim("cy", "C"), "waiting");
    EXPECT(acquire("di", "D", "s"), "waiting");
    EXPECT(acquire("di", "E", "s wait=0"), "would-wait s");
    EXPECT(process_gone("A"), "ok");
    EXPECT(state("s"), "0/2 free=2 waiting=3+0");
    EXPECT(reclaim("bob", "B"), "ok s=0; C granted s=1");
    EXPECT(client_gone("bob"), "ok; D granted s=0");
}

/* Granted by the reclaim itself: no event, and the next in line gets the rest. */
Test(restore, granted_by_the_reclaim)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 s:2"), "ok");
    EXPECT(restore("B", "bob id=20 s ttl=5"), "ok");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(tick(4), "ok");
    EXPECT(reclaim("ann", "A"), "ok s=0,1; B granted s=2");
    EXPECT(good_until("B"), "9 gone by 22.3333");
    EXPECT(grace_until(), "never");
}

Test(restore, an_absent_head_of_several_queues_blocks_all)
{
    EXPECT(define("lock a", "lock b", "lock c"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 a b"), "ok");
    EXPECT(acquire("bob", "B", "a"), "waiting");
    EXPECT(acquire("cy", "C", "b c"), "waiting");
    EXPECT(acquire("di", "D", "c wait=0"), "ok c=0");
    EXPECT(end_lease("di", "D"), "ok");
    EXPECT(tick(10), "ok; B granted a=0; C granted b=0 c=0");
    EXPECT(lease_state("A"), "gone");
}

/* Its process is gone: nobody need wait for it. */
Test(restore, an_absent_waiter_whose_process_dies)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 d pid=7"), "ok; A watch");
    EXPECT(acquire("bob", "B", "d"), "waiting");
    EXPECT(process_gone("A"), "ok; B granted d=0");
    EXPECT(grace_until(), "never");
}

Test(restore, a_waiter_that_came_back_and_whose_process_dies)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("H", "di id=5 d:1:0:77 pid=7"), "ok; H watch");
    EXPECT(restore("A", "ann id=10 d pid=8"), "ok; A watch");
    EXPECT(reclaim("ann", "A"), "waiting; A unwatch");
    EXPECT(process_gone("H"), "ok; A granted d=0");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(restore, an_absent_waiter_that_is_revoked)
{
    EXPECT(define("lock d", "lock e"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 d"), "ok");
    EXPECT(restore("B", "bob id=11 d"), "ok");
    EXPECT(restore("C", "cy id=12 d"), "ok");
    EXPECT(restore("D", "di id=13 e"), "ok");
    EXPECT(acquire("ed", "E", "d"), "waiting");
    EXPECT(revoke("A"), "ok; A denied cancelled unheard");
    EXPECT(drop("B"), "ok; B denied cancelled unheard");
    EXPECT(end_lease("ed", "C"), "ok; C denied cancelled unheard; E granted d=0");
    EXPECT(define("lock d"), "ok; D denied unknown unheard");
    EXPECT(deadline(), "never");
}

/* A quota: an absent waiter is its user's candidate like any other, and delays nobody else. */
Test(restore, an_absent_waiter_and_the_quota)
{
    EXPECT(define("semaphore s limit=3 max-units-per-user=1"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 s:1:0:5 pid=7"), "ok; A watch");
    EXPECT(restore("B", "ann id=11 s"), "ok");
    EXPECT(lines("s"), "A | | B");
    EXPECT(acquire("bob", "C", "s"), "ok s=1");
    EXPECT(process_gone("A"), "ok");
    EXPECT(acquire("bob2", "D", "s"), "waiting");
    EXPECT(acquire("cy", "E", "s"), "waiting");
    EXPECT(lines("s"), "C | B E | D");
    EXPECT(reclaim("ann", "B"), "ok s=0; E granted s=2");
}

Test(restore, paused_while_absent)
{
    given("lock d", "change: pause d");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 d"), "ok");
    EXPECT(lines("d"), "| | A");
    EXPECT(reclaim("ann", "A"), "waiting");
    EXPECT(change("resume d"), "ok; A granted d=0");
}

/* ---- the grace ---- */

Test(restore, the_grace_is_over)
{
    given("semaphore s limit=4", "ann has A: s", "ann has P: s pid=7", "ann has T: s ttl=60",
        "bob has B: s", "cy waits C: s:2");
    EXPECT(restart("semaphore s limit=4"), "A P T B C; P watch");
    EXPECT(acquire("di", "D", "s"), "waiting");
    EXPECT(acquire("di", "E", "s"), "waiting");
    EXPECT(reclaim("bob", "B"), "ok s=3");
    EXPECT(tick(9.999), "ok");
    EXPECT(tick(10), "ok; D granted s=0");
    EXPECT(lines("s"), "P T B D | E |");
    EXPECT(deadline(), "60");
}

/* All are back: nobody waits for its end. */
Test(restore, the_grace_ends_early)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 s:1:0:5"), "ok");
    EXPECT(restore("B", "bob id=11 s:2"), "ok");
    EXPECT(acquire("cy", "C", "s"), "waiting");
    EXPECT(reclaim("ann", "A"), "ok s=0");
    EXPECT(grace_until(), "10");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(grace_until(), "never");
    EXPECT(client_gone("bob"), "ok; C granted s=1");
}

Test(restore, nobody_to_wait_for)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(grace_until(), "never");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
}

/* A second death within the grace: a new grace begins. */
Test(restore, dies_again_within_the_grace)
{
    given("semaphore s limit=1", "ann has A: s", "bob waits B: s");
    EXPECT(restart("semaphore s limit=1"), "A B");
    EXPECT(tick(6), "ok");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(restart("semaphore s limit=1"), "A B");
    EXPECT(grace_until(), "16");
    EXPECT(tick(12), "ok");
    EXPECT(reclaim("ann", "A"), "ok s=0");
    EXPECT(tick(16), "ok");
    EXPECT(lease_state("B"), "gone");
}

/* Held by the connection of an earlier run, but bound to a process by another connection since. */
Test(restore, bound_to_a_process_while_absent)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 d:1:0:5 once=w"), "ok");
    EXPECT(bind_to("ann", "A", 8), "ok; A watch");
    EXPECT(tick(10), "ok");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(process_gone("A"), "ok");
    EXPECT(find_once("ann", "w"), "none");
}

Test(restore, draining_in_the_grace)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 s:1:0:5"), "ok");
    EXPECT(restore("B", "bob id=11 s"), "ok");
    EXPECT(drain(true), "ok");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(tick(10), "ok; drained");
    EXPECT(drain(false), "ok; B granted s=0");
}

/* ---- being stopped ---- */

/* The record was written before the jobs were told: that is not done twice. */
Test(restore, stopped_before)
{
    given("lock d kill-after=3", "lock e kill-after=3 max-hold=5", "ann has A: d pid=7",
        "bob has B: e pid=8");
    EXPECT(tick(5), "ok; B watch; B stop max-hold");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(6), "ok");
    EXPECT(restart("lock d", "lock e max-hold=5"), "A B; A watch; B watch");
    EXPECT(good_until("B"), "never");
    EXPECT(renew("B", 0), "lost");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked");
    EXPECT(tick(9), "ok; A signal 9; B signal 9");
    EXPECT(process_gone("B"), "ok");
    EXPECT(process_gone("A"), "ok; A lost revoked");
}

Test(restore, stopped_before_and_bound_to_the_connection)
{
    given("lock d kill-after=3", "ann has A: d");
    EXPECT(revoke("A"), "ok; A stop revoked");
    EXPECT(restart("lock d"), "A");
    EXPECT(tick(1), "ok");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked");
    EXPECT(tick(3), "ok; A lost revoked");
}

/* No record of ours says that of a lease bound to time, or only warned. */
Test(restore, stopped_before_and_over)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(restore("A", "ann id=10 s:1:0:5 ttl=9 stopping=revoked"), "ok");
    EXPECT(restore("B", "ann id=11 s:1:1:6 pid=7 on-lost=warn stopping=max-hold"), "ok; B watch");
    EXPECT(tick(10), "ok; A lost revoked unheard; B lost max-hold unheard");
    EXPECT(state("s"), "0/2 free=2 waiting=0+0");
}
