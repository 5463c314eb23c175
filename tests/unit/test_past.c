/* test_past.c - the answer to `history` as structs, as a table and as JSON, and what `berthctl
 * stats` makes of it (view/past.h, past_table.h, json.h, stats.h). */
#include "berthctl/past_table.h"
#include "print_help.h"
#include "status_help.h"
#include "view/past.h"
#include "view/json.h"
#include "view/stats.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 2026-11-23 01:30:00 UTC is 1795397400000. */
#define NOW UINT64_C(1795397400000)

static void setup(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
}

TestSuite(past, .init = setup);
TestSuite(past_table, .init = setup);
TestSuite(stats, .init = setup);

/* Everything in one answer. */
static const char *const whole[] = {
    "ok now=1795397400000 since=1795390000000 new_key=1",
    "ended 3f9k units=gpus:gpu0,gpu1 uid=1000 how=released ended=1795390000000 held=123456"
    " waited=1200 pid=4711 exit=0 program=train reason=weekly%20load holder=job-12"
    " cgroup=/system.slice/cron.service args=train%20--fast new_key=x",
    "new_line of=a later=daemon",
    "ended 3f9m units=etl:0-3,5;deploy:0 uid=0 how=released ended=1795393800000 held=3000 waited=0"
    " pid=4712 signal=9 login=1000",
    "ended 3f9n units=etl=2 uid=1000 how=denied code=queue-full ended=1795393900000 waited=0",
    "ended 3f9p units=etl:0,...;... uid=0 how=revoked by=0 by_login=1000 why=disk%20full%1b"
    " signal=15 ended=1795397397000 held=903000 waited=65000 pid=4714 database=main",
    "end",
};

static void take(struct past *past, const char *const lines[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(
            past_take(past, lines[i]), i + 1 < n ? ANSWER_MORE : ANSWER_END, "%s", lines[i]);
    }
}

static void take_whole(struct past *past)
{
    take(past, whole, N(whole));
    past->leases[0].user.name = "alice";
    past->leases[1].login.name = "alice";
    past->leases[3].by.name = "root";
}

/* ---- the answer ---- */

Test(past, whole)
{
    struct past past = PAST_INIT;
    take_whole(&past);
    cr_expect_eq(past.now, NOW);
    cr_expect_eq(past.since.number, UINT64_C(1795390000000));
    cr_assert_eq(past.n, 4);

    const struct past_lease *train = &past.leases[0];
    cr_expect_str_eq(train->id, "3f9k");
    cr_assert_eq(train->n_claims, 1);
    cr_expect_str_eq(train->claims[0].name, "gpus");
    cr_expect_eq(train->claims[0].units.n, 2);
    cr_expect_not(train->claims[0].wanted.is_given);
    cr_expect_eq(train->user.uid.number, 1000);
    cr_expect_not(train->login.uid.is_given);
    cr_expect_eq(train->held.number, 123456);
    cr_expect_eq(train->exit.number, 0);
    cr_expect(train->exit.is_given);
    cr_expect_not(train->signal.is_given);
    cr_expect_str_eq(train->shown[SHOWN_program], "train");
    cr_expect_str_eq(train->shown[SHOWN_reason], "weekly load");
    cr_expect_str_eq(train->holder, "job-12");
    cr_expect_str_eq(train->cgroup, "/system.slice/cron.service");
    cr_expect_str_eq(train->args, "train --fast");
    cr_expect_eq(past_granted(train), UINT64_C(1795390000000) - 123456);
    cr_expect_eq(past_asked(train), UINT64_C(1795390000000) - 123456 - 1200);

    const struct past_lease *several = &past.leases[1];
    cr_assert_eq(several->n_claims, 2);
    cr_expect_str_eq(several->claims[1].name, "deploy");
    cr_expect_not(several->has_more_claims);

    const struct past_lease *denied = &past.leases[2];
    cr_expect_eq(denied->claims[0].wanted.number, 2);
    cr_expect_eq(denied->claims[0].units.n, 0);
    cr_expect_str_eq(denied->code, "queue-full");
    cr_expect_not(denied->held.is_given);
    cr_expect_not(denied->pid.is_given);
    cr_expect_eq(past_granted(denied), denied->ended);

    const struct past_lease *revoked = &past.leases[3];
    cr_expect(revoked->has_more_claims);
    cr_expect(revoked->claims[0].units.is_cut);
    cr_expect_str_eq(revoked->why, "disk full\x1b");
    cr_expect_eq(revoked->by.uid.number, 0);
    cr_expect(revoked->by.uid.is_given);
    cr_expect_eq(revoked->by_login.uid.number, 1000);
    cr_expect_str_eq(revoked->database, "main");
    past_deinit(&past);
}

Test(past, malformed)
{
    static const char *const lines[] = {
        "",
        "ended",
        "ended 3f9k",
        "ended 3f9k units=etl:0 uid=0",
        "ended 3f9k units=etl:0 how=x",
        "ended 3f9k uid=0 how=x",
        "ended 3f9k units=etl uid=0 how=x",
        "ended 3f9k units=:0 uid=0 how=x",
        "ended 3f9k units=etl=x uid=0 how=x",
        "ended 3f9k units= uid=0 how=x",
        "ended 3f9k units=...;etl:0 uid=0 how=x",
        "ended 3f9k units=etl:0;; uid=0 how=x",
        "ended 3f9k units=etl:0 uid=x how=x",
        "ended 3f9k units=etl:0 uid=0 how=x ended=-1",
        "ended 3f9k units=etl:0 uid=0 how=%zz",
        "ended 3f9k units=etl:0 uid=0 how=x program=%zz",
    };
    for (size_t i = 0; i < N(lines); i++) {
        struct past past = PAST_INIT;
        cr_assert_eq(past_take(&past, "ok now=1"), ANSWER_MORE);
        cr_expect_eq(past_take(&past, lines[i]), ANSWER_MALFORMED, "%s", lines[i]);
        past_deinit(&past);
    }
    struct past past = PAST_INIT;
    cr_expect_eq(past_take(&past, "end"), ANSWER_MALFORMED);
    cr_expect_eq(past_take(&past, "ok now=x"), ANSWER_MALFORMED);
    past_deinit(&past);
}

/* What was there at a time, whether or not it ended then. */
Test(past, cut)
{
    struct past past = PAST_INIT;
    take_whole(&past);
    uint64_t asked = UINT64_C(1795397397000) - 903000 - 65000; /* 3f9p, which ended last */
    past_drop_after(&past, asked + 1);
    cr_expect_eq(past.n, 4);
    past_drop_after(&past, asked);
    cr_assert_eq(past.n, 3);
    cr_expect_str_eq(past.leases[2].id, "3f9n");
    past_drop_after(&past, 0);
    cr_expect_eq(past.n, 0);
    past_deinit(&past);
}

/* ---- the table ---- */

static void expect_table(const struct past *past, const struct past_style *style, const char *shown)
{
    struct text out = TEXT_INIT;
    past_table_print(past, style, &out);
    expect_text(&out, shown);
}

Test(past_table, whole)
{
    struct past past = PAST_INIT;
    take_whole(&past);
    expect_table(&past, &(struct past_style){0},
        "ENDED                RESOURCE     UNITS      USER        PID  PROGRAM  WAITED    HELD"
        "  HOW                                              LEASE  HOLDER  REASON       CGROUP"
        "                      ARGUMENTS\n"
        "2026-11-22 23:26:40  gpus         gpu0,gpu1  alice      4711  train        1s   2m03s"
        "  exit 0                                           3f9k   job-12  weekly load"
        "  /system.slice/cron.service  train --fast\n"
        "00:30:00             etl, deploy  0-3,5; 0   0 (alice)  4712               0s      3s"
        "  SIGKILL                                          3f9m\n"
        "00:31:40             etl          wanted 2   1000                          0s       -"
        "  denied (queue-full)                              3f9n\n"
        "01:29:57             etl, ...     0,...      0          4714            1m05s  15m03s"
        "  revoked by root (1000): disk full\\x1b (SIGTERM)  3f9p\n");
    past_deinit(&past);
}

static void expect_how(const char *keys, const char *shown)
{
    struct past past = PAST_INIT;
    struct text out = TEXT_INIT;
    char line[512];
    snprintf(line, sizeof line, "ended 1 units=a:0 uid=7 ended=%llu waited=0 %s",
        (unsigned long long)NOW, keys);
    cr_assert_eq(past_take(&past, "ok now=1795397400000 since=1"), ANSWER_MORE);
    cr_assert_eq(past_take(&past, line), ANSWER_MORE, "%s", line);
    past_table_print(&past, &(struct past_style){0}, &out);
    const char *row = strchr(out.bytes, '\n') + 1;
    size_t column = (size_t)(strstr(out.bytes, "HOW") - out.bytes);
    cr_expect_eq(strncmp(row + column, shown, strlen(shown)), 0, "%s: %s", keys, row);
    cr_expect_eq(strncmp(row + column + strlen(shown), "  ", 2), 0, "%s: %s", keys, row);
    text_deinit(&out);
    past_deinit(&past);
}

Test(past_table, how)
{
    expect_how("how=released", "released");
    expect_how("how=released exit=0", "exit 0");
    expect_how("how=released exit=75", "exit 75");
    expect_how("how=released signal=11", "SIGSEGV");
    expect_how("how=released signal=40", "signal 40");
    expect_how("how=released signal=4000", "signal 4000");
    expect_how("how=released by=8 exit=1", "released by 8 (exit 1)");
    expect_how("how=max-hold signal=15", "max-hold (SIGTERM)");
    expect_how("how=max-hold exit=0", "max-hold (exit 0)");
    expect_how("how=dropped by=8 by_login=8", "dropped by 8");
    expect_how("how=dropped by=8 by_login=9 why=x", "dropped by 8 (9): x");
    expect_how("how=denied code=revoked by=8 why=x", "denied (revoked) by 8: x");
    expect_how("how=timeout", "timeout");
    expect_how("how=gone", "ended, status unknown");
    expect_how("how=gone unseen=1", "ended while berthd was down, status unknown");
    expect_how("how=cancelled unseen=1", "cancelled (ended while berthd was down)");
    expect_how(
        "how=revoked unseen=1 by=8 why=x", "revoked by 8: x (ended while berthd was down)");
    expect_how("how=a%1blater%0aone", "a\\x1blater\\x0aone");
}

/* Columns are cut, and from LEASE on left out. */
Test(past_table, narrow)
{
    static const struct {
        size_t width;
        const char *last; /* of the titles */
    } rows[] = {{167, "ARGUMENTS"}, {166, "CGROUP"}, {126, "HOLDER"}, {125, "LEASE"}, {91, "HOW"}};
    struct past past = PAST_INIT;
    take_whole(&past);
    for (size_t i = 0; i < N(rows); i++) {
        struct text out = TEXT_INIT;
        past_table_print(&past, &(struct past_style){.width = rows[i].width}, &out);
        for (const char *line = out.bytes; *line; line = strchr(line, '\n') + 1) {
            cr_expect_leq(strcspn(line, "\n"), rows[i].width, "%s", line);
        }
        const char *last = strchr(out.bytes, '\n') - strlen(rows[i].last);
        cr_expect_eq(strncmp(last, rows[i].last, strlen(rows[i].last)), 0, "%s", out.bytes);
        text_deinit(&out);
    }
    past_deinit(&past);
}

/* It is the answer: of few rows, it stands whole below a row that has no room for it. */
Test(past_table, the_whole_how)
{
    static const char how[] = "\n    how: revoked by root (1000): disk full\\x1b (SIGTERM)\n";
    struct past past = PAST_INIT;
    take_whole(&past);
    for (size_t n = 0; n < 5; n++) { /* rows: 4, 8 and so on to 20, then 24 */
        struct text out = TEXT_INIT;
        past_table_print(&past, &(struct past_style){.width = 80}, &out);
        cr_expect_not_null(strstr(out.bytes, how), "%s", out.bytes);
        cr_expect_null(strstr(out.bytes, "how: SIGKILL"));
        text_deinit(&out);
        for (size_t i = 1; i < N(whole) - 1; i++) {
            cr_assert(
                strncmp(whole[i], "ended", 5) != 0 || past_take(&past, whole[i]) == ANSWER_MORE);
        }
    }
    struct text out = TEXT_INIT;
    past_table_print(&past, &(struct past_style){.width = 80}, &out);
    cr_expect_null(strstr(out.bytes, "how:"));
    text_deinit(&out);
    past_deinit(&past);
}

static void expect_note(const struct past *past, struct past_style style, const char *shown)
{
    struct text out = TEXT_INIT;
    text_add(&out, "");
    past_add_note(past, past->n, &style, &out);
    expect_text(&out, shown);
}

/* Since when berthd knows everything, 23:26:40, and when the operator asks about. */
Test(past_table, what_is_not_there)
{
    struct past past = PAST_INIT;
    struct past_style style = {0}, of_some = {.is_of_some = true};
    struct past_style late = {.since = {true, NOW - 60000}};
    struct past_style early = {.since = {true, UINT64_C(1795390000000) - 1}};
    struct past_style same = {.since = {true, UINT64_C(1795390000000)}};
    cr_assert_eq(past_take(&past, "ok now=1795397400000"), ANSWER_MORE);
    static const char nothing[] = "no history: nothing has ended yet, or berthd's file has"
                                  " history = 0\n";
    expect_note(&past, style, nothing);
    expect_note(&past, early, nothing);
    past.since = (struct optional){true, UINT64_C(1795390000000)};
    static const char earlier[] =
        "nothing %shas ended since 2026-11-22 23:26:40; berthd's history does not go back further\n";
    char said[128];
    snprintf(said, sizeof said, earlier, "");
    expect_note(&past, style, said);
    expect_note(&past, early, said);
    snprintf(said, sizeof said, earlier, "of that ");
    expect_note(&past, of_some, said);
    expect_note(&past, same, "nothing has ended since 2026-11-22 23:26:40\n");
    expect_note(&past, late, "nothing has ended since 01:29:00\n");
    past_deinit(&past);

    take_whole(&past);
    expect_note(&past, style, "");
    expect_note(&past, late, "");
    expect_note(&past, same, "");
    expect_note(&past, early, "berthd's history does not go back beyond 2026-11-22 23:26:40\n");
    past_deinit(&past);
}

/* ---- JSON ---- */

static json_t *loaded(struct text *out)
{
    json_error_t error;
    cr_assert_eq(strcspn(out->bytes, "\n"), out->length - 1, "one line");
    json_t *object = json_loads(out->bytes, 0, &error);
    cr_assert_not_null(object, "%s", error.text);
    text_deinit(out);
    return object;
}

static long long number(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    cr_assert(json_is_integer(value), "%s", key);
    return json_integer_value(value);
}

static const char *string(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    cr_assert(json_is_string(value), "%s", key);
    return json_string_value(value);
}

Test(past, as_json)
{
    static const char *const of_others[] = {"code", "signal", "by_uid", "by_user", "by_login_uid",
        "by_login_user", "why", "login_uid", "login_user", "database"};
    struct past past = PAST_INIT;
    struct text out = TEXT_INIT;
    take_whole(&past);
    past_json_print(&past, &out);
    json_t *object = loaded(&out), *leases = json_object_get(object, "leases");
    cr_expect_eq(number(object, "version"), 1);
    cr_expect_eq(number(object, "now_at_ms"), NOW);
    cr_assert_eq(json_array_size(leases), 4);
    json_t *train = json_array_get(leases, 0);
    json_t *gpus = json_array_get(json_object_get(train, "resources"), 0);
    cr_expect_str_eq(string(gpus, "name"), "gpus");
    cr_expect_str_eq(json_string_value(json_array_get(json_object_get(gpus, "units"), 1)), "gpu1");
    cr_expect_str_eq(string(train, "lease"), "3f9k");
    cr_expect_str_eq(string(train, "user"), "alice");
    cr_expect_str_eq(string(train, "program"), "train");
    cr_expect_str_eq(string(train, "args"), "train --fast");
    cr_expect_str_eq(string(train, "cgroup"), "/system.slice/cron.service");
    cr_expect_eq(number(train, "asked_at_ms"), 1795390000000 - 123456 - 1200);
    cr_expect_eq(number(train, "granted_at_ms"), 1795390000000 - 123456);
    cr_expect_eq(number(train, "ended_at_ms"), 1795390000000);
    cr_expect_eq(number(train, "waited_ms"), 1200);
    cr_expect_eq(number(train, "held_ms"), 123456);
    cr_expect_eq(number(train, "exit"), 0);
    for (size_t i = 0; i < N(of_others); i++) {
        cr_expect(json_is_null(json_object_get(train, of_others[i])), "%s", of_others[i]);
    }
    json_t *denied = json_array_get(leases, 2), *revoked = json_array_get(leases, 3);
    cr_expect(json_is_null(json_object_get(denied, "held_ms")));
    cr_expect(json_is_null(json_object_get(denied, "granted_at_ms")));
    cr_expect_str_eq(string(denied, "code"), "queue-full");
    cr_expect_eq(number(json_array_get(json_object_get(denied, "resources"), 0), "wanted"), 2);
    cr_expect_str_eq(string(revoked, "why"), "disk full\x1b");
    cr_expect(json_is_true(json_object_get(revoked, "resources_cut")));
    json_decref(object);
    past_deinit(&past);
}

/* ---- stats ---- */

/* Of an hour. 1000 waits longest, and holds least. */
static const char *const hour[] = {
    "ok now=3600000 since=0",
    /* held for 10 minutes before the span and 6 in it, 2 units */
    "ended 1 units=etl:0-1 uid=0 how=released ended=360000 held=960000 waited=0",
    "ended 2 units=etl:2;gpus:0-1 uid=0 how=released ended=1000000 held=100000 waited=1000",
    "ended 3 units=etl:0 uid=1000 how=released ended=1000000 held=200000 waited=30000",
    "ended 4 units=etl=1 uid=1000 how=timeout ended=1000000 waited=60000",
    "ended 5 units=market/x:0-4 uid=0 how=released ended=360000 held=360000 waited=0",
    "ended 6 units=gone:0-4 uid=0 how=released ended=360000 held=360000 waited=0",
    "end",
};

/* "0-1" of gpus is an item. Lease 3 had not ended yet when status was asked for. */
static const char *const now[] = {
    "ok draining=0 held=3 waiting=0",
    "resource etl kind=semaphore scope=host limit=4 in_use=2 free=2 waiting=0",
    "holder 3 units=0 token=1 pid=1 uid=1000 since=-200000",
    "holder 9 units=3 token=1 pid=1 uid=1001 since=-9999999",
    "resource gpus kind=pool scope=host limit=2 in_use=1 free=1 waiting=0",
    "holder 8 units=gpu1 token=1 pid=1 uid=0 since=-60000",
    "resource fleet kind=pool scope=fleet database=d limit=2 in_use=1 free=1 waiting=0",
    "holder 0123456789abcdef/8 units=gpu1 token=1 pid=1 uid=0 since=-60000 host=b",
    "holder 7 units=gpu0 token=1 pid=1 uid=0 since=-60000 host=a",
    "template market/* kind=semaphore scope=host limit=10 instances=0",
    "end",
};

struct answers {
    struct past past;
    struct status status;
    struct stats stats;
};

static void compute(struct answers *answers, struct optional since, struct optional uid)
{
    *answers = (struct answers){.past = PAST_INIT};
    take(&answers->past, hour, N(hour));
    take_status(&answers->status, now, N(now));
    answers->stats = stats_of(&answers->past, &answers->status,
        &(struct stats_choice){.since = since, .uid = uid});
}

static void end(struct answers *answers)
{
    stats_deinit(&answers->stats);
    status_deinit(&answers->status);
    past_deinit(&answers->past);
}

static const struct stats_resource *resource_of(const struct stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->n_resources; i++) {
        if (strcmp(stats->resources[i].name, name) == 0) {
            return &stats->resources[i];
        }
    }
    cr_assert_fail("%s", name);
    return NULL;
}

static void expect_use(const struct answers *answers, const char *name, int expected)
{
    const struct stats_resource *resource = resource_of(&answers->stats, name);
    uint64_t permille;
    bool is_known = stats_permille(&resource->figures.unit_time, &resource->capacity, &permille);
    cr_expect_eq(is_known, expected >= 0, "%s", name);
    cr_expect(!is_known || permille == (uint64_t)expected, "%s: %llu", name,
        (unsigned long long)permille);
}

#define ALL ((struct optional){0})
#define EVERYTHING ((struct stats_choice){.n_names = 0})

Test(stats, by_resource)
{
    struct answers answers;
    compute(&answers, ALL, ALL);
    cr_expect_eq(answers.stats.from, 0);
    cr_expect_eq(answers.stats.to, 3600000);
    const struct figures *etl = &resource_of(&answers.stats, "etl")->figures;
    cr_expect_eq(etl->n_leases, 3);
    cr_expect_eq(etl->n_refused, 1);
    cr_expect_eq(etl->waits.n, 4);
    cr_expect_eq(etl->waits.median, 1000);
    cr_expect_eq(etl->waits.longest, 60000);
    cr_expect_eq(etl->holds.n, 3);
    cr_expect_eq(etl->holds.median, 200000);
    cr_expect_eq(etl->holds.longest, 960000); /* also what lies before the span */
    /* in the span: 2 * 360 s, 100 s, 200 s, and an hour of 1001's that is still held */
    cr_expect_eq(etl->unit_time.number, (720 + 100 + 200 + 3600) * 1000);
    cr_expect_eq(answers.stats.n_resources, 5);
    end(&answers);
}

Test(stats, use)
{
    struct answers answers;
    compute(&answers, ALL, ALL);
    expect_use(&answers, "etl", 321); /* 4620 of 14400 */
    expect_use(&answers, "gpus", 22); /* 100 + 60 of 7200: "0-1" is one item */
    expect_use(&answers, "market/x", 50); /* 5 * 360 of 36000 */
    expect_use(&answers, "gone", -1);
    expect_use(&answers, "fleet", -1); /* the limit is not this host's alone */
    end(&answers);
    compute(&answers, (struct optional){true, 3000000}, ALL);
    cr_expect_eq(answers.stats.from, 3000000);
    expect_use(&answers, "etl", 250); /* 600 of 2400 */
    end(&answers);
}

/* A limit that an operator has changed may have been another one. */
Test(stats, use_is_unknown)
{
    static const char *const limits[] = {"limit=4 changed=limit", "limit=0", "limit=4 removed=1",
        "limit=4 scope=fleet database=d", "limit=1" /* less than was held */};
    for (size_t i = 0; i < N(limits); i++) {
        struct answers answers = {.past = PAST_INIT};
        char line[128];
        snprintf(line, sizeof line, "resource etl kind=semaphore in_use=0 %s", limits[i]);
        const char *const lines[] = {"ok", line, "holder 10 units=0 uid=0 since=-3600000",
            "holder 11 units=1 uid=0 since=-3600000", "end"};
        take(&answers.past, hour, N(hour));
        take_status(&answers.status, lines, N(lines));
        answers.stats = stats_of(&answers.past, &answers.status, &EVERYTHING);
        expect_use(&answers, "etl", -1);
        end(&answers);
    }
}

/* Its instances that nobody uses now are not listed. */
Test(stats, use_of_a_template)
{
    static const char *const keys[] = {
        "limit=10", "limit=10 changed=limit", "limit=0", "limit=10 scope=fleet database=d"};
    for (size_t i = 0; i < N(keys); i++) {
        struct answers answers = {.past = PAST_INIT};
        char line[128];
        snprintf(line, sizeof line, "template market/* kind=semaphore instances=0 %s", keys[i]);
        const char *const lines[] = {"ok", "template mark/* kind=lock limit=1", line,
            "template market/x/* kind=lock limit=1", "end"};
        take(&answers.past, hour, N(hour));
        take_status(&answers.status, lines, N(lines));
        answers.stats = stats_of(&answers.past, &answers.status, &EVERYTHING);
        expect_use(&answers, "market/x", i == 0 ? 50 : -1);
        end(&answers);
    }
}

Test(stats, by_user)
{
    struct answers answers;
    compute(&answers, ALL, ALL);
    cr_assert_eq(answers.stats.n_users, 3);
    const struct stats_user *first = &answers.stats.users[0];
    cr_expect_eq(first->user.uid.number, 1000);
    cr_expect_eq(first->figures.n_leases, 1);
    cr_expect_eq(first->figures.n_refused, 1);
    cr_expect_eq(first->figures.waits.sum, 90000);
    const struct stats_user *root = &answers.stats.users[1];
    cr_expect_eq(root->user.uid.number, 0);
    cr_expect_eq(root->figures.n_leases, 4); /* one of them on two resources */
    cr_expect_eq(root->figures.waits.sum, 1000);
    cr_expect_not(root->figures.unit_time.is_given); /* of "gone" it is not known */
    const struct stats_resource *etl = resource_of(&answers.stats, "etl");
    cr_assert_eq(etl->n_users, 3);
    cr_expect_eq(etl->users[0].user.uid.number, 1000);
    cr_expect_eq(etl->users[0].figures.unit_time.number, 200000);
    cr_expect_eq(etl->users[2].user.uid.number, 1001);
    cr_expect_eq(etl->users[2].figures.n_leases, 0); /* it has not ended */
    cr_expect_eq(etl->users[2].figures.unit_time.number, 3600000);
    end(&answers);
}

/* In a jam nothing ends: whoever waits most is first all the same. */
Test(stats, waits_that_go_on)
{
    static const char *const jam[] = {"ok draining=0 held=1 waiting=3",
        "resource etl kind=semaphore scope=host limit=4 in_use=4 free=0 waiting=3",
        "waiter 20 pos=1 wants=1 pid=1 uid=7 since=-57000",
        "waiter 21 pos=2 wants=1 pid=1 uid=7 since=-50000",
        "waiter 4 pos=3 wants=1 pid=1 uid=1000 since=-60000", /* has ended since */
        "resource gpus kind=pool scope=host limit=2 in_use=2 free=0 waiting=1",
        "waiter 20 pos=1 wants=1 pid=1 uid=7 since=-57000",
        "waiter 0123456789abcdef/8 pos=2 wants=1 pid=1 uid=8 since=-60000 host=b", "end"};
    struct answers answers = {.past = PAST_INIT};
    take(&answers.past, hour, N(hour));
    take_status(&answers.status, jam, N(jam));
    answers.stats = stats_of(&answers.past, &answers.status, &EVERYTHING);
    cr_assert_eq(answers.stats.n_users, 3);
    cr_expect_eq(answers.stats.users[0].user.uid.number, 7);
    const struct figures *first = &answers.stats.users[0].figures;
    cr_expect_eq(first->n_waiting, 2); /* one of them for two resources */
    cr_expect_eq(first->n_leases + first->n_refused, 0);
    cr_expect_eq(first->waits.longest, 57000);
    cr_expect_eq(first->waits.sum, 107000);
    cr_expect_eq(answers.stats.users[1].user.uid.number, 1000);
    cr_expect_eq(answers.stats.users[1].figures.n_waiting, 0);
    cr_expect_eq(resource_of(&answers.stats, "etl")->figures.n_waiting, 2);
    cr_expect_eq(resource_of(&answers.stats, "gpus")->figures.n_waiting, 1);
    cr_expect_eq(resource_of(&answers.stats, "gpus")->figures.waits.longest, 57000);
    end(&answers);
}

/* The share is one of all users' time all the same. */
Test(stats, of_one_user)
{
    static const char *const two[] = {"ok now=3600000 since=0",
        "ended 1 units=etl:0 uid=1000 how=released ended=3600000 held=1200000 waited=0", "end"};
    struct stats_choice choice = {.uid = {true, 1001}};
    struct answers answers = {.past = PAST_INIT};
    uint64_t permille;
    take(&answers.past, two, N(two));
    take_status(&answers.status, now, N(now));
    answers.stats = stats_of(&answers.past, &answers.status, &choice);
    cr_assert_eq(answers.stats.n_resources, 1);
    expect_use(&answers, "etl", 250);
    cr_assert_eq(answers.stats.n_users, 1);
    cr_expect_eq(answers.stats.users[0].user.uid.number, 1001);
    cr_expect_eq(answers.stats.n_ended, 0);
    /* 3600 of 3600 + 1200, and 200 + 2 * 60 of leases 3, 7 and 8 */
    cr_assert(stats_permille(
        &answers.stats.users[0].figures.unit_time, &answers.stats.unit_time, &permille));
    cr_expect_eq(permille, 703);
    end(&answers);
}

/* Leases of several resources have claims on others. */
Test(stats, of_named_resources)
{
    static char pattern[] = "g*us", name[] = "market/x";
    char *const names[] = {pattern, name};
    struct stats_choice choice = {.names = names, .n_names = N(names)};
    struct answers answers = {.past = PAST_INIT};
    static const char *const nothing[] = {"ok", "end"};
    take(&answers.past, hour, N(hour));
    take_status(&answers.status, nothing, N(nothing));
    answers.stats = stats_of(&answers.past, &answers.status, &choice);
    cr_assert_eq(answers.stats.n_resources, 2);
    cr_expect_str_eq(answers.stats.resources[0].name, "gpus");
    cr_expect_str_eq(answers.stats.resources[1].name, "market/x");
    cr_assert_eq(answers.stats.n_users, 1);
    cr_expect_eq(answers.stats.users[0].figures.n_leases, 2); /* gpus is not its first claim */
    cr_expect_eq(answers.stats.n_ended, 2);
    end(&answers);
}

/* A short lease that was the first to end has filled a part of the span. */
Test(stats, the_span_of_the_oldest)
{
    static const char *const one[] = {"ok now=3600000 since=3599000",
        "ended 1 units=etl:0-3 uid=0 how=released ended=3599000 held=1000 waited=1000", "end"};
    static const char *const later[] = {"ok now=3600000 since=3597000",
        "ended 1 units=etl:0-3 uid=0 how=released ended=3599000 held=1000 waited=1000", "end"};
    static const char *const limit[] = {"ok", "resource etl kind=semaphore limit=4", "end"};
    for (int i = 0; i < 3; i++) {
        struct stats_choice choice = {.since = {i == 2, 3598000}};
        struct answers answers = {.past = PAST_INIT};
        take(&answers.past, i == 1 ? later : one, N(one));
        take_status(&answers.status, limit, N(limit));
        answers.stats = stats_of(&answers.past, &answers.status, &choice);
        cr_expect_eq(answers.stats.from, i == 2 ? 3598000 : 3597000);
        expect_use(&answers, "etl", i == 2 ? 500 : 333);
        end(&answers);
    }
}

/* berthd remembers less than is asked for. */
Test(stats, the_span)
{
    static const char *const little[] = {"ok now=3600000 since=3000000", "end"};
    static const char *const none[] = {"ok now=3600000", "end"};
    struct stats_choice early = {.since = {true, 1000}};
    for (int i = 0; i < 2; i++) {
        struct answers answers = {.past = PAST_INIT};
        take(&answers.past, i == 0 ? little : none, 2);
        take_status(&answers.status, now, N(now));
        answers.stats = stats_of(&answers.past, &answers.status, &early);
        cr_expect_eq(answers.stats.from, i == 0 ? 3000000 : 3600000);
        expect_use(&answers, "etl", i == 0 ? 333 : -1); /* 600 + 200 of 2400 */
        end(&answers);
    }
}

/* On a terminal, what says least goes. */
Test(stats, as_a_narrow_table)
{
    struct answers answers;
    struct text out = TEXT_INIT;
    compute(&answers, ALL, ALL);
    stats_table_print(&answers.stats, 80, &out);
    for (const char *line = out.bytes; *line; line = strchr(line, '\n') + 1) {
        cr_expect_leq(strcspn(line, "\n"), 80, "%s", line);
    }
    cr_expect_not_null(strstr(out.bytes,
        "\nRESOURCE  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST   HELD      USE\n"));
    cr_expect_not_null(strstr(out.bytes,
        "\nUSER  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST  IN ALL   HELD    SHARE\n"),
        "%s", out.bytes);
    text_deinit(&out);
    end(&answers);
}

Test(stats, as_a_table)
{
    struct answers answers;
    struct text out = TEXT_INIT;
    compute(&answers, ALL, ALL);
    stats_table_print(&answers.stats, 0, &out);
    expect_text(&out,
        "leases and waits that ended from 00:00:00 to 01:00:00 (1h00m),\n"
        "and waits so far: median, 95th percentile and longest\n"
        "\n"
        "RESOURCE  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST"
        "   HELD     95%  LONGEST      USE\n"
        "etl            3        1        0      1s  1m00s    1m00s"
        "  3m20s  16m00s   16m00s    32.1%\n"
        "fleet          0        0        0       -      -        -"
        "      -       -        -  unknown\n"
        "gone           1        0        0      0s     0s       0s"
        "  6m00s   6m00s    6m00s  unknown\n"
        "gpus           1        0        0      1s     1s       1s"
        "  1m40s   1m40s    1m40s     2.2%\n"
        "market/x       1        0        0      0s     0s       0s"
        "  6m00s   6m00s    6m00s     5.0%\n"
        "\n"
        "USER  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST  IN ALL   HELD     95%  LONGEST"
        "    SHARE\n"
        "1000       1        1        0     30s  1m00s    1m00s   1m30s  3m20s   3m20s    3m20s"
        "  unknown\n"
        "0          4        0        0      0s     1s       1s      1s  6m00s  16m00s   16m00s"
        "  unknown\n"
        "1001       0        0        0       -      -        -       -      -       -        -"
        "  unknown\n");
    end(&answers);
}

Test(stats, as_json)
{
    struct answers answers;
    struct text out = TEXT_INIT;
    compute(&answers, ALL, ALL);
    stats_json_print(&answers.stats, &out);
    json_t *object = loaded(&out);
    cr_expect_eq(number(object, "from_at_ms"), 0);
    cr_expect_eq(number(object, "to_at_ms"), 3600000);
    json_t *etl = json_array_get(json_object_get(object, "resources"), 0);
    cr_expect_str_eq(string(etl, "name"), "etl");
    cr_expect_eq(number(etl, "leases"), 3);
    cr_expect_eq(number(json_object_get(etl, "waited_ms"), "p95"), 60000);
    cr_expect_float_eq(json_real_value(json_object_get(etl, "use")), 0.321, 1e-9);
    json_t *running = json_array_get(json_object_get(etl, "users"), 2);
    cr_expect_eq(number(running, "uid"), 1001);
    cr_expect(json_is_null(json_object_get(running, "waited_ms")));
    cr_expect_float_eq(json_real_value(json_object_get(running, "use")), 0.25, 1e-9);
    json_t *user = json_array_get(json_object_get(object, "users"), 0);
    cr_expect_eq(number(user, "uid"), 1000);
    cr_expect(json_is_null(json_object_get(user, "share")));
    json_decref(object);
    end(&answers);
}
