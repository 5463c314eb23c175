/* test_core_change.c - the operator's changes at runtime: limits, items, reservations, pauses. They
 * take nothing from a holder. */
#include "core_fixture.h"

WORLD_SUITE(change);

/* ---- limit ---- */

Test(change, a_raised_limit_lets_waiters_go)
{
    given("semaphore s limit=1", "ann has A: s", "bob waits B: s", "bob waits C: s",
        "bob waits D: s");
    EXPECT(change("limit s 3"), "ok; B granted s=1; C granted s=2");
    EXPECT(state("s"), "3/3 free=0 waiting=1+0");
}

Test(change, a_lowered_limit_revokes_nothing)
{
    given("semaphore s limit=3", "ann has A: s", "ann has B: s", "ann has C: s", "bob waits D: s");
    EXPECT(change("limit s 1"), "ok");
    EXPECT(state("s"), "3/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("s"), "2/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "C"), "ok");
    EXPECT(state("s"), "1/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "B"), "ok; D granted s=0");
}

/* Slots at and above a lowered limit are not handed out, even when lower ones are held. */
Test(change, slots_stay_below_the_limit)
{
    given("semaphore s limit=4", "ann has A: s:4");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "s"), "ok s=0");
    EXPECT(change("limit s 2"), "ok");
    EXPECT(acquire("ann", "C", "s"), "ok s=1");
    EXPECT(acquire("ann", "D", "s wait=0"), "would-wait s");
    EXPECT(change("limit s 4"), "ok");
    EXPECT(acquire("ann", "E", "s:2"), "ok s=2,3");
}

Test(change, limit_of_zero_closes)
{
    given("semaphore s limit=2", "lock d", "ann has A: s");
    EXPECT(change("limit s 0"), "ok");
    EXPECT(change("limit d 0"), "ok");
    EXPECT(acquire("bob", "B", "s wait=0"), "closed s");
    EXPECT(acquire("bob", "B", "d wait=0"), "closed d");
    EXPECT(acquire("bob", "B", "s:2"), "waiting");
    EXPECT(state("s"), "1/0 free=0 waiting=0+1");
    EXPECT(lease_state("A"), "granted s=0");
    EXPECT(change("limit s 3"), "ok; B granted s=1,2");
    EXPECT(change("limit d 1"), "ok");
    EXPECT(acquire("bob", "C", "d"), "ok d=0");
}

Test(change, limit_and_kinds)
{
    EXPECT(define("semaphore s limit=2", "lock d", "pool g items=a,b"), "ok");
    EXPECT(change("limit none 1"), "unknown");
    EXPECT(change("limit g 1"), "kind");
    EXPECT(change("limit d 2"), "kind");
    EXPECT(change("limit d 1"), "ok");
    EXPECT(change("limit s 1000000"), "ok");
    EXPECT(change("limit s 1000001"), "impossible");
    EXPECT(state("s"), "0/1000000 free=1000000 waiting=0+0");
}

/* Counts up to the larger of the file's and the operator's limit may wait. */
Test(change, what_is_impossible)
{
    given("semaphore s limit=3", "change: limit s 1", "ann waits A: s:3");
    EXPECT(acquire("ann", "B", "s:4"), "impossible s");
    EXPECT(change("limit s 5"), "ok; A granted s=0,1,2");
    EXPECT(acquire("ann", "B", "s:5"), "waiting");
    EXPECT(acquire("ann", "C", "s:6"), "impossible s");
    EXPECT(change("reset s"), "ok; B denied impossible");
}

Test(change, reset_goes_back_to_the_files_limit)
{
    given("semaphore s limit=2", "ann has A: s", "change: limit s 1", "ann waits B: s");
    EXPECT(change("reset s"), "ok; B granted s=1");
    EXPECT(change("reset s"), "ok");
    EXPECT(change("reset none"), "unknown");
}

/* ---- items ---- */

Test(change, an_added_item_goes_to_the_first_waiter)
{
    given("pool g items=a select=first", "ann has A: g", "bob waits B: g", "cy waits C: g");
    EXPECT(change("add g b"), "ok; B granted g=b");
    EXPECT(state("g"), "2/2 free=0 waiting=1+0");
    EXPECT(change("add g b"), "ok");
    EXPECT(state("g"), "2/2 free=0 waiting=1+0");
}

Test(change, a_removed_free_item_goes_at_once)
{
    given("pool g items=a,b select=first", "change: remove g a");
    EXPECT(state("g"), "0/1 free=1 waiting=0+0");
    EXPECT(acquire("ann", "A", "g"), "ok g=b");
    EXPECT(change("remove g a"), "unknown");
    EXPECT(change("remove g x"), "unknown");
    EXPECT(change("add g a"), "ok");
    EXPECT(acquire("ann", "B", "g"), "ok g=a");
}

/* An item of the file comes back to its place there; new ones follow. */
Test(change, items_stay_in_file_order)
{
    EXPECT(define("pool g items=a,b,c select=first"), "ok");
    EXPECT(change("remove g b"), "ok");
    EXPECT(change("add g x"), "ok");
    EXPECT(change("add g w"), "ok");
    EXPECT(change("remove g a"), "ok");
    EXPECT(change("add g b"), "ok");
    EXPECT(change("add g a"), "ok");
    EXPECT(acquire("ann", "A", "g:5"), "ok g=a,b,c,x,w");
}

/* A held one drains: it goes when its holder does. */
Test(change, a_removed_held_item_drains)
{
    given("pool g items=a,b select=first", "ann has A: g:2", "change: remove g a");
    EXPECT(state("g"), "2/1 free=0 waiting=0+0");
    EXPECT(acquire("bob", "B", "g"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; B granted g=b");
    EXPECT(state("g"), "1/1 free=0 waiting=0+0");
    EXPECT(change("remove g a"), "unknown");
}

Test(change, a_draining_item_may_come_back)
{
    given("pool g items=a,b select=first", "ann has A: g", "change: remove g a",
        "change: remove g a");
    EXPECT(state("g"), "1/1 free=1 waiting=0+0");
    EXPECT(change("add g a"), "ok");
    EXPECT(state("g"), "1/2 free=1 waiting=0+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "g:2"), "ok g=a,b");
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

Test(change, a_pool_without_items_is_closed)
{
    given("pool g items=a", "change: remove g a");
    EXPECT(acquire("ann", "A", "g wait=0"), "closed g");
    EXPECT(acquire("ann", "A", "g"), "waiting");
    EXPECT(change("add g z"), "ok; A granted g=z");
}

Test(change, reset_brings_the_files_items_back)
{
    given("pool g items=a,b,c select=first", "ann has A: g", "change: remove g a",
        "change: remove g b", "change: add g x");
    EXPECT(state("g"), "1/2 free=2 waiting=0+0");
    EXPECT(change("reset g"), "ok");
    EXPECT(state("g"), "1/3 free=2 waiting=0+0");
    EXPECT(acquire("bob", "B", "g:2"), "ok g=b,c");
    EXPECT(change("remove g x"), "unknown");
}

Test(change, items_and_kinds)
{
    EXPECT(define("semaphore s limit=2", "lock d"), "ok");
    EXPECT(change("remove s 0"), "kind");
    EXPECT(change("remove d 0"), "kind");
    EXPECT(change("add s 0"), "kind");
    EXPECT(change("add s x"), "kind");
    EXPECT(change("add none a"), "unknown");
    EXPECT(change("remove none a"), "unknown");
    EXPECT(change("reserve none a"), "unknown");
}

/* ---- reservations ---- */

Test(change, a_reserved_slot_is_not_granted)
{
    given("semaphore s limit=3", "change: reserve s 1");
    EXPECT(state("s"), "0/3 free=2 waiting=0+0");
    EXPECT(acquire("ann", "A", "s:2"), "ok s=0,2");
    EXPECT(acquire("bob", "B", "s wait=0"), "would-wait s");
    EXPECT(acquire("bob", "B", "s"), "waiting");
    EXPECT(change("add s 1"), "ok; B granted s=1");
    EXPECT(change("add s 1"), "kind");
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

/* A reservation that ends while the unit is held leaves no trace. */
Test(change, a_reservation_ended_while_held)
{
    given("semaphore s limit=1", "ann has A: s", "change: reserve s 0", "change: add s 0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "s"), "ok s=0");
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

/* Slots are numbers: without leading zeros, as everywhere. */
Test(change, slots_are_strict_numbers)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(change("reserve s 01"), "unknown");
    EXPECT(change("reserve s 1"), "ok");
    EXPECT(change("add s 01"), "kind");
    EXPECT(state("s"), "0/3 free=2 waiting=0+0");
}

/* All reserved: not closed, only not free. */
Test(change, all_reserved)
{
    given("semaphore s limit=2", "change: reserve s 0", "change: reserve s 1");
    EXPECT(acquire("ann", "A", "s wait=0"), "would-wait s");
    EXPECT(acquire("ann", "A", "s:2"), "waiting");
    EXPECT(change("add s 1"), "ok");
    EXPECT(change("add s 0"), "ok; A granted s=0,1");
}

/* A reservation above a lowered limit is remembered. */
Test(change, reservations_and_limits)
{
    given("semaphore s limit=4", "change: reserve s 3", "change: limit s 3");
    EXPECT(state("s"), "0/3 free=3 waiting=0+0");
    EXPECT(change("limit s 4"), "ok");
    EXPECT(state("s"), "0/4 free=3 waiting=0+0");
    EXPECT(acquire("ann", "A", "s:3"), "ok s=0,1,2");
    EXPECT(change("limit s 2"), "ok");
    EXPECT(change("reserve s 0"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("s"), "0/2 free=1 waiting=0+0");
}

/* ---- pause ---- */

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

Test(change, reset_ends_a_pause)
{
    given("lock d", "change: pause d", "ann waits A: d");
    EXPECT(change("reset d"), "ok; A granted d=0");
}

Test(change, reasons)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    const struct resource *s = core_find_resource(the_core(), "s");
    EXPECT(change("pause s upgrade"), "ok");
    cr_expect_str_eq(s->pause.reason, "upgrade");
    EXPECT(change("pause s"), "ok");
    cr_expect_null(s->pause.reason);
    EXPECT(change("pause s again"), "ok");
    EXPECT(change("resume s"), "ok");
    cr_expect_null(s->pause.reason);
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
    cr_expect_null(s->pause.reason);
    cr_expect_null(resource_find_unit(s, "0")->reason);
}

/* Why not now: paused before closed before draining before would-wait. */
Test(change, which_refusal_comes_first)
{
    given("lock a", "lock b", "lock c", "ann has A: a");
    EXPECT(acquire("bob", "B", "c a wait=0"), "would-wait a");
    EXPECT(drain(true), "ok");
    EXPECT(acquire("bob", "B", "c a wait=0"), "draining");
    EXPECT(change("limit b 0"), "ok");
    EXPECT(acquire("bob", "B", "a b c wait=0"), "closed b");
    EXPECT(change("pause c"), "ok");
    EXPECT(acquire("bob", "B", "a b c wait=0"), "paused c");
    EXPECT(acquire("bob", "B", "c b a wait=0"), "paused c");
    EXPECT(change("pause b"), "ok");
    EXPECT(acquire("bob", "B", "a b c wait=0"), "paused b");
}
