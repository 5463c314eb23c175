/* test_core_replace.c - newest only: a request takes the place of the older ones of its identity,
 * user and resources, and waits for who has that identity. */
#include "base/replace.h"
#include "core_fixture.h"

#include <stdio.h>

WORLD_SUITE(replace);

#define BY(id) "denied replaced (lease " id " replaces it)"

static const struct story places[] = {
    {"the place of the older one",
        {"lock d", "ann has A: d", "bob waits B: d holder=x", "cy waits C: d",
            "bob2 acquires D: d holder=x replace=waiting -> waiting; B " BY("37"),
            "lines d -> A | D C |", "ann ends A -> ok; D granted d=0"}},
    {"again and again",
        {"lock d", "ann has A: d", "bob waits B: d holder=x replace=waiting", "cy waits C: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("37"), "di waits E: d",
            "bob acquires F: d holder=x replace=waiting -> waiting; D " BY("39"),
            "lines d -> A | F C E |", "ann ends A -> ok; F granted d=0"}},
    /* It keeps its own priority. */
    {"of its own priority",
        {"lock d", "ann has A: d", "bob waits B: d holder=x priority=2", "cy waits C: d priority=1",
            "di waits E: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("38"),
            "lines d -> A | C D E |"}},
    {"that an operator has given the older one",
        {"lock d", "ann has A: d", "cy waits C: d priority=5", "bob waits B: d holder=x",
            "move-first B", "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("38"),
            "lines d -> A | D C |", "move-last D", "lines d -> A | C D |",
            "bob acquires E: d holder=x replace=waiting -> waiting; D " BY("3a"),
            "lines d -> A | C E |"}},
    {"whatever the counts",
        {"semaphore s limit=3", "ann has A: s:2", "bob waits B: s:3 holder=x",
            "cy waits C: s:2", "bob acquires D: s holder=x replace=waiting -> ok s=2; B " BY("37"),
            "lines s -> A D | C |"}},
    {"in a full queue",
        {"lock d max-waiters=1", "user waiters=1", "ann has A: d", "bob waits B: d holder=x",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("36"),
            "cy acquires C: d holder=y replace=waiting -> queue-full d"}},
    /* Levels do not count: a reload may have given them to the newer one only, or taken them. */
    {"whatever the levels",
        {"semaphore a limit=9", "semaphore t limit=9", "cy has C: a:9",
            "bob waits B: a holder=x replace=waiting",
            "reload: semaphore a limit=9 also=t; semaphore t limit=9 -> ok",
            "bob acquires D: a holder=x replace=waiting -> waiting; B " BY("36"),
            "reload: semaphore a limit=9 also=u; semaphore t limit=9; semaphore u limit=9 -> ok",
            "bob acquires E: a holder=x replace=waiting -> waiting; D " BY("37"),
            "reload: semaphore a limit=9; semaphore u limit=9 -> ok",
            "bob acquires F: a holder=x replace=waiting -> waiting; E " BY("38"),
            "lines a -> C | F |"}},
    {"while nothing is granted",
        {"lock d", "change: pause d", "bob waits B: d holder=x", "cy waits C: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("36"),
            "lines d -> | | D C",
            "change: resume d -> ok; D granted d=0"}},
};

Test(replace, places)
{
    tell(places);
}

static const struct story others[] = {
    {"of another identity, user or set",
        {"lock d", "lock e", "ann has A: d e", "bob waits B: d holder=x", "cy waits C: d holder=x",
            "bob waits D: d holder=y", "bob waits E: e holder=x", "bob waits F: d",
            "bob acquires G: e d holder=x replace=waiting -> waiting", "lines d -> A | B C D F | G",
            "ann ends A -> ok; B granted d=0; E granted e=0", "bob ends B -> ok; C granted d=0",
            "bob ends E", "cy ends C -> ok; D granted d=0", "bob ends D -> ok; F granted d=0",
            "bob ends F -> ok; G granted e=0 d=0"}},
    {"of another user, where identities are shared",
        {"lock d identity=shared", "ann has A: d", "bob waits B: d holder=x",
            "cy waits C: d holder=x replace=waiting", "lines d -> A | B | C",
            "ann ends A -> ok; B granted d=0", "bob ends B -> ok; C granted d=0"}},
    /* Nobody ends who was not replaced. */
    {"a refused request",
        {"lock d", "ann has A: d", "bob waits B: d holder=x",
            "bob acquires C: d holder=x replace=waiting wait=0 -> would-wait d",
            "bob acquires C: d holder=x replace=waiting priority=2000 -> forbidden d",
            "lines d -> A | B |", "ann ends A -> ok; B granted d=0"}},
    {"granted at once",
        {"semaphore s limit=3 order=first-fit", "ann has A: s:2", "bob waits B: s:2 holder=x",
            "bob acquires C: s holder=y replace=waiting wait=0 -> ok s=2", "bob ends C",
            "bob waits D: s:3 holder=z replace=waiting",
            "bob acquires E: s holder=z replace=waiting wait=0 -> ok s=2; D " BY("38"),
            "lines s -> A E | B |"}},
    {"a plain one of that identity is refused",
        {"lock d", "ann has A: d", "bob waits B: d holder=x replace=waiting",
            "bob acquires C: d holder=x -> held d", "bob ends B", "bob waits C: d holder=x"}},
};

Test(replace, others)
{
    tell(others);
}

static const struct story identities[] = {
    /* It waits for the holder, and delays nobody meanwhile. */
    {"aside while a lease has it",
        {"semaphore s limit=2", "bob has A: s holder=x", "bob waits B: s holder=x replace=waiting",
            "lines s -> A | | B", "cy has C: s", "cy waits D: s",
            "cy ends C -> ok; D granted s=1", "cy waits E: s", "bob ends A -> ok; B granted s=0",
            "lines s -> D B | E |"}},
    {"of one resource of several",
        {"lock a", "lock b", "bob has A: b holder=x", "bob waits B: a b holder=x replace=waiting",
            "cy has C: a", "bob ends A", "lines a -> C | B |",
            "cy ends C -> ok; B granted a=0 b=0"}},
    {"until it is back in a queue, at its ticket",
        {"semaphore s limit=2", "bob has A: s holder=x", "ann has Y: s",
            "bob waits B: s holder=x replace=waiting", "cy waits C: s", "lines s -> A Y | C | B",
            "bob ends A -> ok; B granted s=0"}},
    {"one after the other, where identities are shared",
        {"semaphore s limit=2 identity=shared", "ann has A: s:2",
            "bob waits B: s holder=x replace=waiting", "cy waits C: s holder=x replace=waiting",
            "lines s -> A | B C |", "ann ends A -> ok; B granted s=0", "lines s -> B | | C",
            "bob ends B -> ok; C granted s=0"}},
    {"not that of a level, which it does not name",
        {"semaphore a limit=9 also=t", "semaphore t limit=9", "bob has A: t holder=x",
            "bob acquires B: a holder=x replace=waiting -> ok a=0 t=1"}},
    {"a reload makes it another's",
        {"semaphore s limit=2", "ann has A: s holder=x", "bob has B: s",
            "bob waits C: s holder=x replace=waiting", "lines s -> A B | C |",
            "reload: semaphore s limit=2 identity=shared", "lines s -> A B | | C",
            "reload: semaphore s limit=2", "lines s -> A B | C |"}},
    {"of a lease above",
        {"semaphore s limit=2", "bob has A: s holder=x",
            "bob acquires B: s holder=x replace=running parent=A -> ancestor s",
            "bob acquires B: s holder=x replace=waiting parent=A wait=0 -> ancestor s"}},
    /* What it shares is not in its set. */
    {"under a lease, beside a share",
        {"semaphore s limit=2 nested=share", "lock d", "bob has A: s", "cy has C: d",
            "bob waits B: s d holder=x parent=A",
            "bob2 acquires D: d holder=x replace=waiting -> waiting; B " BY("37")}},
};

Test(replace, identities)
{
    tell(identities);
}

Test(replace, crowd)
{
    char request[64];
    EXPECT(define("semaphore s/* limit=2"), "ok");
    EXPECT(acquire("bob", "A", "s/a holder=x"), "ok s/a=0");
    for (int i = 1; i < MAX_OF_IDENTITY; i++) {
        snprintf(request, sizeof request, "s/a s/%d holder=x replace=waiting", i);
        EXPECT(acquire("bob", "B", request), "waiting");
    }
    EXPECT(acquire("bob", "C", "s/b s/a holder=x replace=waiting"), "queue-full s/a");
    EXPECT(acquire("bob", "C", "s/a s/b holder=x replace=waiting wait=0"), "would-wait s/a");
    EXPECT(acquire("cy", "D", "s/a s/1 holder=x replace=waiting"), "ok s/a=1 s/1=0");
}

static const struct story running[] = {
    {"the holder is to be stopped, once",
        {"lock d", "bob has A: d holder=x pid=7", "bob waits B: d holder=x replace=waiting",
            "replaced-holder B -> none",
            "bob waits C: d holder=x replace=running -> waiting; B " BY("36"),
            "replaced-holder C -> A", "withdraw A -> ok; A watch; A stop withdrawn",
            "bob waits D: d holder=x replace=running -> waiting; C " BY("37"),
            "replaced-holder D -> none", "bob ends A -> ok; D granted d=0"}},
    {"not of another set or user",
        {"lock d identity=shared", "lock e", "bob has A: d e holder=x",
            "bob waits B: d holder=x replace=running",
            "replaced-holder B -> none", "cy waits C: d holder=x replace=running",
            "replaced-holder C -> none", "bob ends A -> ok; B granted d=0"}},
};

Test(replace, running)
{
    tell(running);
}

/* ---- a stream of them ---- */

static const struct story streams[] = {
    /* How often others have passed it counts on. */
    {"is passed max-overtakes times",
        {"semaphore s limit=2 order=first-fit max-overtakes=2", "ann has A: s",
            "bob waits B: s:2 holder=x", "cy has C: s", "cy ends C",
            "bob acquires D: s:2 holder=x replace=waiting -> waiting; B " BY("37"), "cy has E: s",
            "cy ends E", "bob acquires F: s:2 holder=x replace=waiting -> waiting; D " BY("39"),
            "cy waits G: s", "ann ends A -> ok; F granted s=0,1"}},
    /* What is kept for it stays kept, and no longer than its patience. */
    {"keeps no longer",
        {"lock a", "lock b", "ann has A: b", "ed has E: a", "bob waits B: a b holder=x", "at 1",
            "ed ends E", "ed acquires E: a wait=0 -> would-wait", "deadline -> 11", "at 7",
            "bob acquires C: b a holder=x replace=waiting -> waiting; B " BY("38"),
            "ed acquires E: a wait=0 -> would-wait", "deadline -> 11", "at 11", "ed has E: a",
            "bob acquires D: a b holder=x replace=waiting -> waiting; C " BY("3b"), "ed ends E",
            "ed has E: a", "at 20", "ann ends A", "deadline -> 40",
            "ann acquires A: b wait=0 -> would-wait",
            "ed ends E -> ok; D granted a=0 b=0"}},
};

Test(replace, streams)
{
    tell(streams);
}

/* ---- restarts ---- */

static const struct story restarts[] = {
    {"the place outlives berthd",
        {"lock d", "ann has A: d pid=7", "bob waits B: d holder=x", "cy waits C: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("37"),
            "restart: lock d -> A C D; A watch", "lines d -> A | D C |",
            "bob claims B: d holder=x -> replaced", "bob reclaims D -> waiting",
            "bob claims B: d holder=x replace=waiting -> replaced",
            "exit A -> ok; D granted d=0"}},
    {"an older one comes back to berthd without a journal",
        {"lock d", "ann has A: d", "bob waits B: d holder=x", "cy waits C: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("37"),
            "restart-without A,C,D: lock d", "cy claims C: d -> waiting",
            "bob claims D: d holder=x replace=waiting -> waiting",
            "bob claims B: d holder=x -> replaced", "lines d -> | C D |"}},
    {"a newer one comes back after it",
        {"lock d", "ann has A: d", "bob waits B: d holder=x", "cy waits C: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("37"),
            "restart-without A,C,D: lock d", "cy claims C: d -> waiting",
            "bob claims B: d holder=x -> waiting",
            "bob claims D: d holder=x replace=waiting -> waiting; B " BY("37"),
            "lines d -> | D C |"}},
    {"an older one that shares comes back after it",
        {"semaphore s limit=2 nested=share", "lock d", "bob has A: s pid=7", "cy has C: d",
            "bob waits B: s d holder=x parent=A", "cy waits E: d",
            "bob acquires D: d holder=x replace=waiting -> waiting; B " BY("38"),
            "restart: semaphore s limit=2 nested=share; lock d -> A C E D; A watch",
            "bob claims B: s d holder=x parent=A -> replaced"}},
    {"while the newer one holds",
        {"lock d", "ann has A: d", "bob waits B: d holder=x replace=waiting",
            "bob acquires D: d holder=x replace=waiting pid=9 -> waiting; B " BY("36"),
            "ann ends A -> ok; D granted d=0", "restart-without D: lock d",
            "bob claims D: d:1:0:1 holder=x replace=waiting pid=9 -> ok d=0",
            "bob claims B: d holder=x replace=waiting -> replaced"}},
    /* The records of both are there if berthd was killed between them. */
    {"both records are there",
        {"lock d", "grace 9", "record B: bob id=3 d holder=x", "record C: cy id=4 d",
            "record D: bob id=5 d holder=x replace=waiting", "lines d -> | B C | D",
            "restored -> ok; B denied replaced (lease 5 replaces it) unheard",
            "lines d -> | D C |"}},
};

Test(replace, restarts)
{
    tell(restarts);
}

static const struct story circles[] = {
    /* C's job asks under A for what B holds, whose job asks under B for the identity of A. */
    {"over an identity",
        {"semaphore s limit=9", "lock d", "bob has A: s holder=x", "bob has B: d",
            "bob waits C: d parent=A",
            "bob acquires D: s holder=x replace=waiting parent=B -> circle s",
            "bob ends B -> ok; C granted d=0"}},
    /* B waits for what A has, and has the identity that C's job waits for. */
    {"over one that waits",
        {"lock d", "lock e", "bob has A: d", "bob waits B: d e holder=x",
            "bob acquires C: e holder=x replace=waiting parent=A -> circle e",
            "bob ends A -> ok; B granted d=0 e=0"}},
    {"of one that has taken a place",
        {"lock d", "lock e", "bob has A: e", "bob has B: d", "bob waits C: e parent=B",
            "bob waits O: d holder=x",
            "bob acquires N: d holder=x replace=waiting parent=A -> circle d; O " BY("38")}},
    {"but for one that is being stopped",
        {"semaphore s limit=9", "lock d", "bob has A: s holder=x pid=7", "bob has B: d",
            "bob waits C: d parent=A", "withdraw A -> ok; A watch; A stop withdrawn",
            "bob waits D: s holder=x replace=waiting parent=B",
            "bob waits E: s holder=x replace=waiting parent=A -> waiting; D " BY("38")}},
};

Test(replace, circles)
{
    tell(circles);
}
