/* test_core_identity.c - an identity has a resource at most once; whose identities are whose. */
#include "core_fixture.h"

WORLD_SUITE(identity);

static struct lease *find(const char *resource, uint32_t uid, const char *holder)
{
    return core_find_identity(the_core(), core_find_resource(the_core(), resource), uid, holder);
}

Test(identity, holds_a_resource_once)
{
    given("semaphore s limit=3", "lock d", "ann has A: s holder=x");
    EXPECT(acquire("ann", "B", "s holder=x"), "held s");
    EXPECT(acquire("ann2", "B", "s holder=x wait=0"), "held s");
    EXPECT(acquire("ann", "B", "d s holder=x"), "held s");
    EXPECT(state("d"), "0/1 free=1 waiting=0+0");
    EXPECT(acquire("ann", "B", "d holder=x"), "ok d=0");
    EXPECT(acquire("ann", "C", "s holder=y"), "ok s=1");
    EXPECT(acquire("ann", "D", "s"), "ok s=2");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "E", "s holder=x"), "ok s=0");
}

Test(identity, waiting_counts_too)
{
    given("lock d", "ann has A: d", "ann waits B: d holder=x");
    EXPECT(acquire("ann", "C", "d holder=x"), "held d");
    EXPECT(end_lease("ann", "A"), "ok; B granted d=0");
    EXPECT(acquire("ann", "C", "d holder=x"), "held d");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "d holder=x"), "ok d=0");
}

Test(identity, set_aside_counts_too)
{
    given("lock d", "change: pause d", "ann waits A: d holder=x");
    EXPECT(acquire("ann", "B", "d holder=x"), "held d");
}

Test(identity, belongs_to_its_uid)
{
    given("semaphore s limit=3", "ann has A: s holder=x", "bob has B: s holder=x");
    struct lease *ann = lease_of("A"), *bob = lease_of("B");
    cr_expect_eq(find("s", ann->uid, "x"), ann);
    cr_expect_eq(find("s", bob->uid, "x"), bob);
    cr_expect_null(find("s", 1, "x"));
    cr_expect_null(find("s", ann->uid, "y"));
    cr_expect_null(find("s", ann->uid, ""));
}

Test(identity, shared_by_all)
{
    given("semaphore s limit=3 identity=shared", "ann has A: s holder=x");
    EXPECT(acquire("bob", "B", "s holder=x"), "held s");
    cr_expect_eq(find("s", 1, "x"), lease_of("A"));
    EXPECT(client_gone("ann"), "ok");
    cr_expect_null(find("s", 1, "x"));
    EXPECT(acquire("bob", "B", "s holder=x"), "ok s=0");
}

Test(identity, of_each_resource_of_a_lease)
{
    given("lock a", "lock b", "ann has A: a b holder=x");
    EXPECT(acquire("ann", "B", "a holder=x"), "held a");
    EXPECT(acquire("ann", "B", "b holder=x"), "held b");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "b holder=x"), "ok b=0");
}

Test(identity, a_refused_request_leaves_none_behind)
{
    given("lock d max-waiters=0", "ann has A: d");
    EXPECT(acquire("ann", "B", "d holder=x wait=0"), "would-wait d");
    EXPECT(acquire("ann", "B", "d holder=x"), "queue-full d");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "d holder=x"), "ok d=0");
}

/* The key changes under those who have identities. */
Test(identity, reload_to_shared_and_back)
{
    given("semaphore s limit=2", "ann has A: s holder=x", "bob has B: s holder=y",
        "bob waits C: s holder=z");
    EXPECT(define("semaphore s limit=2 identity=shared"), "ok");
    EXPECT(acquire("cy", "D", "s holder=x"), "held s");
    EXPECT(acquire("cy", "D", "s holder=z"), "held s");
    EXPECT(define("semaphore s limit=2"), "ok");
    EXPECT(acquire("cy", "D", "s holder=x"), "waiting");
    EXPECT(acquire("ann", "E", "s holder=x"), "held s");
    EXPECT(acquire("bob", "F", "s holder=z"), "held s");
}

/* Two users have it as it becomes shared: both keep it, and the name is free when both are gone. */
Test(identity, reload_to_shared_while_two_have_it)
{
    given("semaphore s limit=3", "ann has A: s holder=x", "bob has B: s holder=x");
    EXPECT(define("semaphore s limit=3 identity=shared"), "ok");
    EXPECT(acquire("cy", "C", "s holder=x"), "held s");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("cy", "C", "s holder=x"), "held s");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(acquire("cy", "C", "s holder=x"), "ok s=0");
}
