/* test_core_several.c - requests for several resources: all or nothing, in order in every queue. */
#include "core_fixture.h"

WORLD_SUITE(several);

Test(several, all_or_nothing)
{
    EXPECT(define("lock a", "lock b", "semaphore s limit=4"), "ok");
    EXPECT(acquire("ann", "A", "a"), "ok a=0");
    EXPECT(acquire("bob", "B", "b s:2 a"), "waiting");
    EXPECT(state("b"), "0/1 free=1 waiting=1+0");
    EXPECT(state("s"), "0/4 free=4 waiting=1+0");
    EXPECT(end_lease("ann", "A"), "ok; B granted b=0 s=0,1 a=0");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(state("s"), "0/4 free=4 waiting=0+0");
}

Test(several, refused_without_a_trace)
{
    EXPECT(define("lock a", "lock b"), "ok");
    EXPECT(acquire("ann", "A", "b"), "ok b=0");
    EXPECT(acquire("bob", "B", "a b wait=0"), "would-wait b");
    EXPECT(state("a"), "0/1 free=1 waiting=0+0");
    EXPECT(acquire("cy", "C", "a"), "ok a=0");
}

/* B waits for a; whoever comes for b alone is behind B. */
Test(several, blocks_those_behind_it_in_each_queue)
{
    EXPECT(define("lock a", "lock b", "lock c"), "ok");
    EXPECT(acquire("ann", "A", "a"), "ok a=0");
    EXPECT(acquire("bob", "B", "a b"), "waiting");
    EXPECT(acquire("cy", "C", "b c"), "waiting");
    EXPECT(acquire("di", "D", "c"), "waiting");
    EXPECT(acquire("di", "E", "b wait=0"), "would-wait");
    EXPECT(end_lease("ann", "A"), "ok; B granted a=0 b=0");
    EXPECT(end_lease("bob", "B"), "ok; C granted b=0 c=0");
    EXPECT(end_lease("cy", "C"), "ok; D granted c=0");
}

Test(several, leaving_lets_all_queues_move)
{
    EXPECT(define("lock a", "lock b", "lock c"), "ok");
    EXPECT(acquire("ann", "A", "a"), "ok a=0");
    EXPECT(acquire("bob", "B", "a b c"), "waiting");
    EXPECT(acquire("cy", "C", "b"), "waiting");
    EXPECT(acquire("di", "D", "c"), "waiting");
    EXPECT(end_lease("bob", "B"), "ok; C granted b=0; D granted c=0");
    EXPECT(lines("a"), "A | |");
}

/* Asked for in opposite orders: no deadlock, the older one first. */
Test(several, no_deadlock)
{
    EXPECT(define("lock a", "lock b"), "ok");
    EXPECT(acquire("ann", "A", "a b"), "ok a=0 b=0");
    EXPECT(acquire("bob", "B", "b a"), "waiting");
    EXPECT(acquire("cy", "C", "a b"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; B granted b=0 a=0");
    EXPECT(end_lease("bob", "B"), "ok; C granted a=0 b=0");
}

/* Priority holds in every queue: C is behind E for b, though it could have a. */
Test(several, priority_in_every_queue)
{
    EXPECT(define("lock a", "lock b"), "ok");
    EXPECT(acquire("ann", "A", "a"), "ok a=0");
    EXPECT(acquire("bob", "B", "b"), "ok b=0");
    EXPECT(acquire("cy", "C", "a b"), "waiting");
    EXPECT(acquire("di", "D", "a priority=1"), "waiting");
    EXPECT(acquire("ed", "E", "b priority=1"), "waiting");
    EXPECT(end_lease("bob", "B"), "ok; E granted b=0");
    EXPECT(end_lease("ann", "A"), "ok; D granted a=0");
    EXPECT(end_lease("di", "D"), "ok");
    EXPECT(end_lease("ed", "E"), "ok; C granted a=0 b=0");
}

/* The unit that would do for C alone is kept for B, which is older. */
Test(several, a_free_unit_is_kept_for_the_older)
{
    EXPECT(define("semaphore s limit=2", "lock d"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("ann", "L", "d"), "ok d=0");
    EXPECT(acquire("bob", "B", "s d"), "waiting");
    EXPECT(acquire("cy", "C", "s"), "waiting");
    EXPECT(state("s"), "1/2 free=1 waiting=2+0");
    EXPECT(end_lease("ann", "L"), "ok; B granted s=1 d=0");
    EXPECT(end_lease("ann", "A"), "ok; C granted s=0");
}

/* One release that frees two resources serves waiters of both. */
Test(several, one_release_wakes_in_both_queues)
{
    EXPECT(define("lock a", "lock b"), "ok");
    EXPECT(acquire("ann", "A", "a b"), "ok a=0 b=0");
    EXPECT(acquire("bob", "B", "b"), "waiting");
    EXPECT(acquire("cy", "C", "a"), "waiting");
    EXPECT(end_lease("ann", "A"), "ok; C granted a=0; B granted b=0");
}

/* A paused or closed resource among those wanted sets the request aside: it delays nobody on the
 * others, and has its place back afterwards. */
Test(several, paused_elsewhere_is_set_aside)
{
    EXPECT(define("lock a", "lock p"), "ok");
    EXPECT(change("pause p"), "ok");
    EXPECT(acquire("ann", "A", "a p"), "waiting");
    EXPECT(state("a"), "0/1 free=1 waiting=0+1");
    EXPECT(acquire("bob", "B", "a"), "ok a=0");
    EXPECT(acquire("cy", "C", "a"), "waiting");
    EXPECT(acquire("di", "D", "p"), "waiting");
    EXPECT(change("resume p"), "ok");
    EXPECT(lines("a"), "B | A C |");
    EXPECT(lines("p"), "| A D |");
    EXPECT(end_lease("bob", "B"), "ok; A granted a=0 p=0");
}

Test(several, closed_elsewhere_is_set_aside)
{
    EXPECT(define("lock a", "semaphore z limit=2"), "ok");
    EXPECT(acquire("ann", "H", "a"), "ok a=0");
    EXPECT(acquire("bob", "B", "a z"), "waiting");
    EXPECT(acquire("cy", "C", "a"), "waiting");
    EXPECT(change("limit z 0"), "ok");
    EXPECT(lines("a"), "H | C | B");
    EXPECT(end_lease("ann", "H"), "ok; C granted a=0");
    EXPECT(change("limit z 1"), "ok");
    EXPECT(lines("a"), "C | B |");
    EXPECT(end_lease("cy", "C"), "ok; B granted a=0 z=0");
}

/* The pause of a resource lets those go whom a waiter for it kept waiting elsewhere. */
Test(several, pausing_frees_those_behind)
{
    EXPECT(define("lock a", "lock p"), "ok");
    EXPECT(acquire("ann", "H", "p"), "ok p=0");
    EXPECT(acquire("bob", "B", "a p"), "waiting");
    EXPECT(acquire("cy", "C", "a"), "waiting");
    EXPECT(change("pause p"), "ok; C granted a=0");
    EXPECT(change("resume p"), "ok");
    EXPECT(end_lease("ann", "H"), "ok");
    EXPECT(end_lease("cy", "C"), "ok; B granted a=0 p=0");
}
