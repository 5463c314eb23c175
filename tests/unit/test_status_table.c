/* test_status_table.c - what `berthctl status` chooses of an answer, in which order, and what a
 * terminal makes of the table. */
#include "print_help.h"
#include "status_help.h"
#include "table/status_filter.h"
#include "table/status_table.h"
#include "view/json.h"

#include <stdio.h>
#include <string.h>

/* Two templates with instances, in no order, and resources of the file. */
static const char *const answer[] = {
    "ok draining=0 held=4 waiting=2",
    "resource etl kind=semaphore scope=host limit=4 in_use=3 free=1 waiting=0",
    "holder 1 units=0-2 token=1 pid=11 uid=7 since=-5000 bound=process",
    "resource deploy kind=lock scope=host limit=1 in_use=1 free=0 waiting=1",
    "holder 1 units=0 token=2 pid=11 uid=7 since=-5000 bound=process",
    "waiter 2 position=1 wants=1 pid=12 uid=8 since=-9000",
    "resource idle kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
    "resource t/x10 kind=lock scope=host limit=1 in_use=1 free=0 waiting=0 template=t/*",
    "holder 3 units=0 token=3 pid=13 uid=8 since=-1000 bound=process",
    "resource gone/a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0 template=gone/* removed=1",
    "holder 4 units=0 token=4 pid=14 uid=8 since=-1000 bound=process",
    "resource t/x9 kind=lock scope=host limit=1 in_use=1 free=0 waiting=1 template=t/*",
    "holder 5 units=0 token=5 pid=15 uid=9 since=-1000 bound=process",
    "waiter 6 position=1 wants=1 pid=16 uid=8 since=-1000",
    "resource u/y kind=lock scope=host limit=1 in_use=0 free=1 waiting=0 template=u/*",
    "template t/* kind=lock scope=host limit=1 instances=2",
    "template u/* kind=lock scope=host limit=1 instances=1",
    "template v/* kind=lock scope=host limit=1 instances=0",
    "end",
};

/* The first words of all lines of the table but those of leases, and the summary. */
static void expect_names(const struct status_filter *choice, const char *expected)
{
    struct status status = {0};
    struct text out = TEXT_INIT, names = TEXT_INIT;
    take_status(&status, answer, N(answer));
    status_choose(&status, choice);
    table_print(&status, &(struct table_style){.sort = choice->sort}, &out);
    char *rest = out.bytes, *line;
    while ((line = strsep(&rest, "\n")) && strcmp(line, "") != 0) {
        if (line[0] != ' ') {
            text_add_bytes(&names, line, strcspn(line, " "));
            text_add(&names, " ");
        }
    }
    text_add(&names, rest ? rest : "");
    expect_text(&names, expected);
    text_deinit(&out);
    status_deinit(&status);
}

Test(status_table, instances_stand_below_their_templates)
{
    expect_names(&(struct status_filter){0},
        "NAME etl deploy idle gone/a t/* t/x9 t/x10 u/* u/y v/* "
        "7 resources, 3 templates; 4 held, 2 waiting\n");
}

Test(status_table, what_is_busy)
{
    expect_names(&(struct status_filter){.busy = true},
        "NAME etl deploy gone/a t/* t/x9 t/x10 "
        "5 of 7 resources, 1 template; 4 held, 2 waiting\n");
}

Test(status_table, of_a_user)
{
    expect_names(&(struct status_filter){.uid = {true, 8}},
        "NAME deploy gone/a t/* t/x9 t/x10 "
        "4 of 7 resources, 1 template; 2 held, 2 waiting\n");
    expect_names(&(struct status_filter){.uid = {true, 7}},
        "NAME etl deploy 2 of 7 resources; 1 held, 0 waiting\n");
    expect_names(&(struct status_filter){.uid = {true, 9}},
        "NAME t/* t/x9 1 of 7 resources, 1 template; 1 held, 0 waiting\n");
    expect_names(&(struct status_filter){.uid = {true, 1}}, "NAME no ");
}

Test(status_table, sorted)
{
    static const struct {
        const char *word, *names;
    } rows[] = {
        {"name", "NAME deploy etl gone/a idle t/x9 t/x10 u/y t/* u/* v/* "},
        {"kind", "NAME deploy idle t/x10 gone/a t/x9 u/y etl t/* u/* v/* "},
        {"limit", "NAME etl deploy idle t/x10 gone/a t/x9 u/y t/* u/* v/* "},
        {"used", "NAME etl deploy t/x10 gone/a t/x9 idle u/y t/* u/* v/* "},
        {"free", "NAME etl idle u/y deploy t/x10 gone/a t/x9 t/* u/* v/* "},
        {"wait", "NAME deploy t/x9 etl idle t/x10 gone/a u/y t/* u/* v/* "},
        {"age", "NAME deploy etl t/x10 gone/a t/x9 idle u/y t/* u/* v/* "},
    };
    for (size_t i = 0; i < N(rows); i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "%s7 resources, 3 templates; 4 held, 2 waiting\n",
            rows[i].names);
        cr_assert_str_eq(sort_rows[i].word, rows[i].word);
        expect_names(&(struct status_filter){.sort = sort_find(rows[i].word)}, expected);
    }
    cr_expect_null(sort_rows[N(rows)].word);
    cr_expect_null(sort_find("NAME"));
}

/* JSON has the same choice; without --sort, its resources stay in the order of the answer. */
Test(status_table, json_has_the_same)
{
    struct status status = {0};
    struct text out = TEXT_INIT;
    take_status(&status, answer, N(answer));
    status_choose(&status, &(struct status_filter){.uid = {true, 8}});
    json_print(&status, &out);
    const char *x10 = strstr(out.bytes, "t/x10"), *x9 = strstr(out.bytes, "t/x9");
    cr_expect(x10 && x9 && x10 < x9);
    cr_expect_null(strstr(out.bytes, "\"etl\""));
    cr_expect_null(strstr(out.bytes, "\"uid\":7"));
    cr_expect(strstr(out.bytes, "\"uid\":8"));
    text_deinit(&out);
    status_deinit(&status);
}

/* ---- what could be granted now ---- */

static void expect_grantable(const char *ok, const char *resource, uint64_t expected)
{
    const char *const lines[] = {ok, "database d state=up ttl=6000 grace_until=5000",
        "database e state=up ttl=6000", resource, "end"};
    struct status status = {0};
    take_status(&status, lines, N(lines));
    cr_expect_eq(status_grantable(&status, status.resources), expected, "%s: %s", ok, resource);
    status_deinit(&status);
}

Test(status_table, what_could_be_granted)
{
    static const char plain[] = "resource a kind=semaphore scope=host limit=4 in_use=1 free=3";
    expect_grantable("ok draining=0", plain, 3);
    expect_grantable("ok draining=1 granting=0", plain, 0);
    expect_grantable("ok draining=1", plain, 0);
    expect_grantable("ok draining=0 granting=0 grace_until=900", plain, 0);
    expect_grantable("ok draining=0 grace_until=900", plain, 3);
    expect_grantable("ok draining=0", "resource a kind=semaphore free=3 kept=2 kept_for=1", 1);
    expect_grantable("ok draining=0", "resource a kind=semaphore free=3 kept=9 kept_for=1", 0);
    expect_grantable("ok draining=0", "resource a kind=semaphore free=3 database=d", 0);
    expect_grantable("ok draining=0", "resource a kind=semaphore free=3 database=e", 3);
}

/* ---- terminals ---- */

static void expect_table(
    const char *const lines[], size_t n, const struct table_style *style, const char *expected)
{
    struct status status = {0};
    struct text out = TEXT_INIT;
    take_status(&status, lines, n);
    table_print(&status, style, &out);
    expect_text(&out, expected);
    status_deinit(&status);
}

/* Nothing that a client wrote has a colour of its own. */
Test(status_table, colours)
{
    static const char *const lines[] = {
        "ok draining=1 held=1 waiting=1",
        "database d state=down ttl=6000",
        "resource a kind=lock scope=fleet database=d database_state=down limit=1 in_use=1 waiting=1"
        " paused=1 pause_reason=%1b[35mpink",
        "waiter 1 position=1 wants=1 since=0 pid=1 uid=7 blocked=other blocker=b away=1",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){.is_coloured = true},
        "\x1b[33mdraining: this host grants nothing; 1 lease held\n\x1b[0m"
        "\x1b[1mNAME\x1b[0m  \x1b[1mKIND\x1b[0m  \x1b[1mSCOPE\x1b[0m  \x1b[1mLIMIT\x1b[0m  "
        "\x1b[1mUSED\x1b[0m  \x1b[1mFREE\x1b[0m  \x1b[1mWAIT\x1b[0m  \x1b[1mSTATE\x1b[0m\n"
        "a     lock  fleet      1     1     0     \x1b[33m1\x1b[0m  "
        "\x1b[31mpaused, database down\x1b[0m\n"
        "  paused: \\x1b[35mpink\n"
        "  \x1b[2mPLACE\x1b[0m  \x1b[2mUNITS\x1b[0m    \x1b[2mAGE\x1b[0m  \x1b[2mPID\x1b[0m  "
        "\x1b[2mUSER\x1b[0m  \x1b[2mBLOCKED\x1b[0m  \x1b[2mSTATE\x1b[0m  \x1b[2mLEASE\x1b[0m\n"
        "  #1     wants 1   0s    1  7     \x1b[33mb\x1b[0m        \x1b[33maway\x1b[0m   1\n"
        "\n"
        "\x1b[1mDATABASE\x1b[0m  \x1b[1mSTATE\x1b[0m  \x1b[1mTTL\x1b[0m\n"
        "d         \x1b[31mdown\x1b[0m    6s\n");
}

Test(status_table, why_the_host_is_closed)
{
    static const char *const lines[] = {
        "ok draining=0 held=0 waiting=0 granting=0 closed=numbers%20are%20ahead",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){0},
        "closed: this host grants nothing: numbers are ahead\n"
        "NAME  KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "no resources are defined yet\n");
}

/* What says least about a lease goes. */
Test(status_table, narrow)
{
    static const char *const lines[] = {
        "ok draining=0 held=1 waiting=1",
        "resource s kind=semaphore limit=1 in_use=1",
        "holder 1k0r2jf5ee4 units=0 pid=4194304 uid=1000 since=0 host=build-host-7 program=make"
        " bound=time until=9000000 holder=nightly reason=new%20disks",
        "waiter 2 pid=7 uid=1000 since=0 wants=1",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){.width = 80},
        "NAME  KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "s     semaphore      1     1     0     0\n"
        "  PLACE  UNITS    AGE  HOST       USER  PROGRAM  LEASE        HOLDER   REASON\n"
        "  held   slot 0    0s  build-ho>  1000  make     1k0r2jf5ee4  nightly  new disks\n"
        "  waits  wants 1   0s             1000           2\n");
}

/* An id is never cut: the longest that there is has room in 80 columns. */
Test(status_table, ids_are_whole)
{
    static const char *const lines[] = {
        "ok draining=0 held=1 waiting=1",
        "resource s kind=semaphore limit=20 in_use=20 free=0 waiting=1",
        "holder 0123456789abcdef/fzzzzzzzzzzzz units=10-19 pid=4194304 uid=1000 since=-7300000"
        " host=build-host-7 program=compile-it until=9000000 holder=nightly reason=new%20disks",
        "waiter 2 pid=7 uid=1000 since=0 wants=1 priority=-7 blocked=other blocker=licences",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){.width = 80},
        "NAME  KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "s     semaphore     20    20     0     1\n"
        "  PLACE  UNITS          AGE  USER  PROGRAM     LEASE\n"
        "  held   slots 10-19  2h01m  1000  compile-it  0123456789abcdef/fzzzzzzzzzzzz\n"
        "  waits  wants 1         0s  1000              2\n");
}

/* Of long names the end tells most. */
Test(status_table, long_names)
{
    static const char *const lines[] = {
        "ok draining=0 held=0 waiting=0",
        "resource customers/of-the-north/with-long-names/c1 kind=semaphore limit=5 free=5",
        "resource customers/of-the-north/with-long-names/c2 kind=semaphore limit=5 free=5 paused=1",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){.width = 60},
        "NAME              KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "custome>names/c1  semaphore      5     0     5     0\n"
        "custome>names/c2  semaphore      5     0     5     0  paused\n"
        "\n"
        "2 resources; 0 held, 0 waiting\n");
}
