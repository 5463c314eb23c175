/* test_core_restore.c - leases made again after berthd has died: from what was written down, and
 * from what their clients say. */
#include "core_fixture.h"

WORLD_SUITE(restore);

/* ---- as if nothing had been ---- */

Test(restore, bound_to_processes_and_time)
{
    EXPECT(define("semaphore s limit=3", "pool g items=a,b,c select=first"), "ok");
    EXPECT(acquire("ann", "A", "s:2 g pid=7"), "ok s=0,1 g=a");
    EXPECT(acquire("bob", "B", "g:2 s ttl=9"), "ok g=b,c s=2");
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
    EXPECT(define("lock d", "lock e"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(acquire("bob", "B", "e pid=7"), "ok e=0");
    EXPECT(restart("lock d", "lock e"), "A B; B watch");
    cr_expect(lease_is_away(lease_of("A")));
    EXPECT(grace_until(), "10");
    EXPECT(deadline(), "10");
    EXPECT(reclaim("ann", "A"), "ok d=0");
    EXPECT(reclaim("bob", "B"), "ok e=0");
    EXPECT(reclaim("ann2", "A"), "held");
    EXPECT(deadline(), "never");
    EXPECT(tick(100), "ok");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(restore, everything_about_it)
{
    EXPECT(define("lock d max-priority=9"), "ok");
    EXPECT(acquire("ann", "P", "d"), "ok d=0");
    EXPECT(acquire("ann", "A",
               "d pid=7 signal=2 kill-after=3 holder=x reason=r program=p once=w priority=4 "
               "wait=60"),
        "waiting");
    EXPECT(tick(1), "ok");
    EXPECT(restart("lock d max-priority=9"), "P A; A watch");
    EXPECT(restart("lock d max-priority=9"), "P A; A watch");
    const struct lease *lease = lease_of("A");
    cr_expect_eq(lease->pid, 7);
    cr_expect_eq(lease->process.started, 70);
    cr_expect_eq(lease->signal, 2);
    cr_expect_eq(lease->priority, 4);
    cr_expect_str_eq(lease->holder, "x");
    cr_expect_str_eq(lease->reason, "r");
    cr_expect_str_eq(lease->program, "p");
    EXPECT(stop_rules("A"), "kill 3");
    EXPECT(find_once("ann", "w"), "A");
    EXPECT(acquire("ann", "X", "d holder=x"), "held d");
    EXPECT(reclaim("ann2", "A"), "waiting");
    EXPECT(reclaim("ann", "P"), "ok d=0");
    EXPECT(deadline(), "60");
    EXPECT(tick(60), "ok; A denied timeout");
}

Test(restore, a_wait_that_ends_while_nobody_is_there)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(acquire("ann", "A", "d pid=7"), "ok d=0");
    EXPECT(acquire("bob", "B", "d wait=5"), "waiting");
    EXPECT(acquire("cy", "C", "d"), "waiting");
    EXPECT(restart("lock d"), "A B C; A watch");
    EXPECT(tick(5), "ok; B denied timeout unheard");
    EXPECT(lines("d"), "A | C |");
}

/* The instants were written down, not the spans. */
Test(restore, time_goes_on_while_there_is_no_core)
{
    EXPECT(define("semaphore s limit=3 max-hold=9"), "ok");
    EXPECT(acquire("ann", "A", "s pid=7"), "ok s=0");
    EXPECT(acquire("ann", "T", "s ttl=4"), "ok s=1");
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

/* A resource that has got a max-hold meanwhile: takes nothing away, but is no longer exceeded. */
Test(restore, a_limit_in_time_that_is_new)
{
    EXPECT(define("lock d", "lock e"), "ok");
    EXPECT(acquire("ann", "A", "d pid=7"), "ok d=0");
    EXPECT(acquire("ann", "T", "e ttl=50"), "ok e=0");
    EXPECT(tick(3), "ok");
    EXPECT(restart("lock d max-hold=5", "lock e max-hold=5"), "A T; A watch");
    EXPECT(good_until("A"), "never");
    EXPECT(good_until("T"), "50 gone by 63.3333");
    EXPECT(renew("T", 0), "ok");
    EXPECT(good_until("T"), "5 gone by 18.3333");
}

/* ---- the line ---- */

Test(restore, waiters_keep_their_order)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(acquire("ann", "A", "s pid=7"), "ok s=0");
    EXPECT(acquire("ann", "B", "s pid=8"), "ok s=1");
    EXPECT(acquire("bob", "C", "s"), "waiting");
    EXPECT(acquire("cy", "D", "s:2 priority=3"), "waiting");
    EXPECT(acquire("di", "E", "s"), "waiting");
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
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(acquire("ann", "A", "s:2 pid=7"), "ok s=0,1");
    EXPECT(acquire("bob", "B", "s"), "waiting");
    EXPECT(acquire("cy", "C", "s"), "waiting");
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
    EXPECT(acquire("di", "D", "c wait=0"), "would-wait");
    EXPECT(tick(10), "ok; B granted a=0; C granted b=0 c=0");
    EXPECT(lease_state("A"), "gone");
}

/* Its process is gone: it need not be waited for. */
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
    EXPECT(reclaim("ann", "A"), "waiting");
    EXPECT(process_gone("A"), "ok");
    EXPECT(process_gone("H"), "ok; A granted d=0");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(lease_state("A"), "gone");
}

Test(restore, an_absent_waiter_that_is_taken_away)
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

Test(restore, paused_while_away)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(change("pause d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 d"), "ok");
    EXPECT(lines("d"), "| | A");
    EXPECT(reclaim("ann", "A"), "waiting");
    EXPECT(change("resume d"), "ok; A granted d=0");
}

/* ---- the grace ---- */

Test(restore, the_grace_is_over)
{
    EXPECT(define("semaphore s limit=4"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("ann", "P", "s pid=7"), "ok s=1");
    EXPECT(acquire("ann", "T", "s ttl=60"), "ok s=2");
    EXPECT(acquire("bob", "B", "s"), "ok s=3");
    EXPECT(acquire("cy", "C", "s:2"), "waiting");
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

/* A second death within the grace: they have a new one. */
Test(restore, dies_again_within_the_grace)
{
    EXPECT(define("semaphore s limit=1"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("bob", "B", "s"), "waiting");
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

/* ---- a closed grace ---- */

/* Some may be missing: nothing new at all. */
Test(restore, nothing_new_while_closed)
{
    EXPECT(define("semaphore s limit=3", "lock d"), "ok");
    begin_grace(true, 10);
    EXPECT(acquire("ann", "A", "s wait=0"), "grace");
    EXPECT(acquire("ann", "A", "s"), "waiting");
    EXPECT(acquire("bob", "B", "d wait=5"), "waiting");
    EXPECT(restore("C", "cy id=10 s"), "ok");
    EXPECT(reclaim("cy", "C"), "waiting");
    EXPECT(grace_until(), "10");
    EXPECT(deadline(), "5");
    EXPECT(change("limit s 5"), "ok");
    EXPECT(tick(5), "ok; B denied timeout");
    EXPECT(tick(10), "ok; C granted s=0; A granted s=1");
    EXPECT(grace_until(), "never");
    EXPECT(acquire("di", "D", "s wait=0"), "ok s=2");
}

/* The end of a closed grace is no earlier for anybody's coming back. */
Test(restore, closed_to_the_end)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(true, 10);
    EXPECT(restore("A", "ann id=10 d:1:0:5"), "ok");
    EXPECT(reclaim("ann", "A"), "ok d=0");
    EXPECT(grace_until(), "10");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(acquire("bob", "B", "d"), "waiting");
    EXPECT(tick(10), "ok; B granted d=0");
}

/* All records are lost: what the clients say, checked against each other. */
Test(restore, from_what_clients_say)
{
    EXPECT(define("semaphore s limit=3", "pool g items=a,b,c select=first"), "ok");
    EXPECT(acquire("ann", "A", "s:2 g"), "ok s=0,1 g=a");
    EXPECT(acquire("bob", "B", "s g"), "ok s=2 g=b");
    EXPECT(acquire("cy", "C", "s pid=7"), "waiting");
    EXPECT(acquire("di", "D", "s"), "waiting");
    uint64_t token = token_of("B", "g");
    lose_record("A"), lose_record("B"), lose_record("C"), lose_record("D");
    crash(false);
    EXPECT(define("semaphore s limit=3", "pool g items=a,b,c select=first"), "ok");
    begin_grace(true, 10);
    EXPECT(restore_all(), "");
    EXPECT(reclaim_unknown("di", "D", "s"), "waiting");
    EXPECT(reclaim_unknown("bob", "B", "s:1:2 g:1:b"), "ok s=2 g=b");
    EXPECT(acquire("ed", "E", "s"), "waiting");
    EXPECT(reclaim_unknown("cy", "C", "s pid=7"), "waiting");
    EXPECT(reclaim_unknown("ann", "A", "s:2:0,1 g:1:a"), "ok s=0,1 g=a");
    cr_expect_gt(token_of("B", "g"), token);
    cr_expect_gt(token_of("A", "g"), token_of("B", "g"));
    EXPECT(lines("s"), "B A | C D E |");
    EXPECT(client_gone("bob"), "ok");
    EXPECT(tick(10), "ok; C granted s=2");
}

Test(restore, what_clients_may_not_say)
{
    EXPECT(define("semaphore s limit=3 max-units-per-user=2", "pool g items=a,b", "lock z"), "ok");
    EXPECT(acquire("ann", "A", "s holder=x"), "ok s=0");
    EXPECT(acquire("bob", "B", "s"), "ok s=1");
    EXPECT(acquire("cy", "C", "s"), "ok s=2");
    EXPECT(acquire("ann", "D", "g"), "ok g=a");
    lose_record("A"), lose_record("B"), lose_record("C"), lose_record("D");
    crash(false);
    EXPECT(define("semaphore s limit=2 max-units-per-user=2", "pool g items=a,b", "lock z"), "ok");
    begin_grace(true, 10);
    EXPECT(reclaim_unknown("ann", "A", "s:1:2 holder=x"), "lost"); /* above the limit */
    EXPECT(reclaim_unknown("ann", "A", "g:1:c holder=x"), "lost"); /* no such item */
    EXPECT(reclaim_unknown("ann", "A", "s:2:0,0 holder=x"), "lost"); /* twice the same */
    EXPECT(reclaim_unknown("ann", "A", "s:3:0,1,2"), "impossible s");
    EXPECT(reclaim_unknown("ann", "A", "q:1:0"), "unknown q");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0 on-lost=warn"), "forbidden s");
    EXPECT(state("s"), "0/2 free=2 waiting=0+0");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0 holder=x"), "ok s=0");
    EXPECT(reclaim_unknown("ann", "A", "s:1:1"), "lost"); /* that lease is known */
    EXPECT(reclaim_unknown("bob", "B", "s:1:0"), "lost"); /* somebody has it */
    EXPECT(reclaim_unknown("ann", "B", "s:1:1 holder=x"), "held s");
    EXPECT(reclaim_unknown("bob", "B", "s:1:1"), "ok s=1");
    EXPECT(reclaim_unknown("cy", "C", "s:1:2"), "lost");
    EXPECT(reclaim_unknown("cy", "C", "z:1:0"), "ok z=0");
    EXPECT(tick(10), "ok");
    EXPECT(reclaim_unknown("ann", "D", "g:1:a"), "lost"); /* too late */
}

/* Never over the limit: neither by lies nor together with what is on record. */
Test(restore, unknown_ones_and_the_limit)
{
    EXPECT(define("semaphore s limit=4"), "ok");
    EXPECT(acquire("ann", "A", "s:2"), "ok s=0,1");
    EXPECT(acquire("bob", "B", "s:2"), "ok s=2,3");
    EXPECT(acquire("cy", "C", "s"), "waiting");
    lose_record("B"), lose_record("C");
    crash(false);
    EXPECT(define("semaphore s limit=3"), "ok");
    begin_grace(true, 10);
    EXPECT(restore_all(), "A");
    EXPECT(reclaim_unknown("bob", "B", "s:2:1,2"), "lost");
    EXPECT(reclaim_unknown("bob", "B", "s:2:2,3"), "lost");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(reclaim_unknown("cy", "C", "s:1:2"), "ok s=2");
    EXPECT(state("s"), "3/3 free=0 waiting=0+0");
    EXPECT(reclaim("ann", "A"), "ok s=0,1");
}

Test(restore, unknown_ones_and_the_users_bounds)
{
    EXPECT(define("semaphore s limit=5 max-units-per-user=2", "lock d", "lock e"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("ann", "B", "s"), "ok s=1");
    EXPECT(acquire("bob", "C", "s"), "ok s=2");
    EXPECT(acquire("ann", "D", "d"), "ok d=0");
    EXPECT(acquire("ann", "E", "d"), "waiting");
    EXPECT(acquire("ann", "F", "e"), "ok e=0");
    lose_record("B"), lose_record("C"), lose_record("D"), lose_record("E"), lose_record("F");
    crash(false);
    EXPECT(define("semaphore s limit=5 max-units-per-user=2", "lock d", "lock e",
               "user leases=3 waiters=0"),
        "ok");
    begin_grace(true, 10);
    EXPECT(restore_all(), "A");
    EXPECT(reclaim_unknown("ann", "B", "s:2:1,3"), "lost");
    EXPECT(reclaim_unknown("ann", "B", "s:1:1"), "ok s=1");
    EXPECT(reclaim_unknown("ann", "C", "s:1:2"), "lost");
    EXPECT(reclaim_unknown("ann", "E", "d"), "quota");
    EXPECT(reclaim_unknown("ann", "D", "d:1:0"), "ok d=0");
    EXPECT(reclaim_unknown("ann", "F", "e:1:0"), "quota");
}

/* Its job runs: a pause takes nothing away. But a closed resource has nothing to be had. */
Test(restore, unknown_ones_and_the_pause)
{
    EXPECT(define("lock d", "lock e"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(acquire("ann", "B", "e"), "ok e=0");
    lose_record("A"), lose_record("B");
    crash(false);
    EXPECT(define("lock d", "lock e"), "ok");
    EXPECT(change("pause d"), "ok");
    EXPECT(change("limit e 0"), "ok");
    begin_grace(true, 10);
    EXPECT(reclaim_unknown("ann", "A", "d:1:0"), "ok d=0");
    EXPECT(reclaim_unknown("ann", "B", "e:1:0"), "lost");
}

/* Only ids of earlier runs: nobody makes one up for later. */
Test(restore, ids_that_were_never_given_out)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    lose_record("A");
    crash(false);
    EXPECT(define("semaphore s limit=3"), "ok");
    begin_grace(true, 10);
    EXPECT(acquire("bob", "B", "s"), "waiting");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(reclaim_unknown("bob", "B", "s:1:1"), "lost");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0"), "ok s=0");
}

Test(restore, no_unknown_ones_when_it_is_not_closed)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    lose_record("A");
    crash(false);
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore_all(), "");
    EXPECT(reclaim_unknown("ann", "A", "d:1:0"), "lost");
    EXPECT(acquire("bob", "B", "d"), "ok d=0");
}

/* Their time begins anew. */
Test(restore, unknown_ones_bound_to_time)
{
    EXPECT(define("semaphore s limit=2 max-hold=20"), "ok");
    EXPECT(acquire("ann", "A", "s ttl=9"), "ok s=0");
    EXPECT(acquire("ann", "B", "s pid=7"), "ok s=1");
    EXPECT(tick(5), "ok");
    lose_record("A"), lose_record("B");
    crash(false);
    EXPECT(define("semaphore s limit=2 max-hold=20"), "ok");
    begin_grace(true, 15);
    EXPECT(reclaim_unknown("ann", "A", "s:1:0 ttl=9"), "ok s=0");
    EXPECT(reclaim_unknown("ann", "B", "s:1:1 pid=7"), "ok s=1");
    EXPECT(good_until("A"), "14 gone by 27.3333");
    EXPECT(good_until("B"), "25 gone by 38.3333");
    EXPECT(client_gone("ann"), "ok; B watch");
    EXPECT(tick(14), "ok; A stop expired unheard");
    EXPECT(tick(15), "ok");
    EXPECT(lease_state("B"), "granted s=1");
}

Test(restore, unknown_instances)
{
    EXPECT(define("semaphore t/* limit=2 max-instances=1"), "ok");
    EXPECT(acquire("ann", "A", "t/x"), "ok t/x=0");
    EXPECT(acquire("ann", "B", "t/x"), "ok t/x=1");
    lose_record("A"), lose_record("B");
    crash(false);
    EXPECT(define("semaphore t/* limit=2 max-instances=1"), "ok");
    begin_grace(true, 10);
    EXPECT(reclaim_unknown("ann", "A", "t/x:1:5"), "lost");
    EXPECT(resources(), "");
    EXPECT(reclaim_unknown("ann", "A", "t/x:1:0"), "ok t/x=0");
    EXPECT(reclaim_unknown("ann", "B", "t/y:1:0"), "quota t/y");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(resources(), "");
}

/* ---- the file has changed ---- */

/* Takes nothing away from a holder; nothing new is granted until it fits. */
Test(restore, over_a_lowered_limit)
{
    EXPECT(define("semaphore s limit=4"), "ok");
    EXPECT(acquire("ann", "A", "s:2 pid=7"), "ok s=0,1");
    EXPECT(acquire("bob", "B", "s:2 pid=8"), "ok s=2,3");
    EXPECT(acquire("cy", "C", "s"), "waiting");
    EXPECT(acquire("di", "D", "s:3"), "waiting");
    EXPECT(restart("semaphore s limit=2"), "A B C D=impossible; A watch; B watch");
    EXPECT(state("s"), "4/2 free=0 waiting=1+0");
    EXPECT(reclaim("cy", "C"), "waiting");
    EXPECT(process_gone("A"), "ok");
    EXPECT(state("s"), "2/2 free=0 waiting=1+0");
    EXPECT(process_gone("B"), "ok; C granted s=0");
}

Test(restore, over_a_closed_resource)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("bob", "B", "s:2"), "waiting");
    EXPECT(restart("semaphore s limit=0"), "A B");
    EXPECT(reclaim("ann", "A"), "ok s=0");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(define("semaphore s limit=2"), "ok; B granted s=0,1");
}

Test(restore, over_a_lowered_quota)
{
    EXPECT(define("semaphore s limit=5", "lock d"), "ok");
    EXPECT(acquire("ann", "A", "s:2"), "ok s=0,1");
    EXPECT(acquire("ann", "B", "s"), "ok s=2");
    EXPECT(acquire("ann", "C", "d"), "ok d=0");
    EXPECT(acquire("ann", "D", "d"), "waiting");
    EXPECT(restart("semaphore s limit=5 max-units-per-user=1", "lock d",
               "user leases=1 waiters=0 clients=1"),
        "A B C D");
    EXPECT(reclaim("ann", "A"), "ok s=0,1");
    EXPECT(reclaim("ann", "D"), "waiting");
    EXPECT(acquire("ann", "E", "s"), "quota");
    EXPECT(reclaim("ann", "C"), "ok d=0");
    EXPECT(end_lease("ann", "C"), "ok; D granted d=0");
}

/* A waiter that wants more than its user may ever have. */
Test(restore, beyond_a_lowered_quota)
{
    EXPECT(define("semaphore s limit=5"), "ok");
    EXPECT(acquire("ann", "A", "s:5 pid=7"), "ok s=0,1,2,3,4");
    EXPECT(acquire("bob", "B", "s:3"), "waiting");
    EXPECT(restart("semaphore s limit=5 max-units-per-user=2"), "A B=impossible; A watch");
}

/* Its resource is not in the file any more: it drains. */
Test(restore, a_resource_that_is_gone)
{
    EXPECT(define("lock d", "pool g items=a,b select=first", "lock e"), "ok");
    EXPECT(acquire("ann", "A", "d g pid=7"), "ok d=0 g=a");
    EXPECT(acquire("bob", "B", "g:1 ttl=9"), "ok g=b");
    EXPECT(acquire("cy", "C", "d"), "waiting");
    EXPECT(acquire("cy", "D", "e d"), "waiting");
    EXPECT(restart("lock e"), "A B C=unknown D=unknown; A watch");
    EXPECT(resources(), "e d g");
    EXPECT(acquire("cy", "E", "g"), "unknown g");
    EXPECT(acquire("cy", "E", "e"), "ok e=0");
    EXPECT(restart("lock e"), "A B E; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(resources(), "e g");
    EXPECT(tick(9), "ok; B stop expired unheard");
    EXPECT(resources(), "e");
}

/* ...and is back in the file while it drains. */
Test(restore, a_resource_that_is_gone_and_comes_back)
{
    EXPECT(define("lock d", "pool g items=a,b select=first"), "ok");
    EXPECT(acquire("ann", "A", "d g pid=7"), "ok d=0 g=a");
    EXPECT(restart("lock e"), "A; A watch");
    EXPECT(define("lock e", "lock d", "pool g items=a,b select=first"), "ok");
    EXPECT(resources(), "e d g");
    EXPECT(acquire("bob", "B", "g:2"), "waiting");
    EXPECT(state("g"), "1/2 free=1 waiting=1+0");
    EXPECT(process_gone("A"), "ok; B granted g=a,b");
}

Test(restore, an_item_that_is_gone)
{
    EXPECT(define("pool g items=a,b,c select=first"), "ok");
    EXPECT(acquire("ann", "A", "g:2 pid=7"), "ok g=a,b");
    EXPECT(acquire("bob", "B", "g:2"), "waiting");
    EXPECT(restart("pool g items=c,b"), "A B; A watch");
    EXPECT(state("g"), "2/2 free=0 waiting=1+0");
    EXPECT(lease_state("A"), "granted g=a,b");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(process_gone("A"), "ok; B granted g=c,b");
    EXPECT(change("remove g a"), "unknown");
}

/* Operators' changes are made again before leases are: an item that was removed while it was held
 * still drains, one that was added is still in service. */
Test(restore, items_changed_at_runtime)
{
    EXPECT(define("pool g items=a,b select=first"), "ok");
    EXPECT(change("add g x"), "ok");
    EXPECT(acquire("ann", "A", "g:3 pid=7"), "ok g=a,b,x");
    EXPECT(change("remove g a"), "ok");
    EXPECT(state("g"), "3/2 free=0 waiting=0+0");
    crash(false);
    EXPECT(define("pool g items=a,b select=first"), "ok");
    EXPECT(change("remove g a"), "ok");
    EXPECT(change("add g x"), "ok");
    EXPECT(restore_all(), "A; A watch");
    EXPECT(state("g"), "3/2 free=0 waiting=0+0");
    EXPECT(process_gone("A"), "ok");
    EXPECT(state("g"), "0/2 free=2 waiting=0+0");
    EXPECT(acquire("bob", "B", "g:2"), "ok g=b,x");
    EXPECT(change("reset g"), "ok");
}

Test(restore, units_reserved_at_runtime)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(acquire("ann", "A", "s pid=7"), "ok s=0");
    EXPECT(change("reserve s 0"), "ok");
    crash(false);
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(change("reserve s 0"), "ok");
    EXPECT(restore_all(), "A; A watch");
    EXPECT(acquire("bob", "B", "s:2"), "waiting");
    EXPECT(process_gone("A"), "ok");
    EXPECT(state("s"), "0/2 free=1 waiting=1+0");
    EXPECT(change("add s 0"), "ok; B granted s=0,1");
}

Test(restore, instances)
{
    EXPECT(define("semaphore t/* limit=1 max-instances=2", "user instances=1"), "ok");
    EXPECT(acquire("ann", "A", "t/x"), "ok t/x=0");
    EXPECT(acquire("ann", "B", "t/x"), "waiting");
    EXPECT(acquire("bob", "C", "t/y pid=7"), "ok t/y=0");
    EXPECT(restart("semaphore t/* limit=1 max-instances=1"), "A C B; C watch");
    EXPECT(resources(), "t/x t/y");
    EXPECT(acquire("cy", "D", "t/z"), "quota t/z");
    EXPECT(process_gone("C"), "ok");
    EXPECT(resources(), "t/x");
    EXPECT(reclaim("ann", "B"), "waiting");
    EXPECT(tick(10), "ok; B granted t/x=0");
}

Test(restore, another_kind_of_resource)
{
    EXPECT(define("semaphore s limit=2", "pool g items=a,b select=first"), "ok");
    EXPECT(acquire("ann", "A", "s pid=7"), "ok s=0");
    EXPECT(acquire("bob", "B", "g pid=8"), "ok g=a");
    EXPECT(acquire("cy", "C", "s g pid=9"), "ok s=1 g=b");
    EXPECT(acquire("di", "D", "s"), "waiting");
    EXPECT(restart("pool s items=a,b select=first", "lock g"), "A=kind B=kind C=kind D");
    EXPECT(state("s"), "0/2 free=2 waiting=1+0");
    EXPECT(state("g"), "0/1 free=1 waiting=0+0");
    EXPECT(reclaim("di", "D"), "ok s=a");
}

/* Nothing is left behind of an instance that only a refused record was about. */
Test(restore, refused_instances)
{
    EXPECT(define("semaphore t/* limit=1", "pool u/* items=a max-instances=1"), "ok");
    EXPECT(restore("A", "ann id=10 t/x:2"), "impossible");
    EXPECT(resources(), "");
    EXPECT(restore("A", "ann id=11 t/x:1:a:5"), "kind");
    EXPECT(restore("A", "ann id=12 u/x:1:0:5"), "kind");
    EXPECT(resources(), "");
    EXPECT(restore("A", "ann id=13 z:1:0:5 u/x:1:0:5"), "kind");
    EXPECT(resources(), "");
    EXPECT(restore("A", "ann id=14 u/x:1:a:5 z:1:0:5 z:1:1:5"), "held");
    EXPECT(resources(), "");
    EXPECT(acquire("ann", "B", "u/y"), "ok u/y=a");
}

/* ---- records that cannot be true ---- */

Test(restore, duplicates)
{
    EXPECT(define("semaphore s limit=3", "pool g items=a,b"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann id=10 s:2:0,1:5 g:1:a:6 holder=x pid=7"), "ok; A watch");
    EXPECT(restore("B", "ann id=10 s:1:2:7"), "held"); /* the id */
    EXPECT(restore("B", "ann id=10 s"), "held");
    EXPECT(restore("B", "bob id=11 s:1:1:7"), "held"); /* the unit */
    EXPECT(restore("B", "bob id=11 s:1:2:7 g:1:a:8"), "held");
    EXPECT(restore("B", "ann id=11 s:1:2:7 holder=x"), "held"); /* the identity */
    EXPECT(restore("B", "ann id=11 g holder=x"), "held");
    EXPECT(restore("B", "bob id=11 s:2:2,2:7"), "held"); /* itself */
    EXPECT(restore("B", "bob id=11 s s"), "held");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(state("g"), "1/2 free=1 waiting=0+0");
    EXPECT(restore("C", "bob id=11 s:1:2:7 holder=x"), "ok");
    EXPECT(state("s"), "3/3 free=0 waiting=0+0");
}

Test(restore, slots_beyond_everything)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(restore("A", "ann id=10 s:1:1000000:5 pid=7"), "held");
    EXPECT(restore("A", "ann id=10 s:1:4000000000:5 pid=7"), "held");
    EXPECT(restore("A", "ann id=10 s:2:9,700:5 pid=7"), "ok; A watch");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(acquire("bob", "B", "s:2 wait=0"), "would-wait s");
    EXPECT(acquire("bob", "B", "s:1"), "ok s=0");
    EXPECT(process_gone("A"), "ok");
    EXPECT(acquire("bob", "C", "s:2"), "ok s=1,2");
}

/* A unit that rests since another record's lease is over: resting is no bar, and held it does not
 * rest any more. */
Test(restore, a_unit_that_rests)
{
    EXPECT(define("lock d cooldown=3"), "ok");
    EXPECT(restore("A", "ann id=10 d:1:0:5 pid=7"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(deadline(), "3");
    EXPECT(restore("B", "bob id=11 d:1:0:6 pid=8"), "ok; B watch");
    EXPECT(deadline(), "never");
    EXPECT(acquire("cy", "C", "d"), "waiting");
    EXPECT(tick(3), "ok");
    EXPECT(process_gone("B"), "ok");
    EXPECT(tick(6), "ok; C granted d=0");
}

/* ---- units at rest ---- */

/* As long as without the restart, and no longer. */
Test(restore, units_go_on_resting)
{
    EXPECT(
        define("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first cooldown=9"), "ok");
    EXPECT(acquire("ann", "A", "s g"), "ok s=0 g=a");
    EXPECT(acquire("ann", "B", "s pid=7"), "ok s=1");
    EXPECT(tick(1), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(3), "ok");
    EXPECT(restart("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first cooldown=9"),
        "A=rests B; B watch");
    EXPECT(state("s"), "1/2 free=0 waiting=0+0");
    EXPECT(state("g"), "0/2 free=1 waiting=0+0");
    EXPECT(acquire("bob", "C", "s"), "waiting");
    EXPECT(acquire("bob", "D", "g:2"), "waiting");
    EXPECT(tick(5.999), "ok");
    EXPECT(tick(6), "ok; C granted s=0");
    EXPECT(restart("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first cooldown=9"),
        "A=rests B C D; B watch");
    EXPECT(reclaim("bob", "D"), "waiting");
    EXPECT(tick(10), "ok; D granted g=a,b");
}

Test(restore, rested_while_there_was_no_core)
{
    EXPECT(define("lock d cooldown=2"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(2), "ok");
    EXPECT(restart("lock d cooldown=2"), "A=rested");
    EXPECT(deadline(), "never");
}

/* By the file as it is now. */
Test(restore, another_cooldown)
{
    EXPECT(define("lock d cooldown=5", "lock e cooldown=5", "lock f cooldown=5"), "ok");
    EXPECT(acquire("ann", "A", "d e f"), "ok d=0 e=0 f=0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(tick(1), "ok");
    EXPECT(restart("lock d cooldown=2", "lock e"), "A=rests");
    EXPECT(resources(), "d e");
    EXPECT(acquire("bob", "B", "e"), "ok e=0");
    EXPECT(deadline(), "2");
}

/* Not one that somebody has had since, or that an operator keeps. */
Test(restore, who_rests_no_more)
{
    EXPECT(define("lock d cooldown=5", "pool g items=a,b cooldown=5",
               "semaphore t/* limit=1 cooldown=5"),
        "ok");
    EXPECT(acquire("ann", "A", "d g t/x"), "ok d=0 g=a t/x=0");
    EXPECT(end_lease("ann", "A"), "ok");
    crash(false);
    EXPECT(
        define("lock d cooldown=5", "lock g cooldown=5", "semaphore t/* limit=1 cooldown=5"), "ok");
    EXPECT(restore_all(), "A=rests");
    EXPECT(restore("B", "bob id=3 d:1:0:5 pid=7"), "ok; B watch");
    EXPECT(state("d"), "1/1 free=0 waiting=0+0");
    EXPECT(state("g"), "0/1 free=1 waiting=0+0");
    EXPECT(resources(), "d g t/x");
    EXPECT(tick(5), "ok");
    EXPECT(resources(), "d g");
    EXPECT(lease_state("B"), "granted d=0");
}

/* A record that cannot be true is no harm. */
Test(restore, rests_for_ever)
{
    EXPECT(define("semaphore s limit=1 cooldown=5"), "ok");
    const struct remembered_unit units[] = {{.slot = 0}, {.slot = 4000000000}};
    const struct remembered remembered = {.id = 3,
        .is_held = true,
        .rested_at = NEVER - 1,
        .n_claims = 1,
        .claims = {{.name = "s", .count = 2, .token = 5, .units = units}}};
    struct effects effects = EFFECTS_INIT;
    cr_expect_eq(core_restore_rest(the_core(), &remembered, 1, &effects), 0);
    effects_clear(&effects);
    effects_deinit(&effects);
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
}

/* ---- numbers ---- */

/* Even if the new core was told smaller ones. */
Test(restore, ids_and_tokens_go_on)
{
    EXPECT(define("semaphore s limit=5", "lock d"), "ok");
    for (int i = 0; i < 20; i++) {
        EXPECT(acquire("ann", "A", "s"), "ok s=0");
        EXPECT(end_lease("ann", "A"), "ok");
    }
    EXPECT(acquire("ann", "B", "s d pid=7"), "ok s=0 d=0");
    EXPECT(acquire("ann", "C", "s:2 pid=7"), "ok s=1,2");
    uint64_t id = lease_of("C")->id, token = token_of("C", "s");
    uint64_t old = token_of("B", "d");
    crash(true);
    EXPECT(define("semaphore s limit=5", "lock d"), "ok");
    EXPECT(restore_all(), "B C; B watch; C watch");
    cr_expect_eq(token_of("B", "d"), old);
    cr_expect_eq(token_of("C", "s"), token);
    cr_expect_gt(core_next_number(the_core()), id);
    cr_expect_gt(core_next_number(the_core()), token);
    EXPECT(acquire("bob", "D", "s"), "ok s=3");
    cr_expect_gt(lease_of("D")->id, id);
    cr_expect_gt(token_of("D", "s"), token);
}

/* Those of leases that ended while there was no core, too. */
Test(restore, numbers_of_what_rests)
{
    EXPECT(define("lock d cooldown=5"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    uint64_t id = lease_of("A")->id, token = token_of("A", "d");
    EXPECT(end_lease("ann", "A"), "ok");
    crash(true);
    EXPECT(define("lock d cooldown=5"), "ok");
    EXPECT(tick(5), "ok");
    EXPECT(restore_all(), "A=rested");
    EXPECT(acquire("ann", "B", "d"), "ok d=0");
    cr_expect_gt(lease_of("B")->id, id);
    cr_expect_gt(token_of("B", "d"), token);
}

/* Those of refused records too: they have been given out. */
Test(restore, numbers_of_refused_records)
{
    EXPECT(define("lock d", "pool g items=a"), "ok");
    EXPECT(restore("A", "ann id=5000 g:1:0:7000"), "kind");
    EXPECT(acquire("bob", "B", "d"), "ok d=0");
    cr_expect_gt(lease_of("B")->id, 5000);
    cr_expect_gt(token_of("B", "d"), 7000);
}

/* Smaller ones change nothing. */
Test(restore, numbers_that_are_larger_already)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(restore("A", "ann id=50 s:1:0:80 pid=7"), "ok; A watch");
    EXPECT(restore("B", "ann id=3 s:1:1:70 pid=8"), "ok; B watch");
    EXPECT(lines("s"), "B A | |");
    EXPECT(acquire("bob", "C", "s"), "ok s=2");
    cr_expect_eq(lease_of("C")->id, 100);
    cr_expect_eq(token_of("C", "s"), 81);
    EXPECT(lines("s"), "B A C | |");
}

/* ---- being stopped ---- */

/* The stop begins anew: nobody knows how far it had come. */
Test(restore, stopped_before)
{
    EXPECT(define("lock d kill-after=3", "lock e kill-after=3 max-hold=5"), "ok");
    EXPECT(acquire("ann", "A", "d pid=7"), "ok d=0");
    EXPECT(acquire("bob", "B", "e pid=8"), "ok e=0");
    EXPECT(tick(5), "ok; B watch; B stop max-hold");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(6), "ok");
    EXPECT(
        restart("lock d", "lock e max-hold=5"), "A B; A watch; A signal 15; B watch; B signal 15");
    EXPECT(good_until("B"), "never");
    EXPECT(renew("B", 0), "lost");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked");
    EXPECT(tick(9), "ok; A signal 9; B signal 9");
    EXPECT(process_gone("B"), "ok");
    EXPECT(process_gone("A"), "ok; A lost revoked");
}

Test(restore, stopped_before_and_bound_to_the_connection)
{
    EXPECT(define("lock d kill-after=3"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(revoke("A"), "ok; A stop revoked");
    EXPECT(restart("lock d"), "A");
    EXPECT(tick(1), "ok");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked");
    EXPECT(tick(3), "ok; A lost revoked");
}

/* No record of ours says that: what is bound to time, or only warned, is over at once. */
Test(restore, stopped_before_and_over)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(restore("A", "ann id=10 d:1:0:5 ttl=9 stopping=revoked"), "ok; A lost revoked unheard");
    EXPECT(restore("B", "ann id=11 d:1:0:5 on-lost=warn stopping=max-hold"),
        "ok; B lost max-hold unheard");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0");
}
