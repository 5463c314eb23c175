/* test_follower.c - what one who follows is told: snapshots, changes, pieces, a log that is too
 * short. */
#include "base/words.h"
#include "core/news.h"
#include "core_fixture.h"
#include "status/follower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WORLD_SUITE(follower);

enum { ALL_AT_ONCE = 1 << 20, LINE_BY_LINE = 1 };

/* ---- who follows ---- */

static int32_t pid_of(const struct lease *lease)
{
    (void)lease;
    return 9;
}

static bool may_see(void *context, const struct rights *rights)
{
    (void)context, (void)rights;
    return false;
}

static const struct viewer viewer = {.uid = 1, .may_see = may_see, .pid_of = pid_of};

/* The history has so many entries, and has forgotten the first of these. */
static uint64_t n_ended, n_forgotten;

static uint64_t ended_end(void *context)
{
    (void)context;
    return n_ended;
}

static bool add_ended(void *context, uint64_t *positionp, uint64_t end, bool *missedp,
    const struct answer_moment *moment, struct text *out, size_t enough)
{
    (void)context, (void)moment;
    *missedp |= *positionp < n_forgotten;
    *positionp = *positionp < n_forgotten ? n_forgotten : *positionp;
    while (*positionp < end && out->length < enough) {
        text_add_format(out, "ended %u\n", (unsigned)++*positionp);
    }
    return *positionp < end;
}

static bool is_ready(void *context)
{
    (void)context;
    return true;
}

static struct follow_source source;

static struct follower *follow(struct follower *follower, bool wants_ended)
{
    source = (struct follow_source){
        .walked = {.core = the_core(), .follows = true},
        .is_ready = is_ready,
        .ended_end = ended_end,
        .add_ended = add_ended,
    };
    follower_init(follower, &source, wants_ended);
    return follower;
}

/* ---- what it is told ---- */

static char names[26][LEASE_ID_SIZE]; /* ids of the leases A, B, ... */

static const char *get(const char *who, const char *lease, const char *text)
{
    const char *answer = acquire(who, lease, text);
    lease_id_format(names[lease[0] - 'A'], lease_of(lease)->id);
    return answer;
}

static void add_word(char *out, const char *word)
{
    for (int i = 0; i < 26; i++) {
        if (strcmp(names[i], word) == 0) {
            sprintf(out + strlen(out), " %c", 'A' + i);
            return;
        }
    }
    strcat(strcat(out, " "), strncmp(word, "resource=", 9) == 0 ? word + 9 : word);
}

/* "resource s", "holder A s", "gone A s": of each line the first words, without figures. */
static const char *brief(char *lines)
{
    static char out[8192];
    char *line, *word;
    out[0] = '\0';
    while ((line = strsep(&lines, "\n")) && line[0]) {
        strcat(out, out[0] ? "; " : "");
        strcat(out, strsep(&line, " "));
        for (int i = 0; i < 2 && (word = strsep(&line, " ")); i++) {
            bool is_figure = strchr(word, '=') && strncmp(word, "resource=", 9) != 0 &&
                strncmp(word, "missed=", 7) != 0;
            if (!is_figure) {
                add_word(out, word);
            }
        }
    }
    return out;
}

/* Makes one piece; false: it was the last of its batch. */
static bool piece(struct follower *follower, struct text *out, size_t enough)
{
    const struct answer_moment moment = {.viewer = &viewer, .now = 5000 * NANOSECONDS_PER_SECOND};
    return long_answer_continue(&follower->answer, &moment, out, out->length + enough);
}

static const char *batch(struct follower *follower, size_t enough)
{
    struct text out = TEXT_INIT;
    while (piece(follower, &out, enough)) {
    }
    long_answer_free(&follower->answer);
    text_add(&out, "");
    const char *said = brief(out.bytes);
    text_deinit(&out);
    cr_assert(!follower_has_news(follower));
    return said;
}

static void told(struct follower *follower, const char *expected)
{
    const char *said = batch(follower, ALL_AT_ONCE);
    cr_assert_str_eq(said, expected);
}

/* ---- tests ---- */

Test(follower, a_snapshot_then_changes)
{
    struct follower follower;
    EXPECT(define("semaphore s limit=2", "lock d"), "ok");
    EXPECT(get("ann", "A", "s"), "ok s=0");
    follow(&follower, false);
    cr_assert(follower_has_news(&follower));
    told(&follower, "ok; snapshot; resource s; holder A s; resource d; end");
    EXPECT(get("bob", "B", "d"), "ok d=0");
    EXPECT(get("cid", "C", "d"), "waiting");
    told(&follower, "resource d; holder B d; waiter C d; host; end");
    EXPECT(end_lease("bob", "B"), "ok; C granted d=0");
    told(&follower, "resource d; gone B d; holder C d; host; end");
    EXPECT(end_lease("cid", "C"), "ok");
    EXPECT(end_lease("ann", "A"), "ok");
    told(&follower, "resource d; gone C d; resource s; gone A s; host; end");
    follower_deinit(&follower);
}

Test(follower, several_resources_of_one_lease)
{
    struct follower follower;
    EXPECT(define("semaphore s limit=2", "lock d", "lock m/*"), "ok");
    follow(&follower, false);
    batch(&follower, ALL_AT_ONCE);
    EXPECT(get("ann", "A", "s d"), "ok s=0 d=0");
    told(&follower, "resource s; resource d; holder A s; holder A d; host; end");
    EXPECT(get("bob", "B", "m/x s"), "ok m/x=0 s=1");
    told(&follower, "resource m/x; template m/*; resource s; holder B m/x; holder B s; host; end");
    EXPECT(end_lease("bob", "B"), "ok");
    told(&follower, "removed m/x; resource s; gone B m/x; gone B s; template m/*; host; end");
    follower_deinit(&follower);
}

Test(follower, a_change_is_told_once_to_each)
{
    struct follower one, two;
    EXPECT(define("semaphore s limit=9"), "ok");
    batch(follow(&one, false), ALL_AT_ONCE);
    batch(follow(&two, false), ALL_AT_ONCE);
    EXPECT(get("ann", "A", "s"), "ok s=0");
    EXPECT(change("limit s 5"), "ok");
    EXPECT(change("limit s 6"), "ok");
    told(&one, "resource s; holder A s; host; end");
    EXPECT(change("limit s 7"), "ok");
    told(&one, "resource s; end");
    told(&two, "resource s; holder A s; resource s; host; end");
    follower_deinit(&one);
    EXPECT(end_lease("ann", "A"), "ok");
    told(&two, "resource s; gone A s; host; end");
    follower_deinit(&two);
}

/* Whatever happens between two pieces is told behind the snapshot. */
Test(follower, changes_between_the_pieces_of_a_snapshot)
{
    struct follower follower;
    struct text out = TEXT_INIT;
    EXPECT(define("semaphore s limit=3", "lock d"), "ok");
    EXPECT(get("ann", "A", "s"), "ok s=0");
    EXPECT(get("bob", "B", "s"), "ok s=1");
    follow(&follower, false);
    while (!out.bytes || !strstr(out.bytes, "holder")) {
        cr_assert(piece(&follower, &out, LINE_BY_LINE));
    }
    EXPECT(end_lease("ann", "A"), "ok"); /* it has been shown */
    EXPECT(end_lease("bob", "B"), "ok"); /* it has not */
    EXPECT(get("cid", "C", "s"), "ok s=0");
    while (piece(&follower, &out, LINE_BY_LINE)) {
    }
    cr_assert_str_eq(brief(out.bytes),
        "ok; snapshot; resource s; holder A s; holder C s; resource d; "
        "resource s; gone A s; gone B s; holder C s; host; end");
    text_deinit(&out);
    long_answer_free(&follower.answer);
    follower_deinit(&follower);
}

static void change_much(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        EXPECT(acquire("zoe", "Z", "d"), "ok d=0");
        EXPECT(end_lease("zoe", "Z"), "ok");
    }
}

Test(follower, one_that_is_too_slow_begins_again)
{
    struct follower slow;
    EXPECT(define("semaphore s limit=3", "lock d"), "ok");
    EXPECT(get("ann", "A", "s"), "ok s=0");
    batch(follow(&slow, false), ALL_AT_ONCE);
    for (size_t i = 0; i < NEWS_ENTRIES + 1; i++) {
        news_database(core_news(the_core()), 1);
    }
    EXPECT(get("bob", "B", "s"), "ok s=1");
    told(&slow, "snapshot; resource s; holder A s; holder B s; resource d; host; end");
    follower_deinit(&slow);
}

/* The log is too short for what changes while one snapshot is made: the next one follows. */
Test(follower, one_that_is_too_slow_for_its_snapshot)
{
    struct follower slow;
    struct text out = TEXT_INIT;
    EXPECT(define("lock d"), "ok");
    follow(&slow, false);
    cr_assert(piece(&slow, &out, LINE_BY_LINE));
    for (size_t i = 0; i < NEWS_ENTRIES + 1; i++) {
        news_host(core_news(the_core()));
    }
    while (piece(&slow, &out, LINE_BY_LINE)) {
    }
    cr_assert_str_eq(brief(out.bytes), "ok; snapshot; resource d; snapshot; resource d; end");
    text_deinit(&out);
    long_answer_free(&slow.answer);
    follower_deinit(&slow);
}

/* A batch ends although something changes all the time. */
Test(follower, a_batch_has_an_end)
{
    struct follower follower;
    struct text out = TEXT_INIT;
    EXPECT(define("lock d"), "ok");
    batch(follow(&follower, false), ALL_AT_ONCE);
    change_much(1);
    for (int i = 0; piece(&follower, &out, LINE_BY_LINE); i++) {
        cr_assert_lt(i, 10);
        change_much(1);
    }
    cr_assert(follower_has_news(&follower));
    text_deinit(&out);
    long_answer_free(&follower.answer);
    follower_deinit(&follower);
}

Test(follower, a_reload_makes_everything_new)
{
    struct follower follower;
    EXPECT(define("lock d"), "ok");
    batch(follow(&follower, false), ALL_AT_ONCE);
    EXPECT(define("lock e", "lock d"), "ok");
    told(&follower, "snapshot; resource e; resource d; end");
    follower_deinit(&follower);
}

Test(follower, leases_that_are_over)
{
    struct follower follower, other;
    EXPECT(define("lock d"), "ok");
    n_ended = 3;
    batch(follow(&follower, true), ALL_AT_ONCE);
    batch(follow(&other, false), ALL_AT_ONCE);
    n_ended = 5;
    cr_assert(!follower_has_news(&other));
    told(&follower, "ended 4; ended 5; end");
    n_ended = 9;
    n_forgotten = 7;
    told(&follower, "ended 8; ended 9; end missed=1");
    n_ended = 10;
    cr_assert_str_eq(batch(&follower, LINE_BY_LINE), "ended 10; end");
    follower_deinit(&follower);
    follower_deinit(&other);
}

/* The memory of names that nobody needs any more goes, and so does all of it in the end. */
Test(follower, what_the_log_keeps)
{
    struct follower follower;
    struct news *news = core_news(the_core());
    EXPECT(define("lock d", "lock m/* max-instances=100000"), "ok");
    batch(follow(&follower, false), ALL_AT_ONCE);
    for (int i = 0; i < 2 * NEWS_ENTRIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "m/%d", i);
        news_listed(news, "session/lease", name);
    }
    cr_assert_leq(news->names.n, (size_t)NEWS_ENTRIES + 1);
    follower_deinit(&follower);
    cr_assert(!news_is_on(news));
    cr_assert_eq(news->names.n, 0);
    news_resource(news, "d");
    cr_assert_eq(news->names.n, 0);
}
