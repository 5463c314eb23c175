/* test_core_stop.c - leases that are taken away: who is told, who is signalled, and when the units
 * are free (doc/protocol.md, "Stopping"). */
#include "core_fixture.h"

WORLD_SUITE(stop);

/* ---- on-lost ---- */

#define LOST "ok; A lost revoked; B granted d=0"
#define LOST_UNHEARD "ok; A lost revoked unheard; B granted d=0"

/* Without what a process does that outlives its signal: below. */
static const struct {
    const char *keys;
    const char *bound_by;
    bool is_alone; /* its client has gone */
    const char *at_once;
    double patience; /* s; 0: none */
    const char *then;
} revocations[] = {
    {"", "", false, "ok; A stop revoked", 3.5, LOST},
    {"", "ttl=50", false, LOST, 0, NULL},
    {"", "ttl=50", true, LOST_UNHEARD, 0, NULL},
    {"on-lost=term", "pid=7", false, "ok; A watch; A stop revoked", 3.5, LOST},
    {"on-lost=term", "pid=7", true, "ok; A signal 15", 3, LOST_UNHEARD},
    {"on-lost=term", "", false, "ok; A stop revoked", 3.5, LOST},
    {"on-lost=term", "ttl=50", false, LOST, 0, NULL},
    {"on-lost=term", "ttl=50", true, LOST_UNHEARD, 0, NULL},
    {"on-lost=warn", "pid=7", false, LOST, 0, NULL},
    {"on-lost=warn", "pid=7", true, LOST_UNHEARD, 0, NULL},
    {"on-lost=warn", "", false, LOST, 0, NULL},
    {"on-lost=warn", "ttl=50", false, LOST, 0, NULL},
    {"on-lost=warn", "ttl=50", true, LOST_UNHEARD, 0, NULL},
};

Test(stop, revoked)
{
    for (size_t i = 0; i < sizeof revocations / sizeof *revocations; i++) {
        cr_log_info("%s %s, alone: %d", revocations[i].keys, revocations[i].bound_by,
            revocations[i].is_alone);
        one_holder(revocations[i].keys, revocations[i].bound_by);
        if (revocations[i].is_alone) {
            bool is_watched = lease_of("A")->binding == BOUND_PROCESS;
            EXPECT(client_gone("ann"), is_watched ? "ok; A watch" : "ok");
        }
        EXPECT(revoke("A"), revocations[i].at_once);
        if (revocations[i].patience > 0) {
            EXPECT(tick(revocations[i].patience - 0.001), "ok");
            EXPECT(tick(revocations[i].patience), revocations[i].then);
        }
        EXPECT(deadline(), "never");
        world_end();
        world_begin();
    }
}

Test(stop, kill_process_client)
{
    one_holder("", "pid=7");
    EXPECT(tick(1), "ok");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(deadline(), "4.5");
    EXPECT(good_until("A"), "never");
    EXPECT(tick(4.499), "ok");
    EXPECT(tick(4.5), "ok; A signal 9");
    EXPECT(state("d"), "1/1 free=0 waiting=1+0");
    EXPECT(process_gone("A"), "ok; A lost revoked; B granted d=0");
}

/* Whoever revokes it says why: its client hears that at each step, and from the next berthd. */
Test(stop, an_operators_words)
{
    one_holder("", "pid=7");
    EXPECT(revoke_saying("A", "disk full"), "ok; A watch; A stop revoked (disk full)");
    EXPECT(restart("lock d kill-after=3"), "A B; A watch");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked (disk full)");
    EXPECT(tick(20), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A lost revoked (disk full)");
}

Test(stop, an_operators_words_at_the_end)
{
    one_holder("on-lost=term", "pid=7");
    EXPECT(revoke_saying("B", "nobody waits"), "ok; B denied cancelled (nobody waits)");
    EXPECT(revoke_saying("A", "disk full"), "ok; A watch; A stop revoked (disk full)");
    EXPECT(revoke_saying("A", "no, full of mice"), "ok");
    EXPECT(tick(20), "ok; A lost revoked (no, full of mice)");
}

Test(stop, kill_process_client_that_obeys)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(deadline(), "never");
}

/* The job's main process is gone, but its wrapper says when all of it is... */
Test(stop, kill_process_that_obeys_before_its_client)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(2), "ok");
    EXPECT(process_gone("A"), "ok");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(deadline(), "never");
}

/* ...as long as its time is not over... */
Test(stop, kill_process_that_obeys_and_a_client_that_does_not)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(tick(3.499), "ok");
    EXPECT(tick(3.5), "ok; A lost revoked; B granted d=0");
}

/* ...or leaves. */
Test(stop, kill_process_that_obeys_and_a_client_that_leaves)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(client_gone("ann"), "ok; B granted d=0");
}

Test(stop, kill_process_alone)
{
    one_holder("", "pid=7 signal=2");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(tick(1), "ok");
    EXPECT(revoke("A"), "ok; A signal 2");
    EXPECT(deadline(), "4");
    EXPECT(tick(3.999), "ok");
    EXPECT(tick(4), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
    EXPECT(deadline(), "never");
}

/* Again each second, for one that the kernel cannot end yet. Held until it is dead. */
Test(stop, killed_again_and_again)
{
    one_holder("", "pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(tick(3), "ok; A signal 9");
    EXPECT(deadline(), "4");
    EXPECT(tick(4), "ok; A signal 9");
    EXPECT(tick(4.9), "ok");
    EXPECT(tick(5), "ok; A signal 9");
    EXPECT(lease_state("A"), "granted d=0");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

/* A daemon that was stopped itself sends one signal, not one for each second that it missed. */
Test(stop, killed_once_after_a_long_pause)
{
    one_holder("", "pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(tick(60), "ok; A signal 9");
    EXPECT(deadline(), "61");
}

/* Of an earlier berthd, and not back yet. */
Test(stop, kill_connection_absent)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann d:1:0:5 id=3 kill-after=3"), "ok");
    EXPECT(acquire("bob", "B", "d"), "waiting");
    EXPECT(revoke("A"), "ok");
    EXPECT(tick(2.999), "ok");
    EXPECT(tick(3), "ok; A lost revoked unheard; B granted d=0");
}

Test(stop, term_process_that_obeys)
{
    one_holder("on-lost=term", "pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(tick(1), "ok");
    EXPECT(process_gone("A"), "ok; B granted d=0");
    EXPECT(deadline(), "never");
}

Test(stop, term_connection_absent)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann d:1:0:5 id=3 kill-after=3 on-lost=term"), "ok");
    EXPECT(revoke("A"), "ok");
    EXPECT(tick(3), "ok; A lost revoked unheard");
}

Test(stop, warn_connection_absent)
{
    EXPECT(define("lock d"), "ok");
    begin_grace(false, 10);
    EXPECT(restore("A", "ann d:1:0:5 id=3 on-lost=warn"), "ok");
    EXPECT(revoke("A"), "ok; A lost revoked unheard");
    EXPECT(grace_until(), "never");
}

/* ---- while it is being stopped ---- */

/* The client leaves: what it had to do is ours from now on. */
Test(stop, client_leaves_while_stopping)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(1), "ok");
    EXPECT(client_gone("ann"), "ok; A signal 15");
    EXPECT(tick(3.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

Test(stop, client_leaves_after_sigkill)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(3.5), "ok; A signal 9");
    EXPECT(client_gone("ann"), "ok");
    EXPECT(tick(4.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

Test(stop, client_leaves_while_stopping_term)
{
    one_holder("on-lost=term", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(client_gone("ann"), "ok; A signal 15");
    EXPECT(tick(3.5), "ok; A lost revoked unheard; B granted d=0");
}

Test(stop, client_leaves_while_stopping_connection)
{
    one_holder("", "");
    EXPECT(revoke("A"), "ok; A stop revoked");
    EXPECT(client_gone("ann"), "ok; B granted d=0");
    EXPECT(deadline(), "never");
}

/* The client comes back in the middle of it, and is told again. */
Test(stop, client_comes_back_while_stopping)
{
    one_holder("", "pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(revoke("A"), "ok; A signal 15");
    EXPECT(tick(1), "ok");
    EXPECT(reclaim("ann", "A"), "ok d=0; A stop revoked");
    EXPECT(tick(3), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A lost revoked; B granted d=0");
}

Test(stop, process_was_gone_before)
{
    one_holder("", "pid=7");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(reclaim("ann", "A"), "ok d=0; A unwatch");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(process_gone("A"), "ok");
    EXPECT(tick(3.5), "ok; A lost revoked; B granted d=0");
}

Test(stop, revoked_twice)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(tick(2), "ok");
    EXPECT(revoke("A"), "ok");
    EXPECT(deadline(), "3.5");
}

/* Its own user's stop may not reach all of it: others begin where that ends. */
Test(stop, revoked_while_withdrawn)
{
    one_holder("", "pid=7 signal=2");
    EXPECT(client_gone("ann"), "ok; A watch");
    EXPECT(withdraw("A"), "ok; A signal 2");
    EXPECT(tick(1), "ok");
    EXPECT(withdraw("A"), "ok");
    EXPECT(revoke("A"), "ok; A signal 2");
    EXPECT(withdraw("A"), "ok");
    EXPECT(revoke("A"), "ok");
    EXPECT(tick(3), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; B granted d=0");
}

Test(stop, revoked_while_withdrawn_from_a_client)
{
    one_holder("", "pid=7");
    EXPECT(withdraw("A"), "ok; A watch; A stop withdrawn");
    EXPECT(revoke("A"), "ok");
    EXPECT(tick(3.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A lost revoked; B granted d=0");
}

Test(stop, held_for_too_long_while_withdrawn)
{
    one_holder("max-hold=5", "pid=7");
    EXPECT(withdraw("A"), "ok; A watch; A stop withdrawn");
    EXPECT(tick(3.5), "ok; A signal 9");
    EXPECT(tick(4.5), "ok; A signal 9");
    EXPECT(tick(5.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A lost max-hold; B granted d=0");
}

Test(stop, dropped_while_stopping)
{
    one_holder("", "pid=7");
    EXPECT(revoke("A"), "ok; A watch; A stop revoked");
    EXPECT(drop("A"), "ok; A lost dropped; B granted d=0");
    EXPECT(deadline(), "never");
}

Test(stop, bound_to_another_process_while_stopping)
{
    one_holder("", "");
    EXPECT(revoke("A"), "ok; A stop revoked");
    EXPECT(bind_to("ann", "A", 8), "ok; A watch");
    EXPECT(tick(3.5), "ok; A signal 9");
    EXPECT(process_gone("A"), "ok; A lost revoked; B granted d=0");
}

Test(stop, renewed_while_stopping)
{
    one_holder("max-hold=5", "pid=7");
    EXPECT(renew("A", 0), "ok");
    EXPECT(tick(5), "ok; A watch; A stop max-hold");
    EXPECT(renew("A", 0), "lost");
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
