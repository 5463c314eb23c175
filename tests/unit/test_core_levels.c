/* test_core_levels.c - `also`: what a request takes of the levels of what it asks for. */
#include "core_fixture.h"
#include "core_world.h"

WORLD_SUITE(levels);

/* ---- what is taken ---- */

static const struct story taken[] = {
    {"COUNT times N, and so on upwards",
        {"semaphore a limit=5 also=t:2", "semaphore t limit=9 also=u", "semaphore u limit=20",
            "ann acquires A: a:2 -> ok a=0,1 t=0,1,2,3 u=0,1,2,3", "ann ends A",
            "state t -> 0/9 free=9 waiting=0+0", "state u -> 0/20 free=20 waiting=0+0"}},
    {"the instance of a template, which goes when it is idle",
        {"semaphore a/* limit=5 also=t/x", "semaphore t/* limit=9",
            "ann acquires A: a/1 -> ok a/1=0 t/x=0", "ann ends A", "state t/x -> gone"}},
    {"of what is named as well, the larger count",
        {"semaphore a limit=5 also=t:2", "semaphore t limit=9",
            "ann acquires A: t a -> ok t=0,1 a=0", "ann acquires B: t:3 a -> ok t=2,3,4 a=1"}},
    {"of what is reached in two ways, the larger count",
        {"semaphore a limit=5 also=t:2,b", "semaphore b limit=5 also=t:3", "semaphore t limit=9",
            "ann acquires A: a -> ok a=0 t=0,1,2 b=0",
            "ann acquires B: b a -> ok b=1 a=1 t=3,4,5"}},
    {"a larger count that is found late is carried upwards",
        {"semaphore a limit=5 also=t,b", "semaphore b limit=5 also=t:3",
            "semaphore t limit=9 also=u", "semaphore u limit=9",
            "ann acquires A: a -> ok a=0 t=0,1,2 u=0,1,2 b=0"}},
    {"of all, N of each level",
        {"semaphore a limit=5 also=t:2", "semaphore t limit=9",
            "ann acquires A: a:all -> ok a=0 t=0,1",
            "ann acquires B: a wait=0 -> would-wait a"}},
    {"all of what is a level",
        {"semaphore a limit=5 also=t:2", "semaphore t limit=9",
            "ann acquires A: a t:all -> ok a=0 t=0", "bob waits B: a",
            "ann ends A -> ok; B granted a=0 t=0,1"}},
    {"all of what is a level spares nothing above it",
        {"semaphore a limit=5 also=t:2", "semaphore t limit=9 also=u", "semaphore u limit=9",
            "ann acquires A: t:all a:2 -> ok t=0 a=0,1 u=0,1,2,3"}},
    {"items of a pool",
        {"semaphore a limit=5 also=p", "pool p items=x,y select=first",
            "ann acquires A: a -> ok a=0 p=x", "bob acquires B: p -> ok p=y",
            "eve acquires C: a wait=0 -> would-wait p"}},
};

Test(levels, taken)
{
    tell(taken);
}

/* ---- who waits, and who does not get it ---- */

static const struct story waiters[] = {
    {"in the queue of the level, in order",
        {"semaphore a/* limit=5 also=t", "semaphore t limit=2",
            "ann acquires A: a/1 -> ok a/1=0 t=0", "bob acquires B: a/2 -> ok a/2=0 t=1",
            "eve waits C: a/3", "ann waits D: t", "lines t -> A B | C D |",
            "ann ends A -> ok; C granted a/3=0 t=0", "bob ends B -> ok; D granted t=1"}},
    {"the level's limit, quota, pause and queue",
        {"semaphore a limit=9 also=t:2", "semaphore t limit=5 max-units-per-user=4 max-waiters=1",
            "ann acquires A: a:3 -> impossible t", "ann acquires A: a:2 -> ok a=0,1 t=0,1,2,3",
            "ann acquires B: a wait=0 -> quota t", "change: pause t",
            "bob acquires B: a wait=0 -> paused t", "bob waits B: a",
            "eve acquires C: a -> queue-full t"}},
    {"an identity is of the names, not of levels",
        {"semaphore a/* limit=5 also=t", "semaphore t limit=9",
            "ann acquires A: a/1 holder=x -> ok a/1=0 t=0",
            "ann acquires B: a/1 holder=x -> held a/1",
            "ann acquires C: a/2 holder=x -> ok a/2=0 t=1",
            "ann acquires D: t holder=x -> ok t=2", "ann acquires E: t holder=x -> held t",
            "ann acquires F: a/3 holder=x -> ok a/3=0 t=3"}},
    {"of another database",
        {"semaphore a limit=5 also=t", "semaphore t limit=9 database=1",
            "ann acquires A: a -> mixed t"}},
    {"a level that is not there",
        {"semaphore a limit=5 also=t", "ann acquires A: a -> unknown t"}},
    {"more than a lease can have",
        {"semaphore a/* limit=5 also=t", "semaphore t limit=99",
            "ann acquires A: a/1 a/2 a/3 a/4 a/5 a/6 a/7 a/8 "
            "a/9 a/10 a/11 a/12 a/13 a/14 a/15 a/16 -> impossible t"}},
    {"the strictest rule of all",
        {"semaphore a limit=5 also=t kill-after=9", "semaphore t limit=9 max-hold=7 kill-after=3",
            "ann acquires A: a -> ok a=0 t=0", "stop-rules A -> kill 3", "deadline -> 7"}},
};

Test(levels, waiters)
{
    tell(waiters);
}

/* ---- under a lease that has some ---- */

#define SHARED                                                                                     \
    "semaphore a/* limit=5 also=t nested=share", "semaphore t limit=2 also=u", "semaphore u limit=2"

static const struct story nested[] = {
    {"a share takes nothing of the levels",
        {SHARED, "ann acquires P: a/1 -> ok a/1=0 t=0 u=0", "at 1",
            "ann acquires A: a/1 parent=P -> ok a/1~=0",
            "state t -> 1/2 free=1 waiting=0+0", "ann ends A", "ann ends P"}},
    {"another resource does, if the level counts",
        {SHARED, "ann acquires P: a/1 -> ok a/1=0 t=0 u=0", "at 1",
            "ann acquires A: a/2 parent=P -> ok a/2=0 t=1 u=1",
            "ann acquires B: a/3:2 parent=P -> ancestor t"}},
    {"or shares that of the lease above, and takes nothing above it",
        {SHARED, "ann acquires P: a/1 -> ok a/1=0 t=0 u=0", "at 1",
            "ann acquires A: a/2 parent=P nested=share -> ok a/2=0 t~=0",
            "state u -> 1/2 free=1 waiting=0+0", "ann ends P -> ok; A stop withdrawn"}},
    {"no more of it than that has",
        {SHARED, "ann acquires P: a/1 -> ok a/1=0 t=0 u=0", "at 1",
            "ann acquires A: a/2:2 parent=P nested=share -> impossible t"}},
};

Test(levels, nested)
{
    tell(nested);
}

/* ---- over a reload and a restart ---- */

#define BEFORE "semaphore a limit=5 also=t", "semaphore t limit=2", "semaphore u limit=2"
#define FILE_AFTER "semaphore a limit=5 also=u; semaphore t limit=2; semaphore u limit=2"

static const struct story lasts[] = {
    {"a reload: leases and waiters keep what they have, new ones have the new levels",
        {BEFORE, "ann acquires A: a -> ok a=0 t=0", "bob acquires B: a -> ok a=1 t=1",
            "eve waits C: a", "reload: " FILE_AFTER " -> ok",
            "state t -> 2/2 free=0 waiting=1+0", "eve acquires D: a -> ok a=2 u=0",
            "ann ends A -> ok; C granted a=0 t=0", "reload: semaphore a limit=5 -> ok"}},
    {"a restart: the same",
        {BEFORE, "ann acquires A: a pid=7 -> ok a=0 t=0",
            "bob acquires B: a pid=8 -> ok a=1 t=1", "eve waits C: a pid=9",
            "restart: " FILE_AFTER " -> A B C; A watch; B watch; C watch",
            "state t -> 2/2 free=0 waiting=1+0", "eve acquires D: a -> ok a=2 u=0",
            "eve reclaims C -> waiting; C unwatch",
            "exit A -> ok; C granted a=0 t=0"}},
    {"a waiter whose level is gone goes, too",
        {BEFORE, "ann acquires A: a:2 -> ok a=0,1 t=0,1", "bob waits B: a", "eve waits C: a",
            "reload: semaphore a limit=5 -> ok; B denied unknown; C denied unknown"}},
};

Test(levels, lasts)
{
    tell(lasts);
}

Test(levels, only_what_is_named_is_told)
{
    EXPECT(define("semaphore a limit=5 also=t", "semaphore t limit=2"), "ok");
    EXPECT(acquire("ann", "A", "a:2"), "ok a=0,1 t=0,1");
    const struct lease *lease = lease_of("A");
    cr_expect_str_eq(lease_names(lease), "a");
    cr_expect_eq(lease_n_named(lease), 1);
    cr_expect(lease->claims[1].is_level);
}
