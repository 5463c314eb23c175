/* test_core_drain.c - drain and undrain; walking the resources. */
#include "core_fixture.h"

WORLD_SUITE(drain);

static const struct story stories[] = {
    {"said once",
        {"semaphore s limit=2", "ann has A: s", "bob has B: s", "drain", "ann ends A",
            "bob goes -> ok; drained", "at 1", "ann waits C: s", "ann ends C"}},
    {"nothing is held",
        {"lock d", "drain -> ok; drained", "undrain", "ann acquires A: d -> ok d=0", "ann ends A"}},
    /* In a closed grace a lease that nobody remembers may come back; its job has never stopped. */
    {"not before all are back",
        {"semaphore s limit=2", "ann has A: s pid=7", "restart-without A: semaphore s limit=2",
            "drain", "ann claims A: s:1:0:11 pid=7 -> ok s=0", "at 10",
            "ann ends A -> ok; drained"}},
    /* Waiters do not keep the host from being drained. */
    {"waiters do not count",
        {"lock d", "ann has A: d", "bob waits B: d", "drain",
            "root ends A -> ok; A lost released; drained", "lines d -> | B |",
            "undrain -> ok; B granted d=0"}},
    {"undrained before the end",
        {"lock d", "ann has A: d", "drain", "undrain", "ann ends A",
            "ann acquires B: d -> ok d=0"}},
    /* Everything that may let a waiter go, while draining. */
    {"nothing gets past it",
        {"semaphore s limit=1", "pool g items=a", "lock p", "ann has A: s g", "change: pause p",
            "bob waits B: s", "bob waits C: g", "bob waits D: p", "drain", "change: limit s 3",
            "change: add g b", "change: resume p",
            "reload: semaphore s limit=4; pool g items=a,c; lock p", "bob ends C",
            "undrain -> ok; B granted s=1; D granted p=0"}},
};

Test(drain, stories)
{
    tell(stories);
}

Test(drain, grants_nothing_more)
{
    given("semaphore s limit=2", "ann has A: s", "drain");
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

Test(drain, nobody_has_come_back)
{
    EXPECT(define("semaphore s limit=2"), "ok");
    begin_grace(true, 10);
    EXPECT(drain(true), "ok");
    EXPECT(tick(9), "ok");
    EXPECT(tick(10), "ok; drained");
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
