/* test_core_term.c - leases whose time is limited, by their resource or by themselves, and how long
 * stopping their jobs may take. */
#include "core_fixture.h"

WORLD_SUITE(term);

/* ---- max-hold ---- */

Test(term, max_hold)
{
    one_holder("max-hold=5", "pid=7");
    EXPECT(good_until("A"), "5 gone by 9");
    EXPECT(deadline(), "5");
    EXPECT(tick(4.999), "ok");
    EXPECT(tick(5), "ok; A watch; A stop max-hold");
    EXPECT(deadline(), "8.5");
    EXPECT(tick(8.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A lost max-hold; B granted d=0");
    EXPECT(good_until("B"), "13.5 gone by 17.5");
}

Test(term, max_hold_without_a_client)
{
    one_holder("max-hold=5", "pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(tick(5), "ok; A signal 15");
    EXPECT(tick(8), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

Test(term, max_hold_of_the_connection)
{
    one_holder("max-hold=5", "");
    EXPECT(tick(5), "ok; A stop max-hold");
    EXPECT(tick(8.5), "ok; A lost max-hold; B granted d=0");
}

Test(term, max_hold_with_warn)
{
    one_holder("max-hold=5 on-lost=warn", "pid=7");
    EXPECT(tick(5), "ok; A lost max-hold; B granted d=0");
}

/* The shortest of its resources'. */
Test(term, max_hold_of_several)
{
    given("lock a max-hold=9", "lock b", "lock c max-hold=4", "ann has A: a b c",
        "ann waits B: a b c");
    EXPECT(deadline(), "4");
    EXPECT(end_lease("ann", "A"), "ok; B granted a=0 b=0 c=0");
    EXPECT(deadline(), "4");
}

/* A reload changes nothing for present holders. */
Test(term, max_hold_changed_by_a_reload)
{
    one_holder("max-hold=5", "");
    EXPECT(define("lock d max-hold=1 kill-after=3"), "ok");
    EXPECT(tick(2), "ok");
    EXPECT(deadline(), "5");
    EXPECT(tick(5), "ok; A stop max-hold");
}

/* A late tick: from when it is noticed, the job has all its time. */
Test(term, max_hold_noticed_late)
{
    one_holder("max-hold=5", "pid=7");
    EXPECT(tick(20), "ok; A watch; A stop max-hold");
    EXPECT(deadline(), "23.5");
}

/* ---- ttl ---- */

Test(term, ttl_runs_out)
{
    one_holder("", "ttl=5");
    EXPECT(good_until("A"), "5 gone by 9");
    EXPECT(tick(5), "ok; A stop expired; B granted d=0");
    EXPECT(lease_state("A"), "gone");
}

/* Even with warn the event is `expired`. */
Test(term, ttl_runs_out_warn)
{
    one_holder("on-lost=warn", "ttl=5");
    EXPECT(tick(5), "ok; A stop expired; B granted d=0");
}

Test(term, renewed)
{
    one_holder("", "ttl=5");
    EXPECT(tick(4), "ok");
    EXPECT(renew("A", 0), "ok");
    EXPECT(deadline(), "9");
    EXPECT(tick(8.999), "ok");
    EXPECT(renew("A", 2), "ok");
    EXPECT(deadline(), "10.999");
    EXPECT(renew("A", 0), "ok");
    EXPECT(deadline(), "10.999");
    EXPECT(renew("A", 100), "ok");
    EXPECT(deadline(), "108.999");
    EXPECT(renew("A", 1), "ok");
    EXPECT(tick(9.999), "ok; A stop expired; B granted d=0");
}

Test(term, renewed_while_away)
{
    one_holder("", "ttl=5");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(tick(4), "ok");
    EXPECT(renew("A", 0), "ok");
    EXPECT(tick(9), "ok; A stop expired unheard; B granted d=0");
}

Test(term, renewed_while_waiting)
{
    given("lock d", "ann has A: d ttl=5", "bob waits B: d ttl=5");
    EXPECT(renew("B", 0), "lost");
    EXPECT(renew("B", 3), "lost");
}

Test(term, only_looked_at)
{
    given("semaphore s limit=2 max-hold=5", "ann has A: s pid=7", "ann has B: s");
    EXPECT(tick(1), "ok");
    EXPECT(renew("A", 0), "ok");
    EXPECT(renew("B", 0), "ok");
    EXPECT(renew("A", 3), "kind");
    EXPECT(renew("B", 3), "kind");
    EXPECT(deadline(), "5");
}

Test(term, never_beyond_max_hold)
{
    one_holder("max-hold=8", "ttl=5");
    EXPECT(tick(4), "ok");
    EXPECT(renew("A", 0), "ok");
    EXPECT(deadline(), "8");
    EXPECT(renew("A", 100), "ok");
    EXPECT(deadline(), "8");
    EXPECT(renew("A", 2), "ok");
    EXPECT(deadline(), "6");
    EXPECT(renew("A", 9), "ok");
    EXPECT(tick(8), "ok; A lost max-hold; B granted d=0");
}

Test(term, a_ttl_longer_than_max_hold)
{
    one_holder("max-hold=8", "ttl=100");
    EXPECT(good_until("A"), "8 gone by 12");
    EXPECT(tick(8), "ok; A lost max-hold; B granted d=0");
}

/* No span is too long. */
Test(term, a_ttl_beyond_the_end_of_time)
{
    one_holder("", "ttl=9223372036");
    EXPECT(deadline(), "never");
    EXPECT(good_until("A"), "never");
    EXPECT(renew("A", 0), "ok");
    EXPECT(good_until("A"), "never");
    EXPECT(renew("A", 9223372036), "ok");
    EXPECT(deadline(), "never");
    EXPECT(renew("A", 5), "ok");
    EXPECT(deadline(), "5");
    EXPECT(renew("A", 9223372036), "ok");
    EXPECT(deadline(), "never");
    EXPECT(renew("A", 1), "ok");
}

/* Those that end at the same instant end by age, and their units go to the next in line. */
Test(term, ties_go_by_age)
{
    given("semaphore s limit=3", "ann has A: s ttl=5", "bob has B: s ttl=5", "cy has C: s ttl=3",
        "di waits D: s:3 wait=5");
    EXPECT(renew("C", 5), "ok");
    EXPECT(tick(5), "ok; A stop expired; B stop expired; C stop expired; D granted s=0,1,2");
}

/* A unit that rests after its ttl ran out. */
Test(term, cooldown_after_the_ttl)
{
    given("lock d cooldown=2", "ann has A: d ttl=5", "bob waits B: d");
    EXPECT(tick(5), "ok; A stop expired");
    EXPECT(tick(7), "ok; B granted d=0");
}

/* ---- stricter and laxer ---- */

Test(term, the_resources_rules)
{
    given("lock d", "lock e kill-after=2 on-lost=term", "lock f kill-after=5 on-lost=warn",
        "ann has A: d");
    EXPECT(stop_rules("A"), "kill 10");
    EXPECT(acquire("ann", "B", "e f"), "ok e=0 f=0");
    EXPECT(stop_rules("B"), "term 2");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "f e d"), "ok f=0 e=0 d=0");
    EXPECT(stop_rules("C"), "kill 2");
}

Test(term, stricter_than_the_resource)
{
    given("semaphore s limit=9 kill-after=5 on-lost=term", "ann has A: s kill-after=2");
    EXPECT(stop_rules("A"), "term 2");
    EXPECT(acquire("ann", "B", "s on-lost=kill"), "ok s=1");
    EXPECT(stop_rules("B"), "kill 5");
    EXPECT(acquire("ann", "C", "s on-lost=term kill-after=5"), "ok s=2");
    EXPECT(stop_rules("C"), "term 5");
    EXPECT(acquire("ann", "D", "s kill-after=0"), "ok s=3");
    EXPECT(stop_rules("D"), "term 0");
}

Test(term, laxer_than_the_resource)
{
    EXPECT(define("semaphore s limit=9 kill-after=5 on-lost=term", "lock d on-lost=kill"), "ok");
    EXPECT(acquire("ann", "A", "s kill-after=6"), "forbidden s");
    EXPECT(acquire("ann", "A", "s on-lost=warn"), "forbidden s");
    EXPECT(acquire("ann", "A", "s d on-lost=term"), "forbidden d");
    EXPECT(acquire("ann", "A", "d s kill-after=6"), "forbidden s");
    EXPECT(acquire("ann", "A", "d s on-lost=kill kill-after=5"), "ok d=0 s=0");
}

/* No patience at all: the signal and SIGKILL at the next tick. */
Test(term, no_patience)
{
    given("lock d kill-after=0", "ann has A: d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(deadline(), "0");
    EXPECT(tick(0), "ok; A signal 9");
    EXPECT(deadline(), "1");
}

/* The margin is a third of kill-after, and at least a second. */
Test(term, margins)
{
    given("semaphore s limit=9 kill-after=12 max-hold=1", "ann has A: s");
    EXPECT(good_until("A"), "1 gone by 17");
    EXPECT(acquire("ann", "B", "s kill-after=3"), "ok s=1");
    EXPECT(good_until("B"), "1 gone by 5");
    EXPECT(acquire("ann", "C", "s kill-after=0"), "ok s=2");
    EXPECT(good_until("C"), "1 gone by 2");
    EXPECT(tick(1), "ok; A stop max-hold; B stop max-hold; C stop max-hold");
    EXPECT(tick(1.5), "ok; C lost max-hold");
    EXPECT(tick(4.5), "ok; B lost max-hold");
    EXPECT(tick(14.999), "ok");
    EXPECT(tick(15), "ok; A lost max-hold");
}
