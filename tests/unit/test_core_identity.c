/* test_core_identity.c - an identity has a resource at most once; whose identities are whose. */
#include "core_fixture.h"

WORLD_SUITE(identity);

static struct lease *find(const char *resource, uint32_t uid, const char *holder)
{
    return core_find_identity(the_core(), core_find_resource(the_core(), resource), uid, holder);
}

static const struct story stories[] = {
    {"holds a resource once",
        {"semaphore s limit=3", "lock d", "ann has A: s holder=x",
            "ann acquires B: s holder=x -> held s", "ann2 acquires B: s holder=x wait=0 -> held s",
            "ann acquires B: d s holder=x -> held s", "state d -> 0/1 free=1 waiting=0+0",
            "ann acquires B: d holder=x -> ok d=0", "ann acquires C: s holder=y -> ok s=1",
            "ann acquires D: s -> ok s=2", "ann ends A", "ann acquires E: s holder=x -> ok s=0"}},
    {"waiting counts too",
        {"lock d", "ann has A: d", "ann waits B: d holder=x",
            "ann acquires C: d holder=x -> held d", "ann ends A -> ok; B granted d=0",
            "ann acquires C: d holder=x -> held d", "ann ends B",
            "ann acquires C: d holder=x -> ok d=0"}},
    {"set aside counts too",
        {"lock d", "change: pause d", "ann waits A: d holder=x",
            "ann acquires B: d holder=x -> held d"}},
    {"of each resource of a lease",
        {"lock a", "lock b", "ann has A: a b holder=x", "ann acquires B: a holder=x -> held a",
            "ann acquires B: b holder=x -> held b", "ann ends A",
            "ann acquires B: b holder=x -> ok b=0"}},
    {"a refused request leaves none behind",
        {"lock d max-waiters=0", "ann has A: d",
            "ann acquires B: d holder=x wait=0 -> would-wait d",
            "ann acquires B: d holder=x -> queue-full d", "ann ends A",
            "ann acquires B: d holder=x -> ok d=0"}},
    /* The key changes under those who have identities. */
    {"reload to shared and back",
        {"semaphore s limit=2", "ann has A: s holder=x", "bob has B: s holder=y",
            "bob waits C: s holder=z", "reload: semaphore s limit=2 identity=shared",
            "cy acquires D: s holder=x -> held s", "cy acquires D: s holder=z -> held s",
            "reload: semaphore s limit=2", "cy waits D: s holder=x",
            "ann acquires E: s holder=x -> held s", "bob acquires F: s holder=z -> held s"}},
    /* Two users have it as it becomes shared: both keep it, and the name is free when both are
       gone. */
    {"reload to shared while two have it",
        {"semaphore s limit=3", "ann has A: s holder=x", "bob has B: s holder=x",
            "reload: semaphore s limit=3 identity=shared", "cy acquires C: s holder=x -> held s",
            "ann ends A", "cy acquires C: s holder=x -> held s", "bob ends B",
            "cy acquires C: s holder=x -> ok s=0"}},
};

Test(identity, stories)
{
    tell(stories);
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
