/* test_core_first_fit.c - a request that fits may pass, but nobody is passed for ever, and the look
 * ahead is bounded. */
#include "core_fixture.h"

#include <stdio.h>

WORLD_SUITE(first_fit);

Test(first_fit, a_request_that_fits_may_pass)
{
    given("semaphore s limit=3 order=first-fit", "ann has A: s:2", "bob waits B: s:3",
        "cy has C: s", "di waits D: s:2");
    EXPECT(end_lease("ann", "A"), "ok; D granted s=0,1");
    EXPECT(end_lease("cy", "C"), "ok");
    EXPECT(end_lease("di", "D"), "ok; B granted s=0,1,2");
}

Test(first_fit, the_first_that_fits)
{
    given("semaphore s limit=4 order=first-fit", "ann has A: s:4", "bob waits B: s:2",
        "bob waits C: s", "bob waits D: s:2", "bob waits E: s");
    EXPECT(end_lease("ann", "A"), "ok; B granted s=0,1; C granted s=2; E granted s=3");
}

/* Passed max-overtakes times, and not once more. */
Test(first_fit, overtaking_is_bounded)
{
    given(
        "semaphore s limit=2 order=first-fit max-overtakes=3", "ann has H: s", "bob waits B: s:2");
    for (int i = 0; i < 3; i++) {
        EXPECT(acquire("cy", "C", "s"), "ok s=1");
        EXPECT(end_lease("cy", "C"), "ok");
    }
    EXPECT(acquire("cy", "C", "s"), "waiting");
    EXPECT(acquire("cy", "D", "s wait=0"), "would-wait");
    EXPECT(state("s"), "1/2 free=1 waiting=2+0");
    EXPECT(end_lease("ann", "H"), "ok; B granted s=0,1");
    EXPECT(end_lease("bob", "B"), "ok; C granted s=0");
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

Test(first_fit, zero_overtakes_is_fifo)
{
    given("semaphore s limit=2 order=first-fit max-overtakes=0", "ann has H: s", "bob waits B: s:2",
        "cy waits C: s");
    EXPECT(end_lease("bob", "B"), "ok; C granted s=1");
}

/* D passes B and C: the bound counts for each of them. */
Test(first_fit, each_overtaken_waiter_counts)
{
    given("semaphore s limit=3 order=first-fit max-overtakes=1", "ann has H: s:2",
        "bob waits B: s:3", "bob waits C: s:2", "cy has D: s");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(end_lease("cy", "D"), "ok");
    EXPECT(acquire("cy", "E", "s"), "waiting");
    EXPECT(end_lease("ann", "H"), "ok; C granted s=0,1; E granted s=2");
}

/* Going ahead by priority passes nobody: it is the order. */
Test(first_fit, priority_is_no_overtaking)
{
    given(
        "semaphore s limit=2 order=first-fit max-overtakes=1", "ann has H: s", "bob waits B: s:2");
    for (int i = 0; i < 5; i++) {
        EXPECT(acquire("cy", "C", "s priority=1"), "ok s=1");
        EXPECT(end_lease("cy", "C"), "ok");
    }
    EXPECT(acquire("cy", "D", "s"), "ok s=1");
    EXPECT(end_lease("cy", "D"), "ok");
    EXPECT(acquire("cy", "E", "s wait=0"), "would-wait");
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

/* One resource first-fit, the other fifo: in the fifo one only the head goes. */
Test(first_fit, beside_a_fifo_queue)
{
    given("semaphore s limit=2 order=first-fit", "semaphore f limit=2", "ann has H: s f",
        "bob waits B: s:2", "bob waits F: f:2", "cy waits C: s f", "di has D: s");
    EXPECT(end_lease("di", "D"), "ok");
    EXPECT(end_lease("bob", "F"), "ok; C granted s=1 f=1");
}

/* Waiters aside are not passed. */
Test(first_fit, aside_is_not_overtaken)
{
    given("semaphore s limit=2 order=first-fit max-overtakes=1", "lock p", "change: pause p",
        "bob waits B: s:2 p");
    for (int i = 0; i < 4; i++) {
        EXPECT(acquire("cy", "C", "s"), "ok s=0");
        EXPECT(end_lease("cy", "C"), "ok");
    }
    EXPECT(acquire("ann", "H", "s"), "ok s=0");
    EXPECT(change("resume p"), "ok");
    EXPECT(acquire("cy", "D", "s"), "ok s=1");
    EXPECT(end_lease("cy", "D"), "ok");
    EXPECT(acquire("cy", "E", "s"), "waiting");
}
