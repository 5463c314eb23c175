/* test_core_drain.c - drain and undrain; walking the resources. */
#include "core_fixture.h"

WORLD_SUITE(drain);

Test(drain, grants_nothing_more)
{
    given("semaphore s limit=2", "ann has A: s");
    EXPECT(drain(true), "ok");
    cr_expect(core_is_draining(the_core()));
    EXPECT(acquire("bob", "B", "s wait=0"), "draining");
    EXPECT(acquire("bob", "B", "s"), "waiting");
    EXPECT(acquire("bob", "C", "s priority=9 wait=5"), "waiting");
    EXPECT(lease_state("A"), "granted s=0");
    EXPECT(end_lease("ann", "A"), "ok; drained");
    EXPECT(tick(5), "ok; C denied timeout");
    EXPECT(drain(false), "ok; B granted s=0");
    cr_expect_not(core_is_draining(the_core()));
}

Test(drain, said_once)
{
    given("semaphore s limit=2", "ann has A: s", "bob has B: s");
    EXPECT(drain(true), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(client_gone("bob"), "ok; drained");
    EXPECT(tick(1), "ok");
    EXPECT(acquire("ann", "C", "s"), "waiting");
    EXPECT(end_lease("ann", "C"), "ok");
}

Test(drain, nothing_is_held)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(drain(true), "ok; drained");
    EXPECT(drain(false), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(end_lease("ann", "A"), "ok");
}

/* In a closed grace a lease that nobody remembers may come back; its job has never stopped. */
Test(drain, not_before_all_are_back)
{
    given("semaphore s limit=2", "ann has A: s pid=7");
    lose_record("A");
    crash(false);
    EXPECT(define("semaphore s limit=2"), "ok");
    begin_grace(true, 10);
    EXPECT(drain(true), "ok");
    EXPECT(reclaim_unknown("ann", "A", "s:1:0:11 pid=7"), "ok s=0");
    EXPECT(tick(10), "ok");
    EXPECT(end_lease("ann", "A"), "ok; drained");
}

Test(drain, nobody_has_come_back)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    begin_grace(true, 10);
    EXPECT(drain(true), "ok");
    EXPECT(tick(9), "ok");
    EXPECT(tick(10), "ok; drained");
}

/* Waiters do not keep the host from being drained. */
Test(drain, waiters_do_not_count)
{
    given("lock d", "ann has A: d", "bob waits B: d");
    EXPECT(drain(true), "ok");
    EXPECT(end_lease("root", "A"), "ok; A lost released; drained");
    EXPECT(lines("d"), "| B |");
    EXPECT(drain(false), "ok; B granted d=0");
}

Test(drain, undrained_before_the_end)
{
    given("lock d", "ann has A: d");
    EXPECT(drain(true), "ok");
    EXPECT(drain(false), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "d"), "ok d=0");
}

/* Everything that may let a waiter go, while draining. */
Test(drain, nothing_gets_past_it)
{
    given("semaphore s limit=1", "pool g items=a", "lock p", "ann has A: s g", "change: pause p",
        "bob waits B: s", "bob waits C: g", "bob waits D: p");
    EXPECT(drain(true), "ok");
    EXPECT(change("limit s 3"), "ok");
    EXPECT(change("add g b"), "ok");
    EXPECT(change("resume p"), "ok");
    EXPECT(define("semaphore s limit=4", "pool g items=a,c", "lock p"), "ok");
    EXPECT(end_lease("bob", "C"), "ok");
    EXPECT(drain(false), "ok; B granted s=1; D granted p=0");
}

Test(drain, counters)
{
    EXPECT(define("semaphore s limit=1", "lock d"), "ok");
    cr_expect_str_eq(resources(), "s d");
    EXPECT(acquire("ann", "A", "s d"), "ok s=0 d=0");
    EXPECT(acquire("ann", "B", "s"), "waiting");
    EXPECT(acquire("ann", "C", "d"), "waiting");
    cr_expect_eq(core_n_held(the_core()), 1);
    cr_expect_eq(core_n_waiting(the_core()), 2);
    EXPECT(client_gone("ann"), "ok");
    cr_expect_eq(core_n_held(the_core()), 0);
    cr_expect_eq(core_n_waiting(the_core()), 0);
}

/* ---- cursors ---- */

Test(drain, a_cursor_survives_what_goes)
{
    given("lock a", "semaphore t/* limit=1", "ann has A: t/1", "ann has B: t/2", "ann has C: t/3");
    struct core_cursor one, other;
    core_cursor_init(the_core(), &one);
    core_cursor_init(the_core(), &other);
    cr_expect_str_eq(core_cursor_next(the_core(), &one)->name, "a");
    cr_expect_str_eq(core_cursor_next(the_core(), &other)->name, "a");
    cr_expect_str_eq(core_cursor_next(the_core(), &other)->name, "t/1");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(end_lease("ann", "B"), "ok");
    cr_expect_str_eq(core_cursor_next(the_core(), &one)->name, "t/3");
    EXPECT(end_lease("ann", "C"), "ok");
    cr_expect_null(core_cursor_next(the_core(), &other));
    core_cursor_deinit(the_core(), &one);
    cr_expect_null(core_cursor_next(the_core(), &other));
    core_cursor_deinit(the_core(), &other);
}
