/* test_core_reclaim.c - some records are lost: nothing new is granted for a while, and clients say
 * what they had. */
#include "core_fixture.h"

WORLD_SUITE(reclaim);

/* ---- a closed grace ---- */

/* Some leases may be missing: nothing new is granted. */
Test(reclaim, nothing_new_while_closed)
{
    EXPECT(define("semaphore s limit=3", "lock d"), "ok");
    begin_grace(true, 10);
    EXPECT(acquire("ann", "A", "s wait=0"), "grace");
    EXPECT(acquire("ann", "A", "s"), "waiting");
    EXPECT(acquire("bob", "B", "d wait=5"), "waiting");
    EXPECT(restore("C", "cy id=10 s"), "ok");
    EXPECT(reclaim("cy", "C"), "waiting");
    EXPECT(grace_until(), "10");
    EXPECT(deadline(), "5");
    EXPECT(change("limit s 5"), "ok");
    EXPECT(tick(5), "ok; B denied timeout");
    EXPECT(tick(10), "ok; C granted s=0; A granted s=1");
    EXPECT(grace_until(), "never");
    EXPECT(acquire("di", "D", "s wait=0"), "ok s=2");
}

/* The end of a closed grace comes no earlier when clients come back. */
Test(reclaim, closed_to_the_end)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(true, 10);
    EXPECT(restore("A", "ann id=10 d:1:0:5"), "ok");
    EXPECT(reclaim("ann", "A"), "ok d=0");
    EXPECT(grace_until(), "10");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(acquire("bob", "B", "d"), "waiting");
    EXPECT(tick(10), "ok; B granted d=0");
}

/* All records are lost: what clients say is checked against each other. */
Test(reclaim, from_what_clients_say)
{
    given("semaphore s limit=3", "pool g items=a,b,c select=first", "ann has A: s:2 g",
        "bob has B: s g", "cy waits C: s pid=7", "di waits D: s");
    uint64_t token = token_of("B", "g");
    EXPECT(
        restart_without("A,B,C,D", "semaphore s limit=3", "pool g items=a,b,c select=first"), "");
    EXPECT(reclaim_unknown("di", "D", "s"), "waiting");
    EXPECT(reclaim_unknown("bob", "B", "s:1:2 g:1:b"), "ok s=2 g=b");
    EXPECT(acquire("ed", "E", "s"), "waiting");
    EXPECT(reclaim_unknown("cy", "C", "s pid=7"), "waiting");
    EXPECT(reclaim_unknown("ann", "A", "s:2:0,1 g:1:a"), "ok s=0,1 g=a");
    cr_expect_gt(token_of("B", "g"), token);
    cr_expect_gt(token_of("A", "g"), token_of("B", "g"));
    EXPECT(lines("s"), "B A | C D E |");
    EXPECT(client_gone("bob"), "ok");
    EXPECT(tick(10), "ok; C granted s=2");
}

Test(reclaim, what_clients_may_not_say)
{
    given("semaphore s limit=3 max-units-per-user=2", "pool g items=a,b", "lock z",
        "ann has A: s holder=x", "bob has B: s", "cy has C: s", "ann has D: g",
        "restart-without A,B,C,D: semaphore s limit=2 max-units-per-user=2; pool g items=a,b; lock "
        "z");
    EXPECT(reclaim_unknown("ann", "A", "s:1:2 holder=x"), "lost"); /* above the limit */
    EXPECT(reclaim_unknown("ann", "A", "g:1:c holder=x"), "lost"); /* no such item */
    EXPECT(reclaim_unknown("ann", "A", "s:2:0,0 holder=x"), "lost"); /* twice the same */
    EXPECT(reclaim_unknown("ann", "A", "s:3:0,1,2"), "impossible s");
    EXPECT(reclaim_unknown("ann", "A", "q:1:0"), "unknown q");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0 on-lost=warn"), "forbidden s");
    EXPECT(state("s"), "0/2 free=2 waiting=0+0");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0 holder=x"), "ok s=0");
    EXPECT(reclaim_unknown("ann", "A", "s:1:1"), "lost"); /* that lease is known */
    EXPECT(reclaim_unknown("bob", "B", "s:1:0"), "lost"); /* somebody has it */
    EXPECT(reclaim_unknown("ann", "B", "s:1:1 holder=x"), "held s");
    EXPECT(reclaim_unknown("bob", "B", "s:1:1"), "ok s=1");
    EXPECT(reclaim_unknown("cy", "C", "s:1:2"), "lost");
    EXPECT(reclaim_unknown("cy", "C", "z:1:0"), "ok z=0");
    EXPECT(tick(10), "ok");
    EXPECT(reclaim_unknown("ann", "D", "g:1:a"), "lost"); /* too late */
}

/* Never over the limit: neither by lies nor together with what is on record. */
Test(reclaim, unknown_ones_and_the_limit)
{
    given("semaphore s limit=4", "ann has A: s:2", "bob has B: s:2", "cy waits C: s");
    EXPECT(restart_without("B,C", "semaphore s limit=3"), "A");
    EXPECT(reclaim_unknown("bob", "B", "s:2:1,2"), "lost");
    EXPECT(reclaim_unknown("bob", "B", "s:2:2,3"), "lost");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(reclaim_unknown("cy", "C", "s:1:2"), "ok s=2");
    EXPECT(state("s"), "3/3 free=0 waiting=0+0");
    EXPECT(reclaim("ann", "A"), "ok s=0,1");
}

static void lose_two(void)
{
    EXPECT(define("semaphore s limit=2 cooldown=5", "pool g items=a,b select=first"), "ok");
    EXPECT(acquire("ann", "A", "s g pid=7"), "ok s=0 g=a");
    EXPECT(acquire("bob", "B", "s g pid=8"), "ok s=1 g=b");
    EXPECT(
        restart_without("A,B", "semaphore s limit=2 cooldown=5", "pool g items=a,b select=first"),
        "");
}

static void expect_the_later_one(void)
{
    cr_expect_eq(token_of("B", "s"), 13);
    cr_expect_eq(token_of("B", "g"), 14);
    cr_expect_gt(core_next_number(the_core()), 14);
    EXPECT(state("s"), "1/2 free=1 waiting=0+0");
    EXPECT(state("g"), "1/2 free=1 waiting=0+0");
}

/* Of two that can prove that they were given a unit, the one that was given it later has it,
 * whichever comes first. The other one is told. */
Test(reclaim, given_to_two_and_the_older_comes_first)
{
    lose_two();
    EXPECT(reclaim_unknown("ann", "A", "s:1:1:11 g:1:a:12 pid=7"), "ok s=1 g=a");
    EXPECT(reclaim_unknown("bob", "B", "s:1:1:13 g:1:b:14 pid=8"), "ok s=1 g=b; A lost lost");
    expect_the_later_one();
}

Test(reclaim, given_to_two_and_the_later_comes_first)
{
    lose_two();
    EXPECT(reclaim_unknown("bob", "B", "s:1:1:13 g:1:b:14 pid=8"), "ok s=1 g=b");
    EXPECT(reclaim_unknown("ann", "A", "s:1:1:11 g:1:a:12 pid=7"), "lost");
    EXPECT(reclaim_unknown("ann", "A", "s:1:1 g:1:a pid=7"), "lost");
    expect_the_later_one();
}

/* A proof exceeds the present limit, as its job runs, but no quota, and takes nothing from leases
 * that are not in the wrong. */
Test(reclaim, a_proof_and_the_limit)
{
    given("semaphore s limit=4 max-units-per-user=2", "ann has A: s:2 pid=7",
        "bob has B: s:2 pid=8", "cy waits C: s pid=9");
    EXPECT(restart_without("B,C", "semaphore s limit=1 max-units-per-user=2"), "A; A watch");
    uint64_t token = token_of("A", "s");
    EXPECT(reclaim_unknown("bob", "B", "s:2:2,3 pid=8"), "impossible s");
    EXPECT(reclaim_unknown("ann2", "B", "s:1:2:199 pid=8"), "lost");
    cr_expect_eq(token_of("A", "s"), token);
    EXPECT(reclaim_unknown("bob", "B", "s:2:2,3:199 pid=8"), "ok s=2,3");
    EXPECT(state("s"), "4/1 free=0 waiting=0+0");
    EXPECT(reclaim_unknown("cy", "C", "s:2:1,2:198 pid=9"), "lost");
    EXPECT(reclaim_unknown("cy", "C", "s:2:1,2:200 pid=9"),
        "ok s=1,2; A lost lost unheard; B lost lost");
    EXPECT(state("s"), "2/1 free=0 waiting=0+0");
}

/* ---- ousted leases do not count ---- */

static const struct story ousted_leases_do_not_count[] = {
    /* A proof proves who was given a unit, and says nothing about identities: no identity, and no
     * request for one, stops a job that was given its units. */
    {"a proof and identities",
        {"semaphore s limit=3 identity=shared", "ann has A: s holder=a pid=7",
            "bob has B: s holder=b pid=8", "cy has C: s holder=c pid=9",
            "restart-without A,B,C: semaphore s limit=3 identity=shared",
            "ann claims A: s:1:1:11 holder=b pid=7 -> ok s=1",
            "bob claims B: s:1:1:13 holder=b pid=8 -> ok s=1; A lost lost",
            "di waits D: s holder=c", "cy claims C: s:1:2:15 holder=c pid=9 -> ok s=2",
            "di acquires E: s holder=b -> held s", "lines s -> B C | D |"}},
    {"a proof and the quota of one it ousts",
        {"semaphore s limit=4 max-units-per-user=2", "ann has A: s:2 pid=7", "bob has B: s pid=8",
            "bob has C: s pid=9", "restart-without A,B,C: semaphore s limit=4 max-units-per-user=2",
            "ann claims A: s:2:0,1:11 pid=7 -> ok s=0,1",
            "ann claims B: s:1:2:13 pid=8 -> lost", /* it ousts nobody */
            "ann claims B: s:2:1,2:13 pid=8 -> ok s=1,2; A lost lost",
            "state s -> 2/4 free=2 waiting=0+0",
            "bob claims C: s:2:2,3:12 pid=9 -> lost", /* nor is B ousted then */
            "lease B -> granted s=1,2"}},
    {"a proof and the user's bound met by one it ousts",
        {"semaphore s limit=4", "ann has A: s pid=7", "ann has B: s pid=8",
            "restart-without A,B: semaphore s limit=4; user leases=1",
            "ann claims A: s:1:0:11 pid=7 -> ok s=0", "ann claims B: s:1:1:13 pid=8 -> quota",
            "ann claims B: s:1:0:13 pid=8 -> ok s=0; A lost lost", "ann acquires C: s -> quota",
            "ann ends B", "ann waits C: s"}},
    /* All that the ousted one has, below the present limit or above. */
    {"a proof and a lowered limit taken by one it ousts",
        {"semaphore s limit=4", "ann has A: s:4 pid=7", "bob waits B: s pid=8",
            "cy waits C: s pid=9",
            "restart-without B,C: semaphore s limit=2 cooldown=5 -> A; A watch",
            "bob claims B: s:1:1:199 pid=8 -> ok s=1; A lost lost unheard",
            "state s -> 1/2 free=0 waiting=0+0", /* the others rest */
            "cy claims C: s:1:0:198 pid=9 -> ok s=0", "state s -> 2/2 free=0 waiting=0+0"}},
    /* The file has it no more: it is the job's until this ends. */
    {"a proof of an item that is out of service",
        {"pool g items=a,b select=first", "ann has A: g:2 pid=7",
            "restart-without A: pool g items=a", "ann claims A: g:2:a,b pid=7 -> impossible g",
            "ann claims A: g:2:a,b:11 pid=7 -> ok g=a,b", "ann ends A",
            "state g -> 0/1 free=1 waiting=0+0"}},
    /* A reclaim that names a unit twice is refused, and changes nothing: the unit rests as long as
     * before, and the holder with an older token keeps it. */
    {"refused without a trace",
        {"semaphore s limit=3 cooldown=5", "ann has A: s pid=7", "bob has B: s:2 pid=8",
            "cy waits C: s", "restart-without A,B,C: semaphore s limit=3 cooldown=5",
            "ann claims A: s:1:0:11 pid=7 -> ok s=0", "bob claims B: s:2:0,0:99 pid=8 -> lost",
            "lines s -> A | |", "ann ends A", "state s -> 0/3 free=2 waiting=0+0",
            "bob claims B: s:2:0,0:99 pid=8 -> lost", "state s -> 0/3 free=2 waiting=0+0",
            "deadline -> 5", "bob claims B: s:2:0,1:99 pid=8 -> ok s=0,1"}},
};

Test(reclaim, ousted_leases_do_not_count)
{
    tell(ousted_leases_do_not_count);
}

/* A refused claimant ousts nobody, whatever the reason. */
Test(reclaim, a_proof_that_is_refused)
{
    given("semaphore s limit=3 max-units-per-user=2", "pool g items=a,b select=first",
        "ann has A: s g pid=7", "bob has B: s g pid=8", "cy has C: s pid=9",
        "restart-without A,B,C: semaphore s limit=3 max-units-per-user=2; pool g items=a,b");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0:11 g:1:a:12 pid=7"), "ok s=0 g=a");
    EXPECT(reclaim_unknown("cy", "C", "s:1:2:15 pid=9"), "ok s=2");
    EXPECT(reclaim_unknown("bob", "B", "s:1:2:13 g:1:a:14 pid=8"), "lost"); /* C is newer */
    EXPECT(reclaim_unknown("bob", "B", "s:2:0,0:13 g:1:b:14 pid=8"), "lost"); /* twice the same */
    EXPECT(reclaim_unknown("bob", "B", "s:1:0:13 g:1:a:11 pid=8"), "lost"); /* A is newer */
    EXPECT(reclaim_unknown("cy", "B", "s:2:0,1:13 g:1:b:14 pid=8"), "lost"); /* the quota */
    EXPECT(lines("s"), "A C | |");
    EXPECT(reclaim_unknown("bob", "B", "s:1:0:13 g:1:b:14 pid=8"), "ok s=0 g=b; A lost lost");
}

/* It had an instance of its own: the bounds on instances do not stop it either. */
Test(reclaim, a_proof_and_instances)
{
    given("semaphore t/* limit=1 max-instances=1", "ann has A: t/x pid=7", "bob waits B: t/x pid=8",
        "restart-without A,B: semaphore t/* limit=1 max-instances=1");
    EXPECT(reclaim_unknown("ann", "A", "t/y:1:0:11 pid=7"), "ok t/y=0");
    EXPECT(reclaim_unknown("bob", "B", "t/x:1:0:13 pid=8"), "ok t/x=0");
    EXPECT(acquire("cy", "C", "t/z"), "quota t/z");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(process_gone("A"), "ok");
    EXPECT(resources(), "t/x");
}

/* ---- without a proof ---- */

static const struct story without_a_proof[] = {
    /* Its job runs: a pause takes nothing away. But a closed resource has no units to give. */
    {"unknown ones and the pause",
        {"lock d", "lock e", "ann has A: d", "ann has B: e", "restart-without A,B: lock d; lock e",
            "change: pause d", "change: limit e 0", "ann claims A: d:1:0 -> ok d=0",
            "ann claims B: e:1:0 -> lost"}},
    /* Only ids of earlier runs: nobody makes one up for later. */
    {"ids that were never given out",
        {"semaphore s limit=3", "ann has A: s", "restart-without A: semaphore s limit=3",
            "bob waits B: s", "bob ends B", "bob claims B: s:1:1 -> lost",
            "ann claims A: s:1:0 -> ok s=0"}},
    /* Their time restarts. */
    {"unknown ones bound to time",
        {"semaphore s limit=2 max-hold=20", "ann has A: s ttl=9", "ann has B: s pid=7", "at 5",
            "restart-without A,B: semaphore s limit=2 max-hold=20",
            "ann claims A: s:1:0 ttl=9 -> ok s=0", "ann claims B: s:1:1 pid=7 -> ok s=1",
            "good-until A -> 14 gone by 27.3333", "good-until B -> 25 gone by 38.3333",
            "ann goes -> ok; B watch", "at 14 -> ok; A stop expired unheard", "at 15",
            "lease B -> granted s=1"}},
    {"unknown instances",
        {"semaphore t/* limit=2 max-instances=1", "ann has A: t/x", "ann has B: t/x",
            "restart-without A,B: semaphore t/* limit=2 max-instances=1",
            "ann claims A: t/x:1:5 -> lost", "resources -> ", "ann claims A: t/x:1:0 -> ok t/x=0",
            "ann claims B: t/y:1:0 -> quota t/y", "ann ends A", "resources -> "}},
};

Test(reclaim, without_a_proof)
{
    tell(without_a_proof);
}

/* An item that is held and removed costs only itself: the others can be had. */
Test(reclaim, unknown_ones_and_removed_items)
{
    given("pool g items=a,b,c,d select=first", "ann has A: g:2 pid=7", "bob has B: g pid=8",
        "cy has C: g pid=9");
    EXPECT(restart_without("B,C", "pool g items=c,d"), "A; A watch");
    EXPECT(reclaim_unknown("bob", "B", "g:1:c pid=8"), "ok g=c");
    EXPECT(reclaim_unknown("cy", "C", "g:1:d:99 pid=9"), "ok g=d");
    EXPECT(state("g"), "4/2 free=0 waiting=0+0");
    EXPECT(reclaim("ann", "A"), "ok g=a,b; A unwatch");
}

Test(reclaim, unknown_ones_and_the_users_bounds)
{
    given("semaphore s limit=5 max-units-per-user=2", "lock d", "lock e", "ann has A: s",
        "ann has B: s", "bob has C: s", "ann has D: d", "ann waits E: d", "ann has F: e");
    EXPECT(restart_without("B,C,D,E,F", "semaphore s limit=5 max-units-per-user=2", "lock d",
               "lock e", "user leases=3 waiters=0"),
        "A");
    EXPECT(reclaim_unknown("ann", "B", "s:2:1,3"), "lost");
    EXPECT(reclaim_unknown("ann", "B", "s:1:1"), "ok s=1");
    EXPECT(reclaim_unknown("ann", "C", "s:1:2"), "lost");
    EXPECT(reclaim_unknown("ann", "E", "d"), "quota");
    EXPECT(reclaim_unknown("ann", "D", "d:1:0"), "ok d=0");
    EXPECT(reclaim_unknown("ann", "F", "e:1:0"), "quota");
}

Test(reclaim, no_unknown_ones_when_it_is_not_closed)
{
    given("lock d", "ann has A: d");
    lose_record("A");
    crash(false);
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore_all(), "");
    EXPECT(reclaim_unknown("ann", "A", "d:1:0"), "lost");
    EXPECT(acquire("bob", "B", "d"), "ok d=0");
}

/* What the daemon cannot know may forbid everything: no grace opens it. */
Test(reclaim, closed_for_a_reason)
{
    core_close(the_core(), "why");
    begin_grace(true, 10);
    cr_expect(core_misses_leases_until(the_core()) == NEVER);
    EXPECT(tick(20), "ok");
    cr_expect(core_is_closed(the_core()) && core_misses_leases_until(the_core()) == 0);
    EXPECT(grace_until(), "never");
}

/* Numbers may begin lower after all: those above are then this run's. */
Test(bare_core, an_id_that_is_yet_to_come)
{
    struct effects effects = EFFECTS_INIT;
    struct core *core = core_new(0);
    struct client client;
    struct lease *lease;
    const char *at_fault;
    const struct acquire_request ask = {
        .n_wants = 1, .wants = {{.name = "d", .count = 1}}, .wait = NEVER};
    cr_assert_eq(core_client_init(core, &client, 7), OUTCOME_OK);
    core_begin_numbers(core, 1000);
    core_begin_numbers(core, 500);
    core_begin_grace(core, true, 10);
    cr_expect_eq(core_next_number(core), 500);
    for (uint64_t id = 499; id < 502; id++) {
        enum outcome outcome =
            core_reclaim_unknown(core, &client, &ask, id, NULL, 0, &effects, &lease, &at_fault);
        cr_expect_eq(outcome, id < 500 ? OUTCOME_UNKNOWN : OUTCOME_LOST);
    }
    core_client_deinit(core, &client, 0, &effects);
    effects_clear(&effects);
    effects_deinit(&effects);
    core_free(core);
}
