/* test_core_reload.c - core_define() on a living core: all or nothing, nothing taken from a holder,
 * runtime changes last until their key changes. */
#include "core_fixture.h"

WORLD_SUITE(reload);

Test(reload, the_same_again_changes_nothing)
{
    given("semaphore s limit=1", "pool g items=a,b select=first", "ann has A: s g",
        "bob waits B: s");
    EXPECT(define("semaphore s limit=1", "pool g items=a,b select=first"), "ok");
    EXPECT(state("s"), "1/1 free=0 waiting=1+0");
    EXPECT(state("g"), "1/2 free=1 waiting=0+0");
    EXPECT(end_lease("ann", "A"), "ok; B granted s=0");
}

Test(reload, in_file_order)
{
    given("lock b", "lock a", "semaphore t/* limit=1", "ann has A: t/z");
    EXPECT(resources(), "b a t/z");
    EXPECT(define("lock a", "lock c", "lock b", "semaphore t/* limit=1"), "ok");
    EXPECT(resources(), "a c b t/z");
}

Test(reload, limits_go_up_and_down)
{
    given("semaphore s limit=1", "ann has A: s", "bob waits B: s", "cy waits C: s");
    EXPECT(define("semaphore s limit=2"), "ok; B granted s=1");
    EXPECT(define("semaphore s limit=1"), "ok");
    EXPECT(state("s"), "2/1 free=0 waiting=1+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(end_lease("bob", "B"), "ok; C granted s=0");
}

Test(reload, waiters_that_became_impossible)
{
    given("semaphore s limit=3", "lock d", "ann has A: s", "cy has C: s:2", "bob waits B: d s:3",
        "di waits D: s");
    EXPECT(define("semaphore s limit=2", "lock d"), "ok; B denied impossible");
    EXPECT(acquire("cy", "E", "d"), "ok d=0");
    EXPECT(state("s"), "3/2 free=0 waiting=1+0");
}

/* Gone from the file: waiters are denied, holders keep what they have, then it is gone. */
Test(reload, a_resource_that_goes)
{
    given("lock a", "lock b", "ann has A: a b", "cy waits B: b", "di waits C: a");
    EXPECT(define("lock a"), "ok; B denied unknown");
    EXPECT(resources(), "a b");
    EXPECT(acquire("cy", "D", "b"), "unknown b");
    EXPECT(acquire("cy", "D", "b wait=0"), "unknown b");
    EXPECT(change("limit b 0"), "unknown");
    cr_expect_null(core_find_definition(the_core(), "b"));
    EXPECT(end_lease("ann", "A"), "ok; C granted a=0");
    EXPECT(resources(), "a");
    EXPECT(state("b"), "gone");
}

/* A request for a resource that goes and for another is denied, and delays nobody there any
 * more. */
Test(reload, one_of_several_resources_goes)
{
    given("lock a", "lock b", "lock c", "ann has A: b", "di has D: a", "bob waits B: a b",
        "cy waits C: a");
    EXPECT(end_lease("di", "D"), "ok");
    EXPECT(define("lock c", "lock a"), "ok; B denied unknown; C granted a=0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(resources(), "c a");
}

Test(reload, an_idle_resource_goes_at_once)
{
    given("lock a", "lock b cooldown=5", "pool g items=x,y", "ann has A: b");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(deadline(), "5");
    EXPECT(define("lock a"), "ok");
    EXPECT(resources(), "a");
    EXPECT(deadline(), "never");
}

Test(reload, a_resource_that_comes_back_while_held)
{
    given("semaphore s limit=2", "pool g items=a,b select=first", "ann has A: s g");
    EXPECT(define("lock other"), "ok");
    EXPECT(resources(), "other s g");
    EXPECT(define("semaphore s limit=2", "lock other", "pool g items=b,c select=first"), "ok");
    EXPECT(resources(), "s other g");
    EXPECT(state("s"), "1/2 free=1 waiting=0+0");
    EXPECT(state("g"), "1/2 free=2 waiting=0+0");
    EXPECT(acquire("bob", "B", "s g"), "ok s=1 g=b");
    EXPECT(acquire("cy", "C", "s g"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; C granted s=0 g=c");
}

/* All or nothing: a resource in use cannot change between semaphore and pool. */
Test(reload, a_kind_in_use_cannot_change)
{
    given("semaphore s limit=2", "lock d", "lock old", "ann has A: s", "ann has B: old",
        "bob waits C: old");
    EXPECT(define("pool s items=a,b", "semaphore d limit=5", "user leases=1"), "kind s");
    EXPECT(resources(), "s d old");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0");
    EXPECT(acquire("ann", "D", "s"), "ok s=1");
    EXPECT(lease_state("C"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(end_lease("ann", "D"), "ok");
    EXPECT(define("pool s items=a,b", "semaphore d limit=5"), "ok; C denied unknown");
    EXPECT(resources(), "s d old");
    EXPECT(acquire("bob", "E", "s:2"), "ok s=a,b");
}

/* A draining resource is in use too; so is one with only waiters. */
Test(reload, the_kind_of_a_draining_or_awaited_resource)
{
    given("semaphore s limit=1", "semaphore z limit=0", "ann has A: s", "ann waits B: z");
    EXPECT(define("semaphore z limit=0"), "ok");
    EXPECT(define("pool s items=a", "semaphore z limit=0"), "kind s");
    EXPECT(define("pool z items=a"), "kind z");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(define("pool s items=a", "semaphore z limit=1"), "ok; B granted z=0");
    EXPECT(acquire("ann", "C", "s"), "ok s=a");
}

/* Nobody uses it: it may change its kind, though it is still cooling or paused. */
Test(reload, a_kind_out_of_use_may_change)
{
    given("semaphore s limit=2 cooldown=60", "ann has A: s");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(define("pool s items=a"), "ok");
    EXPECT(deadline(), "never");
    EXPECT(acquire("ann", "B", "s"), "ok s=a");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(change("pause s"), "ok");
    EXPECT(define("semaphore s limit=1"), "ok");
    EXPECT(acquire("ann", "C", "s"), "ok s=0");
}

Test(reload, lock_and_semaphore_are_the_same_units)
{
    given("semaphore s limit=3", "ann has A: s", "ann has B: s", "change: limit s 4");
    EXPECT(define("lock s"), "ok");
    EXPECT(state("s"), "2/1 free=0 waiting=0+0");
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(acquire("ann", "C", "s"), "ok s=2");
}

/* ---- runtime changes ---- */

Test(reload, a_runtime_limit_lasts_until_its_key_changes)
{
    given("semaphore s limit=3", "change: limit s 1");
    EXPECT(define("semaphore s limit=3 max-waiters=5", "lock d"), "ok");
    EXPECT(state("s"), "0/1 free=1 waiting=0+0");
    EXPECT(define("semaphore s limit=4"), "ok");
    EXPECT(state("s"), "0/4 free=4 waiting=0+0");
}

Test(reload, a_pause_lasts)
{
    given("lock d", "change: pause d", "ann waits A: d");
    EXPECT(define("lock d max-waiters=5", "lock e"), "ok");
    EXPECT(acquire("ann", "B", "d wait=0"), "paused d");
    EXPECT(change("resume d"), "ok; A granted d=0");
}

Test(reload, runtime_items_last_until_the_key_changes)
{
    given("pool g items=a,b select=first", "change: remove g a", "change: add g x");
    EXPECT(define("pool g items=a,b select=first max-waiters=7"), "ok");
    EXPECT(acquire("ann", "A", "g:2"), "ok g=b,x");
    EXPECT(define("pool g items=a,b,c select=first"), "ok");
    EXPECT(state("g"), "2/3 free=2 waiting=0+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "g:3"), "ok g=a,b,c");
}

Test(reload, reservations_last)
{
    given("semaphore s limit=2", "change: reserve s 0");
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(acquire("ann", "A", "s:2"), "ok s=1,2");
}

/* ---- items and their order ---- */

Test(reload, items_come_and_go)
{
    given("pool g items=a,b,c select=first", "ann has A: g:2", "bob waits B: g:2");
    EXPECT(define("pool g items=d,c,b select=first"), "ok; B granted g=d,c");
    EXPECT(state("g"), "4/3 free=0 waiting=0+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("cy", "C", "g"), "ok g=b");
    EXPECT(change("remove g a"), "unknown");
}

/* Free items go, the others change places. */
Test(reload, items_go_and_change_places)
{
    EXPECT(define("pool g items=a,b,c,d select=first"), "ok");
    EXPECT(define("pool g items=d,c,b select=first"), "ok");
    EXPECT(state("g"), "0/3 free=3 waiting=0+0");
    EXPECT(acquire("ann", "A", "g:2"), "ok g=d,c");
    EXPECT(define("pool g items=x,b,d select=first"), "ok");
    EXPECT(state("g"), "2/3 free=2 waiting=0+0");
    EXPECT(acquire("ann", "B", "g"), "ok g=x");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "C", "g:2"), "ok g=b,d");
}

Test(reload, new_items_serve_waiters)
{
    given("pool g items=a select=first", "ann has A: g", "bob waits B: g", "cy waits C: g");
    EXPECT(define("pool g items=b,a select=first"), "ok; B granted g=b");
}

Test(reload, a_held_item_leaves_and_returns)
{
    given("pool g items=a,b select=first", "ann has A: g");
    EXPECT(define("pool g items=b select=first"), "ok");
    EXPECT(state("g"), "1/1 free=1 waiting=0+0");
    EXPECT(define("pool g items=b,a select=first"), "ok");
    EXPECT(state("g"), "1/2 free=1 waiting=0+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "g:2"), "ok g=b,a");
}

Test(reload, select_changes)
{
    given("pool g items=a,b,c select=lru", "ann has A: g");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(define("pool g items=a,b,c select=first"), "ok");
    EXPECT(acquire("ann", "B", "g"), "ok g=a");
    EXPECT(define("pool g items=a,b,c select=lru"), "ok");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "g:3"), "ok g=b,c,a");
}

/* Both keys in one reload: those that were free are older than those that come. */
Test(reload, select_and_items_change_together)
{
    given("pool g items=a,b,c,d select=first", "ann has A: g:2");
    EXPECT(define("pool g items=a,b,c,d,e select=lru"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "g:3"), "ok g=c,d,e");
    EXPECT(acquire("ann", "C", "g:2"), "ok g=a,b");
}

Test(reload, cooldown_changes)
{
    given("lock d cooldown=5", "ann has A: d");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(define("lock d"), "ok");
    EXPECT(acquire("ann", "B", "d"), "waiting");
    EXPECT(tick(5), "ok; B granted d=0");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "d"), "ok d=0");
}

Test(reload, fifo_and_first_fit_change)
{
    given("semaphore s limit=2", "ann has A: s", "bob waits B: s:2", "cy waits C: s");
    EXPECT(define("semaphore s limit=2 order=first-fit"), "ok; C granted s=1");
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(end_lease("cy", "C"), "ok");
    EXPECT(acquire("cy", "D", "s wait=0"), "would-wait");
}

Test(reload, everything_goes_and_comes_back)
{
    given("lock d", "pool g items=a", "semaphore t/* limit=1", "ann has A: d g t/x",
        "bob waits B: t/x");
    EXPECT(define_all((const char *const[]){NULL}), "ok; B denied unknown");
    EXPECT(resources(), "d g t/x");
    EXPECT(define("lock d", "pool g items=a", "semaphore t/* limit=1"), "ok");
    EXPECT(acquire("bob", "C", "d g t/x"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; C granted d=0 g=a t/x=0");
}

/* ---- rights ---- */

/* For a resource with max-waiters = 7, only that uid may. */
static enum outcome judge(
    const struct lease *lease, const struct definition *definition, void *context)
{
    bool allowed = definition->max_waiters != 7 || lease->uid != *(const uint32_t *)context;
    return allowed ? OUTCOME_OK : OUTCOME_FORBIDDEN;
}

Test(reload, waiters_that_lost_the_right_go_before_anything_is_granted)
{
    EXPECT(define("semaphore s limit=1", "lock d", "lock e database=1"), "ok");
    EXPECT(good(1, 100), "ok");
    EXPECT(acquire("bob", "A", "s"), "ok s=0");
    EXPECT(acquire("bob", "B", "s"), "waiting");
    EXPECT(acquire("bob", "C", "d s"), "waiting");
    EXPECT(acquire("cy", "D", "d s"), "waiting");
    EXPECT(acquire("bob", "E", "e"), "pending; E ask");
    uint32_t uid = lease_of("A")->uid;
    core_set_waiter_filter(the_core(), judge, &uid);
    EXPECT(define("semaphore s limit=2 max-waiters=7", "lock d", "lock e database=1"),
        "ok; B denied forbidden; C denied forbidden; D granted d=0 s=1");
    EXPECT(lease_state("A"), "granted s=0");
    EXPECT(define("semaphore s limit=2", "lock d", "lock e database=1 max-waiters=7"),
        "ok; E give-back; E denied forbidden");
    core_set_waiter_filter(the_core(), NULL, NULL);
    EXPECT(acquire("bob", "F", "s"), "waiting");
    EXPECT(define("semaphore s limit=2 max-waiters=7", "lock d"), "ok");
}
