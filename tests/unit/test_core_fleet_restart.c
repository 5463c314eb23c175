/* test_core_fleet_restart.c - leases of fleet scope over a drain, a restart and a lost journal:
 * their database is told what it must know, and each keeps its place. */
#include "core_fixture.h"

#include "core/fleet.h"

#include <string.h>

WORLD_SUITE(fleet_restart);

/* ---- drain ---- */

/* Another host may have what a drained one would get. */
Test(fleet_restart, a_drain_takes_requests_back)
{
    given("semaphore s limit=9 database=1", "lock b database=2", "ann asks A: s", "ann asks B: s",
        "ann asks C: b wait=60", "ann asks D: s");
    EXPECT(waits("A", 9, 2), "ok; A place 2");
    EXPECT(waits("B", 4, 1), "ok; B place 1");
    EXPECT(drain(true), "ok; B give-back; A give-back; D give-back; C give-back; drained");
    EXPECT(place("A"), "ticket 9 place 0");
    EXPECT(granted("A", "9 s:0:1"), "no"); /* too late */
    EXPECT(waits("A", 10, 1), "ok");
    EXPECT(place("A"), "ticket 9 place 0");
    EXPECT(drain(true), "ok; drained");
    EXPECT(end_lease("ann", "D"), "ok");
    EXPECT(drain(false), "ok; B ask; A ask; C ask");
    EXPECT(waits("A", 9, 2), "ok; A place 2");
    EXPECT(granted("B", "4 s:0:1"), "ok; B granted s=0");
    EXPECT(drain(false), "ok");
    EXPECT(tick(60), "ok; C give-back; C denied timeout");
}

Test(fleet_restart, during_a_drain)
{
    given("semaphore s limit=9 database=1", "ann asks A: s", "ann asks B: s wait=0",
        "granted A: 1 s:0:1");
    EXPECT(drain(true), "ok; B give-back; B denied draining");
    EXPECT(acquire("ann", "C", "s wait=0"), "draining");
    EXPECT(acquire("ann", "D", "s"), "pending");
    EXPECT(acquire("ann", "E", "s wait=5"), "pending");
    EXPECT(tick(5), "ok; E denied timeout");
    EXPECT(end_lease("ann", "A"), "ok; A give-back; drained");
    EXPECT(drain(false), "ok; D ask");
}

/* ---- a restart ---- */

static const struct story a_restart[] = {
    {"a place that is known",
        {"lock d database=1", "ann asks A: d", "queued A: 3 5 -> ok; A place 5",
            "restart: lock d database=1 -> A", "queued A: 3 4 -> ok; A place unheard 4",
            "ann reclaims A -> waiting", "queued A: 3 1 -> ok; A place 1"}},
    /* The database does not know which clients are there. */
    {"granted while its client is absent",
        {"semaphore s limit=3 database=1", "ann asks A: s", "bob asks B: s",
            "restart: semaphore s limit=3 database=1 -> A B",
            "granted A: 1 s:0:1 -> ok; A granted unheard s=0",
            "granted B: 2 s:1:2 -> ok; B granted unheard s=1", "ann reclaims A -> ok s=0",
            "at 10 -> ok; B give-back", "lease A -> granted s=0"}},
    /* It had not wanted to wait, and has had no answer. */
    {"a request that does not wait",
        {"lock d database=1", "ann asks A: d wait=0", "restart: lock d database=1 -> A",
            "ann reclaims A -> pending", "queued A: 3 1 -> ok; A give-back; A denied would-wait"}},
};

Test(fleet_restart, a_restart)
{
    tell(a_restart);
}

Test(fleet_restart, as_if_nothing_had_been)
{
    given("semaphore s limit=3 database=1", "pool g items=a,b database=1",
        "ann asks A: s:2 g pid=7", "bob asks B: s", "cy asks C: s wait=50",
        "granted A: 1 s:7,8:5 g:x:6", "granted B: 2 s:1:7");
    EXPECT(waits("C", 3, 1), "ok; C place 1");
    EXPECT(tick(1), "ok");
    EXPECT(
        restart("semaphore s limit=3 database=1", "pool g items=a,b database=1"), "A B C; A watch");
    EXPECT(lease_state("A"), "granted s=7,8 g=x");
    EXPECT(lines("s"), "A B | | C");
    EXPECT(place("A"), "ticket 1 place 0");
    EXPECT(place("C"), "ticket 3 place 0");
    EXPECT(leases_of(1), "A B | C");
    cr_expect_eq(token_of("A", "g"), 6);
    EXPECT(reclaim("bob", "B"), "ok s=1");
    EXPECT(reclaim("cy", "C"), "pending");
    EXPECT(waits("C", 3, 1), "ok; C place 1");
    EXPECT(granted("C", "3 s:0:9"), "ok; C granted s=0");
    EXPECT(granted("A", "1 s:7,8:5 g:x:6"), "ok"); /* it was listed */
    EXPECT(good(1, 21), "ok");
    EXPECT(good_until("A"), "7.66667 gone by 21");
    EXPECT(end_lease("cy", "C"), "ok; C give-back");
    EXPECT(process_gone("A"), "ok; A give-back");
}

/* The database's tokens do not raise the core's own. */
Test(fleet_restart, tokens)
{
    given("lock d database=1", "lock e",
        "record A: ann id=7 d:1:0:900000 database=1 ticket=4 pid=7 -> ok; A watch", "ann has B: e");
    cr_expect_eq(token_of("B", "e"), 100);
    cr_expect_eq(token_of("A", "d"), 900000);
    EXPECT(place("A"), "ticket 4 place 0");
}

/* Its process only waits to begin; only a job needs stopping. */
Test(fleet_restart, lost_before_its_client_knew_of_the_grant)
{
    given("semaphore s limit=3 database=1", "ann asks A: s pid=7", "bob asks B: s pid=8");
    EXPECT(restart("semaphore s limit=3 database=1"), "A B; A watch; B watch");
    EXPECT(granted("A", "1 s:0:1"), "ok; A granted unheard s=0");
    EXPECT(granted("B", "2 s:1:2"), "ok; B granted unheard s=1");
    EXPECT(reclaim("bob", "B"), "ok s=1; B unwatch");
    EXPECT(lost("A"), "ok; A give-back; A lost lost unheard");
    EXPECT(lost("B"), "ok; B watch; B stop lost");
}

Test(fleet_restart, a_client_that_does_not_come_back)
{
    given("semaphore s limit=3 database=1", "ann asks A: s", "bob asks B: s", "granted B: 2 s:1:2");
    EXPECT(restart("semaphore s limit=3 database=1"), "B A");
    EXPECT(grace_until(), "10");
    EXPECT(tick(9.9), "ok");
    const char *text = tick(10);
    cr_expect(strcmp(text, "ok; A give-back; B give-back") == 0 ||
            strcmp(text, "ok; B give-back; A give-back") == 0,
        "%s", text);
}

/* ---- deadlines ---- */

Test(fleet_restart, a_deadline_that_is_near)
{
    given("lock d kill-after=6 database=1", "ann asks A: d pid=7", "granted A: 1 d:0:1",
        "good 1: 25");
    EXPECT(tick(18 - 2), "ok");
    EXPECT(restart("lock d kill-after=6 database=1"), "A; A watch");
    EXPECT(deadline(), "never"); /* until the caller says what it has written down */
    EXPECT(good(1, 25), "ok");
    EXPECT(deadline(), "17");
    EXPECT(tick(17), "ok; A signal 15");
}

Test(fleet_restart, a_deadline_that_is_past)
{
    given("lock d kill-after=6 database=1", "ann asks A: d pid=7", "granted A: 1 d:0:1",
        "good 1: 25");
    crash(false);
    EXPECT(tick(40), "ok");
    EXPECT(define("lock d kill-after=6 database=1"), "ok");
    begin_grace(false, 50);
    EXPECT(restore_all(), "A; A watch");
    EXPECT(good(1, 25), "ok; A signal 15");
    EXPECT(tick(40), "ok; A signal 9");
}

Test(fleet_restart, stopping_goes_on)
{
    given("semaphore s limit=3 kill-after=6 database=1", "ann asks A: s pid=7",
        "ann asks B: s pid=8", "granted A: 1 s:0:1", "granted B: 2 s:1:2");
    EXPECT(lost("B"), "ok; B watch; B stop lost");
    EXPECT(good(1, 8), "ok; A watch; A stop deadline");
    EXPECT(restart("semaphore s limit=3 kill-after=6 database=1"), "A B; A watch; B watch");
    cr_expect(lease_of("A")->is_asked);
    cr_expect_not(lease_of("B")->is_asked); /* it is another's already */
    EXPECT(good(1, 100), "ok");
    EXPECT(deadline(), "6");
    EXPECT(process_gone("A"), "ok; A give-back");
    EXPECT(process_gone("B"), "ok; B give-back");
}

/* ---- another file ---- */

static const struct story another_file[] = {
    {"a definition that is gone",
        {"semaphore s limit=3 database=1", "pool g items=a database=1", "ann asks A: s g pid=7",
            "ann asks B: s pid=8", "granted A: 1 s:4:1 g:a:1",
            "restart: lock other -> A B=unknown; A watch", "lease A -> granted s=4 g=a",
            "leases-of 1 -> A |", "resources -> other s g",
            "reload: lock other; semaphore s limit=3 -> kind s",
            "reload: lock other; semaphore s limit=3 database=1", "exit A -> ok; A give-back",
            "resources -> other s"}},
    {"a definition of another scope",
        {"semaphore s limit=3", "semaphore t limit=3 database=1", "lock u database=1",
            "record A: ann id=7 s:1:0:5 database=1 pid=7 -> kind",
            "record A: ann id=7 s:1 database=1 -> kind", "record A: ann id=7 t:1:0:5 pid=7 -> kind",
            "record A: ann id=7 t:1 pid=7 -> kind",
            "record A: ann id=7 t:1:0:5 database=2 pid=7 -> kind",
            "record A: ann id=7 t:1:0:5 s:1:0:5 database=1 pid=7 -> kind",
            "record A: ann id=7 t:1:b:5 database=1 pid=7 -> kind", "resources -> s t u"}},
    {"what is impossible",
        {"semaphore s limit=1 database=1", "semaphore t limit=3 max-units-per-user=1 database=1",
            "record A: ann id=7 s:3 database=1", "record B: ann id=8 t:2 database=1 -> impossible",
            "record C: ann id=9 t:2:0,1:5 database=1 pid=7 -> ok; C watch",
            "record D: bob id=10 t:2:2,1:5 database=1 pid=7 -> held",
            "state t -> 2/3 free=1 waiting=0+0", "leases-of 1 -> C | A", "grace 10",
            "at 10 -> ok; A give-back"}},
};

Test(fleet_restart, another_file)
{
    tell(another_file);
}

/* ---- a journal that is lost ---- */

/* The grace of a host whose journal is lost: only earlier holders may have a lease. */
static void lose_journal(void)
{
    crash(false);
    EXPECT(define("semaphore s limit=3 max-units-per-user=2 database=1",
               "pool g items=a,b database=1"),
        "ok");
    begin_grace(true, 10);
}

static void hold_two(void)
{
    EXPECT(define("semaphore s limit=3 database=1", "pool g items=a,b database=1"), "ok");
    EXPECT(acquire("ann", "A", "s:2 g"), "pending; A ask");
    EXPECT(acquire("bob", "B", "s"), "pending; B ask");
    EXPECT(acquire("cy", "C", "s wait=50"), "pending; C ask");
    EXPECT(granted("A", "1 s:7,8:5 g:x:6"), "ok; A granted s=7,8 g=x");
    EXPECT(granted("B", "2 s:1:7"), "ok; B granted s=1");
    lose_record("A");
    lose_record("B");
    lose_record("C");
}

Test(fleet_restart, reclaimed)
{
    hold_two();
    lose_journal();
    EXPECT(reclaim_unknown("ann", "A", "s:2:7,8 g:1:x"), "ok s=7,8 g=x");
    cr_expect_eq(token_of("A", "s"), 0); /* only the database knows */
    EXPECT(reclaim_unknown("bob", "B", "s:1:1"), "ok s=1");
    EXPECT(granted("B", "2 s:1:7"), "ok");
    EXPECT(lines("s"), "A B | |");
    EXPECT(granted("A", "1 s:7,8:5 g:x:6"), "ok");
    cr_expect_eq(token_of("A", "s"), 5);
    cr_expect_eq(token_of("A", "g"), 6);
    EXPECT(place("A"), "ticket 1 place 0");
    EXPECT(end_lease("bob", "B"), "ok; B give-back");
}

/* The database has the last word. */
Test(fleet_restart, reclaimed_in_vain)
{
    hold_two();
    lose_journal();
    EXPECT(reclaim_unknown("ann", "A", "s:2:7,8 g:1:x"), "ok s=7,8 g=x");
    EXPECT(lost("A"), "ok; A stop lost");
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
}

Test(fleet_restart, reclaims_that_are_refused)
{
    hold_two();
    lose_journal();
    EXPECT(reclaim_unknown("ann", "A", "s:2:7,7"), "lost");
    EXPECT(reclaim_unknown("ann", "A", "s:2:7,8 g:1:x"), "ok s=7,8 g=x");
    EXPECT(reclaim_unknown("bob", "B", "s:1:8"), "lost");
    EXPECT(reclaim_unknown("bob", "B", "s:1:9 g:1:x"), "lost");
    EXPECT(reclaim_unknown("ann", "B", "s:1:9"), "lost"); /* the user's quota */
    EXPECT(reclaim_unknown("bob", "B", "g:1:0"), "lost");
    EXPECT(reclaim_unknown("bob", "B", "s:1:10000000"), "lost");
    EXPECT(reclaim_unknown("bob", "B", "s:1:9999999"), "ok s=9999999");
}

/* A request of the closed grace is not asked for until it is over. */
Test(fleet_restart, in_a_closed_grace)
{
    hold_two();
    lose_journal();
    EXPECT(acquire("di", "D", "s wait=0"), "grace");
    EXPECT(acquire("di", "D", "s"), "pending");
    EXPECT(acquire("di", "E", "s wait=5"), "pending");
    EXPECT(reclaim_unknown("cy", "C", "s wait=50"), "pending");
    EXPECT(granted("D", "1 s:0:1"), "no");
    EXPECT(tick(5), "ok; E denied timeout");
    EXPECT(tick(10), "ok; C ask; D ask");
    EXPECT(granted("D", "1 s:0:1"), "ok; D granted s=0");
    EXPECT(tick(50), "ok; C give-back; C denied timeout");
}

Test(fleet_restart, a_drain_in_a_closed_grace)
{
    hold_two();
    lose_journal();
    EXPECT(acquire("di", "D", "s"), "pending");
    EXPECT(drain(true), "ok");
    EXPECT(tick(10), "ok; drained");
    EXPECT(drain(false), "ok; D ask");
    EXPECT(drain(true), "ok; D give-back; drained");
    EXPECT(drain(false), "ok; D ask");
}

/* Leases of a journal that may be incomplete are there already; what they waited for may come. */
Test(fleet_restart, waiters_of_a_journal_that_is_not_whole)
{
    given("semaphore s limit=3 database=1", "ann asks A: s");
    EXPECT(waits("A", 5, 1), "ok; A place 1");
    lose_journal();
    EXPECT(restore_all(), "A");
    EXPECT(reclaim("ann", "A"), "pending");
    EXPECT(granted("A", "5 s:0:1"), "ok; A granted s=0");
    EXPECT(tick(10), "ok");
    EXPECT(lease_state("A"), "granted s=0");
}
