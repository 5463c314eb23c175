/* test_core_template.c - instances of templates: made at first use, forgotten when idle, bounded in
 * number for each template and each uid. */
#include "core_fixture.h"

WORLD_SUITE(template);

Test(template, each_name_is_a_resource_of_its_own)
{
    EXPECT(define("semaphore market/* limit=2"), "ok");
    EXPECT(resources(), "");
    EXPECT(acquire("ann", "A", "market/alice:2"), "ok market/alice=0,1");
    EXPECT(acquire("ann", "B", "market/bob"), "ok market/bob=0");
    EXPECT(acquire("ann", "C", "market/alice wait=0"), "would-wait market/alice");
    EXPECT(acquire("ann", "D", "market/alice:3"), "impossible market/alice");
    EXPECT(resources(), "market/alice market/bob");
    EXPECT(state("market/bob"), "1/2 free=1 waiting=0+0");
}

Test(template, forgotten_when_idle)
{
    given("semaphore t/* limit=1", "ann has A: t/x", "bob waits B: t/x");
    EXPECT(end_lease("ann", "A"), "ok; B granted t/x=0");
    EXPECT(state("t/x"), "1/1 free=0 waiting=0+0");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(state("t/x"), "gone");
    EXPECT(resources(), "");
}

/* A refused request leaves no instance behind. */
Test(template, refusals_leave_nothing)
{
    EXPECT(define("semaphore t/* limit=2 max-priority=1", "lock d", "semaphore z/* limit=0"), "ok");
    EXPECT(acquire("ann", "A", "t/x:3"), "impossible t/x");
    EXPECT(acquire("ann", "A", "t/x t/y none"), "unknown none");
    EXPECT(acquire("ann", "A", "t/x priority=2"), "forbidden t/x");
    EXPECT(acquire("bob", "B", "d"), "ok d=0");
    EXPECT(acquire("ann", "A", "t/x d wait=0"), "would-wait d");
    EXPECT(acquire("ann", "A", "z/x wait=0"), "closed z/x");
    EXPECT(change("add t/x 0"), "kind");
    EXPECT(change("resume t/x"), "ok");
    EXPECT(resources(), "d");
}

Test(template, one_level_only)
{
    EXPECT(define("semaphore t/* limit=1", "semaphore t/u/* limit=3"), "ok");
    EXPECT(acquire("ann", "A", "t/x/y"), "unknown t/x/y");
    EXPECT(acquire("ann", "A", "t"), "unknown t");
    EXPECT(acquire("ann", "A", "tt/x"), "unknown tt/x");
    EXPECT(acquire("ann", "A", "t/u/v:3"), "ok t/u/v=0,1,2");
    EXPECT(acquire("ann", "B", "t/u"), "ok t/u=0");
}

Test(template, an_exact_name_beats_the_template)
{
    given("semaphore t/* limit=1", "semaphore t/big limit=5", "ann has A: t/big:5");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(resources(), "t/big");
    const struct definition *big = core_find_definition(the_core(), "t/big");
    const struct definition *small = core_find_definition(the_core(), "t/small");
    cr_expect_eq(big->limit, 5);
    cr_expect_eq(small->limit, 1);
    cr_expect_null(core_find_definition(the_core(), "u/small"));
    EXPECT(resources(), "t/big");
}

Test(template, instances_are_bounded)
{
    given("semaphore t/* limit=1 max-instances=2", "semaphore u/* limit=1", "ann has A: t/1",
        "bob has B: t/2");
    EXPECT(acquire("cy", "C", "t/3"), "quota t/3");
    EXPECT(acquire("cy", "C", "t/1"), "waiting");
    EXPECT(acquire("cy", "D", "u/3"), "ok u/3=0");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(acquire("cy", "E", "t/3"), "ok t/3=0");
    EXPECT(acquire("cy", "F", "t/4 t/1"), "quota t/4");
}

Test(template, instances_are_bounded_per_uid)
{
    given("semaphore t/* limit=2", "user instances=2", "ann has A: t/1", "ann2 has B: t/2");
    EXPECT(acquire("ann", "C", "t/3"), "quota t/3");
    EXPECT(acquire("bob", "D", "t/3"), "ok t/3=0");
    EXPECT(acquire("ann", "E", "t/3"), "ok t/3=1");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "F", "t/4"), "ok t/4=0");
}

/* An instance belongs to the user who made it until it is forgotten. */
Test(template, the_maker_pays_while_it_has_a_claim)
{
    given("semaphore t/* limit=2", "user instances=1", "ann has A: t/1", "bob has B: t/1",
        "bob has C: t/2");
    EXPECT(acquire("ann", "D", "t/3"), "quota t/3");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "D", "t/3"), "ok t/3=0");
    EXPECT(end_lease("bob", "C"), "ok");
    EXPECT(acquire("bob", "E", "t/2"), "quota t/2");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(acquire("bob", "E", "t/2"), "ok t/2=0");
}

Test(template, the_admin_pays_while_a_change_lasts)
{
    given("semaphore t/* limit=2", "user instances=1", "bob has A: t/1");
    EXPECT(change_as("ann", "pause t/1"), "ok");
    EXPECT(change_as("ann", "limit t/1 5"), "ok");
    EXPECT(change_as("ann", "pause t/2"), "quota");
    EXPECT(acquire("bob", "B", "t/3"), "ok t/3=0");
    EXPECT(change_as("ann", "pause t/3"), "quota");
    EXPECT(change_as("ann", "reset t/3"), "ok");
    EXPECT(change_as("cid", "pause t/4"), "ok");
    EXPECT(change_as("ann", "resume t/4"), "ok"); /* though at the bound */
    EXPECT(change_as("ann", "reset t/1"), "ok"); /* bob pays for it again */
    EXPECT(change_as("ann", "pause t/2"), "ok");
    EXPECT(acquire("bob", "C", "t/4"), "quota t/4");
    EXPECT(change("pause t/2"), "ok");
    EXPECT(change_as("ann", "pause t/5"), "ok"); /* nobody pays for t/2 any more */
}

/* A runtime change must last, so the instance does; without one it goes. */
Test(template, runtime_changes_keep_an_instance)
{
    given("semaphore t/* limit=2", "change: pause t/x");
    EXPECT(acquire("ann", "A", "t/x wait=0"), "paused t/x");
    EXPECT(resources(), "t/x");
    EXPECT(change("resume t/x"), "ok");
    EXPECT(resources(), "");
    EXPECT(change("limit t/x 5"), "ok");
    EXPECT(acquire("ann", "B", "t/x:4"), "ok t/x=0,1,2,3");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(state("t/x"), "0/5 free=5 waiting=0+0");
    EXPECT(change("limit t/x 2"), "ok");
    EXPECT(resources(), "");
    EXPECT(change("reserve t/x 1"), "ok");
    EXPECT(resources(), "t/x");
    EXPECT(change("add t/x 1"), "ok");
    EXPECT(resources(), "");
    EXPECT(change("limit t/x 3"), "ok");
    EXPECT(change("pause t/x"), "ok");
    EXPECT(change("reset t/x"), "ok");
    EXPECT(resources(), "");
}

Test(template, a_reservation_of_a_held_unit_keeps_it)
{
    given("semaphore t/* limit=2", "ann has A: t/x", "change: reserve t/x 0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("t/x"), "0/2 free=1 waiting=0+0");
    EXPECT(change("reset t/x"), "ok");
    EXPECT(resources(), "");
}

Test(template, of_a_pool)
{
    EXPECT(define("pool p/* items=a,b select=first"), "ok");
    EXPECT(acquire("ann", "A", "p/x"), "ok p/x=a");
    EXPECT(change("remove p/x b"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("p/x"), "0/1 free=1 waiting=0+0");
    EXPECT(acquire("ann", "B", "p/y:2"), "ok p/y=a,b");
    EXPECT(change("add p/x b"), "ok");
    EXPECT(state("p/x"), "gone");
    EXPECT(change("add p/z c"), "ok");
    EXPECT(state("p/z"), "0/3 free=3 waiting=0+0");
    EXPECT(change("remove p/z c"), "ok");
    EXPECT(state("p/z"), "gone");
}

Test(template, a_cooling_unit_keeps_an_instance)
{
    given("semaphore t/* limit=1 cooldown=5", "ann has A: t/x");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("t/x"), "0/1 free=0 waiting=0+0");
    EXPECT(acquire("ann", "B", "t/x wait=0"), "would-wait t/x");
    EXPECT(tick(4.9), "ok");
    EXPECT(resources(), "t/x");
    EXPECT(tick(5), "ok");
    EXPECT(resources(), "");
    EXPECT(deadline(), "never");
}

/* ---- reload ---- */

Test(template, instances_take_over_a_reloaded_template)
{
    given("semaphore t/* limit=1", "ann has A: t/x", "ann waits B: t/x");
    EXPECT(define("semaphore t/* limit=3"), "ok; B granted t/x=1");
    EXPECT(state("t/x"), "2/3 free=1 waiting=0+0");
    EXPECT(define("semaphore t/* limit=1"), "ok");
    EXPECT(state("t/x"), "2/1 free=0 waiting=0+0");
}

Test(template, a_template_that_goes)
{
    given("semaphore t/* limit=1", "lock d", "ann has A: t/x", "ann waits B: t/x");
    EXPECT(change("pause t/idle"), "ok");
    EXPECT(define("lock d"), "ok; B denied unknown");
    EXPECT(resources(), "d t/x");
    EXPECT(acquire("ann", "C", "t/x"), "unknown t/x");
    EXPECT(acquire("ann", "C", "t/y"), "unknown t/y");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(resources(), "d");
}

/* Instances that are alive count against the new bound; nothing is taken away. */
Test(template, a_lower_bound_on_instances)
{
    given("semaphore t/* limit=1 max-instances=3", "ann has A: t/1", "ann has B: t/2");
    EXPECT(define("semaphore t/* limit=1 max-instances=1"), "ok");
    EXPECT(acquire("ann", "C", "t/3"), "quota t/3");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "C", "t/3"), "quota t/3");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "t/3"), "ok t/3=0");
}

/* An instance gets a section of its own, and loses it again. */
Test(template, from_instance_to_exact_and_back)
{
    given("semaphore t/* limit=1 max-instances=1", "user instances=1", "ann has A: t/x");
    EXPECT(define("semaphore t/* limit=1 max-instances=1", "semaphore t/x limit=2",
               "user instances=1"),
        "ok");
    EXPECT(state("t/x"), "1/2 free=1 waiting=0+0");
    EXPECT(acquire("ann", "B", "t/y"), "ok t/y=0");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(define("semaphore t/* limit=1 max-instances=1", "user instances=1"), "ok");
    EXPECT(acquire("ann", "B", "t/y"), "quota t/y");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("t/x"), "gone");
    EXPECT(acquire("ann", "B", "t/y"), "ok t/y=0");
}

/* An idle exact resource whose section goes while a template covers it: gone, and made again. */
Test(template, from_idle_exact_to_instance)
{
    EXPECT(define("semaphore t/* limit=1", "semaphore t/x limit=9"), "ok");
    EXPECT(resources(), "t/x");
    EXPECT(define("semaphore t/* limit=1"), "ok");
    EXPECT(resources(), "");
    EXPECT(acquire("ann", "A", "t/x:2"), "impossible t/x");
}

Test(template, a_template_changes_its_kind)
{
    given("semaphore t/* limit=1", "ann has A: t/x");
    EXPECT(define("pool t/* items=a,b select=first"), "kind t/x");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(change("pause t/x"), "ok");
    EXPECT(define("pool t/* items=a,b select=first"), "ok");
    EXPECT(resources(), "");
    EXPECT(acquire("ann", "B", "t/x"), "ok t/x=a");
}

/* Nobody's bounds hold an operator up, and nobody pays for what an operator keeps alive. */
Test(template, what_an_operator_changes_is_charged_to_nobody)
{
    given("semaphore t/* limit=2 max-instances=1", "user instances=1", "ann has A: t/1",
        "change: pause t/2", "change: pause t/3");
    EXPECT(resources(), "t/1 t/2 t/3");
    EXPECT(change("pause t/1"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(change("reset t/2"), "ok");
    EXPECT(change("reset t/3"), "ok");
    EXPECT(define("semaphore t/* limit=2 max-instances=2", "user instances=1"), "ok");
    EXPECT(acquire("ann", "B", "t/4"), "ok t/4=0");
}
