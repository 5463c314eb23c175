/* test_core_record.c - records when the file has changed, when they cannot be true, when their
 * units rest; and the numbers that have been given out. */
#include "core_fixture.h"

WORLD_SUITE(record);

/* ---- the file has changed ---- */

static const struct story the_file_has_changed[] = {
    /* Takes nothing away from a holder; nothing new is granted until it fits. */
    {"over a lowered limit",
        {"semaphore s limit=4", "ann has A: s:2 pid=7", "bob has B: s:2 pid=8", "cy waits C: s",
            "di waits D: s:3",
            "restart: semaphore s limit=2 -> A B C D=impossible; A watch; B watch",
            "state s -> 4/2 free=0 waiting=1+0", "cy reclaims C -> waiting", "exit A",
            "state s -> 2/2 free=0 waiting=1+0", "exit B -> ok; C granted s=0"}},
    {"over a closed resource",
        {"semaphore s limit=2", "ann has A: s", "bob waits B: s:2",
            "restart: semaphore s limit=0 -> A B", "ann reclaims A -> ok s=0",
            "bob reclaims B -> waiting", "ann goes",
            "reload: semaphore s limit=2 -> ok; B granted s=0,1"}},
    {"over a lowered quota",
        {"semaphore s limit=5", "lock d", "ann has A: s:2", "ann has B: s", "ann has C: d",
            "ann waits D: d",
            "restart: semaphore s limit=5 max-units-per-user=1; lock d; user leases=1 waiters=0 "
            "clients=1 -> A B C D",
            "ann reclaims A -> ok s=0,1", "ann reclaims D -> waiting", "ann acquires E: s -> quota",
            "ann reclaims C -> ok d=0", "ann ends C -> ok; D granted d=0"}},
    /* A waiter that wants more than its user may ever have. */
    {"beyond a lowered quota",
        {"semaphore s limit=5", "ann has A: s:5 pid=7", "bob waits B: s:3",
            "restart: semaphore s limit=5 max-units-per-user=2 -> A B=impossible; A watch"}},
    /* Its resource is not in the file any more: it drains. */
    {"a resource that is gone",
        {"lock d", "pool g items=a,b select=first", "lock e", "ann has A: d g pid=7",
            "bob has B: g:1 ttl=9", "cy waits C: d", "cy waits D: e d",
            "restart: lock e -> A B C=unknown D=unknown; A watch", "resources -> e d g",
            "cy acquires E: g -> unknown g", "cy acquires E: e -> ok e=0",
            "restart: lock e -> A B E; A watch", "exit A", "resources -> e g",
            "at 9 -> ok; B stop expired unheard", "resources -> e"}},
    /* ...and is back in the file while it drains. */
    {"a resource that is gone and comes back",
        {"lock d", "pool g items=a,b select=first", "ann has A: d g pid=7",
            "restart: lock e -> A; A watch",
            "reload: lock e; lock d; pool g items=a,b select=first", "resources -> e d g",
            "bob waits B: g:2", "state g -> 1/2 free=1 waiting=1+0",
            "exit A -> ok; B granted g=a,b"}},
    {"instances",
        {"semaphore t/* limit=1 max-instances=2", "user instances=1", "ann has A: t/x",
            "ann waits B: t/x", "bob has C: t/y pid=7",
            "restart: semaphore t/* limit=1 max-instances=1 -> A C B; C watch",
            "resources -> t/x t/y", "cy acquires D: t/z -> quota t/z", "exit C", "resources -> t/x",
            "ann reclaims B -> waiting", "at 10 -> ok; B granted t/x=0"}},
    {"another kind of resource",
        {"semaphore s limit=2", "pool g items=a,b select=first", "ann has A: s pid=7",
            "bob has B: g pid=8", "cy has C: s g pid=9", "di waits D: s",
            "restart: pool s items=a,b select=first; lock g -> A=kind B=kind C=kind D",
            "state s -> 0/2 free=2 waiting=1+0", "state g -> 0/1 free=1 waiting=0+0",
            "di reclaims D -> ok s=a"}},
    /* Nothing remains of an instance that only a refused record named. */
    {"refused instances",
        {"semaphore t/* limit=1", "pool u/* items=a max-instances=1",
            "record A: ann id=10 t/x:2 -> impossible", "resources -> ",
            "record A: ann id=11 t/x:1:a:5 -> kind", "record A: ann id=12 u/x:1:0:5 -> kind",
            "resources -> ", "record A: ann id=13 z:1:0:5 u/x:1:0:5 -> kind", "resources -> ",
            "record A: ann id=14 u/x:1:a:5 z:1:0:5 z:1:1:5 -> held", "resources -> ",
            "ann acquires B: u/y -> ok u/y=a"}},
};

Test(record, the_file_has_changed)
{
    tell(the_file_has_changed);
}

Test(record, an_item_that_is_gone)
{
    given("pool g items=a,b,c select=first", "ann has A: g:2 pid=7", "bob waits B: g:2");
    EXPECT(restart("pool g items=c,b"), "A B; A watch");
    EXPECT(state("g"), "2/2 free=1 waiting=1+0");
    EXPECT(lease_state("A"), "granted g=a,b");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(process_gone("A"), "ok; B granted g=c,b");
    EXPECT(change("remove g a"), "unknown");
}

/* Operators' changes are made again before leases are: an item that was removed while it was held
 * still drains, one that was added is still in service. */
Test(record, items_changed_at_runtime)
{
    given("pool g items=a,b select=first", "change: add g x",
        "ann acquires A: g:3 pid=7 -> ok g=a,b,x", "change: remove g a");
    EXPECT(state("g"), "3/2 free=0 waiting=0+0");
    crash(false);
    EXPECT(define("pool g items=a,b select=first"), "ok");
    EXPECT(change("remove g a"), "ok");
    EXPECT(change("add g x"), "ok");
    EXPECT(restore_all(), "A; A watch");
    EXPECT(state("g"), "3/2 free=0 waiting=0+0");
    EXPECT(process_gone("A"), "ok");
    EXPECT(state("g"), "0/2 free=2 waiting=0+0");
    EXPECT(acquire("bob", "B", "g:2"), "ok g=b,x");
    EXPECT(change("reset g"), "ok");
}

Test(record, units_reserved_at_runtime)
{
    given("semaphore s limit=2", "ann has A: s pid=7", "change: reserve s 0");
    crash(false);
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(change("reserve s 0"), "ok");
    EXPECT(restore_all(), "A; A watch");
    EXPECT(acquire("bob", "B", "s:2"), "waiting");
    EXPECT(process_gone("A"), "ok");
    EXPECT(state("s"), "0/2 free=1 waiting=1+0");
    EXPECT(change("add s 0"), "ok; B granted s=0,1");
}

/* ---- records that cannot be true ---- */

static const struct story records_that_cannot_be_true[] = {
    {"slots beyond everything",
        {"semaphore s limit=3", "record A: ann id=10 s:1:1000000:5 pid=7 -> held",
            "record A: ann id=10 s:1:4000000000:5 pid=7 -> held",
            "record A: ann id=10 s:2:9,700:5 pid=7 -> ok; A watch",
            "state s -> 2/3 free=1 waiting=0+0", "bob acquires B: s:2 wait=0 -> would-wait s",
            "bob acquires B: s:1 -> ok s=0", "exit A", "bob acquires C: s:2 -> ok s=1,2"}},
    /* A unit that rests since another record's lease is over: resting is no bar, and held it does
     * not rest any more. */
    {"a unit that rests",
        {"lock d cooldown=3", "record A: ann id=10 d:1:0:5 pid=7 -> ok; A watch", "exit A",
            "deadline -> 3", "record B: bob id=11 d:1:0:6 pid=8 -> ok; B watch",
            "deadline -> never", "cy waits C: d", "at 3", "exit B", "at 6 -> ok; C granted d=0"}},
};

Test(record, records_that_cannot_be_true)
{
    tell(records_that_cannot_be_true);
}

Test(record, duplicates)
{
    given("semaphore s limit=3", "pool g items=a,b", "grace 10",
        "record A: ann id=10 s:2:0,1:15 g:1:a:16 holder=x pid=7 -> ok; A watch");
    EXPECT(restore("B", "ann id=10 s:1:2:17"), "held"); /* the id */
    EXPECT(restore("B", "ann id=10 s"), "held");
    EXPECT(restore("B", "bob id=11 s:1:1:15"), "held"); /* the unit */
    EXPECT(restore("B", "bob id=11 s:1:2:17 g:1:a:8"), "held");
    EXPECT(restore("B", "bob id=11 s:1:0:17 g:1:a:8"), "held");
    EXPECT(restore("B", "bob id=11 s:2:2,2:7"), "held"); /* itself */
    EXPECT(restore("B", "bob id=11 s s"), "held");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(state("g"), "1/2 free=1 waiting=0+0");
    EXPECT(restore("C", "bob id=11 s:1:2:7 holder=x"), "ok");
    EXPECT(state("s"), "3/3 free=0 waiting=0+0");
}

/* A record that could not be erased when its lease had ended: the unit's later holder has the
 * larger token, in whatever order they are found. */
Test(record, a_unit_of_two_records)
{
    given("semaphore s limit=3", "pool g items=a,b cooldown=5", "grace 10",
        "record A: ann id=10 s:2:0,1:5 g:1:a:6 pid=7 -> ok; A watch");
    EXPECT(restore("B", "bob id=11 g:1:a:8 pid=8"), "ok; A lost lost unheard; B watch");
    EXPECT(state("s"), "0/3 free=3 waiting=0+0");
    EXPECT(restore("C", "ann id=9 g:1:a:7 pid=7"), "held");
    EXPECT(restore("D", "cy id=12 s:3:0,1,2:9"), "ok");
    EXPECT(lines("g"), "B | |");
    EXPECT(lines("s"), "D | |");
}

/* A record that cannot be true takes nothing from one that can. */
Test(record, an_untrue_record_with_the_larger_token)
{
    given("semaphore s limit=3", "pool g items=a,b", "grace 10",
        "record A: ann id=10 s:1:0:5 g:1:a:6 pid=7 -> ok; A watch");
    EXPECT(restore("B", "bob id=11 s:2:0,0:7 pid=8"), "held");
    EXPECT(restore("B", "bob id=11 s:2:0,4000000000:7 pid=8"), "held");
    EXPECT(restore("B", "bob id=11 g:3:a,x,x:7 pid=8"), "held");
    EXPECT(lines("s"), "A | |");
    EXPECT(lines("g"), "A | |");
}

/* A reload has made one identity of two: both go on, and so they do after a restart. */
Test(record, identities_that_have_become_one)
{
    given("semaphore s limit=3", "ann has A: s holder=x pid=7", "bob has B: s:2 holder=x pid=8",
        "cy waits C: s holder=x");
    EXPECT(define("semaphore s limit=3 identity=shared"), "ok");
    EXPECT(restart("semaphore s limit=3 identity=shared"), "A B C; A watch; B watch");
    EXPECT(lines("s"), "A B | C |");
    EXPECT(acquire("di", "D", "s holder=x"), "held s");
    EXPECT(reclaim("cy", "C"), "waiting");
    EXPECT(process_gone("A"), "ok; C granted s=0");
    EXPECT(process_gone("B"), "ok");
    EXPECT(client_gone("cy"), "ok");
    EXPECT(acquire("di", "D", "s holder=x"), "ok s=0");
}

/* ---- units at rest ---- */

/* As long as without the restart, and no longer. */
Test(record, units_go_on_resting)
{
    given("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first cooldown=9",
        "ann has A: s g", "ann has B: s pid=7", "at 1", "ann ends A", "at 3");
    EXPECT(restart("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first cooldown=9"),
        "A=rests B; B watch");
    EXPECT(state("s"), "1/2 free=0 waiting=0+0");
    EXPECT(state("g"), "0/2 free=1 waiting=0+0");
    EXPECT(acquire("bob", "C", "s"), "waiting");
    EXPECT(acquire("bob", "D", "g:2"), "waiting");
    EXPECT(tick(5.999), "ok");
    EXPECT(tick(6), "ok; C granted s=0");
    EXPECT(restart("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first cooldown=9"),
        "A=rests B C D; B watch");
    EXPECT(reclaim("bob", "D"), "waiting");
    EXPECT(tick(10), "ok; D granted g=a,b");
}

Test(record, rested_while_there_was_no_core)
{
    given("lock d cooldown=2", "ann has A: d", "ann ends A", "at 2");
    EXPECT(restart("lock d cooldown=2"), "A=rested");
    EXPECT(deadline(), "never");
}

/* As in a reload: what rests keeps the end that it was given. */
Test(record, another_cooldown)
{
    given("lock d cooldown=5", "lock e cooldown=3", "lock f cooldown=5", "lock g",
        "ann has A: d e f g", "ann ends A", "at 1");
    for (int i = 0; i < 2; i++) {
        EXPECT(restart("lock d cooldown=2", "lock e", "lock g cooldown=9"), "A=rests");
        EXPECT(resources(), "d e g");
        EXPECT(state("g"), "0/1 free=1 waiting=0+0");
        EXPECT(deadline(), "3");
    }
    EXPECT(tick(3), "ok");
    EXPECT(deadline(), "5");
    EXPECT(acquire("bob", "B", "e"), "ok e=0");
}

/* Units of a lease whose end nobody has seen: from the first start on. */
Test(record, cooldowns_that_are_not_known)
{
    static const struct saved_unit units[] = {{.slot = 0}};
    EXPECT(define("lock d cooldown=5", "lock e"), "ok");
    struct saved_lease saved = {.id = 3,
        .is_held = true,
        .rested_at = 1001 * NANOSECONDS_PER_SECOND, /* the core's clock begins at 1000 */
        .n_claims = 2,
        .claims = {{.name = "d", .count = 1, .token = 5, .units = units},
            {.name = "e", .count = 1, .token = 5, .units = units}}};
    struct effects effects = EFFECTS_INIT;
    cr_expect_eq(core_restore_cooldown(the_core(), &saved, saved.rested_at, &effects),
        1006 * NANOSECONDS_PER_SECOND);
    cr_expect_eq(saved.claims[0].cooldown, 5 * NANOSECONDS_PER_SECOND);
    cr_expect_eq(saved.claims[1].cooldown, 0);
    effects_clear(&effects);
    effects_deinit(&effects);
}

/* Not a unit that has had another holder since, or that an operator keeps. */
Test(record, units_that_have_rested)
{
    given("lock d cooldown=5", "pool g items=a,b cooldown=5", "semaphore t/* limit=1 cooldown=5",
        "ann has A: d g t/x", "ann ends A");
    crash(false);
    EXPECT(
        define("lock d cooldown=5", "lock g cooldown=5", "semaphore t/* limit=1 cooldown=5"), "ok");
    EXPECT(restore_all(), "A=rests");
    EXPECT(restore("B", "bob id=3 d:1:0:5 pid=7"), "ok; B watch");
    EXPECT(state("d"), "1/1 free=0 waiting=0+0");
    EXPECT(state("g"), "0/1 free=1 waiting=0+0");
    EXPECT(resources(), "d g t/x");
    EXPECT(tick(5), "ok");
    EXPECT(resources(), "d g");
    EXPECT(lease_state("B"), "granted d=0");
}

/* A record that cannot be true does no harm. */
Test(record, rests_for_ever)
{
    EXPECT(define("semaphore s limit=1 cooldown=5"), "ok");
    const struct saved_unit units[] = {{.slot = 0}, {.slot = 4000000000}};
    struct saved_lease saved = {.id = 3,
        .is_held = true,
        .rested_at = NEVER - 1,
        .n_claims = 1,
        .claims = {{.name = "s", .count = 2, .token = 5, .units = units}}};
    struct effects effects = EFFECTS_INIT;
    cr_expect_eq(core_restore_cooldown(the_core(), &saved, 1, &effects), 0);
    effects_clear(&effects);
    effects_deinit(&effects);
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
}

/* ---- numbers ---- */

/* Even if the new core was given smaller ones. */
Test(record, ids_and_tokens_go_on)
{
    EXPECT(define("semaphore s limit=5", "lock d"), "ok");
    for (int i = 0; i < 20; i++) {
        EXPECT(acquire("ann", "A", "s"), "ok s=0");
        EXPECT(end_lease("ann", "A"), "ok");
    }
    EXPECT(acquire("ann", "B", "s d pid=7"), "ok s=0 d=0");
    EXPECT(acquire("ann", "C", "s:2 pid=7"), "ok s=1,2");
    uint64_t id = lease_of("C")->id, token = token_of("C", "s");
    uint64_t old = token_of("B", "d");
    crash(true);
    EXPECT(define("semaphore s limit=5", "lock d"), "ok");
    EXPECT(restore_all(), "B C; B watch; C watch");
    cr_expect_eq(token_of("B", "d"), old);
    cr_expect_eq(token_of("C", "s"), token);
    cr_expect_gt(core_next_number(the_core()), id);
    cr_expect_gt(core_next_number(the_core()), token);
    EXPECT(acquire("bob", "D", "s"), "ok s=3");
    cr_expect_gt(lease_of("D")->id, id);
    cr_expect_gt(token_of("D", "s"), token);
}

/* Including those of leases that ended while there was no core. */
Test(record, numbers_of_what_rests)
{
    given("lock d cooldown=5", "ann has A: d");
    uint64_t id = lease_of("A")->id, token = token_of("A", "d");
    EXPECT(end_lease("ann", "A"), "ok");
    crash(true);
    EXPECT(define("lock d cooldown=5"), "ok");
    EXPECT(tick(5), "ok");
    EXPECT(restore_all(), "A=rested");
    EXPECT(acquire("ann", "B", "d"), "ok d=0");
    cr_expect_gt(lease_of("B")->id, id);
    cr_expect_gt(token_of("B", "d"), token);
}

/* Including those of refused records: they have been given out. */
Test(record, numbers_of_refused_records)
{
    EXPECT(define("lock d", "pool g items=a"), "ok");
    EXPECT(restore("A", "ann id=5000 g:1:0:7000"), "kind");
    EXPECT(acquire("bob", "B", "d"), "ok d=0");
    cr_expect_gt(lease_of("B")->id, 5000);
    cr_expect_gt(token_of("B", "d"), 7000);
}

/* Smaller ones change nothing. */
Test(record, numbers_that_are_larger_already)
{
    given("semaphore s limit=3", "record A: ann id=50 s:1:0:180 pid=7 -> ok; A watch",
        "record B: ann id=3 s:1:1:170 pid=8 -> ok; B watch");
    EXPECT(lines("s"), "B A | |");
    EXPECT(acquire("bob", "C", "s"), "ok s=2");
    cr_expect_eq(lease_of("C")->id, 100);
    cr_expect_eq(token_of("C", "s"), 181);
    EXPECT(lines("s"), "B A C | |");
}
