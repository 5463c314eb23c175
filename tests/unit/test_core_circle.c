/* test_core_circle.c - nested requests that wait for each other: the last of them is denied, and
 * nobody is who could be served if others gave back what they have. */
#include "core_fixture.h"

#include <string.h>

WORLD_SUITE(circle);

/* ---- who is in a circle ---- */

static const struct story circles[] = {
    /* Two jobs on a semaphore of two, and each asks again. */
    {"a semaphore",
        {"semaphore s limit=2", "ann has A: s", "bob has B: s", "ann waits N: s parent=A",
            "bob acquires M: s parent=B -> circle s", "bob ends B -> ok; N granted s=1"}},
    {"locks, in opposite orders",
        {"lock a", "lock b", "ann has A: a", "bob has B: b", "ann waits N: b parent=A",
            "bob acquires M: a parent=B -> circle a", "bob ends B -> ok; N granted b=0"}},
    {"three jobs",
        {"lock a", "lock b", "lock c", "ann has A: a", "bob has B: b", "cy has C: c",
            "ann waits N: b parent=A", "bob waits M: c parent=B",
            "cy acquires O: a parent=C -> circle a", "cy ends C -> ok; M granted c=0"}},
    /* A nested request runs under the parents of its parent, too. */
    {"through a parent that holds none of it",
        {"lock a", "lock b", "lock x", "ann has P: a", "ann has A: x parent=P", "bob has B: b",
            "bob waits M: a parent=B", "ann acquires N: b parent=A -> circle b"}},
    {"of the set, the lowest priority",
        {"semaphore s limit=2", "ann has A: s", "bob has B: s", "ann waits N: s parent=A",
            "bob acquires M: s parent=B priority=1 -> waiting; N denied circle",
            "ann ends A -> ok; M granted s=0"}},
    {"until there is no circle any more",
        {"semaphore s limit=3", "ann has A: s", "bob has B: s", "cy has C: s",
            "ann waits N: s parent=A", "bob waits M: s parent=B",
            "cy acquires O: s:2 parent=C priority=1 -> waiting; M denied circle; N denied circle",
            "ann ends A", "bob ends B -> ok; O granted s=0,1"}},
    {"in the quota of a user",
        {"semaphore s limit=9 max-units-per-user=2", "ann has A: s", "ann has B: s",
            "ann waits N: s parent=A", "ann acquires M: s parent=B -> circle s"}},
    {"for several resources at once",
        {"lock a", "lock b", "lock c", "ann has A: a", "bob has B: b", "ann waits N: c b parent=A",
            "bob acquires M: c a parent=B -> circle a"}},
    {"for what it does not share",
        {"lock a", "lock b", "lock d nested=share", "ann has A: a d", "bob has B: b",
            "at 1", "bob waits M: a parent=B", "ann acquires N: d b parent=A -> circle b"}},
    /* W only waits for those in the circle: it is served when that is broken. */
    {"of those in the circle, not of those who wait for it",
        {"lock a", "lock b", "lock w", "ann has A: a", "bob has B: b", "cy has C: w",
            "ann waits N: b parent=A priority=1", "cy waits W: a parent=C",
            "bob acquires M: a parent=B priority=1 -> circle a", "bob ends B -> ok; N granted b=0",
            "ann ends N", "ann ends A -> ok; W granted a=0"}},
    /* All of s is never granted while A has a unit of it, nor is a unit while A has all. */
    {"for all of a semaphore, of which the other has a unit",
        {"semaphore s limit=5", "lock x", "ann has A: s", "bob has B: x",
            "bob waits M: s:all parent=B", "ann acquires N: x parent=A -> circle x",
            "ann ends A -> ok; M granted s=0"}},
    {"for a unit, while the other has all",
        {"semaphore s limit=5", "lock x", "ann has A: s:all", "bob has B: x",
            "bob waits M: s parent=B", "ann acquires N: x parent=A -> circle x",
            "ann ends A -> ok; M granted s=0"}},
    {"on its own",
        {"semaphore s limit=5", "ann has A: s", "ann acquires N: s:all parent=A -> ancestor s",
            "ann ends A", "ann acquires B: s:all -> ok s=0",
            "ann acquires N: s parent=B -> ancestor s"}},
    /* Who does not want to wait is told that it would. */
    {"without a wait",
        {"semaphore s limit=2", "ann has A: s", "bob has B: s", "ann waits N: s parent=A",
            "bob acquires M: s parent=B wait=0 -> would-wait s"}},
};

Test(circle, circles)
{
    tell(circles);
}

static const struct story not_circles[] = {
    /* C is outside, and what it gives back lets all of them end, one after the other. */
    {"somebody outside holds enough",
        {"semaphore s limit=3", "ann has A: s", "bob has B: s", "cy has C: s",
            "ann waits N: s parent=A", "bob waits M: s parent=B", "cy ends C -> ok; N granted s=2",
            "ann ends N -> ok; M granted s=2"}},
    {"somebody outside waits",
        {"lock a", "lock b", "ann has A: a", "bob has B: b", "bob waits M: a",
            "ann waits N: b parent=A", "bob ends B -> ok; N granted b=0"}},
    {"somebody outside has a unit, and another all",
        {"semaphore s limit=5", "semaphore t limit=5", "lock x", "ann has A: x", "bob has B: s",
            "cy has C: t:all", "ann waits N: s:all t parent=A", "bob ends B",
            "cy ends C -> ok; N granted s=0 t=0"}},
    /* A limit that was lowered may rise again. */
    {"a lower limit",
        {"semaphore s limit=4", "ann has A: s", "bob has B: s", "change: limit s 2",
            "ann waits N: s parent=A", "bob waits M: s parent=B",
            "change: limit s 3 -> ok; N granted s=2"}},
    {"a pause",
        {"semaphore s limit=3", "ann has A: s", "change: pause s", "ann waits N: s parent=A",
            "change: resume s -> ok; N granted s=1"}},
};

Test(circle, not_circles)
{
    tell(not_circles);
}

/* ---- others in the way ---- */

static const struct story in_the_way[] = {
    /* Y wants all, and so waits for A, whose nested request is behind it. */
    {"an older request for more",
        {"semaphore s limit=2", "ann has A: s", "zoe waits Y: s:2",
            "ann acquires N: s parent=A -> circle s", "ann ends A -> ok; Y granted s=0,1"}},
    {"an older request for all of more than there is",
        {"semaphore s limit=5", "ann has A: s", "zoe waits Y: s:all",
            "ann acquires N: s parent=A -> circle s", "ann ends A -> ok; Y granted s=0"}},
    {"one that comes later, with a higher priority",
        {"semaphore s limit=2", "ann has A: s", "bob has B: s", "ann waits N: s parent=A",
            "zoe acquires Y: s:2 priority=1 -> waiting; N denied circle"}},
    {"one that an operator moves",
        {"semaphore s limit=2", "ann has A: s", "bob has B: s", "ann waits N: s parent=A",
            "zoe waits Y: s:2", "move-first Y -> ok; N denied circle"}},
    {"one that is back from aside",
        {"semaphore s limit=3", "ann has A: s", "bob has B: s:2", "zoe waits Y: s:3",
            "change: limit s 2", "ann acquires N: s parent=A -> waiting",
            "change: limit s 3 -> ok; N denied circle"}},
    /* Under first-fit it may be passed, max-overtakes times. */
    {"first-fit",
        {"semaphore s limit=2 order=first-fit max-overtakes=1", "ann has A: s", "zoe waits Y: s:2",
            "ann acquires N: s parent=A -> ok s=1", "ann ends N",
            "ann acquires M: s parent=A -> circle s"}},
    {"first-fit, and others pass",
        {"semaphore s limit=3 order=first-fit max-overtakes=1", "ann has A: s", "bob has B: s:2",
            "zoe waits Y: s:3", "ann waits N: s:2 parent=A", "bob ends B -> ok; N granted s=1,2",
            "ann waits M: s parent=A -> circle s"}},
    {"first-fit, and one passes who is not nested",
        {"semaphore s limit=4 order=first-fit max-overtakes=1", "ann has A: s", "bob has B: s:2",
            "zoe waits Y: s:4", "ann waits N: s:2 parent=A",
            "cy acquires C: s -> ok s=3; N denied circle"}},
    /* Y waits for b first; then it is before N in the queue of s. */
    {"one that comes to stand there",
        {"lock b", "semaphore s limit=4", "ann has A: s", "cy has C: s", "bob has B: b",
            "zoe waits Y: b s:4", "ann acquires N: s parent=A -> ok s=2", "cy has D: s",
            "ann waits M: s:2 parent=A", "bob ends B -> ok; M denied circle"}},
};

Test(circle, in_the_way)
{
    tell(in_the_way);
}

/* ---- what counts as nested ---- */

/* Anybody can name another's lease, and harms nobody but themselves. */
Test(circle, of_another_user)
{
    given("lock a", "lock b", "hal has H: a", "hal has I: b", "hal waits N: b parent=H");
    EXPECT(acquire("eve", "E", "a parent=I priority=1"), "waiting");
    EXPECT(end_lease("hal", "I"), "ok; N granted b=0");
}

Test(circle, a_parent_that_is_over)
{
    given("semaphore s limit=2", "ann has A: s", "bob has B: s", "ann waits N: s parent=A",
        "ann ends A -> ok; N granted s=0");
    EXPECT(acquire("bob", "M", "s parent=B"), "waiting");
}

/* The limit is smaller after the restart. M is to be denied, once it is back: N only if it never
 * is. */
static void begin_with_circle_after_restart(void)
{
    given("semaphore s limit=3", "ann has A: s", "bob has B: s", "cy has C: s",
        "ann waits N: s parent=A", "bob waits M: s parent=B");
    EXPECT(restart("semaphore s limit=2"), "A B C N M");
    EXPECT(reclaim("ann", "A"), "ok s=0");
    EXPECT(reclaim("bob", "B"), "ok s=1");
    EXPECT(reclaim("ann", "N"), "waiting");
}

Test(circle, of_one_who_is_not_back)
{
    begin_with_circle_after_restart();
    EXPECT(reclaim("bob", "M"), "circle");
    EXPECT(end_lease("bob", "B"), "ok");
}

Test(circle, of_one_who_does_not_come_back)
{
    begin_with_circle_after_restart();
    EXPECT(tick(10), "ok");
    EXPECT(lines("s"), "A B | N |");
}

/* O, the last of three, is not back in time: then it is M. */
Test(circle, of_others_than_one_who_does_not_come_back)
{
    given("semaphore s limit=4", "ann has A: s", "bob has B: s", "cy has C: s", "di has D: s",
        "ann waits N: s parent=A", "bob waits M: s parent=B", "cy waits O: s parent=C");
    EXPECT(restart("semaphore s limit=2"), "A B C D N M O");
    EXPECT(reclaim("ann", "A"), "ok s=0");
    EXPECT(reclaim("bob", "B"), "ok s=1");
    EXPECT(reclaim("ann", "N"), "waiting");
    EXPECT(reclaim("bob", "M"), "waiting");
    EXPECT(tick(10), "ok; M denied circle");
}
