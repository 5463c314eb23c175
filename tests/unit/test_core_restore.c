/* test_core_restore.c - leases made again from their records: holders, waiters in order, clients
 * that come back, and until when. */
#include "core_fixture.h"

WORLD_SUITE(restore);

/* ---- as if nothing had been ---- */

static const struct story as_if_nothing_had_been[] = {
    {"a wait that ends while its client is absent",
        {"lock d", "ann has A: d pid=7", "bob waits B: d wait=5", "cy waits C: d",
            "restart: lock d -> A B C; A watch", "at 5 -> ok; B denied timeout unheard",
            "lines d -> A | C |"}},
    /* A lease keeps the max-hold with which it was granted, also none. */
    {"a limit in time that is new",
        {"lock d", "lock e", "lock f max-hold=90", "ann has A: d pid=7", "ann has T: e ttl=50",
            "ann has U: f ttl=50", "at 3",
            "restart: lock d max-hold=5; lock e max-hold=5; lock f -> A T U; A watch",
            "restart: lock d max-hold=5; lock e max-hold=5; lock f -> A T U; A watch",
            "good-until A -> never", "renew T: 100", "good-until T -> 103 gone by 116.333",
            "renew U: 100", "good-until U -> 90 gone by 103.333"}},
    {"bound to processes and time",
        {"semaphore s limit=3", "pool g items=a,b,c select=first", "ann has A: s:2 g pid=7",
            "bob has B: g:2 s ttl=9", "at 1",
            "restart: semaphore s limit=3; pool g items=a,b,c select=first -> A B; A watch",
            "lease A -> granted s=0,1 g=a", "lease B -> granted g=b,c s=2", "grace-until -> never",
            "deadline -> 9", "cy acquires C: s wait=0 -> would-wait s", "cy waits C: s",
            "at 9 -> ok; B stop expired unheard; C granted s=2", "exit A"}},
    /* The instants were written down, not the spans. */
    {"time goes on while there is no core",
        {"semaphore s limit=3 max-hold=9", "ann has A: s pid=7", "ann has T: s ttl=4", "at 2",
            "renew T: 3", "restart: semaphore s limit=3 max-hold=9 -> A T; A watch",
            "good-until A -> 9 gone by 22.3333", "good-until T -> 5 gone by 18.3333", "renew T: 0",
            "deadline -> 5", "renew T: 100", "deadline -> 9",
            "at 9 -> ok; A signal 15; T lost max-hold unheard"}},
};

Test(restore, as_if_nothing_had_been)
{
    tell(as_if_nothing_had_been);
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
        "ann waits A: d pid=7 signal=2 kill-after=3 holder=x reason=r program=p once=w priority=4 "
        "wait=60",
        "at 1");
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

/* A lease keeps its max-hold while its own user stops it, too: then all signals reach the whole
 * job. */
Test(restore, a_limit_in_time_during_a_stop)
{
    given("lock d max-hold=9 kill-after=3", "ann has A: d pid=7", "at 5");
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

static const struct story the_line[] = {
    /* In whatever order they are found. */
    {"waiters found in any order",
        {"lock d", "grace 10", "record C: cy id=30 d", "record A: ann id=10 d",
            "record B: bob id=20 d", "record H: di id=5 d:1:0:77 pid=7 -> ok; H watch",
            "lines d -> H | A B C |"}},
    /* Granted by the reclaim itself: no event, and the next in line gets the rest. */
    {"granted by the reclaim",
        {"semaphore s limit=3", "grace 10", "record A: ann id=10 s:2",
            "record B: bob id=20 s ttl=5", "bob reclaims B -> waiting", "at 4",
            "ann reclaims A -> ok s=0,1; B granted s=2", "good-until B -> 9 gone by 22.3333",
            "grace-until -> never"}},
    {"an absent head of several queues blocks all",
        {"lock a", "lock b", "lock c", "grace 10", "record A: ann id=10 a b", "bob waits B: a",
            "cy waits C: b c", "di acquires D: c wait=0 -> ok c=0", "di ends D",
            "at 10 -> ok; B granted a=0; C granted b=0 c=0", "lease A -> gone"}},
    /* Its process is gone: nobody need wait for it. */
    {"an absent waiter whose process dies",
        {"lock d", "grace 10", "record A: ann id=10 d pid=7 -> ok; A watch", "bob waits B: d",
            "exit A -> ok; B granted d=0", "grace-until -> never"}},
    {"a waiter that came back and whose process dies",
        {"lock d", "grace 10", "record H: di id=5 d:1:0:77 pid=7 -> ok; H watch",
            "record A: ann id=10 d pid=8 -> ok; A watch", "ann reclaims A -> waiting; A unwatch",
            "exit H -> ok; A granted d=0", "ann goes -> ok; A watch", "exit A", "lease A -> gone"}},
    {"paused while absent",
        {"lock d", "change: pause d", "grace 10", "record A: ann id=10 d", "lines d -> | | A",
            "ann reclaims A -> waiting", "change: resume d -> ok; A granted d=0"}},
    {"an absent waiter that is revoked",
        {"lock d", "lock e", "grace 10", "record A: ann id=10 d", "record B: bob id=11 d",
            "record C: cy id=12 d", "record D: di id=13 e", "ed waits E: d",
            "revoke A -> ok; A denied cancelled unheard",
            "drop B -> ok; B denied cancelled unheard",
            "ed ends C -> ok; C denied cancelled unheard; E granted d=0",
            "reload: lock d -> ok; D denied unknown unheard", "deadline -> never"}},
    /* A quota: an absent waiter is its user's candidate like any other, and delays nobody else. */
    {"an absent waiter and the quota",
        {"semaphore s limit=3 max-units-per-user=1", "grace 10",
            "record A: ann id=10 s:1:0:5 pid=7 -> ok; A watch", "record B: ann id=11 s",
            "lines s -> A | | B", "bob acquires C: s -> ok s=1", "exit A", "bob2 waits D: s",
            "cy waits E: s", "lines s -> C | B E | D", "ann reclaims B -> ok s=0; E granted s=2"}},
};

Test(restore, the_line)
{
    tell(the_line);
}

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

/* ---- the grace ---- */

static const struct story the_grace[] = {
    /* All are back: nobody waits for its end. */
    {"the grace ends early",
        {"semaphore s limit=2", "grace 10", "record A: ann id=10 s:1:0:5",
            "record B: bob id=11 s:2", "cy waits C: s", "ann reclaims A -> ok s=0",
            "grace-until -> 10", "bob reclaims B -> waiting", "grace-until -> never",
            "bob goes -> ok; C granted s=1"}},
    {"nobody to wait for",
        {"lock d", "grace 10", "grace-until -> never", "ann acquires A: d -> ok d=0"}},
    /* A second death within the grace: a new grace begins. */
    {"dies again within the grace",
        {"semaphore s limit=1", "ann has A: s", "bob waits B: s",
            "restart: semaphore s limit=1 -> A B", "at 6", "bob reclaims B -> waiting",
            "restart: semaphore s limit=1 -> A B", "grace-until -> 16", "at 12",
            "ann reclaims A -> ok s=0", "at 16", "lease B -> gone"}},
    /* Held by the connection of an earlier run, but bound to a process by another connection since.
     */
    {"bound to a process while absent",
        {"lock d", "grace 10", "record A: ann id=10 d:1:0:5 once=w",
            "ann binds A: 8 -> ok; A watch", "at 10", "lease A -> granted d=0", "ann finds w -> A",
            "exit A", "ann finds w -> none"}},
    {"draining in the grace",
        {"semaphore s limit=2", "grace 10", "record A: ann id=10 s:1:0:5", "record B: bob id=11 s",
            "drain", "bob reclaims B -> waiting", "at 10 -> ok; drained",
            "undrain -> ok; B granted s=0"}},
};

Test(restore, the_grace)
{
    tell(the_grace);
}

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

/* ---- being stopped ---- */

static const struct story being_stopped[] = {
    {"stopped before and bound to the connection",
        {"lock d kill-after=3", "ann has A: d", "revoke A -> ok; A stop revoked",
            "restart: lock d -> A", "at 1", "ann reclaims A -> ok d=0; A stop revoked",
            "at 3 -> ok; A lost revoked"}},
    /* No record of ours says that of a lease bound to time, or only warned. */
    {"stopped before and over",
        {"semaphore s limit=2", "record A: ann id=10 s:1:0:5 ttl=9 stopping=revoked",
            "record B: ann id=11 s:1:1:6 pid=7 on-lost=warn stopping=max-hold -> ok; B watch",
            "at 10 -> ok; A lost revoked unheard; B lost max-hold unheard",
            "state s -> 0/2 free=2 waiting=0+0"}},
};

Test(restore, being_stopped)
{
    tell(being_stopped);
}

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
