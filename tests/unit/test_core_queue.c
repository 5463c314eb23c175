/* test_core_queue.c - one resource's queue under fifo: order, priorities, one unit wakes one. */
#include "core_fixture.h"

#include <stdio.h>

WORLD_SUITE(queue);

Test(queue, first_come_first_served)
{
    given("lock d", "ann has A: d", "bob waits B: d", "cy waits C: d", "ann waits D: d");
    EXPECT(lines("d"), "A | B C D |");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(end_lease("bob", "B"), "ok; C granted d=0");
    EXPECT(end_lease("cy", "C"), "ok; D granted d=0");
    EXPECT(end_lease("ann", "D"), "ok");
}

Test(queue, one_freed_unit_wakes_one_waiter)
{
    given("semaphore s limit=3", "ann has A: s", "ann has B: s:2");
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof name, "W%d", i);
        EXPECT(acquire("bob", name, "s"), "waiting");
    }
    EXPECT(end_lease("ann", "A"), "ok; W0 granted s=0");
    EXPECT(end_lease("ann", "B"), "ok; W1 granted s=1; W2 granted s=2");
    EXPECT(state("s"), "3/3 free=0 waiting=7+0");
}

/* Nobody passes: not even a request that fits while the head does not. */
Test(queue, the_head_keeps_those_behind_it_waiting)
{
    given(
        "semaphore s limit=3", "ann has A: s", "ann has B: s", "bob waits C: s:3", "cy waits D: s");
    EXPECT(acquire("cy", "E", "s wait=0"), "would-wait");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("s"), "1/3 free=2 waiting=2+0");
    EXPECT(end_lease("ann", "B"), "ok; C granted s=0,1,2");
    EXPECT(end_lease("bob", "C"), "ok; D granted s=0");
}

Test(queue, leaving_the_head_lets_the_next_go)
{
    given("semaphore s limit=3", "ann has A: s:2", "bob waits B: s:2", "cy waits C: s",
        "cy waits D: s");
    EXPECT(end_lease("bob", "B"), "ok; C granted s=2");
    EXPECT(lines("s"), "A C | D |");
}

Test(queue, leaving_the_middle_changes_nothing_for_others)
{
    given("lock d", "ann has A: d", "bob waits B: d", "cy waits C: d", "di waits D: d");
    EXPECT(end_lease("cy", "C"), "ok");
    EXPECT(lines("d"), "A | B D |");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(end_lease("bob", "B"), "ok; D granted d=0");
}

Test(queue, bigger_priority_first_then_ticket)
{
    given("lock d", "ann has A: d", "bob waits B: d", "bob waits C: d priority=5",
        "bob waits D: d priority=-1000", "bob waits E: d priority=1000",
        "bob waits F: d priority=5", "bob waits G: d");
    EXPECT(lines("d"), "A | E C F B G D |");
    EXPECT(end_lease("ann", "A"), "ok; E granted d=0");
    EXPECT(end_lease("bob", "E"), "ok; C granted d=0");
}

Test(queue, priority_takes_nothing_from_a_holder)
{
    given("lock d", "ann has A: d priority=-5", "bob waits B: d priority=1000");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
}

/* A small request of the highest priority goes past a head that does not fit. */
Test(queue, priority_may_pass_the_head)
{
    given("semaphore s limit=2", "ann has A: s", "bob waits B: s:2", "cy has C: s priority=1");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(end_lease("cy", "C"), "ok; B granted s=0,1");
}

Test(queue, full_queue_refuses_the_newest)
{
    given("lock d max-waiters=2", "lock none max-waiters=0", "ann has A: d none", "bob waits B: d",
        "bob waits C: d");
    EXPECT(acquire("bob", "D", "d"), "queue-full d");
    EXPECT(acquire("bob", "D", "d priority=9"), "queue-full d");
    EXPECT(acquire("bob", "D", "d wait=0"), "would-wait d");
    EXPECT(acquire("bob", "D", "none"), "queue-full none");
    EXPECT(lines("d"), "A | B C |");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(acquire("bob", "D", "d"), "waiting");
}

/* A queue that is full does not refuse what can be granted at once. */
Test(queue, full_queue_and_free_units)
{
    given("semaphore s limit=2 max-waiters=1", "ann has A: s", "bob waits B: s:2",
        "cy has C: s priority=1");
}

static uint32_t position(const char *lease)
{
    return claim_position(&lease_of(lease)->claims[0]);
}

/* A waiter that is set aside keeps its place. */
Test(queue, positions)
{
    given("semaphore s limit=2 max-units-per-user=1", "ann has A: s", "bob has B: s",
        "ann waits C: s", "cy waits D: s", "di waits E: s priority=1", "bob waits F: s");
    EXPECT(lines("s"), "A B | E D | C F");
    cr_expect_eq(position("E"), 1);
    cr_expect_eq(position("C"), 2);
    cr_expect_eq(position("D"), 3);
    cr_expect_eq(position("F"), 4);
    EXPECT(end_lease("di", "E"), "ok");
    cr_expect_eq(position("C"), 1);
    cr_expect_eq(position("D"), 2);
}

Test(queue, many_waiters_in_order)
{
    given("lock d", "ann has H: d");
    for (int i = 0; i < 400; i++) {
        char name[8], text[32];
        snprintf(name, sizeof name, "%d", i);
        snprintf(text, sizeof text, "d priority=%d", i % 7);
        EXPECT(acquire("bob", name, text), "waiting");
    }
    EXPECT(end_lease("ann", "H"), "ok; 6 granted d=0");
    int last = 6;
    for (int i = 1; i < 400; i++) {
        char name[16], expected[48];
        int next = last + 7 < 400 ? last + 7 : last % 7 - 1;
        snprintf(name, sizeof name, "%d", last);
        snprintf(expected, sizeof expected, "ok; %d granted d=0", next);
        EXPECT(end_lease("bob", name), expected);
        last = next;
    }
}
