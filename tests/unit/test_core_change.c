/* test_core_change.c - the operator's changes at runtime: limits, items, reservations, pauses. They
 * take nothing from a holder. */
#include "core_fixture.h"

WORLD_SUITE(change);

/* ---- limit ---- */

static const struct story limit[] = {
    {"a raised limit lets waiters go",
        {"semaphore s limit=1", "ann has A: s", "bob waits B: s", "bob waits C: s",
            "bob waits D: s", "change: limit s 3 -> ok; B granted s=1; C granted s=2",
            "state s -> 3/3 free=0 waiting=1+0"}},
    /* Slots at and above a lowered limit are not handed out, even when lower ones are held. */
    {"slots stay below the limit",
        {"semaphore s limit=4", "ann has A: s:4", "ann ends A", "ann acquires B: s -> ok s=0",
            "change: limit s 2", "ann acquires C: s -> ok s=1",
            "ann acquires D: s wait=0 -> would-wait s", "change: limit s 4",
            "ann acquires E: s:2 -> ok s=2,3"}},
    {"limit and kinds",
        {"semaphore s limit=2", "lock d", "pool g items=a,b", "change: limit none 1 -> unknown",
            "change: limit g 1 -> kind", "change: limit d 2 -> kind", "change: limit d 1",
            "change: limit s 1000000", "change: limit s 1000001 -> impossible",
            "state s -> 0/1000000 free=1000000 waiting=0+0"}},
    /* Counts up to the larger of the file's and the operator's limit may wait. */
    {"what is impossible",
        {"semaphore s limit=3", "change: limit s 1", "ann waits A: s:3",
            "ann acquires B: s:4 -> impossible s", "change: limit s 5 -> ok; A granted s=0,1,2",
            "ann waits B: s:5", "ann acquires C: s:6 -> impossible s",
            "change: reset s -> ok; B denied impossible"}},
    {"reset goes back to the file's limit",
        {"semaphore s limit=2", "ann has A: s", "change: limit s 1", "ann waits B: s",
            "change: reset s -> ok; B granted s=1", "change: reset s",
            "change: reset none -> unknown"}},
    {"limit of zero closes",
        {"semaphore s limit=2", "lock d", "ann has A: s", "change: limit s 0", "change: limit d 0",
            "bob acquires B: s wait=0 -> closed s", "bob acquires B: d wait=0 -> closed d",
            "bob waits B: s:2", "state s -> 1/0 free=0 waiting=0+1", "lease A -> granted s=0",
            "change: limit s 3 -> ok; B granted s=1,2", "change: limit d 1",
            "bob acquires C: d -> ok d=0"}},
};

Test(change, limit)
{
    tell(limit);
}

Test(change, a_lowered_limit_revokes_nothing)
{
    given("semaphore s limit=3", "ann has A: s", "ann has B: s", "ann has C: s", "bob waits D: s",
        "change: limit s 1");
    EXPECT(state("s"), "3/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("s"), "2/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "C"), "ok");
    EXPECT(state("s"), "1/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "B"), "ok; D granted s=0");
}

/* ---- items ---- */

static const struct story items[] = {
    {"an added item goes to the first waiter",
        {"pool g items=a select=first", "ann has A: g", "bob waits B: g", "cy waits C: g",
            "change: add g b -> ok; B granted g=b", "state g -> 2/2 free=0 waiting=1+0",
            "change: add g b", "state g -> 2/2 free=0 waiting=1+0"}},
    {"a removed free item goes at once",
        {"pool g items=a,b select=first", "change: remove g a", "state g -> 0/1 free=1 waiting=0+0",
            "ann acquires A: g -> ok g=b", "change: remove g a -> unknown",
            "change: remove g x -> unknown", "change: add g a", "ann acquires B: g -> ok g=a"}},
    /* An item of the file comes back to its place there; new ones follow. */
    {"items stay in file order",
        {"pool g items=a,b,c select=first", "change: remove g b", "change: add g x",
            "change: add g w", "change: remove g a", "change: add g b", "change: add g a",
            "ann acquires A: g:5 -> ok g=a,b,c,x,w"}},
    /* A held one drains: it goes when its holder does. */
    {"a removed held item drains",
        {"pool g items=a,b select=first", "ann has A: g:2", "change: remove g a",
            "state g -> 2/1 free=0 waiting=0+0", "bob waits B: g",
            "ann ends A -> ok; B granted g=b", "state g -> 1/1 free=0 waiting=0+0",
            "change: remove g a -> unknown"}},
    {"a draining item may come back",
        {"pool g items=a,b select=first", "ann has A: g", "change: remove g a",
            "change: remove g a", "state g -> 1/1 free=1 waiting=0+0", "change: add g a",
            "state g -> 1/2 free=1 waiting=0+0", "ann ends A", "ann acquires B: g:2 -> ok g=a,b"}},
    {"a pool without items is closed",
        {"pool g items=a", "change: remove g a", "ann acquires A: g wait=0 -> closed g",
            "ann waits A: g", "change: add g z -> ok; A granted g=z"}},
    {"reset brings the file's items back",
        {"pool g items=a,b,c select=first", "ann has A: g", "change: remove g a",
            "change: remove g b", "change: add g x", "state g -> 1/2 free=2 waiting=0+0",
            "change: reset g", "state g -> 1/3 free=2 waiting=0+0",
            "bob acquires B: g:2 -> ok g=b,c", "change: remove g x -> unknown"}},
    {"items and kinds",
        {"semaphore s limit=2", "lock d", "change: remove s 0 -> kind",
            "change: remove d 0 -> kind", "change: add s 0 -> kind", "change: add s x -> kind",
            "change: add none a -> unknown", "change: remove none a -> unknown",
            "change: reserve none a -> unknown"}},
};

Test(change, items)
{
    tell(items);
}

/* Each item is its own limit: a draining one keeps no other from being granted. */
Test(change, a_removed_held_item_costs_itself_alone)
{
    given("pool g items=a,b,c,d select=first", "ann has A: g", "change: remove g a");
    EXPECT(state("g"), "1/3 free=3 waiting=0+0");
    EXPECT(acquire("bob", "B", "g:3"), "ok g=b,c,d");
    EXPECT(state("g"), "4/3 free=0 waiting=0+0");
    EXPECT(acquire("bob", "C", "g"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(end_lease("bob", "B"), "ok; C granted g=b");
}

Test(change, a_draining_item_that_comes_back_has_one_holder)
{
    given("pool g items=a,b select=first", "ann has A: g", "change: remove g a", "bob has B: g",
        "bob waits C: g", "change: add g a");
    EXPECT(state("g"), "2/2 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "A"), "ok; C granted g=a");
}

/* ---- reservations ---- */

static const struct story reservations[] = {
    {"a reserved slot is not granted",
        {"semaphore s limit=3", "change: reserve s 1", "state s -> 0/3 free=2 waiting=0+0",
            "ann acquires A: s:2 -> ok s=0,2", "bob acquires B: s wait=0 -> would-wait s",
            "bob waits B: s", "change: add s 1 -> ok; B granted s=1", "change: add s 1 -> kind"}},
    /* A reservation that ends while the unit is held leaves no trace. */
    {"a reservation ended while held",
        {"semaphore s limit=1", "ann has A: s", "change: reserve s 0", "change: add s 0",
            "ann ends A", "ann acquires B: s -> ok s=0"}},
    /* Slots are numbers: without leading zeros, as everywhere. */
    {"slots are strict numbers",
        {"semaphore s limit=3", "change: reserve s 01 -> unknown", "change: reserve s 1",
            "change: add s 01 -> kind", "state s -> 0/3 free=2 waiting=0+0"}},
    /* All reserved: not closed, only not free. */
    {"all reserved",
        {"semaphore s limit=2", "change: reserve s 0", "change: reserve s 1",
            "ann acquires A: s wait=0 -> would-wait s", "ann waits A: s:2", "change: add s 1",
            "change: add s 0 -> ok; A granted s=0,1"}},
    /* A reservation above a lowered limit is remembered. */
    {"reservations and limits",
        {"semaphore s limit=4", "change: reserve s 3", "change: limit s 3",
            "state s -> 0/3 free=3 waiting=0+0", "change: limit s 4",
            "state s -> 0/4 free=3 waiting=0+0", "ann acquires A: s:3 -> ok s=0,1,2",
            "change: limit s 2", "change: reserve s 0", "ann ends A",
            "state s -> 0/2 free=1 waiting=0+0"}},
};

Test(change, reservations)
{
    tell(reservations);
}

Test(change, a_held_unit_is_reserved_when_given_back)
{
    given("semaphore s limit=2", "pool g items=a,b select=first", "ann has A: s g",
        "change: reserve s 0", "change: reserve g a");
    EXPECT(state("s"), "1/2 free=1 waiting=0+0");
    EXPECT(lease_state("A"), "granted s=0 g=a");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "s g"), "ok s=1 g=b");
    EXPECT(acquire("ann", "C", "s"), "waiting");
    EXPECT(change("reset s"), "ok; C granted s=0");
    EXPECT(acquire("ann", "D", "g"), "waiting");
    EXPECT(change("add g a"), "ok; D granted g=a");
}

Test(change, what_can_be_reserved)
{
    EXPECT(define("semaphore s limit=900", "pool g items=a,b"), "ok");
    EXPECT(change("reserve s 900"), "unknown");
    EXPECT(change("reserve s 99999999999999999999"), "unknown");
    EXPECT(change("reserve s 42949672960"), "unknown");
    EXPECT(change("reserve s x"), "unknown");
    EXPECT(change("reserve s -1"), "unknown");
    EXPECT(change("reserve s 1x"), "unknown");
    EXPECT(change("reserve g x"), "unknown");
    EXPECT(change("reserve s 2"), "ok");
    EXPECT(change("reserve s 2"), "ok");
    EXPECT(change("add s 2x"), "kind");
    EXPECT(state("s"), "0/900 free=899 waiting=0+0");
    EXPECT(change("limit s 5"), "ok");
    EXPECT(change("reserve s 899"), "ok"); /* it is there when the limit is taken back */
    EXPECT(change("reset s"), "ok");
    EXPECT(change("reserve s 2"), "ok");
    EXPECT(change("reserve s 899"), "ok");
    EXPECT(state("s"), "0/900 free=898 waiting=0+0");
}

/* ---- pause ---- */

static const struct story pause[] = {
    {"reset ends a pause",
        {"lock d", "change: pause d", "ann waits A: d", "change: reset d -> ok; A granted d=0"}},
    /* Why not now: paused before closed before draining before would-wait. */
    {"which refusal comes first",
        {"lock a", "lock b", "lock c", "ann has A: a", "bob acquires B: c a wait=0 -> would-wait a",
            "drain", "bob acquires B: c a wait=0 -> draining", "change: limit b 0",
            "bob acquires B: a b c wait=0 -> closed b", "change: pause c",
            "bob acquires B: a b c wait=0 -> paused c", "bob acquires B: c b a wait=0 -> paused c",
            "change: pause b", "bob acquires B: a b c wait=0 -> paused b"}},
};

Test(change, pause)
{
    tell(pause);
}

Test(change, paused)
{
    given("semaphore s limit=2", "ann has A: s", "change: pause s");
    EXPECT(acquire("bob", "B", "s wait=0"), "paused s");
    EXPECT(acquire("bob", "B", "s"), "waiting");
    EXPECT(acquire("bob", "C", "s priority=1"), "waiting");
    EXPECT(lease_state("A"), "granted s=0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(lines("s"), "| | C B");
    EXPECT(change("pause s"), "ok");
    EXPECT(change("resume s"), "ok; C granted s=0; B granted s=1");
    EXPECT(change("resume s"), "ok");
    EXPECT(change("pause none"), "unknown");
    EXPECT(change("resume none"), "unknown");
}

Test(change, reasons)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    const struct resource *s = core_find_resource(the_core(), "s");
    EXPECT(change("pause s upgrade"), "ok");
    cr_expect_str_eq(s->pause.decision.reason, "upgrade");
    EXPECT(change("pause s"), "ok");
    cr_expect_null(s->pause.decision.reason);
    EXPECT(change("pause s again"), "ok");
    EXPECT(change("resume s"), "ok");
    cr_expect_null(s->pause.decision.reason);
    EXPECT(change("reserve s 1 broken"), "ok");
    cr_expect_str_eq(resource_find_unit(s, "1")->reason, "broken");
    EXPECT(change("reserve s 1"), "ok");
    cr_expect_null(resource_find_unit(s, "1")->reason);
    EXPECT(change("reserve s 1 broken"), "ok");
    EXPECT(change("add s 1"), "ok");
    cr_expect_null(resource_find_unit(s, "1")->reason);
    EXPECT(change("pause s upgrade"), "ok");
    EXPECT(change("reserve s 0 broken"), "ok");
    EXPECT(change("reset s"), "ok");
    cr_expect_null(s->pause.decision.reason);
    cr_expect_null(resource_find_unit(s, "0")->reason);
}
