/* test_fleet_why.c - what clients are told about a lease that a database grants, and about the
 * database. */
#include "base/words.h"
#include "core_fixture.h"
#include "status/answer_lines.h"
#include "status/why.h"

#include <stdio.h>
#include <string.h>

WORLD_SUITE(fleet_why);

static struct redis_host host = {.host = (char[]){"ada"}, .port = 6379};

static const char *said(
    const struct redis_url *url, const char *trouble, const char *name, enum outcome why)
{
    static char out[512];
    struct database database = {
        .name = (char[]){"big"}, .url_text = (char[]){"//u:secret@"}, .url = *url};
    database.url.hosts[0] = host;
    fleet_why_of(out, sizeof out, &database, trouble, name, why);
    cr_expect_null(strstr(out, "secret"));
    return out;
}

Test(fleet_why, where_it_is)
{
    const struct redis_url local = {
        .scheme = REDIS_UNIX, .path = (char[]){"/run/r"}, .password = (char[]){"secret"}};
    const struct redis_url far = {.scheme = REDIS_TCP, .n_hosts = 1, .user = (char[]){"secret"}};
    const struct redis_url one = {.scheme = REDIS_SENTINEL, .n_hosts = 1, .master = (char[]){"m"}};
    const struct redis_url two = {.scheme = REDIS_SENTINEL, .n_hosts = 2, .master = (char[]){"m"}};
    EXPECT(
        said(&local, "", NULL, OUTCOME_LOST), "the database `big` (unix:/run/r) no longer has it");
    EXPECT(said(&local, "/run/r: refused", NULL, OUTCOME_DOWN),
        "the database `big` (unix:/run/r) cannot be reached: refused");
    EXPECT(said(&far, "", NULL, OUTCOME_LOST), "the database `big` (ada:6379) no longer has it");
    EXPECT(said(&one, "", NULL, OUTCOME_LOST),
        "the database `big` (m by sentinel ada:6379) no longer has it");
    EXPECT(said(&two, "", NULL, OUTCOME_LOST),
        "the database `big` (m by sentinel ada:6379, ...) no longer has it");
}

Test(fleet_why, what_is_wrong)
{
    const struct redis_url url = {.scheme = REDIS_TCP, .n_hosts = 1};
    EXPECT(said(&url, "refused", "gpus", OUTCOME_DOWN),
        "gpus: the database `big` (ada:6379) cannot be reached: refused");
    EXPECT(said(&url, "", NULL, OUTCOME_DOWN), "the database `big` (ada:6379) cannot be reached");
    EXPECT(said(&url, "ada:6379: refused", NULL, OUTCOME_DOWN),
        "the database `big` (ada:6379) cannot be reached: refused");
    EXPECT(said(&url, "ada:63790: refused", NULL, OUTCOME_DOWN),
        "the database `big` (ada:6379) cannot be reached: ada:63790: refused");
    EXPECT(said(&url, "no answer", NULL, OUTCOME_DEADLINE),
        "the database `big` (ada:6379) could not be reached in time: no answer");
    EXPECT(said(&url, "no answer", "gpus", OUTCOME_WOULD_WAIT), "gpus: not free now");
    EXPECT(said(&url, "x", NULL, OUTCOME_CANCELLED), "removed from the queue");
    cr_expect(strstr(said(&url, "x", "gpus", OUTCOME_DIFFERS),
        "gpus: the database `big` (ada:6379) has another"));
}

/* Names and reasons may be as long as they like. */
Test(fleet_why, in_its_bounds)
{
    struct redis_url url = {.scheme = REDIS_TCP, .n_hosts = 1};
    struct database database = {.name = (char[]){"big"}, .url = url};
    database.url.hosts[0] = host;
    char whole[256], cut[257];
    fleet_why_of(whole, sizeof whole, &database, "no answer", "gpus", OUTCOME_DOWN);
    for (size_t size = 1; size <= strlen(whole); size++) {
        memset(cut, '!', sizeof cut);
        fleet_why_of(cut, size, &database, "no answer", "gpus", OUTCOME_DOWN);
        cr_expect_lt(strlen(cut), size);
        cr_expect_eq(cut[size], '!');
    }
}

static int32_t pid_of(const struct lease *lease)
{
    return lease->pid;
}

static const char *mixed(const char *first, const char *second)
{
    static char out[512];
    const struct acquire_request ask = {.wants = {{first, 1}, {second, 1}}, .n_wants = 2};
    const struct viewer viewer = {.uid = 7, .pid_of = pid_of};
    why_refused(out, sizeof out, the_core(), &ask, &viewer, OUTCOME_MIXED, second, 0);
    return out;
}

Test(fleet_why, mixed)
{
    EXPECT(define("lock a database=1", "lock b database=2", "lock h"), "ok");
    EXPECT(mixed("a", "b"), "b: it is in a different database from a: request them separately");
    EXPECT(mixed("a", "h"),
        "h: it has host scope, and a has fleet scope: request them separately");
    EXPECT(mixed("h", "a"),
        "a: it has fleet scope, and h has host scope: request them separately");
}

/* ---- lines ---- */

static const char *line_of(enum effect_kind kind, const char *name, enum outcome why)
{
    static struct text out = TEXT_INIT;
    const struct effect effect = {.kind = kind, .why = why, .lease = lease_of(name)};
    out.length = 0;
    bool is_good_news = kind == EFFECT_GRANTED || kind == EFFECT_PLACE;
    answer_effect(&out, &effect, is_good_news ? NULL : code_table[outcome_code(why)].meaning);
    return out.bytes;
}

Test(fleet_why, events)
{
    EXPECT(define("semaphore s limit=3 database=1 kill-after=1"), "ok");
    EXPECT(good(1, 60), "ok");
    EXPECT(acquire("ann", "A", "s pid=9"), "pending; A ask");
    EXPECT(line_of(EFFECT_PLACE, "A", OUTCOME_OK), "* waiting 34\n");
    waits("A", 7, 3);
    EXPECT(line_of(EFFECT_PLACE, "A", OUTCOME_OK), "* waiting 34 position=3\n");
    EXPECT(granted("A", "7 s:1:5"), "ok; A granted s=1");
    EXPECT(line_of(EFFECT_GRANTED, "A", OUTCOME_OK),
        "* granted 34 slot=s,5,1 kill_after=1000ms on_lost=kill\n");
    EXPECT(line_of(EFFECT_STOP, "A", OUTCOME_DEADLINE),
        "* expired 34 deadline it%20could%20not%20be%20renewed%20in%20its%20database%20in"
        "%20time\n");
    EXPECT(
        line_of(EFFECT_STOP, "A", OUTCOME_LOST), "* expired 34 lost the%20lease%20has%20ended\n");
    EXPECT(line_of(EFFECT_STOP, "A", OUTCOME_REVOKED),
        "* revoked 34 revoked revoked%20by%20an%20operator\n");
}

/* A lease bound to time is told as well: its job is not stopped. */
Test(fleet_why, deadline_of_what_has_a_ttl)
{
    struct text out = TEXT_INIT;
    EXPECT(define("semaphore s limit=3 database=1", "semaphore h limit=3"), "ok");
    EXPECT(good(1, 60), "ok");
    EXPECT(acquire("ann", "A", "s ttl=300"), "pending; A ask");
    EXPECT(granted("A", "7 s:1:5"), "ok; A granted s=1");
    answer_deadline(&out, lease_of("A"), 0);
    cr_assert(out.length > 0);
    EXPECT(out.bytes, "* deadline 34 1060000000000 stop=1060000000000\n");
    out.length = 0;
    EXPECT(acquire("ann", "H", "h ttl=300"), "ok h=0");
    answer_deadline(&out, lease_of("H"), 0);
    cr_expect_eq(out.length, 0);
    text_deinit(&out);
}
