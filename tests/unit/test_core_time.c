/* test_core_time.c - waits that end, cooldowns, and the next deadline. */
#include "core_fixture.h"

WORLD_SUITE(time);

static const struct story stories[] = {
    {"granted in time",
        {"lock d", "ann has A: d", "bob waits B: d wait=5", "at 4",
            "ann ends A -> ok; B granted d=0", "deadline -> never", "at 100",
            "lease B -> granted d=0"}},
    /* A late tick decides as prompt ones would have. */
    {"a late tick",
        {"lock d cooldown=2", "semaphore s limit=2", "ann has A: d", "bob waits B: d wait=3",
            "cy waits C: d wait=1", "ann ends A", "at 60 -> ok; C denied timeout; B granted d=0"}},
    {"a late tick after the wait",
        {"lock d cooldown=4", "ann has A: d", "bob waits B: d wait=3", "ann ends A",
            "at 60 -> ok; B denied timeout"}},
    /* Free at the very instant at which the wait ends: granted. */
    {"free and over at once",
        {"lock d cooldown=3", "ann has A: d", "bob waits B: d wait=3", "ann ends A",
            "at 3 -> ok; B granted d=0"}},
    {"ties go by age",
        {"lock d", "ann has A: d", "bob waits B: d wait=5", "cy waits C: d wait=5 priority=9",
            "di waits D: d wait=5",
            "at 5 -> ok; B denied timeout; C denied timeout; D denied timeout"}},
    {"set aside waits end too",
        {"lock d", "semaphore s limit=3 max-units-per-user=1", "change: pause d",
            "ann waits A: d wait=5", "ann has B: s", "ann waits C: s wait=4",
            "at 4 -> ok; C denied timeout", "at 5 -> ok; A denied timeout"}},
    {"a wait beyond the end of time",
        {"lock d", "ann has A: d", "bob waits B: d wait=9223372036", "deadline -> never"}},
    {"a wait ends",
        {"lock d", "deadline -> never", "ann acquires A: d wait=3 -> ok d=0", "deadline -> never",
            "bob waits B: d wait=10", "cy waits C: d wait=5", "di waits D: d", "deadline -> 5",
            "at 4.999999", "at 5 -> ok; C denied timeout", "deadline -> 10",
            "at 11 -> ok; B denied timeout", "deadline -> never",
            "ann ends A -> ok; D granted d=0"}},
};

Test(time, stories)
{
    tell(stories);
}

/* The wait begins with the request, not with the tick before it. */
Test(time, waits_count_from_the_request)
{
    given("lock d", "ann has A: d", "at 7", "bob waits B: d wait=5");
    EXPECT(deadline(), "12");
    cr_expect_eq(lease_of("B")->asked_at - lease_of("A")->asked_at, 7 * NANOSECONDS_PER_SECOND);
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(deadline(), "never");
}

/* A head that gives up lets those behind it go, in the same tick. */
Test(time, a_timeout_unblocks_those_behind)
{
    given("semaphore s limit=2", "ann has A: s", "bob waits B: s:2 wait=5", "cy waits C: s wait=5");
    EXPECT(tick(5), "ok; B denied timeout; C granted s=1");
}

/* ---- cooldown ---- */

static const struct story cooldown[] = {
    {"a client that goes leaves units cooling",
        {"lock d cooldown=1", "ann has A: d", "bob waits B: d", "ann goes",
            "at 1 -> ok; B granted d=0"}},
    /* In the limit, a unit that cools counts. */
    {"cooling counts against the limit",
        {"semaphore s limit=2 cooldown=10", "ann has A: s:2", "ann ends A", "change: limit s 3",
            "ann acquires B: s -> ok s=2", "change: limit s 1", "ann ends B", "ann waits C: s",
            "at 10 -> ok; C granted s=0"}},
    {"a removed item does not rest",
        {"pool g items=a,b select=first cooldown=10", "ann has A: g:2", "change: remove g a",
            "ann ends A", "state g -> 0/1 free=0 waiting=0+0", "change: remove g b",
            "deadline -> never", "change: reset g", "ann acquires B: g:2 -> ok g=a,b"}},
    /* Units that rest until the same instant are free together: the head that wants both gets them.
     */
    {"free together",
        {"semaphore s limit=2 cooldown=3 order=first-fit max-overtakes=9", "ann has A: s:2",
            "bob waits B: s:2", "cy waits C: s", "ann ends A", "at 3 -> ok; B granted s=0,1"}},
    {"a freed unit rests",
        {"semaphore s limit=2 cooldown=10", "ann has A: s", "ann ends A",
            "state s -> 0/2 free=1 waiting=0+0", "deadline -> 10", "ann acquires B: s -> ok s=1",
            "ann acquires C: s wait=0 -> would-wait s", "bob waits D: s", "at 9", "ann ends B",
            "at 10 -> ok; D granted s=0", "deadline -> 19", "at 19",
            "state s -> 1/2 free=1 waiting=0+0"}},
    {"a reserved unit cools and stays reserved",
        {"semaphore s limit=1 cooldown=10", "ann has A: s", "ann ends A", "change: reserve s 0",
            "ann waits B: s", "at 10", "change: add s 0 -> ok; B granted s=0", "ann ends B",
            "change: reserve s 0", "change: add s 0", "ann waits C: s",
            "at 20 -> ok; C granted s=0"}},
};

Test(time, cooldown)
{
    tell(cooldown);
}
