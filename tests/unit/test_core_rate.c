/* test_core_rate.c - a rate lets so many go in any span of time, in order, and keeps nothing else
 * for those that wait for their instant. */
#include "core_fixture.h"
#include "core_world.h"

WORLD_SUITE(rate);

static const struct story stories[] = {
    {"one in each window, whatever is free",
        {"semaphore s limit=9 rate=1/10", "ann has A: s",
            "bob acquires B: s wait=0 -> would-wait s", "bob waits B: s", "cy waits C: s", "deadline -> 10", "at 9.999",
            "at 10 -> ok; B granted s=1", "deadline -> 20", "at 20 -> ok; C granted s=2",
            "deadline -> never"}},
    {"nothing comes back with a unit",
        {"semaphore s limit=9 rate=1/10", "ann has A: s", "ann ends A", "bob waits B: s",
            "at 10 -> ok; B granted s=0"}},
    {"a burst, then the rate",
        {"semaphore s limit=9 rate=2/10 burst=3", "ann has A: s:2", "ann has B: s",
            "bob waits C: s:2", "deadline -> 10", "at 5", "at 10 -> ok; C granted s=3,4"}},
    {"no more than a burst, however long nobody asks",
        {"semaphore s limit=9 rate=1/1 burst=2", "at 100", "ann has A: s:2", "bob waits B: s",
            "deadline -> 101"}},
    {"more than the burst can never go",
        {"semaphore s limit=9 rate=1/1 burst=2", "ann acquires A: s:3 -> impossible s"}},
    {"nobody passes the first one, who needs more",
        {"semaphore s limit=9 rate=1/10 burst=2", "ann has A: s:2", "bob waits B: s:2",
            "cy waits C: s", "at 10", "deadline -> 20", "at 20 -> ok; B granted s=2,3",
            "deadline -> 30"}},
    {"first-fit lets one pass for whom there is enough",
        {"semaphore s limit=9 rate=1/10 burst=2 order=first-fit", "ann has A: s:2",
            "bob waits B: s:2", "cy waits C: s", "deadline -> 10", "at 10 -> ok; C granted s=2",
            "deadline -> 30"}},
    {"all of it is one step",
        {"semaphore s limit=9 rate=1/10", "ann has A: s:all", "ann ends A", "bob waits B: s:all",
            "at 10 -> ok; B granted s=0"}},
    {"units that are held have to come as well",
        {"semaphore s limit=1 rate=1/10", "ann has A: s", "bob waits B: s", "at 10",
            "deadline -> never", "at 12", "ann ends A -> ok; B granted s=0", "cy waits C: s",
            "bob ends B", "deadline -> 22"}},
    {"who leaves has cost nothing",
        {"semaphore s limit=9 rate=1/10", "ann has A: s", "bob waits B: s wait=5",
            "cy waits C: s", "at 5 -> ok; B denied timeout", "at 10 -> ok; C granted s=1"}},
    {"while it is paused nobody waits for an instant",
        {"semaphore s limit=9 rate=1/10", "ann has A: s", "bob waits B: s", "change: pause s",
            "deadline -> never", "at 15", "change: resume s -> ok; B granted s=1"}},
    {"nothing else is kept before the instant",
        {"semaphore s limit=9 rate=1/10", "lock d", "ann has A: s", "bob waits B: s d",
            "cy has C: d", "cy ends C", "at 10 -> ok; B granted s=1 d=0"}},
    {"what has a rate is kept first",
        {"semaphore s limit=9 rate=1/10", "lock d", "lock e", "ann has A: s", "dan has D: d",
            "bob waits B: s d e", "at 10", "eve waits E: s", "state e -> 0/1 free=1 waiting=0+1",
            "dan ends D -> ok; B granted s=1 d=0 e=0"}},
    {"an instance is forgotten once nothing is owed",
        {"semaphore t/" "* limit=9 rate=1/10", "ann has A: t/x", "ann ends A", "deadline -> 10",
            "bob waits B: t/x", "at 10 -> ok; B granted t/x=0", "bob ends B", "deadline -> 20",
            "at 20", "state t/x -> gone", "bob has C: t/x"}},
};

Test(rate, stories)
{
    tell(stories);
}

static const struct story reloads[] = {
    {"what is owed stays so many units",
        {"semaphore s limit=9 rate=1/10 burst=2", "ann has A: s:2", "bob waits B: s",
            "reload: semaphore s limit=9 rate=1/20 burst=2", "deadline -> 20",
            "at 20 -> ok; B granted s=2"}},
    {"a faster rate helps those who wait",
        {"semaphore s limit=9 rate=1/100", "ann has A: s", "bob waits B: s", "at 5",
            "reload: semaphore s limit=9 rate=1/1 -> ok; B granted s=1"}},
    {"the same rate again changes nothing",
        {"semaphore s limit=9 rate=3/10", "ann has A: s", "bob waits B: s", "at 1",
            "reload: semaphore s limit=8 rate=3/10", "at 3", "at 3.4 -> ok; B granted s=1"}},
    {"a smaller burst",
        {"semaphore s limit=9 rate=1/10 burst=3", "ann has A: s:3", "bob waits B: s:2",
            "cy waits C: s", "reload: semaphore s limit=9 rate=1/10 -> ok; B denied impossible",
            "deadline -> 10"}},
    {"no rate any more",
        {"semaphore s limit=9 rate=1/100", "ann has A: s", "bob waits B: s",
            "reload: semaphore s limit=9 -> ok; B granted s=1", "deadline -> never"}},
    {"a rate for those who have gone before counts from now on",
        {"semaphore s limit=9", "ann has A: s:3", "reload: semaphore s limit=9 rate=1/10",
            "bob has B: s", "cy waits C: s", "deadline -> 10"}},
};

Test(rate, reloads)
{
    tell(reloads);
}

/* Also of a lease that is over. */
Test(rate, over_a_restart)
{
    given("semaphore s limit=9 rate=1/10", "semaphore u limit=9 rate=1/30", "ann has A: s pid=7",
        "ann has B: u", "ann ends B");
    EXPECT(restart("semaphore s limit=9 rate=1/10", "semaphore u limit=9 rate=1/30"),
        "A B=rests; A watch");
    EXPECT(acquire("cy", "C", "s"), "waiting");
    EXPECT(acquire("dan", "D", "u"), "waiting");
    EXPECT(tick(10), "ok; C granted s=1");
    EXPECT(tick(29), "ok");
    EXPECT(tick(30), "ok; D granted u=0");
}

/* Nobody knows what has gone before: a burst, at most. */
Test(rate, begins_empty)
{
    given("semaphore s limit=9 rate=1/10 burst=2", "semaphore t/" "* limit=9 rate=1/10", "at 5");
    core_begin_rates(world.core, world.now);
    EXPECT(acquire("ann", "A", "s"), "waiting");
    EXPECT(acquire("ann", "B", "t/x"), "waiting");
    EXPECT(tick(14), "ok");
    EXPECT(tick(15), "ok; A granted s=0; B granted t/x=0");
    EXPECT(acquire("bob", "C", "t/y"), "ok t/y=0");
    EXPECT(acquire("bob", "D", "s"), "waiting");
    EXPECT(tick(25), "ok; D granted s=1");
}
