/* test_core_stop.c - leases that are taken away: who is told, who is signalled, and when the units
 * are free (doc/protocol.md, "Stopping"). */
#include "core_fixture.h"

WORLD_SUITE(stop);

/* ---- on-lost ---- */

#define LOST "ok; A lost revoked; B granted d=0"
#define LOST_UNHEARD "ok; A lost revoked unheard; B granted d=0"

/* Without what a process does that outlives its signal: below. */
static const struct story revocations[] = {
    {"kill connection",
        {ONE_HOLDER("", ""), "revoke A -> ok; A stop revoked", "at 3.499", "at 3.5 -> " LOST,
            "deadline -> never"}},
    {"kill time", {ONE_HOLDER("", "ttl=50"), "revoke A -> " LOST, "deadline -> never"}},
    {"kill time, its client gone",
        {ONE_HOLDER("", "ttl=50"), "ann goes", "revoke A -> " LOST_UNHEARD, "deadline -> never"}},
    {"term process",
        {ONE_HOLDER("on-lost=term", "pid=7"), "revoke A -> ok; A watch; A stop revoked", "at 3.499",
            "at 3.5 -> " LOST, "deadline -> never"}},
    {"term process, its client gone",
        {ONE_HOLDER("on-lost=term", "pid=7"), "ann goes -> ok; A watch",
            "revoke A -> ok; A signal 15", "at 2.999", "at 3 -> " LOST_UNHEARD,
            "deadline -> never"}},
    {"term connection",
        {ONE_HOLDER("on-lost=term", ""), "revoke A -> ok; A stop revoked", "at 3.499",
            "at 3.5 -> " LOST, "deadline -> never"}},
    {"term time", {ONE_HOLDER("on-lost=term", "ttl=50"), "revoke A -> " LOST, "deadline -> never"}},
    {"term time, its client gone",
        {ONE_HOLDER("on-lost=term", "ttl=50"), "ann goes", "revoke A -> " LOST_UNHEARD,
            "deadline -> never"}},
    {"warn process",
        {ONE_HOLDER("on-lost=warn", "pid=7"), "revoke A -> " LOST, "deadline -> never"}},
    {"warn process, its client gone",
        {ONE_HOLDER("on-lost=warn", "pid=7"), "ann goes -> ok; A watch",
            "revoke A -> " LOST_UNHEARD, "deadline -> never"}},
    {"warn connection", {ONE_HOLDER("on-lost=warn", ""), "revoke A -> " LOST, "deadline -> never"}},
    {"warn time", {ONE_HOLDER("on-lost=warn", "ttl=50"), "revoke A -> " LOST, "deadline -> never"}},
    {"warn time, its client gone",
        {ONE_HOLDER("on-lost=warn", "ttl=50"), "ann goes", "revoke A -> " LOST_UNHEARD,
            "deadline -> never"}},
};

Test(stop, revoked)
{
    tell(revocations);
}

/* ---- programs: told, and never signalled ---- */

static const struct story programs[] = {
    {"all of its time, with its client or without",
        {ONE_HOLDER("", "peer=7"), "at 1", "revoke A -> ok; A watch; A stop revoked",
            "good-until A -> 1 gone by 5", "ann goes", "at 4.999",
            "at 5 -> ok; A lost revoked unheard; B granted d=0", "deadline -> never"}},
    {"alone",
        {ONE_HOLDER("", "peer=7"), "ann goes -> ok; A watch", "at 1", "revoke A",
            "good-until A -> 1 gone by 5", "at 4.999", "at 5 -> " LOST_UNHEARD}},
    {"its own user stops it",
        {ONE_HOLDER("", "peer=7"), "withdraw A -> ok; A watch; A stop withdrawn", "at 3.999",
            "at 4 -> ok; A lost withdrawn; B granted d=0"}},
    {"max-hold",
        {ONE_HOLDER("max-hold=5", "peer=7"), "good-until A -> 5 gone by 9",
            "at 5 -> ok; A watch; A stop max-hold", "good-until A -> 5 gone by 9", "at 8.999",
            "at 9 -> ok; A lost max-hold; B granted d=0"}},
    {"its ttl",
        {ONE_HOLDER("", "ttl=5 peer=7"), "good-until A -> 5 gone by 9",
            "at 5 -> ok; A watch; A stop expired", "at 9 -> ok; A lost expired; B granted d=0"}},
    {"term", {ONE_HOLDER("on-lost=term", "peer=7"), "revoke A -> ok; A watch; A stop revoked",
                 "at 3.999", "at 4 -> " LOST}},
    {"warn", {ONE_HOLDER("on-lost=warn", "peer=7"), "revoke A -> " LOST}},
    {"it ends meanwhile",
        {ONE_HOLDER("", "peer=7"), "revoke A -> ok; A watch; A stop revoked", "ann goes",
            "exit A -> ok; B granted d=0"}},
    {"a job's from then on",
        {ONE_HOLDER("", "peer=7"), "ann binds A: 8", "ann goes -> ok; A watch",
            "revoke A -> ok; A signal 15", "at 3 -> ok; A signal 9"}},
    {"over a restart, when it was told",
        {"lock d kill-after=3", "ann has A: d peer=7", "at 1",
            "revoke A -> ok; A watch; A stop revoked",
            "restart: lock d kill-after=3 -> A; A watch", "good-until A -> 1 gone by 5",
            "at 4.999", "at 5 -> ok; A lost revoked unheard"}},
};

Test(stop, programs)
{
    tell(programs);
}

static const struct story on_lost[] = {
    {"kill process client",
        {ONE_HOLDER("", "pid=7"), "at 1", "revoke A -> ok; A watch; A stop revoked",
            "deadline -> 4.5", "good-until A -> never", "at 4.499", "at 4.5 -> ok; A signal 9",
            "state d -> 1/1 free=0 waiting=1+0", "exit A -> ok; A lost revoked; B granted d=0"}},
    {"kill process client that obeys",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked",
            "ann ends A -> ok; B granted d=0", "deadline -> never"}},
    /* The job's main process is gone, but its wrapper says when all of it is... */
    {"kill process that obeys before its client",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked", "at 2", "exit A",
            "ann ends A -> ok; B granted d=0", "deadline -> never"}},
    /* ...as long as its time is not over... */
    {"kill process that obeys and a client that does not",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked", "exit A", "at 3.499",
            "at 3.5 -> ok; A lost revoked; B granted d=0"}},
    /* ...or leaves. */
    {"kill process that obeys and a client that leaves",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked", "exit A",
            "ann goes -> ok; B granted d=0"}},
    {"kill process alone",
        {ONE_HOLDER("", "pid=7 signal=2"), "ann goes -> ok; A watch", "at 1",
            "revoke A -> ok; A signal 2", "deadline -> 4", "at 3.999", "at 4 -> ok; A signal 9",
            "exit A -> ok; B granted d=0", "deadline -> never"}},
    /* A daemon that was stopped itself sends one signal, not one for each second that it missed. */
    {"killed once after a long pause",
        {ONE_HOLDER("", "pid=7"), "ann goes -> ok; A watch", "revoke A -> ok; A signal 15",
            "at 60 -> ok; A signal 9", "deadline -> 61"}},
    /* Of an earlier berthd, and not back yet. */
    {"kill connection absent",
        {"lock d", "grace 10", "record A: ann d:1:0:5 id=3 kill-after=3", "bob waits B: d",
            "revoke A", "at 2.999", "at 3 -> ok; A lost revoked unheard; B granted d=0"}},
    {"term process that obeys",
        {ONE_HOLDER("on-lost=term", "pid=7"), "ann goes -> ok; A watch",
            "revoke A -> ok; A signal 15", "at 1", "exit A -> ok; B granted d=0",
            "deadline -> never"}},
    {"term connection absent",
        {"lock d", "grace 10", "record A: ann d:1:0:5 id=3 kill-after=3 on-lost=term", "revoke A",
            "at 3 -> ok; A lost revoked unheard"}},
    {"warn connection absent",
        {"lock d", "grace 10", "record A: ann d:1:0:5 id=3 on-lost=warn",
            "revoke A -> ok; A lost revoked unheard", "grace-until -> never"}},
    /* Whoever revokes it says why: its client hears that at each step, and from the next berthd. */
    {"an operator's words",
        {ONE_HOLDER("", "pid=7"),
            "revoke-saying A: disk full -> ok; A watch; A stop revoked (disk full)",
            "restart: lock d kill-after=3 -> A B; A watch",
            "ann reclaims A -> ok d=0; A stop revoked (disk full)", "at 20 -> ok; A signal 9",
            "exit A -> ok; A lost revoked (disk full)"}},
    {"an operator's first words",
        {ONE_HOLDER("on-lost=term", "pid=7"),
            "revoke-saying B: nobody waits -> ok; B denied cancelled (nobody waits)",
            "revoke-saying A: disk full -> ok; A watch; A stop revoked (disk full)",
            "revoke-saying A: no, full of mice", "at 20 -> ok; A lost revoked (disk full)"}},
};

Test(stop, on_lost)
{
    tell(on_lost);
}

/* Again each second, for one that the kernel cannot end yet. Held until it is dead. */
Test(stop, killed_again_and_again)
{
    given(ONE_HOLDER("", "pid=7"), "ann goes -> ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(tick(3), "ok; A signal 9");
    EXPECT(deadline(), "4");
    EXPECT(tick(4), "ok; A signal 9");
    EXPECT(tick(4.9), "ok");
    EXPECT(tick(5), "ok; A signal 9");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

/* ---- while it is being stopped ---- */

static const struct story while_it_is_being_stopped[] = {
    {"client leaves after sigkill",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked",
            "at 3.5 -> ok; A signal 9", "ann goes", "at 4.5 -> ok; A signal 9",
            "exit A -> ok; B granted d=0"}},
    {"client leaves while stopping term",
        {ONE_HOLDER("on-lost=term", "pid=7"), "revoke A -> ok; A watch; A stop revoked",
            "ann goes -> ok; A signal 15", "at 3.5 -> ok; A lost revoked unheard; B granted d=0"}},
    {"client leaves while stopping connection",
        {ONE_HOLDER("", ""), "revoke A -> ok; A stop revoked", "ann goes -> ok; B granted d=0",
            "deadline -> never"}},
    /* The client comes back in the middle of it, and is told again. */
    {"client comes back while stopping",
        {ONE_HOLDER("", "pid=7"), "ann goes -> ok; A watch", "revoke A -> ok; A signal 15", "at 1",
            "ann reclaims A -> ok d=0; A stop revoked", "at 3 -> ok; A signal 9",
            "exit A -> ok; A lost revoked; B granted d=0"}},
    {"process was gone before",
        {ONE_HOLDER("", "pid=7"), "ann goes -> ok; A watch", "ann reclaims A -> ok d=0; A unwatch",
            "revoke A -> ok; A watch; A stop revoked", "exit A",
            "at 3.5 -> ok; A lost revoked; B granted d=0"}},
    {"revoked twice",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked", "at 2", "revoke A",
            "deadline -> 3.5"}},
    {"revoked while withdrawn from a client",
        {ONE_HOLDER("", "pid=7"), "withdraw A -> ok; A watch; A stop withdrawn", "revoke A",
            "at 3.5 -> ok; A signal 9", "exit A -> ok; A lost revoked; B granted d=0"}},
    {"held for too long while withdrawn",
        {ONE_HOLDER("max-hold=5", "pid=7"), "withdraw A -> ok; A watch; A stop withdrawn",
            "at 3.5 -> ok; A signal 9", "at 4.5 -> ok; A signal 9", "at 5.5 -> ok; A signal 9",
            "exit A -> ok; A lost max-hold; B granted d=0"}},
    {"dropped while stopping",
        {ONE_HOLDER("", "pid=7"), "revoke A -> ok; A watch; A stop revoked",
            "drop A -> ok; A lost dropped; B granted d=0", "deadline -> never"}},
    {"bound to another process while stopping",
        {ONE_HOLDER("", ""), "revoke A -> ok; A stop revoked", "ann binds A: 8 -> ok; A watch",
            "at 3.5 -> ok; A signal 9", "exit A -> ok; A lost revoked; B granted d=0"}},
    {"renewed while stopping",
        {ONE_HOLDER("max-hold=5", "pid=7"), "renew A: 0", "at 5 -> ok; A watch; A stop max-hold",
            "renew A: 0 -> lost"}},
};

Test(stop, while_it_is_being_stopped)
{
    tell(while_it_is_being_stopped);
}

/* The client leaves: what it had to do is ours from now on. */
Test(stop, client_leaves_while_stopping)
{
    given(ONE_HOLDER("", "pid=7"));
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(1), "ok");
    EXPECT(client_gone("ann"), "ok; A signal 15");
    EXPECT(tick(3.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

/* Its own user's stop may not reach all of it: others begin where that ends. */
Test(stop, revoked_while_withdrawn)
{
    given(ONE_HOLDER("", "pid=7 signal=2"), "ann goes -> ok; A watch");
    EXPECT(withdraw("A"), "ok; A signal 2");
    EXPECT(tick(1), "ok");
    EXPECT(withdraw("A"), "ok");
    EXPECT(revoke("A"), "ok; A signal 2");
    EXPECT(withdraw("A"), "ok");
    EXPECT(revoke("A"), "ok");
    EXPECT(tick(3), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

/* ---- those who wait ---- */

Test(stop, revoke_and_drop_of_waiters)
{
    given("semaphore s limit=2", "ann has A: s", "bob waits B: s:2",
        "cy waits C: s:2 pid=7 on-lost=kill", "di waits D: s");
    EXPECT(revoke("B"), "ok; B denied cancelled");
    EXPECT(drop("C"), "ok; C denied cancelled; D granted s=1");
}

/* ---- drop ---- */

Test(stop, drop_of_holders)
{
    given("semaphore s limit=3", "ann has A: s pid=7", "ann has T: s ttl=9", "cy has C: s",
        "bob waits B: s:3");
    EXPECT(drop("C"), "ok; C lost dropped");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(drop("T"), "ok; T lost dropped unheard");
    EXPECT(drop("A"), "ok; A lost dropped unheard; B granted s=0,1,2");
    EXPECT(deadline(), "never");
}
