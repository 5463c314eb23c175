/* test_core_share.c - leases that use the units of one above them (doc/protocol.md, "Shares"). */
#include "core_fixture.h"
#include "core_world.h"

#include <stdio.h>

WORLD_SUITE(share);

/* ---- what becomes of a nested request ---- */

static const struct story rules[] = {
    {"the resource's, and the request's",
        {"lock d nested=share", "semaphore s limit=2", "ann has P: d s", "at 1",
            "ann acquires A: d parent=P -> ok d~=0", "ann acquires B: s parent=P -> ok s=1",
            "ann acquires C: s parent=P nested=share wait=0 -> ok s~=0",
            "ann acquires D: d parent=P nested=count -> ancestor d",
            "ann acquires E: s parent=P nested=refuse -> ancestor s",
            "state s -> 2/2 free=0 waiting=0+0"}},
    {"without a lease above that has it, no rule applies",
        {"lock d nested=share", "lock e nested=refuse", "ann has P: d", "at 1",
            "bob acquires A: d parent=P nested=share -> ancestor d", "ann has B: e parent=P",
            "at 2", "ann2 acquires C: d parent=B -> ok d~=0",
            "eve acquires D: e parent=B nested=share wait=0 -> ancestor e"}},
    {"of a share, the holder's",
        {"lock d nested=share", "ann has P: d", "at 1", "ann acquires A: d parent=P -> ok d~=0",
            "at 2", "ann acquires B: d parent=A -> ok d~=0", "ann ends A",
            "ann ends P -> ok; B stop withdrawn"}},
    {"no more than there is",
        {"semaphore s limit=5 nested=share", "ann has P: s:2", "at 1",
            "ann acquires A: s:3 parent=P -> impossible s",
            "ann acquires A: s:0 parent=P -> impossible s",
            "ann acquires A: s:2 parent=P -> ok s~=0,1",
            "ann acquires B: s:2 parent=P -> ok s~=0,1", "ann acquires C: s parent=P -> ok s~=0",
            "state s -> 2/5 free=3 waiting=0+0"}},
    {"of all, all of it or a part",
        {"semaphore s limit=5 nested=share", "ann has P: s:all", "at 1",
            "ann acquires A: s:all parent=P -> ok s~=0", "ann acquires B: s parent=P -> ok s~=0",
            "ann acquires C: s:2 parent=P -> impossible s", "bob waits D: s", "ann ends A",
            "lines s -> P B | D |", "ann ends B", "ann ends P -> ok; D granted s=0"}},
    {"of a part, not all",
        {"semaphore s limit=5 nested=share", "ann has P: s", "at 1",
            "ann acquires A: s:all parent=P -> impossible s",
            "ann acquires A: s:all parent=P nested=count -> ancestor s"}},
    {"none that ends",
        {"lock d nested=share kill-after=3", "ann has P: d", "at 1",
            "revoke P -> ok; P stop revoked", "ann acquires A: d parent=P -> ancestor d"}},
    {"the rest waits",
        {"lock d nested=share", "lock e", "ann has P: d", "bob has Q: e", "at 1",
            "ann waits A: d e parent=P", "lines e -> Q | A |", "lines d -> P | |",
            "bob ends Q -> ok; A granted d~=0 e=0", "lines d -> P A | |", "ann ends A"}},
    {"while nothing is granted",
        {"lock d nested=share", "ann has P: d", "drain -> ok", "at 1",
            "ann acquires A: d parent=P -> ok d~=0", "ann ends A", "ann ends P -> ok; drained"}},
    {"one scope",
        {"lock d nested=share", "lock f database=1", "ann has P: d", "at 1",
            "ann acquires A: d f parent=P -> mixed f"}},
    {"no quota, no identity",
        {"semaphore s limit=3 nested=share max-units-per-user=1", "ann has P: s holder=x", "at 1",
            "ann acquires A: s parent=P holder=x -> ok s~=0"}},
};

Test(share, rules)
{
    tell(rules);
}

/* ---- they end first ---- */

static const struct story ends[] = {
    {"it is given back",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann2 acquires A: d parent=P -> ok d~=0", "bob waits B: d",
            "ann ends P -> ok; A stop withdrawn", "lines d -> P A | B |",
            "ann2 ends A -> ok; B granted d=0"}},
    {"its client goes",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann2 acquires A: d parent=P pid=7 -> ok d~=0", "bob waits B: d",
            "ann goes -> ok; A watch; A stop withdrawn", "ann2 goes -> ok; A signal 15",
            "at 4.5 -> ok; A signal 9", "exit A -> ok; B granted d=0"}},
    {"its process ends",
        {"lock d kill-after=3 nested=share", "ann has P: d pid=7", "at 1",
            "ann2 acquires A: d parent=P pid=8 -> ok d~=0", "bob waits B: d",
            "ann goes -> ok; P watch", "exit P -> ok; A watch; A stop withdrawn",
            "ann2 ends A -> ok; B granted d=0"}},
    {"it is revoked, with words",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann2 acquires A: d parent=P -> ok d~=0", "bob waits B: d",
            "revoke-saying P: now -> ok; P stop revoked (now); A stop revoked (now)", "ann ends P",
            "at 4.499", "at 4.5 -> ok; A lost revoked (now); B granted d=0"}},
    {"revoked before the lease above is: the first words are why",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann2 acquires A: d parent=P -> ok d~=0",
            "revoke-saying A: mine -> ok; A stop revoked (mine)",
            "revoke-saying P: yours -> ok; P stop revoked (yours)", "ann ends P",
            "at 4.5 -> ok; A lost revoked (mine)"}},
    {"its own user stops it, then an operator",
        {"lock d kill-after=3 nested=share", "ann has P: d pid=7", "at 1",
            "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "withdraw P -> ok; P watch; P stop withdrawn; A watch; A stop withdrawn",
            "ann goes -> ok; A signal 15; P signal 15", "revoke P -> ok; P signal 15; A signal 15",
            "exit P", "exit A"}},
    {"max-hold is that of the whole",
        {"lock d kill-after=3 nested=share max-hold=5", "ann has P: d", "at 1",
            "ann acquires A: d parent=P -> ok d~=0", "good-until A -> 5 gone by 9",
            "at 5 -> ok; P stop max-hold; A stop max-hold", "ann ends P", "ann ends A"}},
    {"its ttl runs out",
        {"lock d kill-after=3 nested=share", "ann has P: d ttl=5", "at 1",
            "ann acquires A: d parent=P pid=7 -> ok d~=0", "bob waits B: d",
            "at 5 -> ok; A watch; A stop withdrawn; P stop expired",
            "ann ends A -> ok; B granted d=0"}},
    {"at once",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann acquires A: d parent=P -> ok d~=0", "bob waits B: d",
            "drop P -> ok; A lost dropped; P lost dropped; B granted d=0"}},
    {"at once, while they are being stopped",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann acquires A: d parent=P -> ok d~=0", "ann ends P -> ok; A stop withdrawn",
            "drop P -> ok; A lost dropped; P lost dropped unheard"}},
    {"berthd denies a share that waits",
        {"lock d nested=share", "lock e", "bob has Q: e", "ann has P: d", "at 1",
            "ann waits A: d e parent=P", "ann ends P -> ok; A denied ancestor",
            "state d -> 0/1 free=1 waiting=0+0"}},
    {"who is only told",
        {"lock d nested=share on-lost=warn", "ann has P: d", "at 1",
            "ann acquires A: d parent=P -> ok d~=0", "ann ends P -> ok; A lost withdrawn"}},
    {"one after the other",
        {"lock d nested=share kill-after=3", "lock e nested=share kill-after=3", "ann has P: d",
            "at 1", "ann acquires A: d e parent=P -> ok d~=0 e=0", "at 2",
            "ann acquires B: e parent=A -> ok e~=0",
            "ann ends P -> ok; A stop withdrawn; B stop withdrawn", "ann ends A",
            "lines d -> P A | |", "lines e -> A B | |", "ann ends B", "lines d -> | |",
            "lines e -> | |"}},
    {"once it is over, by an operator",
        {"lock d kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann2 acquires A: d parent=P pid=7 -> ok d~=0", "ann2 goes -> ok; A watch",
            "ann ends P -> ok; A signal 15", "revoke P -> ok; A signal 15",
            "exit A", "lines d -> | |"}},
    {"who asks under one that is over waits for its units",
        {"semaphore s limit=2 nested=share kill-after=3", "ann has P: s", "at 1",
            "ann2 acquires A: s parent=P -> ok s~=0", "ann ends P -> ok; A stop withdrawn",
            "ann acquires B: s:2 parent=P nested=count -> waiting",
            "ann2 ends A -> ok; B granted s=0,1"}},
    {"no longer to stop than it has",
        {"lock d nested=share kill-after=9", "ann has P: d kill-after=2", "at 1",
            "ann acquires A: d parent=P kill-after=5 -> ok d~=0", "stop-rules A -> kill 2"}},
};

Test(share, ends)
{
    tell(ends);
}

/* ---- another run ---- */

#define D "lock d kill-after=3 nested=share"

static const struct story restarts[] = {
    {"as before",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart: " D " -> P A; P watch; A watch", "lines d -> P A | |",
            "ann reclaims A -> ok d~=0; A unwatch", "exit P -> ok; A watch; A stop withdrawn",
            "ann ends A"}},
    {"one that is over",
        {D, "ann has P: d", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "ann ends P -> ok; A watch; A stop withdrawn", "restart: " D " -> P A; A watch",
            "lines d -> P A | |", "exit A", "lines d -> | |"}},
    {"one that is over, whose shares are, too",
        {D, "ann has P: d", "at 1", "ann acquires A: d parent=P -> ok d~=0",
            "ann ends P -> ok; A stop withdrawn", "restart: " D " -> P A", "lines d -> P A | |",
            "at 11 -> ok; A lost withdrawn unheard", "lines d -> | |"}},
    {"the client of the lease above does not come back",
        {D, "ann has P: d", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart: " D " -> P A; A watch", "ann reclaims A -> ok d~=0; A unwatch",
            "at 11 -> ok; A watch; A stop withdrawn", "lines d -> P A | |", "ann ends A"}},
    {"the lease above has no record",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart-without P: " D " -> A; A watch; A signal 15", "lines d -> A | |", "exit A"}},
    {"who waits goes on",
        {D, "lock e", "bob has Q: e pid=9", "ann has P: d pid=7", "at 1",
            "ann waits A: e d parent=P pid=8",
            "restart: " D "; lock e -> Q P A; Q watch; P watch; A watch",
            "ann reclaims A -> waiting; A unwatch", "exit Q -> ok; A granted e=0 d~=0"}},
    {"all records are lost",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart-without P,A: " D, "ann claims A: d:1:~P pid=8 -> grace",
            "ann claims P: d:1:0:101 pid=7 -> ok d=0", "ann claims A: d:1:~P pid=8 -> ok d~=0",
            "lines d -> P A | |", "ann ends A", "ann ends P"}},
    {"all records are lost, and it does not come back",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart-without P,A: " D, "ann claims A: d:1:~P pid=8 -> grace", "at 11",
            "ann claims A: d:1:~P pid=8 -> lost"}},
    {"who is only told does not come back to one that is over",
        {"lock d kill-after=3 nested=share on-lost=warn", "ann has P: d pid=7", "at 1",
            "ann acquires A: d parent=P pid=8 on-lost=kill -> ok d~=0",
            "ann acquires B: d parent=P pid=9 -> ok d~=0",
            "restart-without B: lock d kill-after=3 nested=share on-lost=warn -> P A; P watch; A watch",
            "ann reclaims P -> ok d=0; P unwatch", "ann ends P -> ok; A signal 15",
            "ann claims B: d:1:~P pid=9 -> lost", "exit A", "lines d -> | |"}},
    {"who waited shares, now that the lease above is back",
        {D, "bob has Q: d pid=9", "ann waits P: d pid=7", "ann waits A: d pid=8",
            "bob ends Q -> ok; P granted d=0", "at 1", "restart-without P,A: " D, "ann claims P: d:1:0:101 pid=7 -> ok d=0",
            "ann claims A: d:1 parent=P pid=8 -> ok d~=0", "lines d -> P A | |"}},
    {"one that was being stopped, and is over",
        {D, "ann has P: d pid=7", "at 1", "ann2 acquires A: d parent=P pid=8 -> ok d~=0",
            "withdraw P -> ok; P watch; P stop withdrawn; A watch; A stop withdrawn", "ann ends P",
            "restart: " D " -> P A; A watch", "exit A", "lines d -> | |"}},
    {"nobody has its units before it can be gone",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart-without P,A: " D, "ann claims A: d:1:~P:0 pid=8 -> grace", "bob waits B: d",
            "at 11", "ann claims A: d:1:~P:0 pid=8 -> lost", "at 15.999",
            "at 16 -> ok; B granted d=0"}},
    {"its units are there for the lease above",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart-without P,A: " D, "ann claims A: d:1:~P:0 pid=8 -> grace",
            "ann claims P: d:1:0:101 pid=7 -> ok d=0", "ann claims A: d:1:~P:0 pid=8 -> ok d~=0",
            "at 11", "ann ends A", "ann ends P", "bob acquires B: d -> ok d=0"}},
    {"one after the other, all of them over",
        {D, "lock e kill-after=3 nested=share", "ann has P: d", "at 1",
            "ann acquires A: d e parent=P -> ok d~=0 e=0", "at 2",
            "ann acquires B: e parent=A -> ok e~=0",
            "ann ends P -> ok; A stop withdrawn; B stop withdrawn", "ann ends A",
            "restart-without B: " D "; lock e kill-after=3 nested=share -> P A", "lines d -> | |",
            "lines e -> | |"}},
    {"another user's is no share",
        {D, "ann has P: d pid=7", "at 1", "ann acquires A: d parent=P pid=8 -> ok d~=0",
            "restart-without A: " D " -> P; P watch", "bob claims A: d:1:~P pid=8 -> lost"}},
    {"asked before it is back",
        {D, "ann has P: d pid=7", "at 1", "restart-without P: " D,
            "ann acquires A: d parent=P -> grace d", "ann claims P: d:1:0:101 pid=7 -> ok d=0",
            "at 2", "ann acquires A: d parent=P -> ok d~=0"}},
    {"of all",
        {"semaphore s limit=5 nested=share", "ann has P: s:all pid=7", "at 1",
            "ann acquires A: s:all parent=P pid=8 -> ok s~=0",
            "restart: semaphore s limit=5 nested=share -> P A; P watch; A watch",
            "bob waits X: s", "ann reclaims A -> ok s~=0; A unwatch",
            "ann reclaims P -> ok s=0; P unwatch", "lines s -> P A | X |", "at 11", "ann ends A",
            "ann ends P -> ok; X granted s=0"}},
    {"of all, and another has a larger token",
        {"semaphore s limit=2 nested=share", "ann has P: s pid=7", "ann ends P",
            "ann acquires Q: s:all pid=9 -> ok s=0", "at 1",
            "restart-without Q: semaphore s limit=2 nested=share",
            "ann claims Q: s:all:0:50 pid=9 -> ok s=0", "at 2",
            "ann acquires A: s parent=Q -> ok s~=0",
            "bob claims P: s:1:1:60 pid=7 -> ok s=1; A lost lost; Q lost lost"}},
    {"another has a larger token",
        {"semaphore s limit=2 nested=share", "ann has P: s pid=7", "ann ends P",
            "ann acquires Q: s pid=9 -> ok s=0", "at 1",
            "restart-without Q: semaphore s limit=2 nested=share", "ann acquires X: s -> waiting",
            "ann ends X", "ann claims Q: s:1:0:50 pid=9 -> ok s=0", "at 2",
            "ann acquires A: s parent=Q -> ok s~=0",
            "bob claims P: s:1:0:60 pid=7 -> ok s=0; A lost lost; Q lost lost"}},
};

Test(share, restarts)
{
    tell(restarts);
}

/* ---- of a database ---- */

static const struct story fleets[] = {
    {"the database hears nothing of it",
        {"lock f database=1 nested=share kill-after=3", "ann asks P: f", "granted P: 17 f:0:5",
            "good 1: 100", "at 1", "ann acquires A: f parent=P -> ok f~=0", "stop-at A -> 96 for 4",
            "ann ends P -> ok; A stop withdrawn", "ann ends A -> ok; P give-back"}},
    {"its deadline",
        {"lock f database=1 nested=share kill-after=3", "ann asks P: f", "granted P: 17 f:0:5",
            "good 1: 100", "at 1", "ann acquires A: f parent=P kill-after=0 -> ok f~=0",
            "at 96 -> ok; P stop deadline; A stop deadline", "ann ends A",
            "ann ends P -> ok; P give-back"}},
    {"it is lost",
        {"lock f database=1 nested=share kill-after=3", "ann asks P: f", "granted P: 17 f:0:5",
            "good 1: 20", "at 1", "ann acquires A: f parent=P pid=7 -> ok f~=0", "at 3",
            "lose P -> ok; P stop lost; A watch; A stop lost",
            "at 6.5 -> ok; P lost lost; A signal 9", "exit A -> ok; P give-back; A lost lost"}},
};

Test(share, of_a_database)
{
    tell(fleets);
}

/* The database keeps the lease above until its shares' jobs can be gone, unless it is back. */
static void lose_both_of_a_database(void)
{
    given("lock f database=1 nested=share kill-after=3", "ann asks P: f pid=7",
        "granted P: 17 f:0:5", "at 1", "ann acquires A: f parent=P pid=8 -> ok f~=0",
        "restart-without P,A: lock f database=1 nested=share kill-after=3",
        "ann claims A: f:1:~P:0 pid=8 -> grace");
    cr_expect_eq(core_misses_leases_until(the_core()), NEVER);
}

Test(share, of_a_database_is_over)
{
    lose_both_of_a_database();
    EXPECT(tick(11), "ok");
    EXPECT(reclaim_unknown("ann", "A", "f:1:~P:0 pid=8"), "lost");
    cr_expect_eq(core_misses_leases_until(the_core()), beginning + 16 * NANOSECONDS_PER_SECOND);
}

Test(share, of_a_database_is_back)
{
    lose_both_of_a_database();
    EXPECT(reclaim_unknown("ann", "P", "f:1:0 pid=7"), "ok f=0");
    EXPECT(reclaim_unknown("ann", "A", "f:1:~P:0 pid=8"), "ok f~=0");
    EXPECT(tick(11), "ok");
    cr_expect_eq(core_misses_leases_until(the_core()), 0);
    end_lease("ann", "A");
    end_lease("ann", "P");
}

/* ---- many, each of two others ---- */

/* There are more ways through them than anybody could go. */
Test(share, of_each_other)
{
    given("lock f/* database=1 nested=share kill-after=3", "ann asks L0: f/0",
        "granted L0: 1 f/0:0:1", "ann asks L1: f/1 f/0 parent=L0", "granted L1: 2 f/1:0:1 -> ok; L1 granted f/1=0 f/0~=0", "good 1: 100");
    for (int i = 2; i < 60; i++) {
        char name[8], wants[80], units[16];
        snprintf(name, sizeof name, "L%d", i);
        snprintf(wants, sizeof wants, "f/%d f/%d f/%d parent=L%d", i, i - 1, i - 2, i - 1);
        snprintf(units, sizeof units, "%d f/%d:0:1", i + 1, i);
        acquire("ann", name, wants);
        granted(name, units);
    }
    lost("L0");
    cr_expect_eq(lease_of("L59")->stopping, OUTCOME_LOST);
}
