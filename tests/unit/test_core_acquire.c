/* test_core_acquire.c - slots, items, counts, tokens, and what is refused at once. */
#include "core_fixture.h"

WORLD_SUITE(acquire);

Test(acquire, lowest_free_slot_first)
{
    EXPECT(define("semaphore s limit=4"), "ok");
    EXPECT(acquire("ann", "A", "s"), "ok s=0");
    EXPECT(acquire("bob", "B", "s:2"), "ok s=1,2");
    EXPECT(state("s"), "3/4 free=1 waiting=0+0");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "C", "s:2"), "ok s=0,3");
    EXPECT(end_lease("bob", "B"), "ok");
    EXPECT(acquire("ann", "D", "s"), "ok s=1");
    EXPECT(lines("s"), "C D | |");
}

Test(acquire, lock_is_a_semaphore_of_one)
{
    EXPECT(define("lock d"), "ok");
    EXPECT(acquire("ann", "A", "d"), "ok d=0");
    EXPECT(acquire("bob", "B", "d wait=0"), "would-wait d");
    EXPECT(acquire("bob", "C", "d:2"), "impossible d");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("bob", "D", "d wait=0"), "ok d=0");
}

Test(acquire, pool_first_goes_by_file_order)
{
    EXPECT(define("pool g items=c,a,b select=first"), "ok");
    EXPECT(acquire("ann", "A", "g"), "ok g=c");
    EXPECT(acquire("ann", "B", "g:2"), "ok g=a,b");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "C", "g"), "ok g=c");
}

Test(acquire, pool_lru_goes_by_time_of_release)
{
    EXPECT(define("pool g items=a,b,c select=lru"), "ok");
    EXPECT(acquire("ann", "A", "g"), "ok g=a");
    EXPECT(end_lease("ann", "A"), "ok");
    EXPECT(acquire("ann", "B", "g"), "ok g=b");
    EXPECT(end_lease("ann", "B"), "ok");
    EXPECT(acquire("ann", "C", "g"), "ok g=c");
    EXPECT(acquire("ann", "D", "g"), "ok g=a");
    EXPECT(end_lease("ann", "C"), "ok");
    EXPECT(end_lease("ann", "D"), "ok");
    EXPECT(acquire("ann", "E", "g:3"), "ok g=b,c,a");
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

Test(acquire, several_units_are_all_or_nothing)
{
    EXPECT(define("semaphore s limit=3"), "ok");
    EXPECT(acquire("ann", "A", "s:2"), "ok s=0,1");
    EXPECT(acquire("bob", "B", "s:2 wait=0"), "would-wait s");
    EXPECT(state("s"), "2/3 free=1 waiting=0+0");
    EXPECT(acquire("bob", "B", "s:2"), "waiting");
    EXPECT(state("s"), "2/3 free=1 waiting=1+0");
    EXPECT(end_lease("ann", "A"), "ok; B granted s=0,1");
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

Test(acquire, priority_above_the_resources_is_forbidden)
{
    EXPECT(
        define("semaphore s limit=1 max-priority=5", "semaphore t limit=1 max-priority=0"), "ok");
    EXPECT(acquire("ann", "A", "s priority=6"), "forbidden s");
    EXPECT(acquire("ann", "A", "s t priority=5"), "forbidden t");
    EXPECT(acquire("ann", "A", "t priority=-5"), "ok t=0");
    EXPECT(acquire("ann", "B", "s priority=5"), "ok s=0");
}

Test(acquire, tokens_only_grow)
{
    EXPECT(define("semaphore s limit=2", "lock d"), "ok");
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        EXPECT(acquire("ann", "A", "s"), "ok s=0");
        EXPECT(acquire("ann", "B", "s d"), "ok s=1 d=0");
        cr_assert_gt(token_of("A", "s"), last);
        cr_assert_gt(token_of("B", "s"), token_of("A", "s"));
        last = token_of("B", "s");
        end_lease("ann", "A");
        end_lease("ann", "B");
    }
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

Test(acquire, ids_and_tokens_begin_where_the_caller_says)
{
    const uint64_t first = UINT64_C(1) << 40;
    struct core *core = core_new(3);
    struct definition definition = {.name = "d",
        .kind = KIND_LOCK,
        .limit = 1,
        .max_hold = NEVER,
        .max_waiters = 9,
        .max_units_per_user = UNBOUNDED};
    struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    struct effects effects = EFFECTS_INIT;
    struct client client;
    struct acquire_request ask = {.wants = {{"d", 1}}, .n_wants = 1, .wait = NEVER};
    struct lease *lease;
    const char *at_fault;
    core_begin_numbers(core, first);
    cr_assert_eq(core_define(core, &definition, 1, &bounds, 0, &effects, &at_fault), OUTCOME_OK);
    cr_assert_eq(core_client_init(core, &client, 1), OUTCOME_OK);
    cr_assert_eq(core_acquire(core, &client, &ask, 0, &effects, &lease, &at_fault), OUTCOME_OK);
    cr_expect_geq(lease->id, first);
    cr_expect_geq(lease->claims[0].token, first);
    cr_expect_eq(core_find_lease(core, lease->id), lease);
    cr_expect_null(core_find_lease(core, lease->id + 1));
    core_client_deinit(core, &client, 0, &effects);
    effects_clear(&effects);
    effects_deinit(&effects);
    cr_expect_null(core_free(core));
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

Test(acquire, sixteen_resources)
{
    given("lock a", "lock b", "lock c", "lock d", "lock e", "lock f", "lock g", "lock h", "lock i",
        "lock j", "lock k", "lock l", "lock m", "lock n", "lock o", "lock p",
        "ann has A: p o n m l k j i h g f e d c b a",
        "bob waits B: a b c d e f g h i j k l m n o p");
    EXPECT(end_lease("ann", "A"),
        "ok; B granted a=0 b=0 c=0 d=0 e=0 f=0 g=0 h=0 i=0 j=0 k=0 l=0 m=0 n=0 o=0 p=0");
}
