/* test_core_reload.c - core_define() on a living core: all or nothing, nothing taken from a holder,
 * runtime changes last until their key changes. */
#include "core_fixture.h"

WORLD_SUITE(reload);

static const struct story stories[] = {
    {"the same again changes nothing",
        {"semaphore s limit=1", "pool g items=a,b select=first", "ann has A: s g", "bob waits B: s",
            "reload: semaphore s limit=1; pool g items=a,b select=first",
            "state s -> 1/1 free=0 waiting=1+0", "state g -> 1/2 free=1 waiting=0+0",
            "ann ends A -> ok; B granted s=0"}},
    {"in file order",
        {"lock b", "lock a", "semaphore t/* limit=1", "ann has A: t/z", "resources -> b a t/z",
            "reload: lock a; lock c; lock b; semaphore t/* limit=1", "resources -> a c b t/z"}},
    {"limits go up and down",
        {"semaphore s limit=1", "ann has A: s", "bob waits B: s", "cy waits C: s",
            "reload: semaphore s limit=2 -> ok; B granted s=1", "reload: semaphore s limit=1",
            "state s -> 2/1 free=0 waiting=1+0", "ann ends A", "bob ends B -> ok; C granted s=0"}},
    {"waiters that became impossible",
        {"semaphore s limit=3", "lock d", "ann has A: s", "cy has C: s:2", "bob waits B: d s:3",
            "di waits D: s", "reload: semaphore s limit=2; lock d -> ok; B denied impossible",
            "cy acquires E: d -> ok d=0", "state s -> 3/2 free=0 waiting=1+0"}},
    /* A request for a resource that goes and for another is denied, and delays nobody there any
     * more. */
    {"one of several resources goes",
        {"lock a", "lock b", "lock c", "ann has A: b", "di has D: a", "bob waits B: a b",
            "cy waits C: a", "di ends D",
            "reload: lock c; lock a -> ok; B denied unknown; C granted a=0", "ann ends A",
            "resources -> c a"}},
    {"an idle resource goes at once",
        {"lock a", "lock b cooldown=5", "pool g items=x,y", "ann has A: b", "ann ends A",
            "deadline -> 5", "reload: lock a", "resources -> a", "deadline -> never"}},
    {"a resource that comes back while held",
        {"semaphore s limit=2", "pool g items=a,b select=first", "ann has A: s g",
            "reload: lock other", "resources -> other s g",
            "reload: semaphore s limit=2; lock other; pool g items=b,c select=first",
            "resources -> s other g", "state s -> 1/2 free=1 waiting=0+0",
            "state g -> 1/2 free=2 waiting=0+0", "bob acquires B: s g -> ok s=1 g=b",
            "cy waits C: s g", "ann ends A -> ok; C granted s=0 g=c"}},
    /* A draining resource is in use too; so is one with only waiters. */
    {"the kind of a draining or awaited resource",
        {"semaphore s limit=1", "semaphore z limit=0", "ann has A: s", "ann waits B: z",
            "reload: semaphore z limit=0", "reload: pool s items=a; semaphore z limit=0 -> kind s",
            "reload: pool z items=a -> kind z", "ann ends A",
            "reload: pool s items=a; semaphore z limit=1 -> ok; B granted z=0",
            "ann acquires C: s -> ok s=a"}},
    /* Nobody uses it: it may change its kind, though it is still cooling or paused. */
    {"a kind out of use may change",
        {"semaphore s limit=2 cooldown=60", "ann has A: s", "ann ends A", "reload: pool s items=a",
            "deadline -> never", "ann acquires B: s -> ok s=a", "ann ends B", "change: pause s",
            "reload: semaphore s limit=1", "ann acquires C: s -> ok s=0"}},
    {"lock and semaphore are the same units",
        {"semaphore s limit=3", "ann has A: s", "ann has B: s", "change: limit s 4",
            "reload: lock s", "state s -> 2/1 free=0 waiting=0+0", "reload: semaphore s limit=3",
            "ann acquires C: s -> ok s=2"}},
};

Test(reload, stories)
{
    tell(stories);
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

/* ---- runtime changes ---- */

static const struct story runtime_changes[] = {
    {"a runtime limit lasts until its key changes",
        {"semaphore s limit=3", "change: limit s 1",
            "reload: semaphore s limit=3 max-waiters=5; lock d",
            "state s -> 0/1 free=1 waiting=0+0", "reload: semaphore s limit=4",
            "state s -> 0/4 free=4 waiting=0+0"}},
    {"a pause lasts",
        {"lock d", "change: pause d", "ann waits A: d", "reload: lock d max-waiters=5; lock e",
            "ann acquires B: d wait=0 -> paused d", "change: resume d -> ok; A granted d=0"}},
    {"runtime items last until the key changes",
        {"pool g items=a,b select=first", "change: remove g a", "change: add g x",
            "reload: pool g items=a,b select=first max-waiters=7",
            "ann acquires A: g:2 -> ok g=b,x", "reload: pool g items=a,b,c select=first",
            "state g -> 2/3 free=2 waiting=0+0", "ann ends A",
            "ann acquires B: g:3 -> ok g=a,b,c"}},
    {"reservations last",
        {"semaphore s limit=2", "change: reserve s 0", "reload: semaphore s limit=3",
            "ann acquires A: s:2 -> ok s=1,2"}},
};

Test(reload, runtime_changes)
{
    tell(runtime_changes);
}

/* ---- items and their order ---- */

static const struct story items_and_their_order[] = {
    {"items come and go",
        {"pool g items=a,b,c select=first", "ann has A: g:2", "bob waits B: g:2",
            "reload: pool g items=d,c,b select=first -> ok; B granted g=d,c",
            "state g -> 4/3 free=0 waiting=0+0", "ann ends A", "cy acquires C: g -> ok g=b",
            "change: remove g a -> unknown"}},
    /* Free items go, the others change places. */
    {"items go and change places",
        {"pool g items=a,b,c,d select=first", "reload: pool g items=d,c,b select=first",
            "state g -> 0/3 free=3 waiting=0+0", "ann acquires A: g:2 -> ok g=d,c",
            "reload: pool g items=x,b,d select=first", "state g -> 2/3 free=2 waiting=0+0",
            "ann acquires B: g -> ok g=x", "ann ends A", "ann acquires C: g:2 -> ok g=b,d"}},
    {"new items serve waiters",
        {"pool g items=a select=first", "ann has A: g", "bob waits B: g", "cy waits C: g",
            "reload: pool g items=b,a select=first -> ok; B granted g=b"}},
    {"a held item leaves and returns",
        {"pool g items=a,b select=first", "ann has A: g", "reload: pool g items=b select=first",
            "state g -> 1/1 free=1 waiting=0+0", "reload: pool g items=b,a select=first",
            "state g -> 1/2 free=1 waiting=0+0", "ann ends A", "ann acquires B: g:2 -> ok g=b,a"}},
    {"select changes",
        {"pool g items=a,b,c select=lru", "ann has A: g", "ann ends A",
            "reload: pool g items=a,b,c select=first", "ann acquires B: g -> ok g=a",
            "reload: pool g items=a,b,c select=lru", "ann ends B",
            "ann acquires C: g:3 -> ok g=b,c,a"}},
    /* Both keys in one reload: those that were free are older than those that come. */
    {"select and items change together",
        {"pool g items=a,b,c,d select=first", "ann has A: g:2",
            "reload: pool g items=a,b,c,d,e select=lru", "ann ends A",
            "ann acquires B: g:3 -> ok g=c,d,e", "ann acquires C: g:2 -> ok g=a,b"}},
    {"cooldown changes",
        {"lock d cooldown=5", "ann has A: d", "ann ends A", "reload: lock d", "ann waits B: d",
            "at 5 -> ok; B granted d=0", "ann ends B", "ann acquires C: d -> ok d=0"}},
    {"fifo and first fit change",
        {"semaphore s limit=2", "ann has A: s", "bob waits B: s:2", "cy waits C: s",
            "reload: semaphore s limit=2 order=first-fit -> ok; C granted s=1",
            "reload: semaphore s limit=2", "cy ends C", "cy acquires D: s wait=0 -> would-wait"}},
};

Test(reload, items_and_their_order)
{
    tell(items_and_their_order);
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
    given("semaphore s limit=1", "lock d", "lock e database=1", "good 1: 100", "bob has A: s",
        "bob waits B: s", "bob waits C: d s", "cy waits D: d s", "bob asks E: e");
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
