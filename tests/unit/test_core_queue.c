/* test_core_queue.c - one resource's queue under fifo: order, priorities, one unit wakes one. */
#include "core_fixture.h"

WORLD_SUITE(queue);

static const struct story stories[] = {
    {"first come first served",
        {"lock d", "ann has A: d", "bob waits B: d", "cy waits C: d", "ann waits D: d",
            "lines d -> A | B C D |", "ann ends A -> ok; B granted d=0",
            "bob ends B -> ok; C granted d=0", "cy ends C -> ok; D granted d=0", "ann ends D"}},
    {"leaving the head lets the next go",
        {"semaphore s limit=3", "ann has A: s:2", "bob waits B: s:2", "cy waits C: s",
            "cy waits D: s", "bob ends B -> ok; C granted s=2", "lines s -> A C | D |"}},
    {"leaving the middle changes nothing for others",
        {"lock d", "ann has A: d", "bob waits B: d", "cy waits C: d", "di waits D: d", "cy ends C",
            "lines d -> A | B D |", "ann ends A -> ok; B granted d=0",
            "bob ends B -> ok; D granted d=0"}},
    {"priority takes nothing from a holder",
        {"lock d", "ann has A: d priority=-5", "bob waits B: d priority=1000",
            "lease A -> granted d=0", "ann ends A -> ok; B granted d=0"}},
    /* A small request of the highest priority goes past a head that does not fit. */
    {"priority may pass the head",
        {"semaphore s limit=2", "ann has A: s", "bob waits B: s:2", "cy has C: s priority=1",
            "ann ends A", "cy ends C -> ok; B granted s=0,1"}},
    {"full queue refuses the newest",
        {"lock d max-waiters=2", "lock none max-waiters=0", "ann has A: d none", "bob waits B: d",
            "bob waits C: d", "bob acquires D: d -> queue-full d",
            "bob acquires D: d priority=9 -> queue-full d",
            "bob acquires D: d wait=0 -> would-wait d", "bob acquires D: none -> queue-full none",
            "lines d -> A | B C |", "bob ends B", "bob waits D: d"}},
    /* A queue that is full does not refuse what can be granted at once. */
    {"full queue and free units",
        {"semaphore s limit=2 max-waiters=1", "ann has A: s", "bob waits B: s:2",
            "cy has C: s priority=1"}},
    {"one freed unit wakes one waiter",
        {"semaphore s limit=3", "ann has A: s", "ann has B: s:2", "bob waits C: s",
            "bob waits D: s", "bob waits E: s", "bob waits F: s", "ann ends A -> ok; C granted s=0",
            "ann ends B -> ok; D granted s=1; E granted s=2", "state s -> 3/3 free=0 waiting=1+0"}},
};

Test(queue, stories)
{
    tell(stories);
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

Test(queue, bigger_priority_first_then_ticket)
{
    given("lock d", "ann has A: d", "bob waits B: d", "bob waits C: d priority=5",
        "bob waits D: d priority=-1000", "bob waits E: d priority=1000",
        "bob waits F: d priority=5", "bob waits G: d");
    EXPECT(lines("d"), "A | E C F B G D |");
    EXPECT(end_lease("ann", "A"), "ok; E granted d=0");
    EXPECT(end_lease("bob", "E"), "ok; C granted d=0");
}

static const struct story moves[] = {
    {"before all, whatever their priority; the later move counts",
        {"lock d", "ann has A: d", "bob waits B: d priority=5", "bob waits C: d",
            "bob waits D: d priority=-5", "move-first D", "lines d -> A | D B C |", "move-first C",
            "lines d -> A | C D B |", "ann waits E: d priority=1000", "lines d -> A | C D E B |",
            "ann ends A -> ok; C granted d=0"}},
    {"as if it had just asked",
        {"lock d", "ann has A: d", "bob waits B: d", "bob waits C: d", "bob waits D: d priority=-5",
            "move-last B", "lines d -> A | C B D |", "move-first C", "move-last C",
            "lines d -> A | B C D |", "ann waits E: d", "lines d -> A | B C E D |"}},
    {"what fits goes at once",
        {"semaphore s limit=3", "ann has A: s:2", "bob waits B: s:2", "cy waits C: s",
            "move-first C -> ok; C granted s=2", "lines s -> A C | B |"}},
    {"a last one makes room",
        {"semaphore s limit=3", "ann has A: s:2", "bob waits B: s:2", "cy waits C: s",
            "move-last B -> ok; C granted s=2"}},
    {"in the queues of all its resources, and nothing stays kept",
        {"lock c", "lock d", "ann has A: c", "ann has B: d", "bob waits C: c", "bob waits D: d",
            "cy waits E: c d", "lines c -> A | C E |", "move-first E", "lines c -> A | E C |",
            "ann ends A", "lines c -> | C | | E", "lines d -> B | E D |",
            "move-last E -> ok; C granted c=0", "lines d -> B | D | E"}},
    {"aside, it keeps its new place",
        {"semaphore s limit=2 max-units-per-user=1", "ann has A: s", "ann waits B: s",
            "ann waits C: s", "change: pause s", "move-first C", "change: resume s",
            "ann ends A -> ok; C granted s=0"}},
    {"over a restart",
        {"lock d", "ann has A: d", "bob waits B: d", "bob waits C: d", "bob waits D: d",
            "move-first D", "move-first C", "move-last B", "restart: lock d -> A B C D",
            "lines d -> A | C D B |"}},
};

Test(queue, moves)
{
    tell(moves);
}
