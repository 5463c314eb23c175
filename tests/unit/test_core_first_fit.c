/* test_core_first_fit.c - a request that fits may pass, but nobody is passed for ever, and the look
 * ahead is bounded. */
#include "core_fixture.h"

#include <stdio.h>

WORLD_SUITE(first_fit);

static const struct story stories[] = {
    {"a request that fits may pass",
        {"semaphore s limit=3 order=first-fit", "ann has A: s:2", "bob waits B: s:3", "cy has C: s",
            "di waits D: s:2", "ann ends A -> ok; D granted s=0,1", "cy ends C",
            "di ends D -> ok; B granted s=0,1,2"}},
    {"the first that fits",
        {"semaphore s limit=4 order=first-fit", "ann has A: s:4", "bob waits B: s:2",
            "bob waits C: s", "bob waits D: s:2", "bob waits E: s",
            "ann ends A -> ok; B granted s=0,1; C granted s=2; E granted s=3"}},
    {"zero overtakes is fifo",
        {"semaphore s limit=2 order=first-fit max-overtakes=0", "ann has H: s", "bob waits B: s:2",
            "cy waits C: s", "bob ends B -> ok; C granted s=1"}},
    /* D passes B and C: the bound counts for each of them. */
    {"each overtaken waiter counts",
        {"semaphore s limit=3 order=first-fit max-overtakes=1", "ann has H: s:2",
            "bob waits B: s:3", "bob waits C: s:2", "cy has D: s", "bob ends B", "cy ends D",
            "cy waits E: s", "ann ends H -> ok; C granted s=0,1; E granted s=2"}},
    /* One resource first-fit, the other fifo: in the fifo one only the head goes. */
    {"beside a fifo queue",
        {"semaphore s limit=2 order=first-fit", "semaphore f limit=2", "ann has H: s f",
            "bob waits B: s:2", "bob waits F: f:2", "cy waits C: s f", "di has D: s", "di ends D",
            "bob ends F -> ok; C granted s=1 f=1"}},
    {"overtaken max-overtakes times, and not once more",
        {"semaphore s limit=2 order=first-fit max-overtakes=2", "ann has H: s", "bob waits B: s:2",
            "cy has C: s", "cy ends C", "cy has D: s", "cy ends D", "cy waits E: s",
            "cy acquires F: s wait=0 -> would-wait", "state s -> 1/2 free=1 waiting=2+0",
            "ann ends H -> ok; B granted s=0,1", "bob ends B -> ok; E granted s=0"}},
    {"who is moved is as if it had just asked",
        {"semaphore s limit=2 order=first-fit max-overtakes=1", "ann has H: s", "bob waits B: s:2",
            "cy has C: s", "cy ends C", "cy waits D: s", "move-last B -> ok; D granted s=1",
            "cy ends D", "cy has E: s", "cy ends E", "cy waits F: s",
            "ann ends H -> ok; B granted s=0,1"}},
    {"going ahead by priority is no overtaking",
        {"semaphore s limit=2 order=first-fit max-overtakes=1", "ann has H: s", "bob waits B: s:2",
            "cy has C: s priority=1", "cy ends C", "cy has D: s priority=1", "cy ends D",
            "cy has E: s", "cy ends E", "cy acquires F: s wait=0 -> would-wait"}},
    {"who stands aside is not overtaken",
        {"semaphore s limit=2 order=first-fit max-overtakes=1", "lock p", "change: pause p",
            "bob waits B: s:2 p", "cy has C: s", "cy ends C", "cy has D: s", "cy ends D",
            "ann has H: s", "change: resume p", "cy has E: s", "cy ends E", "cy waits F: s"}},
};

Test(first_fit, stories)
{
    tell(stories);
}

/* From the queue as well as at the door. */
Test(first_fit, overtaking_is_bounded_in_the_queue)
{
    given("semaphore s limit=2 order=first-fit max-overtakes=2", "ann has H: s", "ann has I: s",
        "bob waits B: s:2", "cy waits C: s", "cy waits D: s", "cy waits E: s");
    EXPECT(end_lease("ann", "I"), "ok; C granted s=1");
    EXPECT(end_lease("cy", "C"), "ok; D granted s=1");
    EXPECT(end_lease("cy", "D"), "ok");
    EXPECT(end_lease("ann", "H"), "ok; B granted s=0,1");
}

/* Nobody beyond the first FIRST_FIT_WINDOW goes, however well it fits. */
Test(first_fit, the_look_ahead_is_bounded)
{
    given("semaphore s limit=2 order=first-fit max-overtakes=1000", "ann has H: s");
    for (int i = 0; i < FIRST_FIT_WINDOW - 1; i++) {
        char name[8];
        snprintf(name, sizeof name, "B%d", i);
        EXPECT(acquire("bob", name, "s:2"), "waiting");
    }
    EXPECT(acquire("cy", "C", "s"), "ok s=1");
    EXPECT(end_lease("cy", "C"), "ok");
    EXPECT(acquire("bob", "last", "s:2"), "waiting");
    EXPECT(acquire("cy", "D", "s wait=0"), "would-wait");
    EXPECT(acquire("cy", "E", "s"), "waiting");
    EXPECT(end_lease("bob", "B5"), "ok; E granted s=1");
}
