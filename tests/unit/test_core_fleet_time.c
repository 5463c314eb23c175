/* test_core_fleet_time.c - until when leases of a database are good: a job whose lease could not be
 * kept alive is gone by then, and nothing is stopped for less. */
#include "core_fixture.h"

#include "core/fleet.h"

WORLD_SUITE(fleet_time);

/* ann has the lock d as A. */
#define ONE_HELD(keys, ask) "lock d database=1 " keys, "ann asks A: d " ask, "granted A: 1 d:0:1"

/* ---- the rule ---- */

static const struct story the_rule[] = {
    {"a client that stops its job",
        {ONE_HELD("kill-after=6", "pid=7"), "good 1: 25", "at 17 -> ok; A watch; A stop deadline",
            "at 20", "ann ends A -> ok; A give-back", "at 60"}},
    {"without a client",
        {ONE_HELD("kill-after=6", "pid=7 signal=2"), "ann goes -> ok; A watch", "good 1: 25",
            "at 17 -> ok; A signal 2", "deadline -> 23", "at 23 -> ok; A signal 9",
            "exit A -> ok; A give-back"}},
    /* The margin is at least a second, else a third. */
    {"what a stop takes",
        {ONE_HELD("kill-after=1.5", "pid=7"), "stop-at A -> never for 2.5",
            "ann asks B: d kill-after=0", "stop-at B -> never for 1", "good 1: 20",
            "stop-at A -> 17.5 for 2.5", "stop-at B -> 19 for 1", /* what it would be */
            "deadline -> 17.5"}},
};

/* It has all of its time, and nobody has the unit before. */
static const struct story programs[] = {
    {"told in time",
        {ONE_HELD("kill-after=6", "peer=7"), "good 1: 25", "good-until A -> 17 gone by 25",
            "at 17 -> ok; A watch; A stop deadline", "good-until A -> 17 gone by 25", "at 24.999",
            "at 25 -> ok; A give-back; A lost deadline"}},
    {"a late tick",
        {ONE_HELD("kill-after=6", "peer=7"), "good 1: 25", "at 20 -> ok; A watch; A stop deadline",
            "at 24.999", "at 25 -> ok; A give-back; A lost deadline"}},
};

Test(fleet_time, programs)
{
    tell(programs);
}

Test(fleet_time, the_rule)
{
    tell(the_rule);
}

/* kill-after 6: K is 8, so at D - K the client is told, and SIGKILL comes 1 s before D. */
Test(fleet_time, stopped_in_time)
{
    given(ONE_HELD("kill-after=6", "pid=7"));
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

/* Its own user's stop may not reach all of it: the deadline does. */
Test(fleet_time, withdrawn_before)
{
    given(ONE_HELD("kill-after=6", "pid=7"), "ann goes -> ok; A watch", "good 1: 25", "at 13");
    EXPECT(withdraw("A"), "ok; A signal 15");
    EXPECT(deadline(), "17");
    EXPECT(tick(17), "ok; A signal 15");
    EXPECT(tick(19), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A give-back");
}

/* ---- renewals ---- */

static const struct story renewals[] = {
    {"once it is being stopped it goes on",
        {ONE_HELD("kill-after=6", "pid=7"), "good 1: 25", "at 17 -> ok; A watch; A stop deadline",
            "good 1: 80", "deadline -> 24", "at 24 -> ok; A signal 9",
            "exit A -> ok; A give-back; A lost deadline"}},
    /* A new one, granted after that, is good until the new deadline. */
    {"after a renewal",
        {ONE_HELD("kill-after=6", ""), "good 1: 25", "at 17 -> ok; A stop deadline",
            "ann ends A -> ok; A give-back", "good 1: 45", "ann asks B: d", "granted B: 2 d:0:2",
            "good-until B -> 37 gone by 45"}},
    {"one that comes too late",
        {ONE_HELD("kill-after=6", ""), "at 10",
            "good 1: 18 -> ok; A stop deadline", /* D - K is now */
            "ann ends A -> ok; A give-back", "ann asks B: d", "granted B: 2 d:0:2",
            "deadline -> 10", "at 10 -> ok; B stop deadline"}},
};

Test(fleet_time, renewals)
{
    tell(renewals);
}

Test(fleet_time, a_renewal_puts_it_off)
{
    given(ONE_HELD("kill-after=6", "pid=7"), "good 1: 25", "at 16", "good 1: 41", "at 17");
    EXPECT(good_until("A"), "33 gone by 41");
    EXPECT(deadline(), "33");
    EXPECT(tick(32.9), "ok");
    EXPECT(good(1, 57), "ok");
    EXPECT(tick(40), "ok");
    EXPECT(lease_state("A"), "granted d=0");
}

/* ---- several ---- */

static const struct story several[] = {
    {"the largest budget first",
        {"semaphore s limit=9 kill-after=3 database=1",
            "semaphore t limit=9 kill-after=9 database=1", "ann asks A: s", "ann asks B: t",
            "ann asks C: s t", "ann asks D: t kill-after=6", "granted A: 1 s:0:1",
            "granted B: 2 t:0:2", "granted C: 3 s:1:3 t:1:3", "granted D: 4 t:2:4", "good 1: 100",
            "deadline -> 88", "at 88 -> ok; B stop deadline", "deadline -> 92",
            "at 92 -> ok; D stop deadline", "deadline -> 96",
            "at 96 -> ok; A stop deadline; C stop deadline"}},
    /* Each database for itself; one that was never good has no deadline. */
    {"several databases",
        {"lock a kill-after=6 database=1", "lock b kill-after=6 database=2",
            "lock c kill-after=6 database=8", "ann asks A: a", "ann asks B: b", "ann asks C: c",
            "granted A: 1 a:0:1", "granted B: 1 b:0:1", "granted C: 1 c:0:1", "good 8: 30",
            "good 1: 40", "deadline -> 22", "at 22 -> ok; C stop deadline",
            "good-until A -> 32 gone by 40", "good-until B -> never",
            "at 32 -> ok; C give-back; C lost deadline; A stop deadline",
            "lease B -> granted b=0"}},
};

Test(fleet_time, several)
{
    tell(several);
}

/* ---- nobody to stop ---- */

static const struct story nobody_to_stop[] = {
    {"a client that is only notified",
        {ONE_HELD("kill-after=6 on-lost=warn", "pid=7"), "good 1: 25", "stop-at A -> 25 for 0",
            "good-until A -> 25 gone by 25", "at 24.9",
            "at 25 -> ok; A give-back; A lost deadline"}},
    {"a job that gets one signal",
        {ONE_HELD("kill-after=6 on-lost=term", "pid=7"), "ann goes -> ok; A watch", "good 1: 25",
            "at 17 -> ok; A signal 15", "at 23 -> ok; A give-back; A lost deadline unheard"}},
};

Test(fleet_time, nobody_to_stop)
{
    tell(nobody_to_stop);
}

Test(fleet_time, bound_to_time)
{
    given(ONE_HELD("kill-after=6", "ttl=90"), "good 1: 25");
    EXPECT(stop_at("A"), "25 for 0");
    cr_expect_eq(lease_own_until(lease_of("A")), lease_of("A")->granted_at + 90000000000);
    EXPECT(renew("A", 50), "ok");
    EXPECT(tick(25), "ok; A give-back; A lost deadline");
}

/* ---- with max-hold ---- */

Test(fleet_time, the_earlier_of_both)
{
    given(ONE_HELD("max-hold=30 kill-after=6", ""));
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
    given(ONE_HELD("kill-after=6", "pid=7"), "good 1: 25");
    EXPECT(tick(20), "ok; A watch; A stop deadline");
    EXPECT(deadline(), "24");
    EXPECT(tick(24), "ok; A signal 9");
}

Test(fleet_time, past_the_deadline)
{
    given(ONE_HELD("kill-after=6", "pid=7"), "good 1: 25");
    EXPECT(tick(70), "ok; A watch; A stop deadline; A signal 9");
    EXPECT(deadline(), "71");
}

/* ---- what the database takes away ---- */

static const struct story what_the_database_takes_away[] = {
    {"lost",
        {ONE_HELD("kill-after=6", "pid=7"), "good 1: 90", "lose A -> ok; A watch; A stop lost",
            "lose A", "lease A -> granted d=0", /* until its job is gone */
            "granted A: 1 d:0:1 -> no", "at 7 -> ok; A signal 9",
            "exit A -> ok; A give-back; A lost lost"}},
    {"lost by a client that is only notified",
        {ONE_HELD("on-lost=warn", ""), "lose A -> ok; A give-back; A lost lost"}},
    {"lost while it is being stopped",
        {ONE_HELD("kill-after=6", ""), "revoke A -> ok; A stop revoked", "lose A",
            "at 7 -> ok; A give-back; A lost revoked"}},
    {"lost past the deadline",
        {ONE_HELD("kill-after=6", "pid=7"), "good 1: 15", "at 6.9",
            "lose A -> ok; A watch; A stop lost",
            "deadline -> 13.9", /* 7 s later: no later than it would have been */
            "ann ends A -> ok; A give-back"}},
    /* Nothing that is not held is lost. */
    {"lost before it is held",
        {"lock d database=1", "ann asks A: d", "lose A", "lease A -> waiting", "good 1: 1", "at 50",
            "granted A: 1 d:0:1"}},
};

Test(fleet_time, what_the_database_takes_away)
{
    tell(what_the_database_takes_away);
}
