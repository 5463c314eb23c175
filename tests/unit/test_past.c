/* test_past.c - the answer to `history` as structs, as a table and as JSON, and what `berthctl
 * stats` makes of it (view/past.h, past_table.h, stats_table.h, json.h, stats.h). */
#include "berthctl/past_table.h"
#include "berthctl/stats_table.h"
#include "print_help.h"
#include "status_help.h"
#include "view/past.h"
#include "view/json.h"
#include "view/stats.h"
#include "view/users.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 2026-11-23 01:30:00 UTC is 1795397400000. */
#define NOW UINT64_C(1795397400000)

static struct past past;
static struct status status;
static struct stats stats;

static const char *no_name(uint64_t uid)
{
    (void)uid;
    return NULL;
}

static const char *name_of(uint64_t uid)
{
    return uid == 1000 ? "alice" : uid == 0 ? "root" : NULL;
}

static void setup(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
    user_name = no_name;
}

/* A test may begin again, after this. */
static void teardown(void)
{
    past_deinit(&past);
    stats_deinit(&stats);
    stats = (struct stats){0};
    status_deinit(&status);
    status = (struct status){0};
}

TestSuite(past, .init = setup, .fini = teardown);
TestSuite(past_table, .init = setup, .fini = teardown);
TestSuite(stats, .init = setup, .fini = teardown);

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

static void take(const char *const lines[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum answer_result expected = i + 1 < n ? ANSWER_MORE : ANSWER_END;
        cr_assert_eq(past_take(&past, (char *)lines[i]), expected, "%s", lines[i]);
    }
}

static void take_whole(void)
{
    take(whole, N(whole));
    user_name = name_of;
}

/* ---- the answer ---- */

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
        cr_assert_eq(past_take(&past, "ok now=1"), ANSWER_MORE);
        cr_expect_eq(past_take(&past, (char *)lines[i]), ANSWER_MALFORMED, "%s", lines[i]);
        teardown();
    }
    cr_expect_eq(past_take(&past, "end"), ANSWER_MALFORMED);
    cr_expect_eq(past_take(&past, "ok now=x"), ANSWER_MALFORMED);
}

/* What is left out at once. */
Test(past, chosen)
{
    static const struct {
        struct past_choice choice;
        size_t n;
    } rows[] = {
        {{.failed = false}, 4},
        {{.until = {true, UINT64_C(1795397397000) - 903000 - 65000 + 1}}, 4}, /* that of 3f9p */
        {{.until = {true, UINT64_C(1795397397000) - 903000 - 65000}}, 3},
        {{.until = {true, 0}}, 0},
        {{.failed = true}, 3},
        {{.host = "here"}, 0},
        {{.host = "here", .this_host = "here"}, 4},
        {{.host = "there", .this_host = "here"}, 0},
    };
    for (size_t i = 0; i < N(rows); i++) {
        past.only = &rows[i].choice;
        take_whole();
        cr_expect_eq(past.n, rows[i].n, "%zu", i);
        teardown();
    }
}

/* ---- other lines ---- */

static const char *const others[] = {
    "ok now=1795397400000 since=1795390000000 more=1 whose=host",
    "gap from=1795390500000 until=1795390800000 why=reboot",
    "did limit at=1795393800000 uid=1000 resource=etl old=20 new=5 reason=too%20slow",
    "ended 3f9m units=etl:0 uid=0 how=released ended=1795393900000 held=3000 waited=0 exit=0",
    "did drain at=1795393950500 uid=0 login=1000 host=b new=draining new_key=1",
    "did revoke at=1795393960000 uid=0 target=3f9p resource=etl",
    "gap from=1795397000000 until=1795397001000 why=over%1bwritten n=3",
    "gap from=1795397001000 until=1795397001000 why=damaged n=1",
    "end",
};

Test(past, other_lines)
{
    static const char *const lines[] = {"did", "did limit uid=x", "did limit old=%zz", "gap from=x",
        "gap why=%zz", "figures etl waits=x"};
    for (size_t i = 0; i < N(lines); i++) {
        cr_assert_eq(past_take(&past, "ok now=1"), ANSWER_MORE);
        cr_expect_eq(past_take(&past, (char *)lines[i]), ANSWER_MALFORMED, "%s", lines[i]);
        teardown();
    }
    past.only = &(struct past_choice){.failed = true};
    take(others, N(others));
    cr_expect_eq(past.n_actions, 0);
    teardown();
    past.only = &(struct past_choice){.host = "b", .this_host = "a"};
    take(others, N(others));
    cr_expect_eq(past.n_actions, 1);
    teardown();
    past.only = &(struct past_choice){.until = {true, UINT64_C(1795393950500)}};
    take(others, N(others));
    cr_expect_eq(past.n_actions, 1);
}

/* ---- of several ---- */

/* Of this host ("a"), and of its database. */
static const char *const of_host[] = {"ok now=1000 since=100 whose=host",
    "ended 1 units=etl:0 uid=0 how=released ended=200 held=1 waited=1 exit=0 database=d",
    "ended 2 units=own:0 uid=0 how=released ended=400 held=1 waited=1 exit=0",
    "gap from=300 until=400 why=reboot", "figures far uid=1 database=d leases=1",
    "figures own uid=1 leases=1", "end"};
static const char *const of_database[] = {"ok now=1001 since=50 more=1 whose=database database=d",
    "ended 1 units=etl:0 uid=0 how=released ended=200 held=1 waited=1 database=d",
    "ended 0000000000000001/9 units=etl:1 uid=0 how=deadline ended=60 held=1 waited=1 host=b",
    "ended 0000000000000002/2 units=own:0 uid=0 how=lost ended=401 held=1 waited=1 host=a",
    "ended 0000000000000001/2 units=etl:1 uid=0 how=released ended=402 held=1 waited=1 host=b",
    "did limit at=350 resource=etl", "gap from=10 until=9 why=trimmed", "end"};

static void merge_both(void)
{
    struct past other = {0};
    for (size_t i = 0; i < N(of_database); i++) {
        past_take(&other, (char *)of_database[i]);
    }
    take(of_host, N(of_host));
    past_merge(&past, &other, "a");
    cr_expect_eq(other.n + other.n_sources + other.n_gaps + other.n_actions, 0);
    past_deinit(&other);
}

Test(past, merged)
{
    static const char *const ids[] = {
        "0000000000000001/9", "1", "2", "0000000000000001/2"}; /* 2 is one of an earlier session */
    merge_both();
    cr_assert_eq(past.n, N(ids));
    for (size_t i = 0; i < N(ids); i++) {
        cr_expect_str_eq(past.leases[i].id, ids[i]);
    }
    cr_expect(past.leases[1].exit.is_given); /* this host knows more of it */
    cr_expect_eq(past.now, 1000);
    cr_assert_eq(past.n_sources, 2);
    cr_expect(past_has(&past, NULL) && past_has(&past, "d") && !past_has(&past, "e"));
    cr_expect_eq(past.n_actions, 1);
    cr_assert_eq(past.n_gaps, 2);
    cr_expect_eq(past.gaps[0].from, 10);
    cr_expect_eq(past.gaps[0].until, 10);
    cr_expect_eq(past.sums.rows.n, 1); /* of the database its leases are counted */
}

/* The database has trimmed what this host has counted. */
Test(past, merged_with_a_shorter_one)
{
    static const char *const shorter[] = {"ok now=1001 since=150 whose=database database=d",
        "ended 0000000000000002/2 units=etl:0 uid=0 how=lost ended=401 held=1 waited=1 host=a",
        "ended 0000000000000001/2 units=etl:1 uid=0 how=released ended=402 held=1 waited=1 host=b",
        "ended 5 units=etl:0 uid=0 how=lost ended=403 held=1 waited=1", "end"};
    static const struct {
        uint64_t since; /* asked for */
        uint64_t n_rows, n_leases; /* that are left */
    } rows[] = {{0, 2, 1}, {149, 2, 1}, {150, 1, 3}};
    for (size_t k = 0; k < N(rows); k++) {
        struct past other = {0};
        past.only = &(struct past_choice){.since = {rows[k].since > 0, rows[k].since}};
        past_take(&past, (char *)of_host[0]);
        past_take(&past, (char *)of_host[N(of_host) - 3]);
        past_take(&past, (char *)of_host[N(of_host) - 2]);
        for (size_t i = 0; i < N(shorter); i++) {
            past_take(&other, (char *)shorter[i]);
        }
        past_merge(&past, &other, "a");
        cr_expect_eq(past.sums.rows.n, rows[k].n_rows);
        cr_expect_eq(past.n, rows[k].n_leases);
        past_deinit(&other);
        teardown();
    }
}

Test(past, cut)
{
    merge_both();
    past_cut(&past, 5);
    cr_expect_eq(past.n + past.n_actions, 5);
    cr_expect_not(past.sources[0].has_more);
    past_cut(&past, 3); /* of both kinds: the action is older than two leases */
    cr_expect_eq(past.n, 2);
    cr_expect_eq(past.n_actions, 1);
    cr_expect_eq(past.n_gaps, 1); /* the other one was over by then */
    cr_expect_eq(past_begin(&past), 350);
    cr_expect(past.sources[0].has_more);
    past_cut(&past, 1);
    cr_expect_eq(past.n_actions, 0);
    cr_assert_eq(past.n, 1);
    cr_expect_str_eq(past.leases[0].id, "0000000000000001/2");
    cr_expect(past.sources[0].has_more);
}

/* ---- the table ---- */

static void expect_table(const char *shown)
{
    struct text out = TEXT_INIT;
    past_table_print(&past, &(struct past_choice){0}, 0, &out);
    expect_text(&out, shown);
}

Test(past_table, whole)
{
    take_whole();
    expect_table(
        "complete from 2026-11-22 23:26:40 on: this host\n"
        "ENDED                    RESOURCE     UNITS      USER           PID  PROGRAM  WAITED"
        "    HELD  HOW                                               LEASE  HOLDER  REASON     "
        "  CGROUP                      ARGUMENTS\n"
        "2026-11-22 23:26:40.000  gpus         gpu0,gpu1  alice         4711  train        1s"
        "   2m03s  exit 0                                            3f9k   job-12  weekly load"
        "  /system.slice/cron.service  train --fast\n"
        "00:30:00.000             etl, deploy  0-3,5; 0   root (alice)  4712               0s"
        "      3s  SIGKILL                                           3f9m\n"
        "00:31:40.000             etl          wanted 2   alice                            0s"
        "       -  denied (queue-full)                               3f9n\n"
        "01:29:57.000             etl, ...     0,...      root          4714            1m05s"
        "  15m03s  revoked by root (alice): disk full\\x1b (SIGTERM)  3f9p\n");
}

/* What operators did, and where something is missing, stands between. */
Test(past_table, others)
{
    take(others, N(others));
    user_name = name_of;
    expect_table(
        "complete from 2026-11-22 23:26:40 on: this host\n"
        "ENDED         RESOURCE  UNITS  USER  PID  WAITED  HELD  HOW     LEASE\n"
        "2026-11-22 23:35:00.000 to 2026-11-22 23:40:00.000: nothing is known (the host was"
        " rebooted)\n"
        "00:30:00.000  limit etl 20 -> 5 by alice: \"too slow\"\n"
        "00:31:40.000  etl       0      root           0s    3s  exit 0  3f9m\n"
        "00:32:30.500  drain by root (alice) on b\n"
        "00:32:40.000  revoke etl 3f9p by root\n"
        "01:23:20.000 to 01:23:21.000: 3 are missing (over\\x1bwritten)\n"
        "01:23:21.000 to 01:23:21.000: 1 is missing (a file is damaged)\n"
        "older than 00:30:00.000: --limit 0 shows all\n");
}

/* What was, if it is known, and what is, unless the word says so. */
Test(past_table, actions)
{
    static const char *const actions[] = {"ok now=1795397400000 since=1795390000000",
        "did pause at=1795393800000 uid=0 resource=etl new=paused",
        "did resume at=1795393801000 uid=0 resource=etl new=granting",
        "did add at=1795393802000 uid=0 resource=gpus target=0 old=reserved new=present",
        "did reserve at=1795393803000 uid=0 resource=gpus target=0 new=reserved",
        "did limit at=1795393804000 uid=0 resource=etl old=4 new=4",
        "did limit at=1795393805000 uid=0 resource=etl new=5",
        "did reload at=1795393806000 new=etl", "end"};
    take(actions, N(actions));
    user_name = name_of;
    expect_table(
        "complete from 2026-11-22 23:26:40 on: this host\n"
        "00:30:00.000  pause etl by root\n"
        "00:30:01.000  resume etl by root\n"
        "00:30:02.000  add gpus 0 reserved -> present by root\n"
        "00:30:03.000  reserve gpus 0 by root\n"
        "00:30:04.000  limit etl 4 -> 4 by root\n"
        "00:30:05.000  limit etl 5 by root\n"
        "00:30:06.000  reload etl\n");
}

/* Those of other hosts are among them. */
Test(past_table, hosts)
{
    struct text out = TEXT_INIT;
    merge_both();
    past_table_print(&past, &(struct past_choice){.this_host = "a"}, 0, &out);
    static const char *const parts[] = {
        "complete from 00:00:00 on: this host, and database d\n",
        "LEASE               HOST\n", "  0000000000000001/9  b\n", "  1                   a\n"};
    expect_parts(&out, parts, N(parts));
}

/* What a drop ended is behind it, and is what a limit leaves. */
Test(past_table, at_one_time)
{
    static const char *const lines[] = {"ok now=1795397400000 since=1",
        "ended 1 units=a:0 uid=7 how=dropped ended=1795397399000 waited=0",
        "did drop at=1795397399000 uid=0 target=1 resource=a", "end"};
    struct text out = TEXT_INIT;
    take(lines, N(lines));
    past_table_print(&past, &(struct past_choice){0}, 0, &out);
    const char *action = strstr(out.bytes, "drop a 1"), *lease = strstr(out.bytes, "dropped");
    cr_expect(action && lease && action < lease, "%s", out.bytes);
    text_deinit(&out);
    past_cut(&past, 1);
    cr_expect(past.n == 1 && past.n_actions == 0);
}

/* A time stands once, and no line is longer than a terminal. */
Test(past_table, sources)
{
    static char a[] = "a", b[] = "bigger", c[] = "c";
    static const struct {
        uint64_t since[4];
        const char *shown;
    } rows[] = {
        {{NOW, NOW + 999, 0, 0}, "complete from 01:30:00 on: this host, and database a\n"},
        {{0, NOW, 0, 0}, "complete from 01:30:00 on: database a\n"},
        {{0, 0, 0, 0}, ""},
        {{NOW - 2000, NOW, NOW - 1500, 0},
            "complete from 01:29:58 on: this host, and database bigger;\n"
            "  from 01:30:00 on: database a\n"},
        {{NOW - 86400000, NOW - 1000, NOW, NOW - 86400000},
            "complete from 2026-11-22 01:30:00 on: this host, and database c;\n"
            "  from 01:29:59 on: database a; from 01:30:00 on: database bigger\n"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct past_source sources[] = {
            {.database = NULL}, {.database = a}, {.database = b}, {.database = c}};
        struct text out = TEXT_INIT;
        for (size_t k = 0; k < N(sources); k++) {
            sources[k].since = (struct optional){rows[i].since[k] > 0, rows[i].since[k]};
        }
        const struct past of_them = {.now = NOW, .sources = sources, .n_sources = N(sources)};
        past_add_sources(&of_them, &(struct past_choice){0}, &out);
        expect_text(&out, rows[i].shown);
    }
}

static void expect_how(const char *keys, const char *shown)
{
    struct text out = TEXT_INIT;
    char line[512];
    snprintf(line, sizeof line, "ended 1 units=a:0 uid=7 ended=%llu waited=0 %s",
        (unsigned long long)NOW, keys);
    cr_assert_eq(past_take(&past, "ok now=1795397400000 since=1"), ANSWER_MORE);
    cr_assert_eq(past_take(&past, line), ANSWER_MORE, "%s", line);
    past_table_print(&past, &(struct past_choice){0}, 0, &out);
    const char *titles = strchr(out.bytes, '\n') + 1, *row = strchr(titles, '\n') + 1;
    size_t column = (size_t)(strstr(titles, "HOW") - titles);
    cr_expect_eq(strncmp(row + column, shown, strlen(shown)), 0, "%s: %s", keys, row);
    cr_expect_eq(strncmp(row + column + strlen(shown), "  ", 2), 0, "%s: %s", keys, row);
    text_deinit(&out);
    teardown();
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

Test(past_table, of_a_program)
{
    static const char *const lines[] = {"ok now=1795397400000 since=1795390000000",
        "ended 3f9k units=db:0 uid=0 how=revoked by=0 ended=1795390000000 held=3000 waited=0"
        " pid=4711 bound=program",
        "end"};
    take(lines, N(lines));
    expect_table("complete from 2026-11-22 23:26:40 on: this host\n"
                 "ENDED                    RESOURCE  UNITS  USER   PID  WAITED  HELD  HOW         "
                 "  LEASE  BOUND\n"
                 "2026-11-22 23:26:40.000  db        0      0     4711      0s    3s  revoked by 0"
                 "  3f9k   program\n");
}

/* Columns are cut, and those behind HOST left out; then PID, PROGRAM and WAITED, and the id before
 * it would be cut. */
Test(past_table, narrow)
{
    static const struct {
        size_t width;
        const char *last; /* of the titles */
    } rows[] = {{174, "ARGUMENTS"}, {173, "CGROUP"}, {133, "HOLDER"}, {132, "LEASE"}, {95, "LEASE"},
        {80, "LEASE"}, {79, "HOW"}};
    take_whole();
    for (size_t i = 0; i < N(rows); i++) {
        struct text out = TEXT_INIT;
        past_table_print(&past, &(struct past_choice){0}, rows[i].width, &out);
        for (const char *line = out.bytes; *line; line = strchr(line, '\n') + 1) {
            cr_expect_leq(strcspn(line, "\n"), rows[i].width, "%s", line);
        }
        const char *titles = strchr(out.bytes, '\n') + 1;
        const char *last = strchr(titles, '\n') - strlen(rows[i].last);
        cr_expect_eq(strncmp(last, rows[i].last, strlen(rows[i].last)), 0, "%s", out.bytes);
        text_deinit(&out);
    }
}

/* The ids of the fleet go before anything is cut for them; what then has room is there. */
Test(past_table, narrow_of_a_fleet)
{
    static const char *const fleet[] = {"ok now=1795397400000 since=1795390000000",
        "ended 0123456789abcdef/3f9k units=db=2 uid=1000 how=denied code=queue-full"
        " ended=1795393900000 waited=65000 pid=4711 program=report host=bravo holder=job-12",
        "ended 3f9m units=db:0 uid=0 how=revoked by=0 why=disk ended=1795393901000 held=3000"
        " waited=0 pid=4712",
        "end"};
    static const struct {
        size_t width;
        const char *titles, *row;
    } rows[] = {
        {200, "  HOW                    LEASE                  HOST   HOLDER\n",
            "  denied (queue-full)    0123456789abcdef/3f9k  bravo  job-12\n"},
        {120, "  HOW                    HOST   HOLDER\n",
            "  denied (queue-full)    bravo  job-12\n"},
        {81, "ENDED         RESOURCE  UNITS     USER   PROGRAM  WAITED  HELD  HOW         HOST\n",
            "00:31:40.000  db        wanted 2  alice  report    1m05s     -  denied (q>  bravo\n"},
        {80, "ENDED         RESOURCE  UNITS     USER    PID  WAITED  HELD  HOW           HOST\n",
            "00:31:40.000  db        wanted 2  alice  4711   1m05s     -  denied (que>  bravo\n"},
        {72, "ENDED         RESOURCE  UNITS     USER   WAITED  HELD  HOW         HOST\n",
            "00:31:40.000  db        wanted 2  alice   1m05s     -  denied (q>  bravo\n"}};
    user_name = name_of;
    take(fleet, N(fleet));
    for (size_t i = 0; i < N(rows); i++) {
        struct text out = TEXT_INIT;
        const char *const parts[] = {rows[i].titles, rows[i].row};
        past_table_print(&past, &(struct past_choice){.this_host = "a"}, rows[i].width, &out);
        expect_parts(&out, parts, N(parts));
    }
}

/* It is the answer: of few rows, it stands whole below a row that has no room for it. */
Test(past_table, the_whole_how)
{
    static const char how[] = "\n    how: revoked by root (alice): disk full\\x1b (SIGTERM)\n";
    take_whole();
    for (size_t n = 0; n < 5; n++) { /* rows: 4, 8 and so on to 20, then 24 */
        struct text out = TEXT_INIT;
        past_table_print(&past, &(struct past_choice){0}, 80, &out);
        cr_expect_not_null(strstr(out.bytes, how), "%s", out.bytes);
        cr_expect_null(strstr(out.bytes, "how: SIGKILL"));
        text_deinit(&out);
        for (size_t i = 1; i < N(whole) - 1; i++) {
            cr_assert(strncmp(whole[i], "ended", 5) != 0 ||
                past_take(&past, (char *)whole[i]) == ANSWER_MORE);
        }
    }
    struct text out = TEXT_INIT;
    past_table_print(&past, &(struct past_choice){0}, 80, &out);
    cr_expect_null(strstr(out.bytes, "how:"));
    text_deinit(&out);
}

static void expect_note(struct past_choice style, const char *shown)
{
    struct text out = TEXT_INIT;
    text_add(&out, "");
    past_add_note(&past, past.n, &style, &out);
    expect_text(&out, shown);
}

/* Since when berthd knows everything, 23:26:40, and when the operator asks about. */
Test(past_table, what_is_not_there)
{
    struct past_choice style = {0}, of_some = {.uid = {true, 7}};
    struct past_choice late = {.since = {true, NOW - 60000}};
    struct past_choice early = {.since = {true, UINT64_C(1795390000000) - 1}};
    struct past_choice same = {.since = {true, UINT64_C(1795390000000)}};
    cr_assert_eq(past_take(&past, "ok now=1795397400000"), ANSWER_MORE);
    static const char nothing[] = "no history: nothing has ended yet, or berthd's file has"
                                  " history = 0\n";
    expect_note(style, nothing);
    expect_note(early, nothing);
    past.sources[0].since = (struct optional){true, UINT64_C(1795390000000)};
    static const char earlier[] =
        "nothing %shas ended since 2026-11-22 23:26:40; the history does not go back further\n";
    char said[160];
    snprintf(said, sizeof said, earlier, "");
    expect_note(style, said);
    expect_note(early, said);
    snprintf(said, sizeof said, earlier, "of that ");
    expect_note(of_some, said);
    expect_note(same, "nothing has ended since 2026-11-22 23:26:40\n");
    expect_note(late, "nothing has ended since 01:29:00\n");
    expect_note((struct past_choice){.lease = "x"}, "nothing of that has ended since 2026-11-22"
                                                    " 23:26:40\n");
    struct past_choice before = {.until = {true, UINT64_C(1795390000000)}};
    expect_note(before, "nothing is known of what was before 2026-11-22 23:26:40:"
                        " the history begins at 2026-11-22 23:26:40\n");
    before.since = (struct optional){true, UINT64_C(1795389000000)};
    static const char unknown[] = "%s is known of 2026-11-22 23:10:00 to 2026-11-22 23:26:40:"
                                  " the history begins at 2026-11-22 23:26:40\n";
    snprintf(said, sizeof said, unknown, "nothing");
    expect_note(before, said);
    struct past database = {0};
    past_take(&database, (char *)"ok now=1795397400000 since=1795389500000 database=d");
    past_merge(&past, &database, NULL);
    past_deinit(&database);
    snprintf(said, sizeof said, unknown, "not all");
    expect_note(before, said);
    before.until.number++;
    snprintf(said, sizeof said, earlier, "of that ");
    expect_note(before, said);
    teardown();
    take_whole();
    expect_note(style, "");
    expect_note(late, "");
    expect_note(same, "");
    expect_note(early, "");
    past.sources[0].has_more = true;
    expect_note(style, "older than 2026-11-22 23:26:40.000: --limit 0 shows all\n");
    past_cut(&past, 0);
    expect_note(style, "there are older ones: --limit 0 shows all\n");
}

/* ---- JSON ---- */

Test(past, as_json)
{
    struct text out = TEXT_INIT;
    take_whole();
    past_json_print(&past, &out);
    expect_text(&out,
        "{\"version\":1,\"now_at_ms\":1795397400000,\"since_at_ms\":1795390000000,\"leases\":["
        "{\"lease\":\"3f9k\",\"resources\":[{\"name\":\"gpus\",\"units\":[\"gpu0\",\"gpu1\"],"
        "\"units_cut\":false,\"wanted\":null}],\"resources_cut\":false,\"uid\":1000,"
        "\"user\":\"alice\",\"asked_at_ms\":1795389875344,\"granted_at_ms\":1795389876544,"
        "\"ended_at_ms\":1795390000000,\"unseen\":false,\"waited_ms\":1200,\"held_ms\":123456,"
        "\"how\":\"released\",\"code\":null,\"exit\":0,\"signal\":null,\"pid\":4711,"
        "\"login_uid\":null,\"login_user\":null,\"by_uid\":null,\"by_user\":null,"
        "\"by_login_uid\":null,\"by_login_user\":null,\"why\":null,\"database\":null,"
        "\"host\":null,\"holder\":\"job-12\",\"args\":\"train --fast\","
        "\"cgroup\":\"/system.slice/cron.service\",\"bound\":null,\"share\":null,\"program\":\"train\","
        "\"reason\":\"weekly load\"},"
        "{\"lease\":\"3f9m\",\"resources\":[{\"name\":\"etl\",\"units\":[\"0-3\",\"5\"],"
        "\"units_cut\":false,\"wanted\":null},{\"name\":\"deploy\",\"units\":[\"0\"],"
        "\"units_cut\":false,\"wanted\":null}],\"resources_cut\":false,\"uid\":0,\"user\":\"root\","
        "\"asked_at_ms\":1795393797000,\"granted_at_ms\":1795393797000,"
        "\"ended_at_ms\":1795393800000,\"unseen\":false,\"waited_ms\":0,\"held_ms\":3000,"
        "\"how\":\"released\",\"code\":null,\"exit\":null,\"signal\":9,\"pid\":4712,"
        "\"login_uid\":1000,\"login_user\":\"alice\",\"by_uid\":null,\"by_user\":null,"
        "\"by_login_uid\":null,\"by_login_user\":null,\"why\":null,\"database\":null,"
        "\"host\":null,\"holder\":null,\"args\":null,\"cgroup\":null,\"bound\":null,"
        "\"share\":null,\"program\":null,\"reason\":null},"
        "{\"lease\":\"3f9n\",\"resources\":[{\"name\":\"etl\",\"units\":[],\"units_cut\":false,"
        "\"wanted\":2}],\"resources_cut\":false,\"uid\":1000,\"user\":\"alice\","
        "\"asked_at_ms\":1795393900000,\"granted_at_ms\":null,\"ended_at_ms\":1795393900000,"
        "\"unseen\":false,\"waited_ms\":0,\"held_ms\":null,\"how\":\"denied\","
        "\"code\":\"queue-full\",\"exit\":null,\"signal\":null,\"pid\":null,\"login_uid\":null,"
        "\"login_user\":null,\"by_uid\":null,\"by_user\":null,\"by_login_uid\":null,"
        "\"by_login_user\":null,\"why\":null,\"database\":null,\"host\":null,"
        "\"holder\":null,\"args\":null,"
        "\"cgroup\":null,\"bound\":null,\"share\":null,\"program\":null,\"reason\":null},"
        "{\"lease\":\"3f9p\",\"resources\":[{\"name\":\"etl\",\"units\":[\"0\"],"
        "\"units_cut\":true,\"wanted\":null}],\"resources_cut\":true,\"uid\":0,\"user\":\"root\","
        "\"asked_at_ms\":1795396429000,\"granted_at_ms\":1795396494000,"
        "\"ended_at_ms\":1795397397000,\"unseen\":false,\"waited_ms\":65000,\"held_ms\":903000,"
        "\"how\":\"revoked\",\"code\":null,\"exit\":null,\"signal\":15,\"pid\":4714,"
        "\"login_uid\":null,\"login_user\":null,\"by_uid\":0,\"by_user\":\"root\","
        "\"by_login_uid\":1000,\"by_login_user\":\"alice\",\"why\":\"disk full\\u001B\","
        "\"database\":\"main\",\"host\":null,\"holder\":null,\"args\":null,"
        "\"cgroup\":null,\"bound\":null,\"share\":null,\"program\":null,\"reason\":null}],\"actions\":[],"
        "\"gaps\":[],"
        "\"sources\":[{\"database\":null,\"since_at_ms\":1795390000000,\"more\":false}]}\n");
}

Test(past, others_as_json)
{
    struct text out = TEXT_INIT;
    static const char *const parts[] = {
        "\"actions\":[{\"verb\":\"limit\",\"at_ms\":1795393800000,\"uid\":1000,\"user\":null,"
        "\"login_uid\":null,\"login_user\":null,\"resource\":\"etl\",\"target\":null,"
        "\"old\":\"20\",\"new\":\"5\",\"host\":null,\"reason\":\"too slow\"},",
        "\"gaps\":[{\"from_at_ms\":1795390500000,\"until_at_ms\":1795390800000,"
        "\"why\":\"reboot\",\"n\":null},",
        "\"sources\":[{\"database\":null,\"since_at_ms\":1795390000000,\"more\":true}]}\n"};
    take(others, N(others));
    past_json_print(&past, &out);
    expect_parts(&out, parts, N(parts));
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

/* "0-1" of gpus is an item. */
static const char *const now[] = {
    "ok draining=0 held=3 waiting=0",
    "resource etl kind=semaphore scope=host limit=4 in_use=1 free=3 waiting=0",
    "holder 9 units=3 token=1 pid=1 uid=1001 since=-9999999",
    "resource gpus kind=pool scope=host limit=2 in_use=1 free=1 waiting=0",
    "holder 8 units=gpu1 token=1 pid=1 uid=0 since=-60000",
    "resource fleet kind=pool scope=fleet database=d limit=2 in_use=1 free=1 waiting=0",
    "holder 0123456789abcdef/8 units=gpu1 token=1 pid=1 uid=0 since=-60000 host=b",
    "holder 7 units=gpu0 token=1 pid=1 uid=0 since=-60000 host=a",
    "template market/* kind=semaphore scope=host limit=10 instances=0",
    "end",
};

static void compute_of(const char *const ended[], size_t n_ended, const char *const lines[],
    size_t n_lines, struct past_choice choice)
{
    teardown();
    take(ended, n_ended);
    take_status(&status, lines, n_lines);
    stats = stats_of(&past, &status, &choice);
}

#define COMPUTE(ended, lines, ...)                                                                 \
    compute_of(ended, N(ended), lines, N(lines), (struct past_choice){__VA_ARGS__})

static const struct stats_resource *resource_of(const char *name)
{
    for (size_t i = 0; i < stats.n_resources; i++) {
        if (strcmp(stats.resources[i].all.name, name) == 0) {
            return &stats.resources[i];
        }
    }
    cr_assert_fail("%s", name);
    return NULL;
}

static void expect_use(const char *name, int expected)
{
    const struct stats_resource *resource = resource_of(name);
    const struct optional *permille = &resource->all.permille;
    cr_expect_eq(permille->is_given, expected >= 0, "%s", name);
    cr_expect(!permille->is_given || permille->number == (uint64_t)expected, "%s: %llu", name,
        (unsigned long long)permille->number);
}

Test(stats, use_of_a_part_of_the_hour)
{
    COMPUTE(hour, now, .since = {true, 3000000});
    cr_expect_eq(stats.from, 3000000);
    expect_use("etl", 250); /* 600 of 2400 */
}

/* A limit that an operator has changed may have been another one. */
Test(stats, use_is_unknown)
{
    static const char *const limits[] = {"limit=4 changed=limit", "limit=0", "limit=4 removed=1",
        "limit=4 scope=fleet database=d", "limit=1" /* less than was held */};
    for (size_t i = 0; i < N(limits); i++) {
        char line[128];
        snprintf(line, sizeof line, "resource etl kind=semaphore in_use=0 %s", limits[i]);
        const char *const lines[] = {"ok", line, "holder 10 units=0 uid=0 since=-3600000",
            "holder 11 units=1 uid=0 since=-3600000", "end"};
        COMPUTE(hour, lines);
        expect_use("etl", -1);
    }
}

/* Its instances that nobody uses now are not listed. */
Test(stats, use_of_a_template)
{
    static const char *const keys[] = {
        "limit=10", "limit=10 changed=limit", "limit=0", "limit=10 scope=fleet database=d"};
    for (size_t i = 0; i < N(keys); i++) {
        char line[128];
        snprintf(line, sizeof line, "template market/* kind=semaphore instances=0 %s", keys[i]);
        const char *const lines[] = {"ok", "template mark/* kind=lock limit=1", line,
            "template market/x/* kind=lock limit=1", "end"};
        COMPUTE(hour, lines);
        expect_use("market/x", i == 0 ? 50 : -1);
    }
}

/* In a jam nothing ends: whoever waits most is first all the same. */
Test(stats, waits_that_go_on)
{
    static const char *const jam[] = {"ok draining=0 held=1 waiting=3",
        "resource etl kind=semaphore scope=host limit=4 in_use=4 free=0 waiting=3",
        "waiter 20 pos=1 wants=1 pid=1 uid=7 since=-57000",
        "waiter 21 pos=2 wants=1 pid=1 uid=7 since=-50000",
        "resource gpus kind=pool scope=host limit=2 in_use=2 free=0 waiting=1",
        "waiter 20 pos=1 wants=1 pid=1 uid=7 since=-57000",
        "waiter 0123456789abcdef/8 pos=2 wants=1 pid=1 uid=8 since=-60000 host=b", "end"};
    COMPUTE(hour, jam);
    cr_assert_eq(stats.n_users, 3);
    cr_expect_eq(stats.users[0].user.uid.number, 7);
    const struct figures *first = &stats.users[0].figures;
    cr_expect_eq(first->n_waiting, 2); /* one of them for two resources */
    cr_expect_eq(first->n_leases + first->n_refused, 0);
    cr_expect_eq(first->waits.longest, 57000);
    cr_expect_eq(first->waits.sum, 107000);
    cr_expect_eq(stats.users[1].user.uid.number, 1000);
    cr_expect_eq(stats.users[1].figures.n_waiting, 0);
    cr_expect_eq(resource_of("etl")->all.figures.n_waiting, 2);
    cr_expect_eq(resource_of("gpus")->all.figures.n_waiting, 1);
    cr_expect_eq(resource_of("gpus")->all.figures.waits.longest, 57000);
}

/* The share is one of all users' time all the same. */
Test(stats, of_one_user)
{
    static const char *const two[] = {"ok now=3600000 since=0",
        "ended 1 units=etl:0 uid=1000 how=released ended=3600000 held=1200000 waited=0", "end"};
    COMPUTE(two, now, .uid = {true, 1001});
    cr_assert_eq(stats.n_resources, 1);
    expect_use("etl", 250);
    cr_assert_eq(stats.n_users, 1);
    cr_expect_eq(stats.users[0].user.uid.number, 1001);
    cr_expect_eq(stats.n_ended, 0);
    /* 3600 of 3600 + 1200, and 2 * 60 of leases 7 and 8 */
    cr_assert(stats.users[0].permille.is_given);
    cr_expect_eq(stats.users[0].permille.number, 732);
}

/* Leases of several resources have claims on others. */
Test(stats, of_named_resources)
{
    static char pattern[] = "g*us", name[] = "market/x";
    char *const names[] = {pattern, name};
    static const char *const nothing[] = {"ok", "end"};
    COMPUTE(hour, nothing, .names = names, .n_names = N(names));
    cr_assert_eq(stats.n_resources, 2);
    cr_expect_str_eq(stats.resources[0].all.name, "gpus");
    cr_expect_str_eq(stats.resources[1].all.name, "market/x");
    cr_assert_eq(stats.n_users, 1);
    cr_expect_eq(stats.users[0].figures.n_leases, 2); /* gpus is not its first claim */
    cr_expect_eq(stats.n_ended, 2);
}

/* A short lease that was the first to end has filled a part of the span. */
Test(stats, the_span_of_the_oldest)
{
    static const char *const one[] = {"ok now=3600000 since=3599000",
        "ended 1 units=etl:0-3 uid=0 how=released ended=3599000 held=1000 waited=1000", "end"};
    static const char *const later[] = {"ok now=3600000 since=3597000",
        "ended 1 units=etl:0-3 uid=0 how=released ended=3599000 held=1000 waited=1000", "end"};
    static const char *const limit[] = {"ok", "resource etl kind=semaphore limit=4", "end"};
    COMPUTE(one, limit);
    cr_expect_eq(stats.from, 3597000);
    expect_use("etl", 333);
    COMPUTE(later, limit);
    cr_expect_eq(stats.from, 3597000);
    expect_use("etl", 333);
    COMPUTE(one, limit, .since = {true, 3598000});
    cr_expect_eq(stats.from, 3598000);
    expect_use("etl", 500);
}

/* berthd remembers less than is asked for. */
Test(stats, the_span)
{
    static const char *const little[] = {"ok now=3600000 since=3000000", "end"};
    static const char *const none[] = {"ok now=3600000", "end"};
    COMPUTE(little, now, .since = {true, 1000});
    cr_expect_eq(stats.from, 3000000);
    expect_use("etl", 250); /* 600 of 2400 */
    COMPUTE(none, now, .since = {true, 1000});
    cr_expect_eq(stats.from, 3600000);
    expect_use("etl", -1);
}

/* On a terminal, what says least goes. */
Test(stats, as_a_narrow_table)
{
    struct text out = TEXT_INIT;
    COMPUTE(hour, now);
    stats_table_print(&stats, &past, 80, &out);
    for (const char *line = out.bytes; *line; line = strchr(line, '\n') + 1) {
        cr_expect_leq(strcspn(line, "\n"), 80, "%s", line);
    }
    cr_expect_not_null(strstr(out.bytes,
        "\nRESOURCE  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST   HELD      USE\n"));
    cr_expect_not_null(strstr(out.bytes,
        "\nUSER  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST  IN ALL   HELD    SHARE\n"),
        "%s", out.bytes);
    text_deinit(&out);
}

/* Without berthd, nobody knows who waits. */
Test(stats, as_a_table_of_the_past_alone)
{
    static const char *const parts[] = {
        "leases and waits that ended from 00:00:00 to 01:00:00 (1h00m):\n"
        "median, 95th percentile and longest\n"
        "\n"
        "RESOURCE  LEASES  REFUSED  WAITING  WAITED",
        "\netl            3        1        -      1s",
        "\n1000       1        1        -     30s"};
    static const char *const nothing[] = {"ok", "end"};
    struct text out = TEXT_INIT;
    COMPUTE(hour, nothing);
    stats.knows_no_running = true;
    stats_table_print(&stats, &past, 0, &out);
    expect_parts(&out, parts, N(parts));
}

Test(stats, as_a_table)
{
    struct text out = TEXT_INIT;
    COMPUTE(hour, now);
    stats_table_print(&stats, &past, 0, &out);
    expect_text(&out,
        "complete from 00:00:00 on: this host\n"
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
        "by user, who waited longest in all first\n"
        "USER  LEASES  REFUSED  WAITING  WAITED    95%  LONGEST  IN ALL   HELD     95%  LONGEST"
        "    SHARE\n"
        "1000       1        1        0     30s  1m00s    1m00s   1m30s  3m20s   3m20s    3m20s"
        "  unknown\n"
        "0          4        0        0      0s     1s       1s      1s  6m00s  16m00s   16m00s"
        "  unknown\n"
        "1001       0        0        0       -      -        -       -      -       -        -"
        "  unknown\n");
}

Test(stats, as_json)
{
    struct text out = TEXT_INIT;
    COMPUTE(hour, now);
    stats_json_print(&stats, &past, &out);
    const char *const parts[] = {
        /* in the span: 2 * 360 s, 100 s, 200 s, and an hour of 1001's that is still held */
        "{\"version\":1,\"from_at_ms\":0,\"to_at_ms\":3600000,"
        "\"resources\":[{\"name\":\"etl\",\"leases\":3,\"refused\":1,\"waiting\":0,"
        "\"waited_ms\":{\"median\":1000,\"p95\":60000,\"longest\":60000,\"sum\":91000},"
        "\"held_ms\":{\"median\":200000,\"p95\":960000,\"longest\":960000,\"sum\":1260000},"
        "\"unit_ms\":4620000,\"use\":0.321,\"users\":["
        "{\"uid\":1000,\"user\":null,\"leases\":1,\"refused\":1,\"waiting\":0,"
        "\"waited_ms\":{\"median\":30000,\"p95\":60000,\"longest\":60000,\"sum\":90000},"
        "\"held_ms\":{\"median\":200000,\"p95\":200000,\"longest\":200000,\"sum\":200000},"
        "\"unit_ms\":200000,\"use\":0.014},"
        "{\"uid\":0,\"user\":null,\"leases\":2,\"refused\":0,\"waiting\":0,"
        "\"waited_ms\":{\"median\":0,\"p95\":1000,\"longest\":1000,\"sum\":1000},"
        "\"held_ms\":{\"median\":100000,\"p95\":960000,\"longest\":960000,\"sum\":1060000},"
        "\"unit_ms\":820000,\"use\":0.057},"
        "{\"uid\":1001,\"user\":null,\"leases\":0,\"refused\":0,\"waiting\":0,"
        "\"waited_ms\":null,\"held_ms\":null,\"unit_ms\":3600000,\"use\":0.25}]}",
        /* 0 has one lease of two resources; of "gone" it is not known how long it could be held */
        "\"users\":["
        "{\"uid\":1000,\"user\":null,\"leases\":1,\"refused\":1,\"waiting\":0,"
        "\"waited_ms\":{\"median\":30000,\"p95\":60000,\"longest\":60000,\"sum\":90000},"
        "\"held_ms\":{\"median\":200000,\"p95\":200000,\"longest\":200000,\"sum\":200000},"
        "\"unit_ms\":200000,\"share\":null},"
        "{\"uid\":0,\"user\":null,\"leases\":4,\"refused\":0,\"waiting\":0,"
        "\"waited_ms\":{\"median\":0,\"p95\":1000,\"longest\":1000,\"sum\":1000},"
        "\"held_ms\":{\"median\":360000,\"p95\":960000,\"longest\":960000,\"sum\":1780000},"
        "\"unit_ms\":null,\"share\":null},"
        "{\"uid\":1001,\"user\":null,\"leases\":0,\"refused\":0,\"waiting\":0,"
        "\"waited_ms\":null,\"held_ms\":null,\"unit_ms\":3600000,\"share\":null}],\"gaps\":[],"
        "\"sources\":[{\"database\":null,\"since_at_ms\":0,\"more\":false}]}\n",
    };
    expect_parts(&out, parts, N(parts));
}
