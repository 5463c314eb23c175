/* test_core_acquire.c - slots, items, counts, tokens, and what is refused at once. */
#include "core_fixture.h"

WORLD_SUITE(acquire);

static const struct story stories[] = {
    {"lowest free slot first",
        {"semaphore s limit=4", "ann acquires A: s -> ok s=0", "bob acquires B: s:2 -> ok s=1,2",
            "state s -> 3/4 free=1 waiting=0+0", "ann ends A", "ann acquires C: s:2 -> ok s=0,3",
            "bob ends B", "ann acquires D: s -> ok s=1", "lines s -> C D | |"}},
    {"lock is a semaphore of one",
        {"lock d", "ann acquires A: d -> ok d=0", "bob acquires B: d wait=0 -> would-wait d",
            "bob acquires C: d:2 -> impossible d", "ann ends A",
            "bob acquires D: d wait=0 -> ok d=0"}},
    {"pool first goes by file order",
        {"pool g items=c,a,b select=first", "ann acquires A: g -> ok g=c",
            "ann acquires B: g:2 -> ok g=a,b", "ann ends B", "ann ends A",
            "ann acquires C: g -> ok g=c"}},
    {"pool lru goes by time of release",
        {"pool g items=a,b,c select=lru", "ann acquires A: g -> ok g=a", "ann ends A",
            "ann acquires B: g -> ok g=b", "ann ends B", "ann acquires C: g -> ok g=c",
            "ann acquires D: g -> ok g=a", "ann ends C", "ann ends D",
            "ann acquires E: g:3 -> ok g=b,c,a"}},
    {"several units are all or nothing",
        {"semaphore s limit=3", "ann acquires A: s:2 -> ok s=0,1",
            "bob acquires B: s:2 wait=0 -> would-wait s", "state s -> 2/3 free=1 waiting=0+0",
            "bob waits B: s:2", "state s -> 2/3 free=1 waiting=1+0",
            "ann ends A -> ok; B granted s=0,1"}},
    {"a priority above the resource's is forbidden",
        {"semaphore s limit=1 max-priority=5", "semaphore t limit=1 max-priority=0",
            "ann acquires A: s priority=6 -> forbidden s",
            "ann acquires A: s t priority=5 -> forbidden t",
            "ann acquires A: t priority=-5 -> ok t=0", "ann acquires B: s priority=5 -> ok s=0"}},
    {"sixteen resources",
        {"lock a", "lock b", "lock c", "lock d", "lock e", "lock f", "lock g", "lock h", "lock i",
            "lock j", "lock k", "lock l", "lock m", "lock n", "lock o", "lock p",
            "ann has A: p o n m l k j i h g f e d c b a",
            "bob waits B: a b c d e f g h i j k l m n o p",
            "ann ends A -> ok; B granted a=0 b=0 c=0 d=0 e=0 f=0 g=0 h=0 i=0 j=0 k=0 l=0 m=0 n=0 "
            "o=0 p=0"}},
};

Test(acquire, stories)
{
    tell(stories);
}

Test(acquire, pool_random_gives_each_item)
{
    EXPECT(define("pool g items=a,b,c,d select=random"), "ok");
    bool seen[4] = {false};
    for (int i = 0; i < 200; i++) {
        const char *got = acquire("ann", "A", "g");
        cr_assert(got[5] >= 'a' && got[5] <= 'd' && got[6] == '\0', "%s", got);
        seen[got[5] - 'a'] = true;
        EXPECT(end_lease("ann", "A"), "ok");
    }
    cr_expect(seen[0] && seen[1] && seen[2] && seen[3]);
    acquire("ann", "A", "g:4");
    EXPECT(state("g"), "4/4 free=0 waiting=0+0");
}

Test(acquire, refused_at_once)
{
    EXPECT(define("semaphore s limit=3", "pool g items=a,b", "semaphore zero limit=0"), "ok");
    EXPECT(acquire("ann", "A", "none"), "unknown none");
    EXPECT(acquire("ann", "A", "s none"), "unknown none");
    EXPECT(acquire("ann", "A", "s:0"), "impossible s");
    EXPECT(acquire("ann", "A", "s:4"), "impossible s");
    EXPECT(acquire("ann", "A", "g:3"), "impossible g");
    EXPECT(acquire("ann", "A", "s g:3"), "impossible g");
    EXPECT(acquire("ann", "A", "s:4294967295"), "impossible s");
    EXPECT(acquire("ann", "A", "zero:0"), "impossible zero");
    EXPECT(state("s"), "0/3 free=3 waiting=0+0");
    EXPECT(state("g"), "0/2 free=2 waiting=0+0");
}

/* Closed is not impossible: it may be opened again. */
Test(acquire, zero_means_closed)
{
    EXPECT(define("semaphore s limit=0"), "ok");
    EXPECT(acquire("ann", "A", "s wait=0"), "closed s");
    EXPECT(acquire("ann", "A", "s:7 wait=0"), "closed s");
    EXPECT(acquire("ann", "A", "s"), "waiting");
    EXPECT(state("s"), "0/0 free=0 waiting=0+1");
    EXPECT(change("limit s 1"), "ok; A granted s=0");
}

/* The waiter granted by a release has the larger token. */
Test(acquire, tokens_grow_in_the_order_of_grants)
{
    given("lock d", "ann has A: d", "bob waits B: d", "cy waits C: d priority=1");
    uint64_t first = token_of("A", "d");
    EXPECT(end_lease("ann", "A"), "ok; C granted d=0");
    uint64_t second = token_of("C", "d");
    EXPECT(end_lease("cy", "C"), "ok; B granted d=0");
    cr_expect(first < second && second < token_of("B", "d"));
    cr_expect_lt(token_of("B", "d"), UINT64_C(1) << 63);
}

/* What the client said is copied. */
Test(acquire, texts_are_copied)
{
    given("lock d", "ann has A: d holder=job-7",
        "bob waits B: d holder=other reason=why program=make");
    cr_expect_str_eq(lease_of("A")->attributes.holder, "job-7");
    cr_expect_str_eq(lease_of("B")->attributes.holder, "other");
    cr_expect_null(lease_of("A")->attributes.reason);
    cr_expect_null(lease_of("A")->attributes.program);
    cr_expect_str_eq(lease_of("B")->attributes.reason, "why");
    cr_expect_str_eq(lease_of("B")->attributes.program, "make");
}
