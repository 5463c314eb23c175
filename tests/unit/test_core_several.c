/* test_core_several.c - requests for several resources: all or nothing, in order in every queue. */
#include "core_fixture.h"

#include <stdio.h>
#include <string.h>

WORLD_SUITE(several);

static const struct story in_every_queue[] = {
    {"refused without a trace",
        {"lock a", "lock b", "ann has A: b", "bob acquires B: a b wait=0 -> would-wait b",
            "state a -> 0/1 free=1 waiting=0+0", "cy acquires C: a -> ok a=0"}},
    /* B waits for a alone: what it wants besides goes to others. */
    {"delays no other queue",
        {"lock a", "lock b", "lock c", "ann has A: a", "bob waits B: a b", "cy has C: b c",
            "di waits D: a", "lines a -> A | B D |", "lines b -> C | | B", "cy ends C",
            "deadline -> never", "ann ends A -> ok; B granted a=0 b=0",
            "bob ends B -> ok; D granted a=0"}},
    {"leaving lets the queue move",
        {"lock a", "lock b", "ann has A: a b", "bob waits B: a b", "cy waits C: b", "di waits D: a",
            "bob ends B", "ann ends A -> ok; C granted b=0; D granted a=0"}},
    /* Asked for in opposite orders: no deadlock, the older one first. */
    {"no deadlock",
        {"lock a", "lock b", "ann has A: a b", "bob waits B: b a", "cy waits C: a b",
            "ann ends A -> ok; B granted b=0 a=0", "bob ends B -> ok; C granted a=0 b=0"}},
    /* Priority holds in every queue: C is behind E for b, though it could have a. */
    {"priority in every queue",
        {"lock a", "lock b", "ann has A: a", "bob has B: b", "cy waits C: a b",
            "di waits D: a priority=1", "ed waits E: b priority=1",
            "bob ends B -> ok; E granted b=0", "ann ends A -> ok; D granted a=0", "di ends D",
            "ed ends E -> ok; C granted a=0 b=0"}},
    /* The part of the limit decides, then the name; not the order asked in. */
    {"begins with the largest part",
        {"semaphore a limit=4", "semaphore b limit=2", "ann has A: a:4", "ann has B: b:2",
            "bob waits M: b:1 a:3", "bob waits N: a:1 b:1", "bob waits O: b:1 a:2",
            "lines a -> A | M O | N", "lines b -> B | N | M O"}},
};

Test(several, in_every_queue)
{
    tell(in_every_queue);
}

Test(several, all_or_nothing)
{
    given("lock a", "lock b", "semaphore s limit=4", "ann has A: a", "bob waits B: b s:2 a");
    EXPECT(state("a"), "1/1 free=0 waiting=1+0");
    EXPECT(state("b"), "0/1 free=1 waiting=0+1");
    EXPECT(state("s"), "0/4 free=4 waiting=0+1");
    EXPECT(end_lease("ann", "A"), "ok; B granted b=0 s=0,1 a=0");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(state("s"), "0/4 free=4 waiting=0+0");
}

/* There is enough of s for C, but E is before C there. */
Test(several, overtakes_in_no_queue)
{
    given("lock d", "semaphore s limit=2", "ann has A: d", "ann has B: s", "ed waits E: s:2",
        "cy waits C: d s", "ann ends A");
    EXPECT(lines("s"), "B | E C |");
    EXPECT(end_lease("ann", "B"), "ok; E granted s=0,1");
    EXPECT(end_lease("ed", "E"), "ok; C granted d=0 s=0");
}

/* ---- what is kept, and for how long ---- */

/* H has s and A has d. B waits for both, gets d first, and keeps it. */
static void begin_with_d_kept(void)
{
    given("semaphore s limit=2", "lock d", "ann has A: d", "hal has H: s:2", "bob waits B: s:2 d");
    EXPECT(lines("d"), "A | B |");
    EXPECT(lines("s"), "H | | B");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0 kept=1");
    EXPECT(lines("s"), "H | B |");
    EXPECT(deadline(), "10");
}

static const struct story not_for_ever[] = {
    {"not longer than any of its resources says",
        {"lock a keep=60", "lock b keep=3", "ann has A: a", "ann has B: b", "bob waits M: a b",
            "ann ends A", "deadline -> 3", "at 3", "state a -> 0/1 free=1 waiting=0+1"}},
    /* K keeps a, L keeps b, and each wants the other's: the older has both. */
    {"two keepers",
        {"semaphore a limit=2", "semaphore b limit=2", "ann has A: a:2", "ann has B: b:2",
            "kim waits K: a:2 b:1", "leo waits L: a:1 b:2", "ann ends B", "lines b -> | | K | L",
            "ann ends A -> ok; K granted a=0,1 b=0", "lines b -> K | L |",
            "kim ends K -> ok; L granted a=0 b=0,1"}},
    /* A user fills a resource of their own and asks for it together with one that all want: nobody
     * else waits for that. */
    {"one that can never go",
        {"lock deploy", "semaphore me limit=5", "eve has E: me:5", "ann has A: deploy",
            "eve waits M: deploy me", "bob waits B: deploy", "ann ends A",
            "at 10 -> ok; B granted deploy=0", "bob ends B",
            "ann acquires C: deploy -> ok deploy=0", "bob waits D: deploy",
            "ann ends C -> ok; D granted deploy=0", "deadline -> never"}},
};

Test(several, not_for_ever)
{
    tell(not_for_ever);
}

Test(several, kept_for_a_while)
{
    begin_with_d_kept();
    EXPECT(acquire("cy", "C", "d"), "waiting");
    EXPECT(tick(9.9), "ok");
    EXPECT(tick(10), "ok; C granted d=0");
    EXPECT(lines("d"), "C | | B");
    EXPECT(lines("s"), "H | B |");
    EXPECT(deadline(), "never");
}

/* B keeps one of s while it waits for b: C, who wants all of s, waits for that. */
Test(several, all_of_it_is_not_beside_what_is_kept)
{
    given("semaphore s limit=5", "semaphore b limit=10", "ann has A: s:5", "ann has H: b:10",
        "bob waits B: s b", "ann ends A", "cy waits C: s:all", "lines s -> | C | | B",
        "ann ends H -> ok; B granted s=0 b=0", "bob ends B -> ok; C granted s=0");
}

/* Then it begins with what it had missed, and is twice as patient. */
Test(several, longer_the_next_time)
{
    begin_with_d_kept();
    EXPECT(acquire("cy", "C", "d"), "waiting");
    EXPECT(tick(10), "ok; C granted d=0");
    EXPECT(end_lease("hal", "H"), "ok");
    EXPECT(state("s"), "0/2 free=2 waiting=0+0 kept=2");
    EXPECT(lines("d"), "C | B |");
    EXPECT(deadline(), "30");
    EXPECT(acquire("di", "D", "s wait=0"), "would-wait");
    EXPECT(tick(29), "ok");
    EXPECT(end_lease("cy", "C"), "ok; B granted s=0,1 d=0");
    EXPECT(deadline(), "never");
}

/* Others want each alone, again and again, for much longer than anything is kept at first: M is
 * served all the same, as it becomes more patient than they are slow. */
Test(several, served_however_long_leases_last)
{
    char a[16] = "A0", b[16] = "B0", next[16];
    EXPECT(define("lock a", "lock b"), "ok");
    acquire("ann", a, "a");
    acquire("bob", b, "b");
    EXPECT(acquire("moe", "M", "a b"), "waiting");
    int n = 1;
    for (; strcmp(lease_state("M"), "waiting") == 0; n++) {
        char *ending = n % 2 == 1 ? a : b;
        cr_assert_lt(n, 20, "it starves");
        snprintf(next, sizeof next, "%c%d", n % 2 == 1 ? 'A' : 'B', n);
        acquire(n % 2 == 1 ? "ann2" : "bob2", next, n % 2 == 1 ? "a" : "b");
        tick(50.0 * n);
        if (strcmp(lease_state(ending), "waiting") != 0) {
            end_lease(n % 2 == 1 ? "ann" : "bob", ending);
            strcpy(ending, next);
        }
    }
    cr_expect_geq(n, 5, "it was served at once: nothing is tested");
}

/* They also may come later, with a bigger priority. The time that is left does not change. */
Test(several, the_older_take_what_is_kept)
{
    begin_with_d_kept();
    EXPECT(tick(4), "ok");
    EXPECT(acquire("pia", "P", "d priority=1"), "ok d=0");
    EXPECT(lines("d"), "P | B |");
    EXPECT(lines("s"), "H | | B");
    EXPECT(end_lease("pia", "P"), "ok");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0 kept=1");
    EXPECT(deadline(), "10");
}

/* H has lic, and N of its job wants what is kept for K, which waits for H: not for ever, so that is
 * no circle. */
Test(several, a_nested_request_waits_for_patience)
{
    given("lock db", "lock lic", "ann has A: db", "hal has H: lic", "kim waits K: db lic",
        "ann ends A", "at 1", "hal waits N: db parent=H");
    EXPECT(lines("db"), "| N | | K");
    EXPECT(tick(10), "ok; N granted db=0");
    EXPECT(end_lease("hal", "N"), "ok");
    EXPECT(end_lease("hal", "H"), "ok; K granted db=0 lic=0");
}

/* What is kept for one request of a user counts against that user's next ones. */
Test(several, what_is_kept_counts_in_the_quota)
{
    given("semaphore e limit=2 max-units-per-user=2", "semaphore z limit=4", "hal has H: e:2",
        "zoe has Z: z:4", "bob waits M: e:1 z", "hal ends H");
    EXPECT(state("e"), "0/2 free=2 waiting=0+0 kept=1");
    EXPECT(acquire("bob", "N", "e:2"), "waiting");
    EXPECT(lines("e"), "| | N | M");
    EXPECT(acquire("cy", "C", "e"), "ok e=0");
    EXPECT(end_lease("cy", "C"), "ok");
    EXPECT(tick(10), "ok; N granted e=0,1");
}

/* ---- set aside ---- */

static const struct story what_is_set_aside[] = {
    /* A paused or closed resource among those wanted sets the request aside: it delays nobody on
     * the others, and has its place back afterwards. */
    {"a paused other resource sets aside",
        {"lock a", "lock p", "change: pause p", "ann waits A: a p",
            "state a -> 0/1 free=1 waiting=0+1", "bob acquires B: a -> ok a=0", "cy waits C: a",
            "di waits D: p", "change: resume p -> ok; D granted p=0", "lines a -> B | A C |",
            "bob ends B", "lines a -> | C | | A", "di ends D -> ok; A granted a=0 p=0"}},
    {"a closed other resource sets aside",
        {"lock a", "semaphore z limit=2", "ann has H: a", "bob waits B: a z", "cy waits C: a",
            "change: limit z 0", "lines a -> H | C | B", "ann ends H -> ok; C granted a=0",
            "change: limit z 1", "lines a -> C | B |", "cy ends C -> ok; B granted a=0 z=0"}},
    /* Nothing is kept for who is set aside. */
    {"pausing frees those behind",
        {"lock a", "lock p", "ann has G: a", "ann has H: p", "bob waits B: a p", "cy waits C: a",
            "ann ends G", "change: pause p -> ok; C granted a=0", "deadline -> never",
            "change: resume p", "ann ends H", "cy ends C -> ok; B granted a=0 p=0"}},
};

Test(several, what_is_set_aside)
{
    tell(what_is_set_aside);
}

/* The quota is met at y: that sets A aside, but not B, who does not want y. */
Test(several, another_resources_quota_sets_only_that_request_aside)
{
    given("semaphore x limit=2 max-units-per-user=2", "semaphore y limit=2 max-units-per-user=1",
        "bob has Y: y", "bob waits A: x y");
    EXPECT(lines("x"), "| | A");
    EXPECT(acquire("bob", "B", "x"), "ok x=0");
    EXPECT(end_lease("bob", "Y"), "ok; A granted x=1 y=0");
}

/* More than a limit that was lowered: it delays nobody, and has its place when that is undone. */
Test(several, more_than_the_limit_in_force_is_set_aside)
{
    given("semaphore s limit=3", "lock d", "ann has A: d", "hal has H: s:3", "bob waits B: s:3 d",
        "ann ends A");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0 kept=1");
    EXPECT(change("limit s 2"), "ok");
    EXPECT(state("d"), "0/1 free=1 waiting=0+1");
    EXPECT(deadline(), "never");
    EXPECT(end_lease("hal", "H"), "ok");
    EXPECT(acquire("cy", "C", "s:2"), "ok s=0,1");
    EXPECT(change("limit s 3"), "ok");
    EXPECT(end_lease("cy", "C"), "ok; B granted s=0,1,2 d=0");
}

/* After a restart what is kept is found again, for those as well who are not back yet. */
Test(several, kept_over_a_restart)
{
    begin_with_d_kept();
    EXPECT(acquire("cy", "C", "d"), "waiting");
    EXPECT(restart("semaphore s limit=2", "lock d"), "H B C");
    EXPECT(lines("d"), "| C | B"); /* B lacks s alone, and has kept nothing yet */
    EXPECT(lines("s"), "H | B |");
    EXPECT(reclaim("cy", "C"), "ok d=0");
    EXPECT(reclaim("hal", "H"), "ok s=0,1");
    EXPECT(reclaim("bob", "B"), "waiting");
    EXPECT(end_lease("hal", "H"), "ok");
    EXPECT(state("s"), "0/2 free=2 waiting=0+0 kept=2");
    EXPECT(end_lease("cy", "C"), "ok; B granted s=0,1 d=0");
}

/* One release that frees two resources serves waiters of both. */
Test(several, one_release_wakes_in_both_queues)
{
    given("lock a", "lock b", "ann has A: a b", "bob waits B: b", "cy waits C: a");
    EXPECT(end_lease("ann", "A"), "ok; B granted b=0; C granted a=0");
}
