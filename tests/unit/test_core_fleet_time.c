/* test_core_fleet_time.c - until when leases of a database are good: a job whose lease could not be
 * kept alive is gone by then, and nothing is stopped for less. */
#include "core_fixture.h"

#include "core/fleet.h"

WORLD_SUITE(fleet_time);

/* One lease bound to the process 7, held from the start, whose client is there. */
static void hold(const char *lease, const char *definition, const char *ask)
{
    EXPECT(define(definition), "ok");
    acquire("ann", lease, ask);
    granted(lease, "1 d:0:1");
    cr_assert_eq(lease_of(lease)->state, LEASE_HELD);
}

/* ---- the rule ---- */

/* kill-after 6: K is 8, so at D - K the client is told, and SIGKILL comes 1 s before D. */
Test(fleet_time, stopped_in_time)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(deadline(), "never"); /* it never was good */
    EXPECT(good(1, 25), "ok");
    EXPECT(good_until("A"), "17 gone by 25");
    EXPECT(stop_at("A"), "17 for 8");
    EXPECT(deadline(), "17");
    EXPECT(tick(16.999), "ok");
    EXPECT(tick(17), "ok; A watch; A stop deadline");
    EXPECT(good_until("A"), "never");
    EXPECT(stop_at("A"), "never for 8");
    EXPECT(deadline(), "24");
    EXPECT(tick(24), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A give-back; A lost deadline");
}

Test(fleet_time, a_client_that_stops_its_job)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(17), "ok; A watch; A stop deadline");
    EXPECT(tick(20), "ok");
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
    EXPECT(tick(60), "ok");
}

Test(fleet_time, without_a_client)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7 signal=2");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(17), "ok; A signal 2");
    EXPECT(deadline(), "23");
    EXPECT(tick(23), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A give-back");
}

/* Its own user's stop may not reach all of it: the deadline does. */
Test(fleet_time, withdrawn_before)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(13), "ok");
    EXPECT(withdraw("A"), "ok; A signal 15");
    EXPECT(deadline(), "17");
    EXPECT(tick(17), "ok; A signal 15");
    EXPECT(tick(19), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A give-back");
}

/* The margin is at least a second, else a third. */
Test(fleet_time, what_a_stop_takes)
{
    hold("A", "lock d kill-after=1.5 database=1", "d pid=7");
    EXPECT(stop_at("A"), "never for 2.5");
    EXPECT(acquire("ann", "B", "d kill-after=0"), "pending; B ask");
    EXPECT(stop_at("B"), "never for 1");
    EXPECT(good(1, 20), "ok");
    EXPECT(stop_at("A"), "17.5 for 2.5");
    EXPECT(stop_at("B"), "19 for 1"); /* what it would be */
    EXPECT(deadline(), "17.5");
}

/* ---- renewals ---- */

Test(fleet_time, a_renewal_puts_it_off)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(16), "ok");
    EXPECT(good(1, 41), "ok");
    EXPECT(tick(17), "ok");
    EXPECT(good_until("A"), "33 gone by 41");
    EXPECT(deadline(), "33");
    EXPECT(tick(32.9), "ok");
    EXPECT(good(1, 57), "ok");
    EXPECT(tick(40), "ok");
    EXPECT(lease_state("A"), "granted d=0");
}

Test(fleet_time, once_it_is_being_stopped_it_goes_on)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(17), "ok; A watch; A stop deadline");
    EXPECT(good(1, 80), "ok");
    EXPECT(deadline(), "24");
    EXPECT(tick(24), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A give-back; A lost deadline");
}

/* A new one, granted after that, is good until the new deadline. */
Test(fleet_time, after_a_renewal)
{
    hold("A", "lock d kill-after=6 database=1", "d");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(17), "ok; A stop deadline");
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
    EXPECT(good(1, 45), "ok");
    EXPECT(acquire("ann", "B", "d"), "pending; B ask");
    EXPECT(granted("B", "2 d:0:2"), "ok; B granted d=0");
    EXPECT(good_until("B"), "37 gone by 45");
}

Test(fleet_time, one_that_comes_too_late)
{
    hold("A", "lock d kill-after=6 database=1", "d");
    EXPECT(tick(10), "ok");
    EXPECT(good(1, 18), "ok; A stop deadline"); /* D - K is now */
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
    EXPECT(acquire("ann", "B", "d"), "pending; B ask");
    EXPECT(granted("B", "2 d:0:2"), "ok; B granted d=0");
    EXPECT(deadline(), "10");
    EXPECT(tick(10), "ok; B stop deadline");
}

/* ---- several ---- */

Test(fleet_time, the_largest_budget_first)
{
    given("semaphore s limit=9 kill-after=3 database=1",
        "semaphore t limit=9 kill-after=9 database=1", "ann asks A: s", "ann asks B: t",
        "ann asks C: s t", "ann asks D: t kill-after=6", "granted A: 1 s:0:1", "granted B: 2 t:0:2",
        "granted C: 3 s:1:3 t:1:3", "granted D: 4 t:2:4");
    EXPECT(good(1, 100), "ok");
    EXPECT(deadline(), "88");
    EXPECT(tick(88), "ok; B stop deadline");
    EXPECT(deadline(), "92");
    EXPECT(tick(92), "ok; D stop deadline");
    EXPECT(deadline(), "96");
    EXPECT(tick(96), "ok; A stop deadline; C stop deadline");
}

/* Each database for itself; one that was never good has no deadline. */
Test(fleet_time, several_databases)
{
    given("lock a kill-after=6 database=1", "lock b kill-after=6 database=2",
        "lock c kill-after=6 database=8", "ann asks A: a", "ann asks B: b", "ann asks C: c",
        "granted A: 1 a:0:1", "granted B: 1 b:0:1", "granted C: 1 c:0:1");
    EXPECT(good(8, 30), "ok");
    EXPECT(good(1, 40), "ok");
    EXPECT(deadline(), "22");
    EXPECT(tick(22), "ok; C stop deadline");
    EXPECT(good_until("A"), "32 gone by 40");
    EXPECT(good_until("B"), "never");
    EXPECT(tick(32), "ok; C give-back; C lost deadline; A stop deadline");
    EXPECT(lease_state("B"), "granted b=0");
}

/* ---- nobody to stop ---- */

Test(fleet_time, a_client_that_is_only_notified)
{
    hold("A", "lock d kill-after=6 on-lost=warn database=1", "d pid=7");
    EXPECT(good(1, 25), "ok");
    EXPECT(stop_at("A"), "25 for 0");
    EXPECT(good_until("A"), "25 gone by 25");
    EXPECT(tick(24.9), "ok");
    EXPECT(tick(25), "ok; A give-back; A lost deadline");
}

Test(fleet_time, bound_to_time)
{
    hold("A", "lock d kill-after=6 database=1", "d ttl=90");
    EXPECT(good(1, 25), "ok");
    EXPECT(stop_at("A"), "25 for 0");
    cr_expect_eq(lease_own_until(lease_of("A")), lease_of("A")->granted_at + 90000000000);
    EXPECT(renew("A", 50), "ok");
    EXPECT(tick(25), "ok; A give-back; A lost deadline");
}

Test(fleet_time, a_job_that_gets_one_signal)
{
    hold("A", "lock d kill-after=6 on-lost=term database=1", "d pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(17), "ok; A signal 15");
    EXPECT(tick(23), "ok; A give-back; A lost deadline unheard");
}

/* ---- with max-hold ---- */

Test(fleet_time, the_earlier_of_both)
{
    hold("A", "lock d max-hold=30 kill-after=6 database=1", "d");
    EXPECT(good_until("A"), "30 gone by 38");
    EXPECT(good(1, 25), "ok");
    EXPECT(good_until("A"), "17 gone by 25");
    EXPECT(good(1, 60), "ok");
    EXPECT(good_until("A"), "30 gone by 38");
    EXPECT(tick(30), "ok; A stop max-hold");
    EXPECT(tick(31), "ok");
    EXPECT(good(1, 32), "ok"); /* is being stopped already, in time */
    EXPECT(deadline(), "37");
}

/* ---- a late tick: the host slept ---- */

Test(fleet_time, hurried)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(20), "ok; A watch; A stop deadline");
    EXPECT(deadline(), "24");
    EXPECT(tick(24), "ok; A signal 9");
}

Test(fleet_time, past_the_deadline)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 25), "ok");
    EXPECT(tick(70), "ok; A watch; A stop deadline; A signal 9");
    EXPECT(deadline(), "71");
}

/* ---- what the database takes away ---- */

Test(fleet_time, lost)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 90), "ok");
    EXPECT(lost("A"), "ok; A watch; A stop lost");
    EXPECT(lost("A"), "ok");
    EXPECT(lease_state("A"), "granted d=0"); /* until its job is gone */
    EXPECT(granted("A", "1 d:0:1"), "no");
    EXPECT(tick(7), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A give-back; A lost lost");
}

Test(fleet_time, lost_by_a_client_that_is_only_notified)
{
    hold("A", "lock d on-lost=warn database=1", "d");
    EXPECT(lost("A"), "ok; A give-back; A lost lost");
}

Test(fleet_time, lost_while_it_is_being_stopped)
{
    hold("A", "lock d kill-after=6 database=1", "d");
    EXPECT(revoke("A"), "ok; A stop revoked");
    EXPECT(lost("A"), "ok");
    EXPECT(tick(7), "ok; A give-back; A lost revoked");
}

Test(fleet_time, lost_past_the_deadline)
{
    hold("A", "lock d kill-after=6 database=1", "d pid=7");
    EXPECT(good(1, 15), "ok");
    EXPECT(tick(6.9), "ok");
    EXPECT(lost("A"), "ok; A watch; A stop lost");
    EXPECT(deadline(), "13.9"); /* 7 s later: no later than it would have been */
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
}

/* Nothing that is not held is lost. */
Test(fleet_time, lost_before_it_is_held)
{
    given("lock d database=1", "ann asks A: d");
    EXPECT(lost("A"), "ok");
    EXPECT(lease_state("A"), "waiting");
    EXPECT(good(1, 1), "ok");
    EXPECT(tick(50), "ok");
    EXPECT(granted("A", "1 d:0:1"), "ok; A granted d=0");
}
