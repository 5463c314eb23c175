/* test_core_fleet.c - leases that a database grants: what it is asked, and what its answers mean.
 * The core itself grants nothing in fleet scope. */
#include "core_fixture.h"

#include "core/fleet.h"

WORLD_SUITE(fleet);

/* ---- asking ---- */

Test(fleet, granted_by_the_database_alone)
{
    given("semaphore s limit=3 database=1", "ann asks A: s:2");
    EXPECT(lease_state("A"), "waiting");
    EXPECT(place("A"), "ticket 0 place 0");
    EXPECT(tick(1), "ok");
    EXPECT(granted("A", "17 s:0,1:5"), "ok; A granted s=0,1");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(place("A"), "ticket 17 place 0");
    cr_expect_eq(token_of("A", "s"), 5);
    cr_expect_eq(lease_of("A")->granted_at, lease_of("A")->asked_at + NANOSECONDS_PER_SECOND);
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
    EXPECT(state("s"), "0/3 free=3 waiting=0+0");
}

/* Not even if units are free, after everything that lets others go. */
Test(fleet, nothing_is_granted_here)
{
    given("semaphore s limit=3 database=1", "lock d", "ann asks A: s", "ann asks B: s priority=9",
        "ann has C: d", "ann ends C", "at 100");
    EXPECT(define("semaphore s limit=9 database=1", "lock d"), "ok");
    EXPECT(end_lease("ann", "B"), "ok; B give-back");
    EXPECT(lines("s"), "| | A");
}

Test(fleet, several_databases)
{
    given("lock a database=1", "lock b database=8", "lock h", "ann asks A: a", "ann asks B: b",
        "ann has H: h", "granted B: 1 b:0:1");
    EXPECT(leases_of(1), "| A");
    EXPECT(leases_of(8), "B |");
    EXPECT(leases_of(2), "|");
    cr_expect_eq(core_n_waiting(the_core()), 1);
    cr_expect_eq(core_n_held(the_core()), 2);
}

Test(fleet, one_request_names_one_database)
{
    EXPECT(define("lock a database=1", "lock b database=2", "lock h", "lock a2 database=1"), "ok");
    EXPECT(acquire("ann", "A", "a a2 b h"), "mixed b");
    EXPECT(acquire("ann", "A", "h a"), "mixed a");
    EXPECT(acquire("ann", "A", "a h b"), "mixed h");
    EXPECT(acquire("ann", "A", "a nosuch h"), "unknown nosuch");
    EXPECT(acquire("ann", "A", "a a2"), "pending; A ask");
    EXPECT(granted("A", "1 a:0:1 a2:0:2"), "ok; A granted a=0 a2=0");
}

/* ---- what is refused here, and what the database decides ---- */

static const struct story what_is_refused_here_and_what_the_database_decides[] = {
    {"refused here",
        {"semaphore s limit=5 max-units-per-user=2 max-priority=3 kill-after=5 database=1",
            "ann acquires A: nosuch -> unknown nosuch", "ann acquires A: s:0 -> impossible s",
            "ann acquires A: s:3 -> impossible s", "ann acquires A: s priority=4 -> forbidden s",
            "ann acquires A: s kill-after=6 -> forbidden s",
            "ann acquires A: s on-lost=warn -> forbidden s", "state s -> 0/5 free=5 waiting=0+0"}},
    /* The file's limit may be another than the fleet's; so may its queue be shorter. */
    {"not refused here",
        {"semaphore s limit=1 max-waiters=0 database=1", "semaphore c limit=0 database=1",
            "pool g items=a database=1", "ann asks A: s:2 wait=0", "ann asks B: s",
            "ann asks C: c wait=0", "ann asks D: g:3", "granted A: 1 s:6,7:1", "granted C: 2 c:0:1",
            "granted D: 3 g:x,a,y:9", "state s -> 2/1 free=0 waiting=0+1",
            "state g -> 3/1 free=0 waiting=0+0"}},
    {"an identity that this host holds",
        {"semaphore s limit=5 database=1", "semaphore t limit=5 identity=shared database=1",
            "ann asks A: s holder=x", "ann2 acquires B: s holder=x -> held s",
            "bob asks B: s holder=x", "granted A: 1 s:0:1", "ann2 acquires C: s holder=x -> held s",
            "ann ends A -> ok; A give-back", "ann2 asks C: s holder=x", "ann2 asks D: t holder=x",
            "bob acquires E: t holder=x -> held t"}},
    {"identities change owners while they wait",
        {"semaphore s limit=5 database=1", "ann asks A: s holder=x",
            "reload: semaphore s limit=5 identity=shared database=1",
            "bob acquires B: s holder=x -> held s", "ann ends A -> ok; A give-back",
            "bob asks B: s holder=x"}},
    {"bounded per user",
        {"semaphore s limit=9 database=1", "user waiters=2 leases=4", "ann asks A: s",
            "ann asks B: s wait=0", "ann acquires C: s -> quota", "bob asks D: s",
            "granted A: 1 s:0:1", "ann asks C: s", "granted B: 2 s:1:2", "granted C: 3 s:2:3",
            "ann asks E: s", "ann acquires F: s -> quota",
            "refuse E: queue-full -> ok; E give-back; E denied queue-full", "ann asks F: s"}},
    {"instances",
        {"semaphore m/* limit=2 max-instances=2 database=1", "user instances=2", "ann asks A: m/a",
            "ann asks B: m/b", "ann acquires C: m/c -> quota m/c", "resources -> m/a m/b",
            "refuse B: would-wait -> ok; B give-back; B denied would-wait", "resources -> m/a",
            "granted A: 1 m/a:1:1", "resources -> m/a", "ann goes -> ok; A give-back",
            "resources -> ", "ann acquires D: m/d h -> unknown h", "resources -> "}},
    {"changes are not made here",
        {"lock d database=1", "semaphore m/* limit=2 database=1", "change: limit d 0 -> kind",
            "change: pause d -> kind", "change: resume d -> kind", "change: reset d -> kind",
            "change: reserve d 0 -> kind", "change: pause m/a -> kind",
            "change: pause nosuch -> unknown", "resources -> d"}},
};

Test(fleet, what_is_refused_here_and_what_the_database_decides)
{
    tell(what_is_refused_here_and_what_the_database_decides);
}

/* ---- places in line ---- */

static const struct story places_in_line[] = {
    {"its place",
        {"lock d database=1", "ann asks A: d", "queued A: 7 3 -> ok; A place 3",
            "place A -> ticket 7 place 3", "queued A: 7 3",
            "queued A: 7 4", /* somebody with a bigger priority */
            "place A -> ticket 7 place 4", "queued A: 7 0", "queued A: 7 1 -> ok; A place 1",
            "granted A: 7 d:0:1", "queued A: 7 1", "place A -> ticket 7 place 0"}},
    {"moved back",
        {"lock d database=1", "ann asks A: d", "queued A: 7 3 -> ok; A place 3",
            "moved A: 9 5 -> ok; A place 5", "place A -> ticket 9 place 5",
            "granted A: 9 d:0:1", "moved A: 11 1"}},
    /* core_check() and the fixture see to it that it is written down again. */
    {"a ticket is remembered",
        {"lock d database=1", "ann asks A: d", "queued A: 7 1 -> ok; A place 1", "queued A: 9 1",
            "place A -> ticket 9 place 1", "queued A: 0 1", "place A -> ticket 9 place 1"}},
};

Test(fleet, places_in_line)
{
    tell(places_in_line);
}

/* ---- waits that end ---- */

static const struct story waits_that_end[] = {
    {"a limited wait",
        {"lock d database=1", "ann asks A: d wait=5", "queued A: 7 3 -> ok; A place 3",
            "deadline -> 5", "at 5 -> ok; A give-back; A denied timeout"}},
    /* A database makes it wait although it knows better. */
    {"queued although it does not wait",
        {"lock m/* database=1", "ann asks A: m/a wait=0",
            "queued A: 7 3 -> ok; A give-back; A denied would-wait", "resources -> "}},
    {"refused for any reason",
        {"lock d database=1", "ann asks A: d", "ann asks B: d", "ann asks C: d",
            "refuse A: differs -> ok; A give-back; A denied differs",
            "refuse B: down -> ok; B give-back; B denied down", "granted C: 1 d:0:1",
            "refuse C: held", "lease C -> granted d=0"}},
    {"cancelled",
        {"lock d database=1", "ann asks A: d", "ann asks B: d", "ann asks C: d", "bob asks D: d",
            "ann ends A -> ok; A give-back", "root ends B -> ok; B give-back; B denied cancelled",
            "revoke C -> ok; C give-back; C denied cancelled", "bob goes -> ok; D give-back"}},
};

Test(fleet, waits_that_end)
{
    tell(waits_that_end);
}

/* It waits for the answer, however late. */
Test(fleet, a_request_that_does_not_wait)
{
    given("lock d database=1", "ann asks A: d wait=0", "ann asks B: d wait=0");
    cr_expect(lease_of("A")->wants_now);
    EXPECT(deadline(), "never");
    EXPECT(tick(60), "ok");
    EXPECT(refused("A", "would-wait"), "ok; A give-back; A denied would-wait");
    EXPECT(granted("B", "1 d:0:1"), "ok; B granted d=0");
}

/* ---- the ends of held ones ---- */

Test(fleet, given_back_once)
{
    given("semaphore s limit=9 database=1", "ann asks A: s", "ann asks B: s ttl=5",
        "bob asks C: s pid=7", "ann asks D: s on-lost=kill", "granted A: 1 s:0:1",
        "granted B: 2 s:1:2", "granted C: 3 s:2:3", "granted D: 4 s:3:4");
    EXPECT(drop("A"), "ok; A give-back; A lost dropped");
    EXPECT(tick(5), "ok; B give-back; B stop expired");
    EXPECT(client_gone("bob"), "ok; C watch");
    EXPECT(process_gone("C"), "ok; C give-back");
    EXPECT(revoke("D"), "ok; D stop revoked");
    EXPECT(client_gone("ann"), "ok; D give-back");
}

/* ---- grants ---- */

static const struct story grants[] = {
    {"what cannot be true",
        {"semaphore s limit=9 database=1", "pool g items=a database=1", "ann asks A: s:2 g",
            "granted A: 1 s:0:1 g:a:1 -> no", /* counts */
            "granted A: 1 s:0,1:1 g:a,b:1 -> no",
            "granted A: 1 g:a:1 s:0,1:1 -> no", /* resources */
            "granted A: 1 s:0,1:1 h:a:1 -> no", "granted A: 1 s:a,b:1 g:a:1 -> no", /* kinds */
            "granted A: 1 s:0,1:1 g:0:1 -> no", "granted A: 1 s:0,1:0 g:a:1 -> no", /* no token */
            "granted A: 1 s:0,10000000:1 g:a:1 -> no", /* no such slot */
            "lease A -> waiting", "granted A: 1 s:0,1:1 g:a:1"}},
    /* A repeated answer. */
    {"granted again",
        {"semaphore s limit=9 database=1", "ann asks A: s:2", "granted A: 4 s:0,1:6",
            "granted A: 4 s:0,1:6 -> ok", "granted A: 4 s:1,0:6 -> ok",
            "granted A: 4 s:0,2:6 -> no", "granted A: 4 s:0,1:7 -> no",
            "lease A -> granted s=0,1"}},
    /* Whatever the file says: the database lets them rest. */
    {"units do not rest here",
        {"lock d cooldown=9 database=1", "ann asks A: d", "granted A: 1 d:0:1",
            "ann ends A -> ok; A give-back", "deadline -> never",
            "state d -> 0/1 free=1 waiting=0+0"}},
    {"max hold",
        {"lock d max-hold=20 kill-after=6 database=1", "ann asks A: d pid=7", "at 2",
            "granted A: 1 d:0:1", "good-until A -> 22 gone by 30",
            "at 22 -> ok; A watch; A stop max-hold", "ann ends A -> ok; A give-back"}},
};

Test(fleet, grants)
{
    tell(grants);
}

/* The units of another host are not known here, so any that this host does not hold are right. */
Test(fleet, any_units)
{
    given("semaphore s limit=2 database=1", "pool g items=a,b database=1", "ann asks A: s:3 g:2",
        "granted A: 1 s:7,9999999,0:1 g:b,z:9007199254740991", "ann asks B: s g",
        "granted B: 2 s:1:2 g:a:3");
    EXPECT(lines("s"), "A B | |");
    EXPECT(lines("g"), "B A | |"); /* by token */
    cr_expect_eq(core_find_resource(the_core(), "s")->n_units, 0); /* none but those */
}

/* A unit that a lease of this host has is not given to a second one. */
Test(fleet, held_twice)
{
    given("semaphore s limit=9 database=1", "pool g items=a database=1", "ann asks A: s:2 g:2",
        "ann asks B: s:2 g:2", "granted A: 1 s:4,5:1 g:a,b:1");
    EXPECT(granted("B", "2 s:6,5:2 g:c,d:2"), "no");
    EXPECT(granted("B", "2 s:6,7:2 g:c,a:2"), "no");
    EXPECT(granted("B", "2 s:6,6:2 g:c,d:2"), "no"); /* nor twice to the same one */
    EXPECT(granted("B", "2 s:6,7:2 g:c,c:2"), "no");
    EXPECT(place("B"), "ticket 0 place 0");
    EXPECT(state("s"), "2/9 free=7 waiting=0+1");
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
    EXPECT(granted("B", "2 s:4,5:2 g:a,b:2"), "ok; B granted s=4,5 g=a,b");
}

/* The core's own tokens are no business of the database's, nor the other way round. */
Test(fleet, tokens)
{
    given("lock d", "lock f database=1", "ann has A: d");
    uint64_t token = token_of("A", "d");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "F", "f"), "pending; F ask");
    EXPECT(granted("F", "1 f:0:900000"), "ok; F granted f=0");
    EXPECT(acquire("ann", "B", "d"), "ok d=0");
    cr_expect_eq(token_of("B", "d"), token + 1);
    cr_expect_eq(token_of("F", "f"), 900000);
}

/* ---- all of them, in order ---- */

Test(fleet, the_order_of_all)
{
    given("semaphore s limit=9 database=1", "ann asks A: s", "ann asks B: s", "ann asks C: s",
        "ann asks D: s", "ann asks E: s", "ann asks F: s");
    EXPECT(waits("D", 3, 1), "ok; D place 1");
    EXPECT(waits("B", 5, 2), "ok; B place 2");
    EXPECT(granted("F", "1 s:0:1"), "ok; F granted s=0");
    EXPECT(granted("E", "2 s:1:2"), "ok; E granted s=1");
    EXPECT(leases_of(1), "F E | D B A C");
}

/* ---- reload ---- */

Test(fleet, a_reload_denies_what_can_never_be)
{
    given("semaphore s limit=5 database=1", "semaphore t limit=5 database=1", "ann asks A: s:3",
        "ann asks B: s", "ann asks C: t", "ann asks H: t", "granted H: 1 t:0:1");
    EXPECT(define("semaphore s limit=1 max-units-per-user=2 database=1"),
        "ok; A give-back; A denied impossible; C give-back; C denied unknown");
    EXPECT(state("t"), "1/5 free=4 waiting=0+0");
    EXPECT(acquire("ann", "D", "t"), "unknown t");
    EXPECT(end_lease("ann", "H"), "ok; H give-back");
    EXPECT(state("t"), "gone");
}

Test(fleet, a_reload_moves_nothing_that_is_in_use)
{
    given("lock d database=1", "lock e", "pool g items=a,b cooldown=5", "ann asks A: d");
    EXPECT(define("lock d", "lock e"), "kind d");
    EXPECT(define("lock d database=2", "lock e"), "kind d");
    EXPECT(granted("A", "1 d:0:1"), "ok; A granted d=0");
    EXPECT(define("lock d database=2", "lock e"), "kind d");
    EXPECT(acquire("ann", "E", "e"), "ok e=0");
    EXPECT(define("lock d database=1", "lock e database=1"), "kind e");
    EXPECT(end_lease("ann", "E"), "ok");
    EXPECT(end_lease("ann", "A"), "ok; A give-back");
    EXPECT(acquire("ann", "G", "g"), "ok g=a");
    EXPECT(end_lease("ann", "G"), "ok");
    EXPECT(define("lock d", "lock e database=1", "pool g items=a,b database=1"), "ok");
    EXPECT(state("g"), "0/2 free=2 waiting=0+0");
    EXPECT(acquire("ann", "B", "d"), "ok d=0");
    EXPECT(acquire("ann", "F", "e g:2"), "pending; F ask");
    EXPECT(granted("F", "1 e:0:1 g:a,c:1"), "ok; F granted e=0 g=a,c");
    EXPECT(define("lock d", "lock e database=1", "pool g items=c database=1 select=first"), "ok");
    EXPECT(lease_state("F"), "granted e=0 g=a,c");
    EXPECT(state("g"), "2/1 free=0 waiting=0+0");
}

/* By name, only what is held here can be found. */
Test(fleet, a_unit_by_its_name)
{
    given("semaphore s limit=9 database=1", "pool g items=a,b database=1", "ann asks A: s:2 g",
        "granted A: 1 s:3,4:1 g:b:1");
    const struct resource *s = core_find_resource(the_core(), "s");
    const struct resource *g = core_find_resource(the_core(), "g");
    cr_expect_eq(resource_find_unit(s, "3")->claim->lease, lease_of("A"));
    cr_expect_eq(resource_find_unit(g, "b")->claim->lease, lease_of("A"));
    cr_expect_null(resource_find_unit(s, "0"));
    cr_expect_null(resource_find_unit(s, "b"));
    cr_expect_null(resource_find_unit(g, "a"));
}
