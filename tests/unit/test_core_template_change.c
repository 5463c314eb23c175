/* test_core_template_change.c - changes at runtime to all instances of a template, those to come
 * included; what an instance has been given by itself comes before. */
#include "core_fixture.h"

WORLD_SUITE(template_change);

static const struct resource *instance(const char *name)
{
    return core_find_resource(the_core(), name);
}

/* ---- limit ---- */

static const struct story limit[] = {
    {"a limit of zero closes",
        {"semaphore m/* limit=2", "lock d/*", "change: limit m/* 0",
            "ann acquires A: m/a wait=0 -> closed m/a", "ann waits A: m/a", "change: limit d/* 0",
            "ann acquires B: d/a wait=0 -> closed d/a",
            "change: limit m/* 2 -> ok; A granted m/a=0"}},
    /* Whoever waits for more than there can ever be is refused. */
    {"a lowered limit denies what cannot be any more",
        {"semaphore m/* limit=2", "change: limit m/* 5", "ann has A: m/a:5", "bob waits B: m/a:4",
            "change: reset m/* -> ok; B denied impossible"}},
};

Test(template_change, limit)
{
    tell(limit);
}

Test(template_change, a_limit_is_each_instances)
{
    given("semaphore m/* limit=2", "ann has A: m/a:2", "bob waits B: m/a", "bob has C: m/b:2",
        "bob waits D: m/b");
    EXPECT(change("limit m/* 3"), "ok; B granted m/a=2; D granted m/b=2");
    EXPECT(acquire("ann", "E", "m/new:3"), "ok m/new=0,1,2");
    EXPECT(change("limit m/* 1"), "ok");
    EXPECT(state("m/a"), "3/1 free=0 waiting=0+0");
    EXPECT(acquire("ann", "F", "m/other:2 wait=0"), "would-wait m/other");
}

Test(template_change, an_instances_own_limit_comes_first)
{
    given("semaphore m/* limit=3", "change: limit m/a 1", "change: limit m/* 2");
    EXPECT(state("m/a"), "0/1 free=1 waiting=0+0");
    EXPECT(change("limit m/a 3"), "ok"); /* the file's, and all the same its own */
    EXPECT(state("m/a"), "0/3 free=3 waiting=0+0");
    EXPECT(change("reset m/a"), "ok");
    EXPECT(acquire("ann", "A", "m/a"), "ok m/a=0");
    EXPECT(state("m/a"), "1/2 free=1 waiting=0+0");
    EXPECT(change("limit m/a 1"), "ok");
    EXPECT(change("reset m/*"), "ok");
    EXPECT(state("m/a"), "1/1 free=0 waiting=0+0");
}

/* Once the template is as in the file, an instance as in the file is not changed, and goes. */
Test(template_change, an_own_limit_that_is_the_files_ends_with_the_templates)
{
    given("semaphore m/* limit=3", "change: limit m/* 2", "change: limit m/a 3");
    cr_expect(instance("m/a"));
    EXPECT(change("limit m/* 3"), "ok");
    cr_expect_null(instance("m/a"));
}

/* ---- pause ---- */

Test(template_change, a_pause_holds_up_all_instances)
{
    given("semaphore m/* limit=1", "lock other", "ann has A: m/a", "bob waits B: m/a",
        "change: pause m/* upgrade", "ann ends A");
    EXPECT(acquire("ann", "C", "m/new wait=0"), "paused m/new");
    EXPECT(acquire("ann", "C", "m/new"), "waiting");
    EXPECT(acquire("ann", "D", "other"), "ok other=0");
    cr_expect_str_eq(core_pause(the_core(), "m/a")->decision.reason, "upgrade");
    cr_expect_str_eq(core_pause(the_core(), "m/none")->decision.reason, "upgrade");
    cr_expect_null(core_pause(the_core(), "other")->decision.reason);
    EXPECT(change("resume m/*"), "ok; B granted m/a=0; C granted m/new=0");
    cr_expect_null(core_pause(the_core(), "m/a")->decision.reason);
}

Test(template_change, an_instance_may_be_resumed_alone)
{
    given("semaphore m/* limit=1", "change: pause m/*", "ann waits A: m/a", "bob waits B: m/b");
    EXPECT(change("resume m/a"), "ok; A granted m/a=0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(change("pause m/* again"), "ok");
    EXPECT(acquire("ann", "C", "m/a"), "ok m/a=0");
    EXPECT(change("reset m/a"), "ok"); /* as its template again */
    EXPECT(acquire("ann", "D", "m/a wait=0"), "paused m/a");
    EXPECT(change("resume m/*"), "ok; B granted m/b=0");
}

/* It was an exception from that pause, not from the next one. */
Test(template_change, an_exception_ends_with_its_pause)
{
    given("semaphore m/* limit=1", "change: pause m/*", "change: resume m/a");
    cr_expect(instance("m/a"));
    EXPECT(change("resume m/*"), "ok");
    cr_expect_null(instance("m/a"));
    EXPECT(change("pause m/*"), "ok");
    EXPECT(acquire("ann", "A", "m/a wait=0"), "paused m/a");
    EXPECT(change("resume m/a"), "ok");
    EXPECT(change("reset m/*"), "ok");
    EXPECT(change("pause m/*"), "ok");
    EXPECT(acquire("ann", "A", "m/a wait=0"), "paused m/a");
}

Test(template_change, an_instances_own_pause_outlives_the_templates)
{
    given("semaphore m/* limit=1", "change: pause m/a own", "change: pause m/* all");
    cr_expect_str_eq(core_pause(the_core(), "m/a")->decision.reason, "own");
    cr_expect_str_eq(core_pause(the_core(), "m/b")->decision.reason, "all");
    EXPECT(change("resume m/*"), "ok");
    EXPECT(acquire("ann", "A", "m/a wait=0"), "paused m/a");
    EXPECT(change("resume m/a"), "ok");
    EXPECT(acquire("ann", "A", "m/a"), "ok m/a=0");
}

/* ---- which changes ---- */

static const struct story which_changes[] = {
    {"only what all instances can have",
        {"semaphore m/* limit=1", "lock d/*", "pool g/* items=a,b", "change: reserve m/* 0 -> kind",
            "change: add g/* c -> kind", "change: remove g/* a -> kind",
            "change: limit g/* 1 -> kind", "change: limit d/* 2 -> kind", "change: pause g/*",
            "ann acquires A: g/x wait=0 -> paused g/x", "change: pause none/* -> unknown"}},
    /* A name with its own definition is no instance. */
    {"an exact name is no instance",
        {"semaphore m/* limit=1", "semaphore m/exact limit=1", "change: pause m/*",
            "ann has A: m/exact"}},
};

Test(template_change, which_changes)
{
    tell(which_changes);
}

/* ---- reload ---- */

static const struct story reload[] = {
    {"ends with the template",
        {"semaphore m/* limit=3", "change: limit m/* 1", "change: pause m/*", "ann waits A: m/a",
            "reload: lock d -> ok; A denied unknown", "reload: semaphore m/* limit=3",
            "ann acquires A: m/a:3 -> ok m/a=0,1,2"}},
    /* An instance that gets a definition of its own is as that says. */
    {"a new exact name leaves it",
        {"semaphore m/* limit=3", "change: limit m/* 1", "ann has A: m/a", "change: pause m/*",
            "bob waits B: m/a",
            "reload: semaphore m/* limit=3; semaphore m/a limit=3 -> ok; B granted m/a=1"}},
};

Test(template_change, reload)
{
    tell(reload);
}

Test(template_change, outlasts_a_reload)
{
    given("semaphore m/* limit=3", "change: limit m/* 1", "change: pause m/* why",
        "change: resume m/a");
    EXPECT(define("semaphore m/* limit=3 max-waiters=7", "lock other"), "ok");
    EXPECT(acquire("ann", "A", "m/b wait=0"), "paused m/b");
    cr_expect_str_eq(core_pause(the_core(), "m/b")->decision.reason, "why");
    EXPECT(acquire("ann", "A", "m/a"), "ok m/a=0");
    EXPECT(state("m/a"), "1/1 free=0 waiting=0+0");
    EXPECT(define("semaphore m/* limit=4"), "ok"); /* the limit's key has changed */
    EXPECT(state("m/a"), "1/4 free=3 waiting=0+0");
    EXPECT(acquire("ann", "B", "m/b wait=0"), "paused m/b");
}
