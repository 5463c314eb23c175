/* test_core_fair.c - order = fair: whose turn it is, by the ranks of those who wait. */
#include "core_fixture.h"
#include "seed.h"
#include "tests/sim/random.h"

#include <stdio.h>
#include <string.h>

WORLD_SUITE(fair);

#define FAIR "semaphore s limit=4 order=fair"
#define LOCK "lock d order=fair"

static const struct story stories[] = {
    {"each user in turn, whoever came first",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d",
            "bob waits E: d", "bob waits F: d", "cy waits G: d", "lines d -> A | B E G C F D |",
            "ann ends A -> ok; B granted d=0", "di waits H: d", "lines d -> B | E G C F H D |"}},
    {"a user alone is served as under fifo",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d",
            "lines d -> A | B C D |", "ann ends A -> ok; B granted d=0"}},
    {"what counts is the units",
        {FAIR, "ann has A: s:4", "ann waits B: s:2", "ann waits C: s:2", "bob waits D: s",
            "bob waits E: s", "bob waits F: s", "bob waits G: s", "bob waits H: s",
            "lines s -> A | D B E F C G H |"}},
    {"all of it costs the limit",
        {FAIR, "ann has A: s:4", "ann waits B: s:all", "ann waits C: s:all", "bob waits D: s:2",
            "bob waits E: s:2", "bob waits F: s:2", "lines s -> A | D B E F C |"}},
    {"priorities come first, and each is fair by itself",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d priority=1",
            "ann waits E: d priority=1", "bob waits F: d priority=1", "bob waits G: d",
            "lines d -> A | D F E B G C |", "ann ends A -> ok; D granted d=0",
            "cy waits H: d", "cy waits I: d priority=1", "lines d -> D | F E I B G H C |"}},
    {"who was served does not wait for those who were not",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d",
            "ann ends A -> ok; B granted d=0", "ann ends B -> ok; C granted d=0",
            "bob waits E: d", "lines d -> C | D E |", "bob waits F: d", "ann waits G: d",
            "lines d -> C | D E F G |"}},
    {"those who come back from aside do not put others behind all that was granted since",
        {"semaphore s limit=2 order=fair max-units-per-user=1", "ann has A: s", "bob has B: s",
            "ann waits C: s", "cy waits D: s", "cy waits E: s", "bob ends B -> ok; D granted s=1",
            "cy ends D -> ok; E granted s=1", "ed waits F: s", "ed waits G: s",
            "change: limit s 1", "ann ends A", "flo waits H: s", "lines s -> E | C H F | G"}},
    {"who asks first while a quota lets none of those who wait go has a turn, too",
        {"semaphore s limit=1 order=fair max-units-per-user=1", "ann has A: s", "ann waits B: s",
            "ann waits C: s", "ann waits D: s", "bob waits E: s", "bob waits F: s",
            "ann ends A -> ok; B granted s=0", "ann ends B -> ok; E granted s=0"}},
    {"nor do they bring more than one request of others before those that have waited",
        {"semaphore s limit=1 order=fair", "semaphore p limit=1", "change: limit p 0",
            "ann has A: s", "ann waits B: s p", "bob waits C: s", "bob waits D: s",
            "bob waits E: s", "ann ends A -> ok; C granted s=0", "bob ends C -> ok; D granted s=0",
            "bob ends D -> ok; E granted s=0", "cy waits F: s", "change: limit p 1",
            "flo waits G: s", "flo waits H: s", "ann waits I: s", "lines s -> E | B G F H I |"}},
    {"when nobody waits, it begins again",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann ends C", "ann ends B",
            "ann waits D: d", "bob waits E: d", "ann waits F: d", "lines d -> A | D E F |"}},
    {"whoever gives up leaves no debt",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d",
            "bob waits E: d", "bob waits F: d", "ann ends D", "ann ends C", "ann waits G: d",
            "lines d -> A | B E F G |"}},
    {"many small ones pass a large one only until they have had as much",
        {FAIR, "ann has A: s:2", "bob waits B: s:4", "cy has C: s", "di has D: s", "ed waits E: s",
            "flo waits F: s", "lines s -> A C D | E F B |", "cy ends C -> ok; E granted s=2",
            "cy waits G: s", "di waits H: s", "lines s -> A D E | F B G H |"}},
};

Test(fair, stories)
{
    tell(stories);
}

static const struct story words[] = {
    {"words are flows, whoever the user",
        {LOCK " fair-by=share", "ann has A: d", "ann waits B: d share=x", "bob waits C: d share=x",
            "ann waits D: d share=y", "ann waits E: d share=x", "bob waits F: d",
            "bob waits G: d", "ann waits H: d", "lines d -> A | B D F H C G E |"}},
    {"without fair-by = share a word is no flow",
        {LOCK, "ann has A: d", "ann waits B: d share=x", "ann waits C: d share=y",
            "bob waits D: d share=x", "lines d -> A | B D C |"}},
    {"a user is no word",
        {LOCK " fair-by=share", "ann has A: d", "ann waits B: d", "ann waits C: d share=ann",
            "ann waits D: d", "lines d -> A | B C D |"}},
};

Test(fair, words)
{
    tell(words);
}

static const struct story turns[] = {
    {"the words of one user take turns, each word's own in order",
        {LOCK, "ann has A: d", "ann waits B: d share=x", "ann waits C: d share=x",
            "ann waits D: d share=y", "ann waits E: d share=z", "ann waits F: d share=y",
            "ann ends A -> ok; B granted d=0", "ann ends B -> ok; D granted d=0",
            "lines d -> D | C E F |", "ann ends D -> ok; E granted d=0",
            "ann ends E -> ok; C granted d=0", "ann ends C -> ok; F granted d=0", "ann ends F"}},
    {"which changes nothing for others",
        {LOCK, "ann has A: d", "ann waits B: d share=x", "ann waits C: d share=x",
            "ann waits D: d share=y", "bob waits E: d share=z", "bob waits F: d share=a",
            "lines d -> A | B E C F D |", "ann ends A -> ok; B granted d=0",
            "ann ends B -> ok; E granted d=0", "bob ends E -> ok; D granted d=0",
            "lines d -> D | F C |", "ann ends D -> ok; F granted d=0"}},
    {"no word is a word like others",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d share=a",
            "ann waits E: d", "ann ends A -> ok; B granted d=0", "ann ends B -> ok; D granted d=0",
            "ann ends D -> ok; C granted d=0", "ann ends C -> ok; E granted d=0"}},
    {"other counts, priorities or resources have no part in it",
        {FAIR, "lock c", "ann has A: s:4", "ann waits B: s:2 share=y", "ann waits C: s:3 share=a",
            "ann waits D: s:2 c share=b", "ann waits E: s:2 share=c priority=-1",
            "ann waits F: s:2 share=z", "ann ends A -> ok; B granted s=0,1",
            "ann ends B -> ok; C granted s=0,1,2"}},
    {"nor who has no client",
        {LOCK, "ann has A: d", "ann waits B: d share=m", "ann waits C: d share=a",
            "ann waits D: d share=z", "restart: " LOCK " -> A B C D", "ann reclaims A -> ok d=0",
            "ann2 reclaims B -> waiting", "ann2 reclaims C -> waiting",
            "ann ends A -> ok; B granted d=0", "ann2 ends B -> ok; C granted d=0"}},
    {"one that was moved last is the last of its word",
        {LOCK, "ann has A: d", "ann waits B: d share=x", "ann waits C: d share=y",
            "ann waits D: d share=y", "move-last C", "ann ends A -> ok; B granted d=0",
            "ann ends B -> ok; D granted d=0", "ann ends D -> ok; C granted d=0"}},
    {"nor who is aside, as a quota lets only the first be in the queue",
        {"semaphore s limit=1 order=fair max-units-per-user=1", "ann has A: s",
            "ann waits B: s share=z", "ann waits C: s share=y", "ann ends A -> ok; B granted s=0"}},
};

Test(fair, turns)
{
    tell(turns);
}

static const struct story moves[] = {
    {"the first is before all, and costs nothing",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "bob waits D: d", "move-first C",
            "lines d -> A | C B D |", "ann waits E: d", "lines d -> A | C B D E |"}},
    {"the last has a rank as if it had just asked",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d",
            "bob waits E: d", "move-last B", "lines d -> A | E C D B |", "move-last E",
            "lines d -> A | C E D B |", "move-last E", "lines d -> A | C D E B |"}},
};

Test(fair, moves)
{
    tell(moves);
}

#define BY(id) "denied replaced (lease " id " replaces it)"

static const struct story newest[] = {
    {"the newest has the rank of the one whose place it takes",
        {LOCK, "ann has A: d", "ann waits B: d", "bob waits C: d holder=h", "bob waits D: d",
            "bob waits E: d", "bob2 acquires F: d holder=h replace=waiting -> waiting; C " BY("39"),
            "lines d -> A | B F D E |"}},
    {"at the cost of what it wants itself",
        {FAIR, "ann has A: s:4", "ann waits B: s holder=h", "bob waits C: s", "bob waits D: s",
            "bob waits E: s",
            "ann2 acquires F: s:3 holder=h replace=waiting -> waiting; B " BY("39"),
            "lines s -> A | C D E F |",
            "ann acquires G: s holder=h replace=waiting -> waiting; F " BY("3a"),
            "lines s -> A | C G D E |"}},
    {"but none of another priority",
        {LOCK, "ann has A: d", "ann waits B: d priority=-1 holder=h", "bob waits C: d",
            "bob waits D: d", "cy waits E: d",
            "ann2 acquires F: d holder=h replace=waiting -> waiting; B " BY("39"),
            "lines d -> A | C E F D |"}},
    {"unless its own is before that; its flow is its own",
        {LOCK " fair-by=share", "ann has A: d", "ann waits B: d share=x", "bob waits C: d share=y",
            "bob waits D: d share=y holder=h",
            "bob2 acquires E: d share=z holder=h replace=waiting -> waiting; D " BY("38"),
            "bob waits F: d share=z", "bob waits G: d share=y", "lines d -> A | B C E F G |"}},
    {"and the turn that it had among its user's words",
        {LOCK, "ann has A: d", "ann waits B: d share=x", "ann waits C: d share=y holder=h",
            "ann waits D: d share=y",
            "ann2 acquires E: d share=y holder=h replace=waiting -> waiting; C " BY("38"),
            "ann ends A -> ok; B granted d=0", "ann ends B -> ok; E granted d=0"}},
};

Test(fair, newest)
{
    tell(newest);
}

static const struct story levels[] = {
    {"a level that is fair gives the rank, and counts what is taken of it",
        {"semaphore a limit=9 also=t:2", "semaphore t limit=4 order=fair", "ann has A: t:4",
            "ann waits B: a", "ann waits C: a", "bob waits D: t", "bob waits E: t",
            "bob waits F: t", "lines t -> A | D B E F C |"}},
    {"words that take of a level take no turns",
        {"semaphore a limit=9 also=t", "lock t order=fair", "ann has A: t",
            "ann waits B: a share=y", "ann waits C: a share=x", "ann waits D: a share=z",
            "ann ends A -> ok; B granted a=0 t=0", "ann ends B -> ok; C granted a=0 t=0"}},
};

Test(fair, levels)
{
    tell(levels);
}

#define RATE "semaphore s limit=9 order=fair rate=1/10"

static const struct story rates[] = {
    {"what a rate lets go has the one whose turn it is",
        {RATE, "ann has A: s", "ann waits B: s", "ann waits C: s", "bob waits D: s",
            "at 10 -> ok; B granted s=1", "at 20 -> ok; D granted s=2",
            "at 30 -> ok; C granted s=3"}},
    {"and the word whose turn it is",
        {RATE, "ann has A: s", "ann waits B: s share=x", "ann waits C: s share=x",
            "ann waits D: s share=y", "at 10 -> ok; B granted s=1", "at 20 -> ok; D granted s=2",
            "at 30 -> ok; C granted s=3"}},
};

Test(fair, rates)
{
    tell(rates);
}

static const struct story restarts[] = {
    {"ranks are kept over a restart",
        {LOCK, "ann has A: d", "ann waits B: d", "ann waits C: d", "ann waits D: d",
            "bob waits E: d", "bob waits F: d", "restart: " LOCK " -> A B C D E F",
            "lines d -> A | B E C F D |", "cy waits G: d", "lines d -> A | B E G C F D |"}},
    {"and later numbers are above them",
        {"semaphore s limit=3 order=fair", "lock c", "ann has A: s:3", "ann has B: c",
            "ann waits C: s:3", "ann waits D: s:3", "ann waits E: c s:3",
            "restart: semaphore s limit=3 order=fair; lock c -> A B C D E", "cy waits F: c",
            "lines c -> B | E F |"}},
    {"a reload keeps the tickets of those who wait",
        {"lock d", "ann has A: d", "ann waits B: d", "ann waits C: d", "bob waits D: d",
            "reload: " LOCK, "lines d -> A | B C D |", "bob waits E: d", "ann waits F: d",
            "cy waits G: d", "lines d -> A | B G C D F E |", "reload: lock d",
            "bob waits H: d", "lines d -> A | B G C D F E H |"}},
    {"and knows whose they are by the other rule",
        {LOCK, "ann has A: d", "ann waits B: d share=x", "bob waits C: d share=x",
            "reload: " LOCK " fair-by=share", "cy waits D: d share=x", "cy waits E: d share=y",
            "lines d -> A | B C E D |"}},
};

Test(fair, restarts)
{
    tell(restarts);
}

static const struct story several[] = {
    {"among the requests of other queues a rank is a ticket",
        {LOCK, "lock c", "ann has A: d", "ann has B: c", "ann waits C: d", "ann waits D: d c",
            "bob waits E: d c", "bob waits F: c", "lines d -> A | C | E D",
            "lines c -> B | E D F |"}},
    {"the numbers of others keep up with the ranks that were granted",
        {"semaphore s limit=3 order=fair", "lock c", "ann has A: s:3", "ann has B: c",
            "ann waits C: s:3", "ann waits D: s:3", "ann waits E: s:3",
            "ann ends A -> ok; C granted s=0,1,2", "ann ends C -> ok; D granted s=0,1,2",
            "bob waits F: s:3 c", "cy waits G: c", "lines c -> B | G F |",
            "ann ends D -> ok; E granted s=0,1,2", "cy waits H: c", "lines c -> B | G F H |"}},
};

Test(fair, several_resources)
{
    tell(several);
}

Test(fair, tickets_are_not_used_up)
{
    core_begin_numbers(the_core(), UINT64_C(1) << 51);
    given(FAIR, "ann has A: s:4", "ann waits B: s:2", "ann waits C: s:all", "bob waits D: s",
        "bob waits E: s", "bob waits F: s", "lines s -> A | B D C E F |");
}

/* ---- always somebody waits ---- */

enum { MAX_HERE = 64, N_USERS = 4 };

/* Who asks and ends at random, and what has been granted to whom. */
static struct crowd {
    struct random random;
    struct {
        const char *who;
        char lease[8];
        uint32_t count;
        bool is_held;
    } here[MAX_HERE];
    size_t n;
    uint32_t n_asked; /* the fixture has names for 512 */
    uint32_t units[N_USERS]; /* that have been granted to each of `users` */
} crowd;

static const char *const users[N_USERS] = {"ann", "bob", "cy", "di"};

static void crowd_look(void)
{
    for (size_t i = 0; i < crowd.n; i++) {
        if (!crowd.here[i].is_held && lease_of(crowd.here[i].lease)->state == LEASE_HELD) {
            crowd.here[i].is_held = true;
            for (size_t user = 0; user < N_USERS; user++) {
                bool is_user = strcmp(crowd.here[i].who, users[user]) == 0;
                crowd.units[user] += is_user ? crowd.here[i].count : 0;
            }
        }
    }
}

static void crowd_ask(const char *who, const char *name, uint32_t count, const char *more)
{
    char wanted[64];
    size_t i = crowd.n++;
    cr_assert_lt(i, (size_t)MAX_HERE);
    crowd.here[i].who = who;
    crowd.here[i].count = count;
    crowd.here[i].is_held = false;
    for (uint32_t number = 1, is_taken = 1; is_taken; number++) {
        snprintf(crowd.here[i].lease, sizeof crowd.here[i].lease, "L%u", number);
        is_taken = lease_of(crowd.here[i].lease) != NULL;
    }
    snprintf(wanted, sizeof wanted, "%s:%u %s", name, count, more);
    acquire(who, crowd.here[i].lease, wanted);
    crowd.n_asked++;
    crowd_look();
}

/* One of the holders gives back, at random. */
static void crowd_end_one(void)
{
    size_t i = random_below(&crowd.random, (uint32_t)crowd.n);
    while (!crowd.here[i].is_held) {
        i = (i + 1) % crowd.n;
    }
    end_lease(crowd.here[i].who, crowd.here[i].lease);
    crowd.here[i] = crowd.here[--crowd.n];
    crowd_look();
}

static size_t n_waiting_of(const char *who)
{
    size_t n = 0;
    for (size_t i = 0; i < crowd.n; i++) {
        n += !crowd.here[i].is_held && strcmp(crowd.here[i].who, who) == 0;
    }
    return n;
}

/* Whoever always waits has as many units as each other, within the largest request. */
Test(fair, shares_are_equal)
{
    static const char *const said[] = {"", "share=x", "share=y"};
    crowd.random.state = seed_of_test();
    given("semaphore s limit=3 order=fair", "zed has Z: s:3");
    for (uint32_t step = 0; step < 180; step++) {
        for (size_t i = 0; i < N_USERS; i++) {
            while (n_waiting_of(users[i]) < 4 + i * 2) {
                crowd_ask(users[i], "s", 1 + random_below(&crowd.random, 3),
                    said[random_below(&crowd.random, 3)]);
            }
        }
        if (step == 0) {
            end_lease("zed", "Z");
            crowd_look();
        } else {
            crowd_end_one();
        }
        for (size_t i = 1; i < N_USERS; i++) {
            uint32_t a = crowd.units[i], b = crowd.units[0];
            cr_assert_leq(a > b ? a - b : b - a, 3U, "step %u: %u, %u units", step, a, b);
        }
    }
}

/* Users who do not wait yet come without end, and so do requests for the other resource of one that
 * wants two. */
Test(fair, nobody_starves)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    crowd.random.state = seed_of_test();
    given("semaphore s limit=4 order=fair", "lock c");
    for (uint32_t round = 0; crowd.n_asked < 280; round++) {
        bool wants_both = random_percent(&crowd.random, 50);
        crowd_ask("zed", "s", 2 + random_below(&crowd.random, 3), wants_both ? "c" : "");
        for (uint32_t n = 0; n_waiting_of("zed") > 0; n++) {
            cr_assert_lt(n, 200U, "round %u: it starves", round);
            while (crowd.n < 12) {
                const char *who = names[random_below(&crowd.random, 10)];
                bool is_other = random_percent(&crowd.random, 40);
                crowd_ask(who, is_other ? "c" : "s", 1, "");
            }
            crowd_end_one();
        }
    }
}
