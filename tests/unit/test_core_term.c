/* test_core_term.c - leases whose time is limited, by their resource or by themselves, and how long
 * stopping their jobs may take. */
#include "core_fixture.h"

WORLD_SUITE(term);

/* ---- max-hold ---- */

static const struct story max_hold[] = {
    {"max hold",
        {ONE_HOLDER("max-hold=5", "pid=7"), "good-until A -> 5 gone by 9", "deadline -> 5",
            "at 4.999", "at 5 -> ok; A watch; A stop max-hold", "deadline -> 8.5",
            "at 8.5 -> ok; A signal 9", "exit A -> ok; A lost max-hold; B granted d=0",
            "good-until B -> 13.5 gone by 17.5"}},
    {"max hold without a client",
        {ONE_HOLDER("max-hold=5", "pid=7"), "ann goes -> ok; A watch", "at 5 -> ok; A signal 15",
            "at 8 -> ok; A signal 9", "exit A -> ok; B granted d=0"}},
    {"max hold of the connection",
        {ONE_HOLDER("max-hold=5", ""), "at 5 -> ok; A stop max-hold",
            "at 8.5 -> ok; A lost max-hold; B granted d=0"}},
    {"max hold with warn",
        {ONE_HOLDER("max-hold=5 on-lost=warn", "pid=7"),
            "at 5 -> ok; A lost max-hold; B granted d=0"}},
    /* The shortest of its resources'. */
    {"max hold of several",
        {"lock a max-hold=9", "lock b", "lock c max-hold=4", "ann has A: a b c",
            "ann waits B: a b c", "deadline -> 4", "ann ends A -> ok; B granted a=0 b=0 c=0",
            "deadline -> 4"}},
    /* A reload changes nothing for present holders. */
    {"max hold changed by a reload",
        {ONE_HOLDER("max-hold=5", ""), "reload: lock d max-hold=1 kill-after=3", "at 2",
            "deadline -> 5", "at 5 -> ok; A stop max-hold"}},
    /* A late tick: from when it is noticed, the job has all its time. */
    {"max hold noticed late",
        {ONE_HOLDER("max-hold=5", "pid=7"), "at 20 -> ok; A watch; A stop max-hold",
            "deadline -> 23.5"}},
};

Test(term, max_hold)
{
    tell(max_hold);
}

/* ---- ttl ---- */

static const struct story ttl[] = {
    {"ttl runs out",
        {ONE_HOLDER("", "ttl=5"), "good-until A -> 5 gone by 9",
            "at 5 -> ok; A stop expired; B granted d=0", "lease A -> gone"}},
    /* Even with warn the event is `expired`. */
    {"ttl runs out warn",
        {ONE_HOLDER("on-lost=warn", "ttl=5"), "at 5 -> ok; A stop expired; B granted d=0"}},
    {"renewed while away",
        {ONE_HOLDER("", "ttl=5"), "ann goes", "at 4", "renew A: 0",
            "at 9 -> ok; A stop expired unheard; B granted d=0"}},
    {"renewed while waiting",
        {"lock d", "ann has A: d ttl=5", "bob waits B: d ttl=5", "renew B: 0 -> lost",
            "renew B: 3 -> lost"}},
    {"only looked at",
        {"semaphore s limit=2 max-hold=5", "ann has A: s pid=7", "ann has B: s", "at 1",
            "renew A: 0", "renew B: 0", "renew A: 3 -> kind", "renew B: 3 -> kind",
            "deadline -> 5"}},
    {"a ttl longer than max hold",
        {ONE_HOLDER("max-hold=8", "ttl=100"), "good-until A -> 8 gone by 12",
            "at 8 -> ok; A lost max-hold; B granted d=0"}},
    /* Those that end at the same instant end by age, and their units go to the next in line. */
    {"ties go by age",
        {"semaphore s limit=3", "ann has A: s ttl=5", "bob has B: s ttl=5", "cy has C: s ttl=3",
            "di waits D: s:3 wait=5", "renew C: 5",
            "at 5 -> ok; A stop expired; B stop expired; C stop expired; D granted s=0,1,2"}},
    /* A unit that rests after its ttl ran out. */
    {"cooldown after the ttl",
        {"lock d cooldown=2", "ann has A: d ttl=5", "bob waits B: d", "at 5 -> ok; A stop expired",
            "at 7 -> ok; B granted d=0"}},
    /* No span is too long. */
    {"a ttl beyond the end of time",
        {ONE_HOLDER("", "ttl=9223372036"), "deadline -> never", "good-until A -> never",
            "renew A: 0", "good-until A -> never", "renew A: 9223372036", "deadline -> never",
            "renew A: 5", "deadline -> 5", "renew A: 9223372036", "deadline -> never",
            "renew A: 1"}},
};

Test(term, ttl)
{
    tell(ttl);
}

Test(term, renewed)
{
    given(ONE_HOLDER("", "ttl=5"), "at 4", "renew A: 0");
    EXPECT(deadline(), "9");
    EXPECT(tick(8.999), "ok");
    EXPECT(renew("A", 2), "ok");
    EXPECT(deadline(), "10.999");
    EXPECT(renew("A", 0), "ok");
    EXPECT(deadline(), "10.999");
    EXPECT(renew("A", 100), "ok");
    EXPECT(deadline(), "108.999");
    EXPECT(renew("A", 1), "ok");
    EXPECT(tick(9.999), "ok; A stop expired; B granted d=0");
}

Test(term, never_beyond_max_hold)
{
    given(ONE_HOLDER("max-hold=8", "ttl=5"), "at 4", "renew A: 0");
    EXPECT(deadline(), "8");
    EXPECT(renew("A", 100), "ok");
    EXPECT(deadline(), "8");
    EXPECT(renew("A", 2), "ok");
    EXPECT(deadline(), "6");
    EXPECT(renew("A", 9), "ok");
    EXPECT(tick(8), "ok; A lost max-hold; B granted d=0");
}

/* ---- stricter and laxer ---- */

static const struct story stricter_and_laxer[] = {
    {"the resource's rules",
        {"lock d", "lock e kill-after=2 on-lost=term", "lock f kill-after=5 on-lost=warn",
            "ann has A: d", "stop-rules A -> kill 10", "ann acquires B: e f -> ok e=0 f=0",
            "stop-rules B -> term 2", "ann ends A", "ann ends B",
            "ann acquires C: f e d -> ok f=0 e=0 d=0", "stop-rules C -> kill 2"}},
    {"stricter than the resource",
        {"semaphore s limit=9 kill-after=5 on-lost=term", "ann has A: s kill-after=2",
            "stop-rules A -> term 2", "ann acquires B: s on-lost=kill -> ok s=1",
            "stop-rules B -> kill 5", "ann acquires C: s on-lost=term kill-after=5 -> ok s=2",
            "stop-rules C -> term 5", "ann acquires D: s kill-after=0 -> ok s=3",
            "stop-rules D -> term 0"}},
    /* No patience at all: the signal and SIGKILL at the next tick. */
    {"no patience",
        {"lock d kill-after=0", "ann has A: d pid=7", "ann goes -> ok; A watch",
            "revoke A -> ok; A signal 15", "deadline -> 0", "at 0 -> ok; A signal 9",
            "deadline -> 1"}},
    /* The margin is a third of kill-after, and at least a second. */
    {"margins",
        {"semaphore s limit=9 kill-after=12 max-hold=1", "ann has A: s",
            "good-until A -> 1 gone by 17", "ann acquires B: s kill-after=3 -> ok s=1",
            "good-until B -> 1 gone by 5", "ann acquires C: s kill-after=0 -> ok s=2",
            "good-until C -> 1 gone by 2",
            "at 1 -> ok; A stop max-hold; B stop max-hold; C stop max-hold",
            "at 1.5 -> ok; C lost max-hold", "at 4.5 -> ok; B lost max-hold", "at 14.999",
            "at 15 -> ok; A lost max-hold"}},
};

Test(term, stricter_and_laxer)
{
    tell(stricter_and_laxer);
}

Test(term, laxer_than_the_resource)
{
    EXPECT(define("semaphore s limit=9 kill-after=5 on-lost=term", "lock d on-lost=kill"), "ok");
    EXPECT(acquire("ann", "A", "s kill-after=6"), "forbidden s");
    EXPECT(acquire("ann", "A", "s on-lost=warn"), "forbidden s");
    EXPECT(acquire("ann", "A", "s d on-lost=term"), "forbidden d");
    EXPECT(acquire("ann", "A", "d s kill-after=6"), "forbidden s");
    EXPECT(acquire("ann", "A", "d s on-lost=kill kill-after=5"), "ok d=0 s=0");
}
