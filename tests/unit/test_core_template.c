/* test_core_template.c - instances of templates: made at first use, forgotten when idle, bounded in
 * number for each template and each uid. */
#include "core_fixture.h"

WORLD_SUITE(template);

static const struct story stories[] = {
    {"each name is a resource of its own",
        {"semaphore market/* limit=2", "resources -> ",
            "ann acquires A: market/alice:2 -> ok market/alice=0,1",
            "ann acquires B: market/bob -> ok market/bob=0",
            "ann acquires C: market/alice wait=0 -> would-wait market/alice",
            "ann acquires D: market/alice:3 -> impossible market/alice",
            "resources -> market/alice market/bob", "state market/bob -> 1/2 free=1 waiting=0+0"}},
    {"forgotten when idle",
        {"semaphore t/* limit=1", "ann has A: t/x", "bob waits B: t/x",
            "ann ends A -> ok; B granted t/x=0", "state t/x -> 1/1 free=0 waiting=0+0",
            "bob ends B", "state t/x -> gone", "resources -> "}},
    /* A refused request leaves no instance behind. */
    {"refusals leave nothing",
        {"semaphore t/* limit=2 max-priority=1", "lock d", "semaphore z/* limit=0",
            "ann acquires A: t/x:3 -> impossible t/x",
            "ann acquires A: t/x t/y none -> unknown none",
            "ann acquires A: t/x priority=2 -> forbidden t/x", "bob acquires B: d -> ok d=0",
            "ann acquires A: t/x d wait=0 -> would-wait d",
            "ann acquires A: z/x wait=0 -> closed z/x", "change: add t/x 0 -> kind",
            "change: resume t/x", "resources -> d"}},
    {"one level only",
        {"semaphore t/* limit=1", "semaphore t/u/* limit=3",
            "ann acquires A: t/x/y -> unknown t/x/y", "ann acquires A: t -> unknown t",
            "ann acquires A: tt/x -> unknown tt/x", "ann acquires A: t/u/v:3 -> ok t/u/v=0,1,2",
            "ann acquires B: t/u -> ok t/u=0"}},
    {"instances are bounded per uid",
        {"semaphore t/* limit=2", "user instances=2", "ann has A: t/1", "ann2 has B: t/2",
            "ann acquires C: t/3 -> quota t/3", "bob acquires D: t/3 -> ok t/3=0",
            "ann acquires E: t/3 -> ok t/3=1", "ann ends A", "ann acquires F: t/4 -> ok t/4=0"}},
    {"a reservation of a held unit keeps it",
        {"semaphore t/* limit=2", "ann has A: t/x", "change: reserve t/x 0", "ann ends A",
            "state t/x -> 0/2 free=1 waiting=0+0", "change: reset t/x", "resources -> "}},
    {"of a pool",
        {"pool p/* items=a,b select=first", "ann acquires A: p/x -> ok p/x=a",
            "change: remove p/x b", "ann ends A", "state p/x -> 0/1 free=1 waiting=0+0",
            "ann acquires B: p/y:2 -> ok p/y=a,b", "change: add p/x b", "state p/x -> gone",
            "change: add p/z c", "state p/z -> 0/3 free=3 waiting=0+0", "change: remove p/z c",
            "state p/z -> gone"}},
    {"a cooling unit keeps an instance",
        {"semaphore t/* limit=1 cooldown=5", "ann has A: t/x", "ann ends A",
            "state t/x -> 0/1 free=0 waiting=0+0", "ann acquires B: t/x wait=0 -> would-wait t/x",
            "at 4.9", "resources -> t/x", "at 5", "resources -> ", "deadline -> never"}},
    /* A runtime change must last, so the instance does; without one it goes. */
    {"runtime changes keep an instance",
        {"semaphore t/* limit=2", "change: pause t/x", "ann acquires A: t/x wait=0 -> paused t/x",
            "resources -> t/x", "change: resume t/x", "resources -> ", "change: limit t/x 5",
            "ann acquires B: t/x:4 -> ok t/x=0,1,2,3", "ann ends B",
            "state t/x -> 0/5 free=5 waiting=0+0", "change: limit t/x 2", "resources -> ",
            "change: reserve t/x 1", "resources -> t/x", "change: add t/x 1", "resources -> ",
            "change: limit t/x 3", "change: pause t/x", "change: reset t/x", "resources -> "}},
};

Test(template, stories)
{
    tell(stories);
}

Test(template, an_exact_name_beats_the_template)
{
    given("semaphore t/* limit=1", "semaphore t/big limit=5", "ann has A: t/big:5", "ann ends A");
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
    given("semaphore t/* limit=2", "user instances=1", "bob has A: t/1", "ann changes: pause t/1",
        "ann changes: limit t/1 5");
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

/* ---- reload ---- */

static const struct story reload[] = {
    {"instances take over a reloaded template",
        {"semaphore t/* limit=1", "ann has A: t/x", "ann waits B: t/x",
            "reload: semaphore t/* limit=3 -> ok; B granted t/x=1",
            "state t/x -> 2/3 free=1 waiting=0+0", "reload: semaphore t/* limit=1",
            "state t/x -> 2/1 free=0 waiting=0+0"}},
    {"a template that goes",
        {"semaphore t/* limit=1", "lock d", "ann has A: t/x", "ann waits B: t/x",
            "change: pause t/idle", "reload: lock d -> ok; B denied unknown", "resources -> d t/x",
            "ann acquires C: t/x -> unknown t/x", "ann acquires C: t/y -> unknown t/y",
            "ann ends A", "resources -> d"}},
    /* Instances that are alive count against the new bound; nothing is taken away. */
    {"a lower bound on instances",
        {"semaphore t/* limit=1 max-instances=3", "ann has A: t/1", "ann has B: t/2",
            "reload: semaphore t/* limit=1 max-instances=1", "ann acquires C: t/3 -> quota t/3",
            "ann ends A", "ann acquires C: t/3 -> quota t/3", "ann ends B",
            "ann acquires C: t/3 -> ok t/3=0"}},
    /* An instance gets a section of its own, and loses it again. */
    {"from instance to exact and back",
        {"semaphore t/* limit=1 max-instances=1", "user instances=1", "ann has A: t/x",
            "reload: semaphore t/* limit=1 max-instances=1; semaphore t/x limit=2; user "
            "instances=1",
            "state t/x -> 1/2 free=1 waiting=0+0", "ann acquires B: t/y -> ok t/y=0", "ann ends B",
            "reload: semaphore t/* limit=1 max-instances=1; user instances=1",
            "ann acquires B: t/y -> quota t/y", "ann ends A", "state t/x -> gone",
            "ann acquires B: t/y -> ok t/y=0"}},
    /* An idle exact resource whose section goes while a template covers it: gone, and made again.
     */
    {"from idle exact to instance",
        {"semaphore t/* limit=1", "semaphore t/x limit=9", "resources -> t/x",
            "reload: semaphore t/* limit=1", "resources -> ",
            "ann acquires A: t/x:2 -> impossible t/x"}},
    {"a template changes its kind",
        {"semaphore t/* limit=1", "ann has A: t/x",
            "reload: pool t/* items=a,b select=first -> kind t/x", "ann ends A",
            "change: pause t/x", "reload: pool t/* items=a,b select=first", "resources -> ",
            "ann acquires B: t/x -> ok t/x=a"}},
    /* Nobody's bounds hold an operator up, and nobody pays for what an operator keeps alive. */
    {"what an operator changes is charged to nobody",
        {"semaphore t/* limit=2 max-instances=1", "user instances=1", "ann has A: t/1",
            "change: pause t/2", "change: pause t/3", "resources -> t/1 t/2 t/3",
            "change: pause t/1", "ann ends A", "change: reset t/2", "change: reset t/3",
            "reload: semaphore t/* limit=2 max-instances=2; user instances=1",
            "ann acquires B: t/4 -> ok t/4=0"}},
};

Test(template, reload)
{
    tell(reload);
}
