/* test_why.c - why a request waits, would wait or is refused, in words: a row for each reason. */
#include "base/words.h"
#include "core_fixture.h"
#include "status/explained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WORLD_SUITE(why);

enum { MAX_STEPS = 8, BEGINNING = 1000 /* seconds: the fixture's */ };

/* ---- who asks ---- */

static double now;

static const char *user_of(void *context, uint32_t uid)
{
    static const char *const users[] = {"ann", "bob", "cid"};
    (void)context;
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        if (uid_of(users[i]) == uid) {
            return users[i];
        }
    }
    return NULL;
}

static int32_t pid_of(const struct lease *lease)
{
    (void)lease;
    return 9;
}

static bool may_see(void *context, const struct rights *rights)
{
    (void)context;
    (void)rights;
    return false;
}

/* ---- the answer ---- */

/* The texts of those lines of the answer that begin with `word`, one on each line. */
static const char *texts_of(char *answer, const char *word)
{
    static char out[16384];
    char *line;
    out[0] = '\0';
    while ((line = strsep(&answer, "\n")) && line[0]) {
        char *text = word_cut(line);
        if (strcmp(line, word) == 0 && text) {
            cr_assert(percent_decode(text));
            strcat(strcat(out, out[0] ? "\n" : ""), text);
        }
    }
    return out;
}

/* Parses "s:2 g"; the names point into `copy`. */
static void parse_wants(struct acquire_request *ask, char *copy)
{
    char *word;
    while ((word = strsep(&copy, " "))) {
        char *colon = strchr(word, ':');
        if (colon) {
            *colon = '\0';
        }
        const struct definition *definition = core_find_definition(the_core(), word);
        cr_assert_not_null(definition);
        ask->wants[ask->n_wants++] = (struct requested_resource){.name = word,
            .count = colon ? (uint32_t)atoi(colon + 1) : 1,
            .definition = definition};
    }
}

/* What that user is told about a request for these names or, in capitals, about a lease. */
static const char *told(const char *who, const char *what, const char *word)
{
    const struct viewer viewer = {
        .uid = uid_of(who), .may_see = may_see, .pid_of = pid_of, .user_of = user_of};
    const struct scene scene = {
        .core = the_core(),
        .viewer = &viewer,
        .now = (nanoseconds)((BEGINNING + now) * NANOSECONDS_PER_SECOND),
    };
    struct text answer = TEXT_INIT;
    if (what[0] >= 'A' && what[0] <= 'Z') {
        explained_lease(&answer, &scene, NULL, lease_of(what));
    } else {
        char copy[256];
        struct acquire_request ask = {.wait = NEVER};
        strcpy(copy, what);
        parse_wants(&ask, copy);
        const struct explained_refusal none = {NULL, false};
        explained_ask(&answer, &scene, NULL, &ask, &none);
    }
    const char *texts = texts_of(answer.bytes, word);
    text_deinit(&answer);
    return texts;
}

/* ---- what happens before ---- */

/* "ann A s:2" acquires; "tick 5"; "drain"; "-A" ends a lease; others are changes by operators. */
static void happen(const char *step)
{
    char who[16], lease[16];
    int n = 0;
    if (strncmp(step, "tick ", 5) == 0) {
        now = atof(step + 5);
        tick(now);
    } else if (strcmp(step, "drain") == 0) {
        drain(true);
    } else if (strncmp(step, "gone ", 5) == 0) {
        client_gone(step + 5);
    } else if (step[0] == '-') {
        end_lease("ann", step + 1);
    } else if (sscanf(step, "%15s %15s %n", who, lease, &n) == 2 && lease[0] >= 'A' &&
        lease[0] <= 'Z') {
        acquire(who, lease, step + n);
    } else {
        EXPECT(change(step), "ok");
    }
}

/* ---- the reasons ---- */

static const struct row {
    const char *name;
    const char *resources[4];
    const char *steps[MAX_STEPS];
    const char *who, *what;
    const char *says;
    const char *brief;
} rows[] = {
    {"free", {"semaphore s limit=2"}, {NULL}, "ann", "s:2",
        "a request for s:2 would be granted at once\n"
        "0 of 2 units of s are held",
        "s: 0 of 2 held, 2 wanted"},
    {"nobody", {"lock d"}, {NULL}, "ann", "d",
        "a request for d would be granted at once\n"
        "nobody holds d",
        "d: not held"},
    {"held", {"lock d"}, {"bob A d holder=deploy-7", "tick 192"}, "ann", "d",
        "a request for d would wait, at place 1 in the queue\n"
        "deploy-7, pid 9 (bob) has held d for 3m12s\n"
        "when it will start is unknown: too few leases of d have ended since berthd started",
        "d: held by deploy-7, pid 9 (bob) for 3m12s"},
    {"several hold", {"semaphore s limit=4"}, {"bob A s:3", "tick 60", "dan B s", "tick 65"}, "ann",
        "s",
        "a request for s would wait, at place 1 in the queue\n"
        "4 of 4 units of s are held\n"
        "pid 9 (bob) has held 3 units of s for 1m05s\n"
        "pid 9 (uid 3896) has held 1 unit of s for 5s\n"
        "when it will start is unknown: too few leases of s have ended since berthd started",
        "s: 4 of 4 held by pid 9 (bob) for 1m05s, and 1 other"},
    {"impossible", {"semaphore s limit=4"}, {NULL}, "ann", "s:5",
        "a request for s:5 would be refused: s: 5 wanted, but at most 4 can be granted\n"
        "0 of 4 units of s are held\n"
        "5 units of s are wanted, and its limit is 4 at present",
        "s: 0 of 4 held, 5 wanted"},
    {"ahead", {"lock d"}, {"bob A d", "bob B d", "tick 70", "cid C d", "tick 80"}, "ann", "d",
        "a request for d would wait, at place 3 in the queue\n"
        "pid 9 (bob) has held d for 1m20s\n"
        "2 requests for d are ahead; the next to go is pid 9 (bob), which has waited for 1m20s\n"
        "when it will start is unknown: too few leases of d have ended since berthd started",
        "d: held by pid 9 (bob) for 1m20s"},
    {"too few for the first", {"semaphore s limit=2"}, {"bob A s", "cid B s:2"}, "ann", "s",
        "a request for s would wait, at place 2 in the queue\n"
        "1 of 2 units of s is held\n"
        "pid 9 (bob) has held 1 unit of s for 0s\n"
        "1 request for s is ahead: pid 9 (cid), which has waited for 0s, and wants 2 units\n"
        "when it will start is unknown: too few leases of s have ended since berthd started",
        "s: 1 of 2 held by pid 9 (bob) for 0s"},
    {"may pass the first", {"semaphore s limit=2 order=first-fit"}, {"bob A s", "cid B s:2"}, "ann",
        "s",
        "a request for s would be granted at once\n"
        "1 of 2 units of s is held\n"
        "pid 9 (bob) has held 1 unit of s for 0s\n"
        "1 request for s is ahead: pid 9 (cid), which has waited for 0s, and wants 2 units",
        "s: 1 of 2 held by pid 9 (bob) for 0s"},
    {"kept for the first", {"semaphore s limit=2", "lock d"},
        {"ann A d", "cid H s:2", "bob B s:2 d", "-A"}, "ann", "d",
        "a request for d would wait, at place 2 in the queue\n"
        "nobody holds d\n"
        "1 unit of d is kept for the request at place 1, which still needs another resource\n"
        "1 request for d is ahead: pid 9 (bob), which has waited for 0s; it lacks s\n"
        "when it will start is unknown: too few leases of d have ended since berthd started",
        "d: not held (1 kept for #1)"},
    {"ahead lacks another", {"lock d", "lock e"}, {"bob A e", "cid B d e", "bob C d"}, "ann", "d",
        "a request for d would wait, at place 2 in the queue\n"
        "pid 9 (bob) has held d for 0s\n"
        "1 request for d is ahead, and passed over at present\n"
        "when it will start is unknown:"
        " requests for d that are passed over at present may go first",
        "d: held by pid 9 (bob) for 0s"},
    {"waits", {"lock d"}, {"bob A d", "cid B d", "ann C d", "tick 9"}, "ann", "C",
        "lease 36 of pid 9 (ann) has waited for d for 9s: place 2 in the queue\n"
        "pid 9 (bob) has held d for 9s\n"
        "1 request for d is ahead: pid 9 (cid), which has waited for 9s\n"
        "when it will start is unknown: too few leases of d have ended since berthd started",
        "d: held by pid 9 (bob) for 9s; place 2 in the queue"},
    {"nested", {"lock d", "lock e"},
        {"bob A d", "ann P e", "tick 1", "ann B d parent=P", "tick 9"}, "ann", "B",
        "lease 36 of pid 9 (ann) has waited for d for 8s: place 1 in the queue\n"
        "pid 9 (bob) has held d for 9s\n"
        "its job runs under lease 35, which gives nothing back before this has ended\n"
        "when it will start is unknown: too few leases of d have ended since berthd started",
        "d: held by pid 9 (bob) for 9s; place 1 in the queue"},
    {"lacks one of two", {"lock d", "lock e"}, {"bob A e", "ann B d e"}, "ann", "B",
        "lease 35 of pid 9 (ann) has waited for d, e for 0s: place 1 in the queue\n"
        "nobody holds d\n"
        "pid 9 (bob) has held e for 0s\n"
        "it still needs e\n"
        "when it will start is unknown: too few leases of e have ended since berthd started",
        "d: not held; e: held by pid 9 (bob) for 0s; place 1 in the queue; lacks e"},
    {"holds", {"pool g items=a,b"}, {"bob A g:2 pid=7", "tick 61"}, "ann", "A",
        "lease 34 of pid 9 (bob) has held a,b of g for 1m01s\n"
        "it ends when its client gives it back or its process ends",
        ""},
    {"holds for a time", {"semaphore s limit=3"}, {"bob A s:2 ttl=300", "tick 60"}, "ann", "A",
        "lease 34 of pid 9 (bob) has held slots 0-1 of s for 1m00s\n"
        "it ends when it is given back or its ttl has run out, and after 4m00s at the latest",
        ""},
    {"holds as long as it may", {"semaphore s limit=3 max-hold=3600"}, {"bob A s pid=7", "tick 60"},
        "ann", "A",
        "lease 34 of pid 9 (bob) has held slot 0 of s for 1m00s\n"
        "it ends when its client gives it back or its process ends, and after 59m00s at the latest: "
        "max-hold",
        ""},
    {"held as long as it may be", {"lock d max-hold=3600 kill-after=10 cooldown=20"},
        {"bob A d", "tick 60"}, "ann", "d",
        "a request for d would wait, at place 1 in the queue\n"
        "pid 9 (bob) has held d for 1m00s, and ends after 59m00s at the latest: max-hold\n"
        "when it will start is unknown: too few leases of d have ended since berthd started, "
        "after 59m34s at the latest: max-hold",
        "d: held by pid 9 (bob) for 1m00s"},
    {"paused", {"semaphore s limit=3"}, {"pause s disks", "ann B s"}, "ann", "B",
        "lease 34 of pid 9 (ann) has waited for s for 0s: place 1 in the queue\n"
        "s is paused: disks\n"
        "0 of 3 units of s are held\n"
        "when it will start is unknown: s is paused",
        "s: paused: disks; place 1 in the queue"},
    {"paused by somebody", {"semaphore s limit=3"}, {"pause s disks bob", "ann B s"}, "ann", "B",
        "lease 34 of pid 9 (ann) has waited for s for 0s: place 1 in the queue\n"
        "s is paused by bob: disks\n"
        "0 of 3 units of s are held\n"
        "when it will start is unknown: s is paused",
        "s: paused by bob: disks; place 1 in the queue"},
    {"paused with its template", {"semaphore t/* limit=2"}, {"pause t/* disks bob/cid"}, "ann",
        "t/x",
        "a request for t/x would wait, at place 1 in the queue\n"
        "t/x is paused by bob (cid): disks\n"
        "0 of 2 units of t/x are held\n"
        "when it will start is unknown: t/x is paused",
        "t/x: paused by bob (cid): disks"},
    {"closed", {"semaphore s limit=0"}, {NULL}, "ann", "s",
        "a request for s would wait, at place 1 in the queue\n"
        "s is closed: its limit is 0\n"
        "when it will start is unknown: s is closed",
        "s: closed (its limit is 0)"},
    {"ahead in a pause", {"semaphore s limit=3"}, {"pause s disks", "bob B s", "cid C s"}, "ann",
        "s",
        "a request for s would wait, at place 3 in the queue\n"
        "s is paused: disks\n"
        "0 of 3 units of s are held\n"
        "2 requests for s are ahead\n"
        "when it will start is unknown: s is paused",
        "s: paused: disks"},
    {"one of two is paused", {"lock d", "lock e"}, {"pause e", "bob B d"}, "ann", "d e",
        "a request for d e would wait, at place 1 in the queue\n"
        "pid 9 (bob) has held d for 0s\n"
        "e is paused\n"
        "nobody holds e\n"
        "when it will start is unknown: e is paused",
        "d: held by pid 9 (bob) for 0s; e: paused"},
    {"limit lowered", {"semaphore s limit=3"}, {"limit s 1"}, "ann", "s:2",
        "a request for s:2 would wait, at place 1 in the queue\n"
        "nobody holds s\n"
        "2 units of s are wanted, and its limit is 1 at present\n"
        "it can never start under the limit in force of s",
        "s: 0 of 1 held, 2 wanted; it can never start under the limit in force"},
    {"limit lowered below a waiter", {"semaphore s limit=3", "lock d"},
        {"bob A d", "ann B d s:2", "limit s 1", "pause s", "drain"}, "ann", "B",
        "lease 35 of pid 9 (ann) has waited for d, s for 0s: place 1 in the queue\n"
        "pid 9 (bob) has held d for 0s\n"
        "s is paused\n"
        "nobody holds s\n"
        "2 units of s are wanted, and its limit is 1 at present\n"
        "it still needs s\n"
        "this host is being drained\n"
        "it can never start under the limit in force of s",
        "d: held by pid 9 (bob) for 0s; s: paused; place 1 in the queue; lacks s; "
        "this host is being drained; it can never start under the limit in force"},
    {"above the limit", {"semaphore s limit=4"}, {"bob A s:4", "limit s 1"}, "ann", "s",
        "a request for s would wait, at place 1 in the queue\n"
        "4 units of s are held, 3 above the limit of 1\n"
        "pid 9 (bob) has held s for 0s\n"
        "when it will start is unknown: too few leases of s have ended since berthd started",
        "s: held by pid 9 (bob) for 0s"},
    {"cooling", {"pool g items=a,b cooldown=30"}, {"ann A g", "tick 5", "ann B g", "-A", "tick 7"},
        "bob", "g:2",
        "a request for g:2 would wait, at place 1 in the queue\n"
        "1 of 2 units of g is held\n"
        "1 unit of g is cooling down, for another 28s\n"
        "pid 9 (ann) has held 1 unit of g for 2s\n"
        "when it will start is unknown: too few leases of g have ended since berthd started",
        "g: 1 of 2 held by pid 9 (ann) for 2s, 1 cooling down, 2 wanted"},
    {"a rate", {"semaphore s limit=4 rate=1/30 burst=2"}, {"ann A s:2", "tick 5"}, "bob", "s:2",
        "a request for s:2 would wait, at place 1 in the queue\n"
        "2 of 4 units of s are held\n"
        "the rate of s, 1/30s, lets it go in 55s\n"
        "pid 9 (ann) has held 2 units of s for 5s\n"
        "it will probably start in about 55s",
        "s: 2 of 4 held by pid 9 (ann) for 5s, the rate 1/30s lets it go in 55s, 2 wanted"},
    {"reserved", {"pool g items=a,b"}, {"reserve g a fan", "ann A g"}, "bob", "g",
        "a request for g would wait, at place 1 in the queue\n"
        "1 of 2 units of g is held\n"
        "pid 9 (ann) has held 1 unit of g for 0s\n"
        "a of g is reserved: fan\n"
        "when it will start is unknown: too few leases of g have ended since berthd started",
        "g: 1 of 2 held by pid 9 (ann) for 0s, 1 reserved"},
    {"own quota", {"semaphore s limit=9 max-units-per-user=2"}, {"ann A s:2"}, "ann", "s",
        "a request for s would wait, at place 1 in the queue\n"
        "2 of 9 units of s are held\n"
        "pid 9 (ann) has held 2 units of s for 0s\n"
        "you hold 2 units of s, and one user may have 2\n"
        "when it will start is unknown",
        "s: 2 of 9 held by pid 9 (ann) for 0s; you hold as many units as one user may"},
    {"quota of a waiter", {"semaphore s limit=9 max-units-per-user=2"}, {"ann A s:2", "ann B s"},
        "bob", "B",
        "lease 35 of pid 9 (ann) has waited for s for 0s: place 1 in the queue\n"
        "2 of 9 units of s are held\n"
        "pid 9 (ann) has held 2 units of s for 0s\n"
        "its user holds 2 units of s, and one user may have 2\n"
        "when it will start is unknown",
        "s: 2 of 9 held by pid 9 (ann) for 0s; place 1 in the queue;"
        " you hold as many units as one user may"},
    {"queue full", {"lock d max-waiters=1"}, {"ann A d", "ann B d"}, "bob", "d",
        "a request for d would be refused: d: the queue is full\n"
        "pid 9 (ann) has held d for 0s\n"
        "1 request for d is ahead: pid 9 (ann), which has waited for 0s",
        "d: held by pid 9 (ann) for 0s"},
    {"drained", {"lock d"}, {"drain"}, "ann", "d",
        "a request for d would wait, at place 1 in the queue\n"
        "nobody holds d\n"
        "this host is being drained\n"
        "when it will start is unknown",
        "d: not held; this host is being drained"},
    {"two scopes", {"lock d", "lock e database=1"}, {NULL}, "ann", "d e",
        "a request for d e would be refused:"
        " e: it has fleet scope, and d has host scope: request them separately\n"
        "nobody holds d\n"
        "nobody holds e",
        "d: not held; e: not held"},
};

Test(why, each_reason)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (i > 0) {
            world_end();
            world_begin();
        }
        now = 0;
        EXPECT(define_all(row->resources), "ok");
        for (size_t k = 0; k < MAX_STEPS && row->steps[k]; k++) {
            happen(row->steps[k]);
        }
        const char *said = told(row->who, row->what, "because");
        cr_expect_str_eq(said, row->says, "%s:\n%s", row->name, said);
        said = told(row->who, row->what, "brief");
        cr_expect_str_eq(said, row->brief, "%s:\n%s", row->name, said);
    }
}

/* ---- when it will start ---- */

/* Leases that were held for so many seconds have ended; then A is held by bob. */
static void after_holds(const char *resource, const double holds[], size_t n)
{
    EXPECT(define_all((const char *const[]){resource, NULL}), "ok");
    now = 0;
    for (size_t i = 0; i < n; i++) {
        char lease[32];
        snprintf(lease, sizeof lease, "H%zu", i);
        acquire("ann", lease, "s");
        now += holds[i];
        tick(now);
        end_lease("ann", lease);
    }
    acquire("bob", "A", "s");
}

static const char *told_last(const char *who, const char *what)
{
    const char *said = told(who, what, "because"), *last = strrchr(said, '\n');
    return last ? last + 1 : said;
}

static void pass(double seconds)
{
    now += seconds;
    tick(now);
}

static const double minutes[] = {60, 60, 60, 60, 60, 600, 600};

Test(why, when_it_starts)
{
    after_holds("semaphore s limit=1", minutes, 7);
    EXPECT(told_last("ann", "s"), "it will probably start in about 1m");
    pass(20);
    EXPECT(told_last("ann", "s"), "it will probably start in about 40s");
    pass(60); /* only the longest are left */
    EXPECT(told_last("ann", "s"), "it will probably start in about 9m");
    pass(600);
    EXPECT(told_last("ann", "s"),
        "when it will start is unknown:"
        " somebody has held s for longer than any of its latest leases");
}

Test(why, when_it_starts_behind_others)
{
    after_holds("semaphore s limit=1", minutes, 5);
    acquire("cid", "B", "s");
    acquire("dan", "C", "s");
    pass(30);
    EXPECT(told_last("cid", "B"), "it will probably start in about 30s");
    EXPECT(told_last("cid", "C"), "it will probably start in about 90s");
    EXPECT(told_last("ann", "s"), "it will probably start in about 3m");
}

/* Units above the limit are not granted again. */
Test(why, when_it_starts_below_a_lowered_limit)
{
    after_holds("semaphore s limit=2", minutes, 5);
    pass(30);
    acquire("cid", "B", "s");
    EXPECT(told_last("ann", "s"), "it will probably start in about 30s");
    EXPECT(change("limit s 1"), "ok");
    EXPECT(told_last("ann", "s"), "it will probably start in about 1m");
}

Test(why, max_hold_bounds_the_guess)
{
    after_holds("semaphore s limit=1 max-hold=50 kill-after=3", minutes, 5);
    pass(20);
    EXPECT(told_last("ann", "s"),
        "it will probably start in about 30s, after 34s at the latest: max-hold");
    acquire("cid", "B", "s");
    EXPECT(told_last("ann", "s"),
        "it will probably start in about 80s, after 1m28s at the latest: max-hold");
}

Test(why, few_holds_are_no_ground_for_a_guess)
{
    after_holds("semaphore s limit=1", minutes, 4);
    EXPECT(told_last("ann", "s"),
        "when it will start is unknown: too few leases of s have ended since berthd started");
}

Test(why, what_is_possible_at_most_is_not_probable)
{
    after_holds("semaphore s limit=1 max-hold=30", minutes, 0);
    acquire("cid", "B", "s");
    EXPECT(told_last("ann", "s"),
        "when it will start is unknown: too few leases of s have ended since berthd started, "
        "after 1m27s at the latest: max-hold");
}

/* Each of them, and of the one resource that is asked for. */
Test(why, what_lasts_for_ever_has_no_latest_end)
{
    EXPECT(define_all((const char *const[]){"semaphore s limit=2 max-hold=30", "lock d", NULL}),
        "ok");
    now = 0;
    acquire("bob", "A", "s");
    EXPECT(told_last("cid", "s:2"),
        "when it will start is unknown: too few leases of s have ended since berthd started, "
        "after 44s at the latest: max-hold");
    acquire("bob", "B", "d");
    EXPECT(told_last("cid", "d s:2"),
        "when it will start is unknown: too few leases of d have ended since berthd started");
    EXPECT(told_last("cid", "d"),
        "when it will start is unknown: too few leases of d have ended since berthd started");
}

Test(why, no_guess_beyond_those_who_are_passed_over)
{
    after_holds("semaphore s limit=3 max-units-per-user=2", minutes, 5);
    acquire("bob", "B", "s");
    acquire("ann", "C", "s");
    acquire("bob", "D", "s");
    EXPECT(told_last("cid", "s"),
        "when it will start is unknown:"
        " requests for s that are passed over at present may go first");
    end_lease("bob", "D");
    EXPECT(told_last("cid", "s"), "it will probably start in about 1m");
}

Test(why, no_guess_beyond_what_is_known)
{
    after_holds("semaphore s limit=1", minutes, 5);
    EXPECT(change("pause s"), "ok");
    EXPECT(told_last("ann", "s"), "when it will start is unknown: s is paused");
    EXPECT(change("resume s"), "ok");
    drain(true);
    EXPECT(told_last("ann", "s"), "when it will start is unknown");
}

Test(why, cooling_counts)
{
    after_holds("semaphore s limit=1 cooldown=30", minutes, 0);
    end_lease("bob", "A");
    pass(10);
    EXPECT(told_last("ann", "s"), "it will probably start in about 20s");
}
