/* test_core_once.c - a repeated acquire: it gets the lease that the first one made, for as long as
 * that lives, and the last client has it. */
#include "core_fixture.h"

WORLD_SUITE(once);

/* ---- found by the word ---- */

static const struct story found_by_the_word[] = {
    {"found as long as the lease lives",
        {"semaphore s limit=3", "ann has A: s pid=7 once=w", "bob has B: s pid=8 once=w",
            "ann has C: s once=v", "ann waits D: s once=u", "ann finds w -> A", "bob finds w -> B",
            "ann finds v -> C", "ann finds u -> D", "bob finds v -> none",
            "ann goes -> ok; A watch", "ann finds w -> A", "ann finds v -> none",
            "ann finds u -> none", "ann reclaims A -> ok s=0; A unwatch", "ann finds w -> A",
            "ann ends A", "ann finds w -> none", "ann acquires E: s pid=7 once=w -> ok s=0",
            "ann finds w -> E"}},
    /* An earlier version has granted it twice: the later one is meant. */
    {"found in two records",
        {"semaphore s limit=3", "grace 10", "record A: ann id=10 s:1:0:5 once=w",
            "record B: ann id=11 s:1:1:6 once=w", "ann finds w -> B", "ann repeats B -> ok s=1",
            "ann ends B", "ann finds w -> A"}},
};

Test(once, found_by_the_word)
{
    tell(found_by_the_word);
}

/* ---- whose lease it is ---- */

static const struct story whose_lease_it_is[] = {
    /* The first one may end whenever it likes. */
    {"the later connection has it",
        {"semaphore s limit=2", "ann has A: s once=w", "ann has B: s pid=7 once=v",
            "ann2 repeats A -> ok s=0", "ann2 repeats B -> ok s=1", "ann goes",
            "lines s -> A B | |", "ann2 goes -> ok; B watch", "lines s -> B | |"}},
    /* Repeated on its own connection: nothing has changed. */
    {"the same connection keeps it",
        {"lock d", "ann has A: d once=w", "bob waits B: d once=w", "ann repeats A -> ok d=0",
            "bob repeats B -> waiting", "ann goes -> ok; B granted d=0",
            "bob repeats B -> ok d=0"}},
    /* An earlier connection's line is read last: it must not end what the later one has. */
    {"an earlier connection does not get it",
        {"lock d", "ann comes", "ann2 acquires A: d once=w -> ok d=0", "ann2 waits B: d once=v",
            "ann repeats A -> held", "ann repeats B -> held", "ann goes", "lines d -> A | B |"}},
    {"an earlier connection gets it when the later is gone",
        {"lock d", "ann comes", "ann2 acquires A: d pid=7 once=w -> ok d=0",
            "ann2 goes -> ok; A watch", "ann repeats A -> ok d=0; A unwatch"}},
    {"a waiter keeps its place",
        {"lock d", "ann has A: d", "bob waits B: d once=w wait=9", "cy waits C: d",
            "bob2 repeats B -> waiting", "lines d -> A | B C |", "bob half-closes", "bob goes",
            "lines d -> A | B C |", "ann ends A -> ok; B granted d=0",
            "bob2 goes -> ok; C granted d=0"}},
    {"after a restart",
        {"semaphore s limit=2", "ann has A: s once=w", "ann has B: s pid=7 once=v",
            "ann waits C: s once=u", "restart: semaphore s limit=2 -> A B C; B watch",
            "ann finds w -> A", "ann finds v -> B", "ann finds u -> C", "ann repeats A -> ok s=0",
            "ann repeats B -> ok s=1; B unwatch", "ann repeats C -> waiting",
            "ann2 repeats C -> waiting", "ann goes -> ok; B watch; C granted s=0"}},
    {"of a database",
        {"semaphore s limit=2 database=1", "ann asks A: s once=w", "ann repeats A -> pending",
            "ann2 repeats A -> pending", "ann goes", "queued A: 5 2 -> ok; A place 2",
            "ann2 repeats A -> waiting", "ann3 repeats A -> waiting", "ann2 goes",
            "granted A: 5 s:0:7", "ann4 repeats A -> ok s=0", "ann3 goes",
            "ann4 goes -> ok; A give-back"}},
};

Test(once, whose_lease_it_is)
{
    tell(whose_lease_it_is);
}

/* Only the client that has the lease gets the event of its end, and once. */
Test(once, being_stopped)
{
    given("lock d kill-after=3", "ann has A: d pid=7 once=w");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(repeat("ann", "A"), "ok d=0");
    EXPECT(repeat("ann2", "A"), "ok d=0; A stop revoked");
    EXPECT(repeat("ann2", "A"), "ok d=0");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(end_lease("ann2", "A"), "ok");
}
