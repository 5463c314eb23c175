/* test_berthctl.c - the parts of berthctl that need no daemon: requests, and the answer to `status`
 * as structs, as a table and as JSON. */
#include "client/ctl_request.h"
#include "table/grid.h"
#include "table/status_table.h"
#include "print_help.h"
#include "status_help.h"
#include "view/json.h"
#include "view/printable.h"
#include "view/users.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

/* ---- requests ---- */

/* What berthd reads is what was meant. */
static void expect_parsed(const struct ctl_request *request, struct request *parsed, char *line)
{
    struct text text = TEXT_INIT;
    const char *detail;
    cr_assert(request_print(request, &text));
    cr_assert_eq(text.bytes[text.length - 1], '\n');
    memcpy(line, text.bytes, text.length);
    line[text.length - 1] = '\0';
    cr_assert_eq(request_parse(line, text.length - 1, parsed, &detail), CODE_NONE);
    text_deinit(&text);
}

Test(request, arguments_arrive_as_they_are)
{
    char *arguments[] = {"a=b c%20", "\x1b\xff="};
    struct ctl_request request = {
        .word = "reserve", .arguments = arguments, .n_arguments = 2, .reason = "fan=broken, 5 %"};
    struct request parsed;
    char line[LINE_BYTES];
    expect_parsed(&request, &parsed, line);
    cr_expect_eq(parsed.command, COMMAND_reserve);
    cr_assert_eq(parsed.n_arguments, 2);
    cr_expect_str_eq(parsed.arguments[0], "a=b c%20");
    cr_expect_str_eq(parsed.arguments[1], "\x1b\xff=");
    cr_expect_str_eq(parsed.keys[KEY_INDEX_reason], "fan=broken, 5 %");
}

Test(request, drain)
{
    struct ctl_request request = {.word = "drain", .wait = true};
    struct request parsed;
    char line[LINE_BYTES];
    expect_parsed(&request, &parsed, line);
    cr_expect_str_eq(parsed.keys[KEY_INDEX_wait], "1");
    request.wait = false;
    expect_parsed(&request, &parsed, line);
    cr_expect_null(parsed.keys[KEY_INDEX_wait]);
}

Test(request, at_most_one_line)
{
    char name[LINE_BYTES + 1];
    char *arguments[] = {name};
    struct ctl_request request = {.word = "pause", .arguments = arguments, .n_arguments = 1};
    size_t max = LINE_BYTES - strlen("pause \n");
    for (size_t n = max; n <= max + 1; n++) {
        struct text text = TEXT_INIT;
        memset(name, 'a', n);
        name[n] = '\0';
        cr_expect_eq(request_print(&request, &text), n == max);
        text_deinit(&text);
    }
}

/* ---- the answer to status ---- */

/* Everything in one answer. */
static const char *const whole[] = {
    "ok draining=0 held=3 waiting=2 new_key=1",
    "resource gpus kind=pool scope=host limit=3 in_use=3 free=0 waiting=2 cooling=1 paused=1"
    " pause_reason=driver%20upgrade paused_by=0 paused_by_login=1000 changed=limit,items items=gpu0,gpu1,gpu2 reserved=gpu1,gpu2"
    " reserve=gpu1,broken%20fan,%20left draining=gpu9 new_key=x",
    "holder 3f9k units=gpu0,gpu9 token=9007199254740993 pid=4711 uid=1000 since=-123456"
    " bound=process holder=job-12 reason=weekly%20load program=train",
    "new_line of=a later=daemon",
    "waiter 3f9m position=1 wants=2 pid=4712 uid=1000 since=-61000 priority=-5 blocked=quota",
    "waiter 3f9n position=2 wants=1 pid=4713 uid=1001 since=-1000 priority=0 program=%1b[2J",
    "resource market/alice kind=semaphore scope=host limit=5 in_use=7 free=0 waiting=0"
    " template=market/* removed=1 reserved=3 reserve=3,spare",
    "holder 3f9p units=0-3,5,... token=7 pid=1 uid=0 since=0",
    "resource deploy kind=lock scope=host limit=0 in_use=0 free=0 waiting=0",
    "end",
};

Test(status, nonsense)
{
    static const char *const lines[] = {
        "",
        "fine",
        "ok draining=0 grace_until=soon",
        "holder 3f9k units=0", /* of no resource */
        "resource",
        "resource a scope=host", /* without a kind */
        "resource a kind=lock limit=-1",
        "resource a kind=lock limit=99999999999999999999",
        "resource a kind=lock paused=2",
        "resource a kind=lock paused=1 pause_reason=%0",
        "resource a kind=lock reserve=0",
        "resource a kind=lock reserve=0,%zz",
        "database",
        "database a",
        "database %zz state=up",
        "database a state=up ttl=-1",
    };
    for (size_t i = 0; i < N(lines); i++) {
        struct status status = {0};
        if (i >= 3) {
            cr_assert_eq(status_take(&status, "ok draining=1"), ANSWER_MORE);
        }
        cr_expect_eq(status_take(&status, (char *)lines[i]), ANSWER_MALFORMED, "%s", lines[i]);
        status_deinit(&status);
    }
}

Test(status, many)
{
    struct status status = {0};
    char line[128];
    cr_assert_eq(status_take(&status, "ok draining=0 held=0 waiting=300"), ANSWER_MORE);
    for (int r = 0; r < 100; r++) {
        snprintf(line, sizeof line, "resource r%d kind=lock", r);
        cr_assert_eq(status_take(&status, line), ANSWER_MORE);
        for (int w = 0; w < 3; w++) {
            snprintf(line, sizeof line, "waiter l%d position=%d", r * 3 + w, w + 1);
            cr_assert_eq(status_take(&status, line), ANSWER_MORE);
        }
    }
    cr_assert_eq(status_take(&status, "end"), ANSWER_END);
    cr_assert_eq(status.n_resources, 100);
    cr_expect_str_eq(status.resources[99].name, "r99");
    cr_expect_str_eq(status.resources[99].leases.list[2].id, "l299");
    status_deinit(&status);
}

Test(status, slots)
{
    uint64_t first, last;
    cr_expect(slots_parse("3", &first, &last));
    cr_expect(first == 3 && last == 3);
    cr_expect(slots_parse("3-7", &first, &last));
    cr_expect(first == 3 && last == 7);
    static const char *const bad[] = {
        "", "-", "3-", "-3", "7-3", "a", "3-7-9", "03", "99999999", "0-99999999", "gpu-1"};
    for (size_t i = 0; i < N(bad); i++) {
        cr_expect_not(slots_parse(bad[i], &first, &last), "%s", bad[i]);
    }
}

/* ---- grid ---- */

static void expect_row(struct grid *grid, size_t row, const char *expected)
{
    struct text out = TEXT_INIT;
    grid_print_row(grid, row, &out);
    expect_text(&out, expected);
}

static void expect_grid(struct grid *grid, const char *expected)
{
    struct text out = TEXT_INIT;
    grid_print(grid, &out);
    expect_text(&out, expected);
}

Test(grid, aligns_and_leaves_out)
{
    struct row {
        const char *a, *n, *never, *z;
    };
    static const struct column columns[] = {
        {"A", COLUMN_STRING(struct row, a)},
        {"N", COLUMN_STRING(struct row, n), .is_right = true},
        {"NEVER", COLUMN_STRING(struct row, never), .is_optional = true},
        {"Z", COLUMN_STRING(struct row, z), .is_optional = true, .min_width = 3},
    };
    static const struct row rows[] = {{"long", "1", NULL, ""}, {"b", "100", "", "abcdefgh"}};
    struct grid grid;
    grid_init(&grid, columns, N(columns), 1);
    for (size_t i = 0; i < N(rows); i++) {
        grid_add_row(&grid, &rows[i], NULL);
    }
    cr_assert_eq(grid_n_rows(&grid), 2);
    expect_grid(&grid,
        " A       N  Z\n"
        " long    1\n"
        " b     100  abcdefgh\n");
    grid_fit(&grid, 18);
    expect_row(&grid, 1, " b     100  abcde>\n");
    grid_fit(&grid, 15); /* no further than `min_width` */
    expect_row(&grid, 1, " b     100  ab>\n");
    grid_fit(&grid, 9); /* and then at the end, which shows it */
    expect_grid(&grid,
        " A      >\n"
        " long   >\n"
        " b     1>\n");
    grid_deinit(&grid);
}

/* A column that gives way comes back if there is room once a wider one has gone. */
Test(grid, puts_back)
{
    struct row {
        const char *a, *narrow, *wide, *first;
    };
    static const struct column columns[] = {
        {"A", COLUMN_STRING(struct row, a)},
        {"B", COLUMN_STRING(struct row, narrow), .gives_way = 2},
        {"C", COLUMN_STRING(struct row, wide), .gives_way = 1},
        {"D", COLUMN_STRING(struct row, first), .gives_way = MAX_COLUMNS},
    };
    static const struct {
        size_t max;
        const char *shown;
    } rows[] = {{23, "a  b  0123456789  first\n"}, {22, "a  b  0123456789\n"},
        {13, "a  0123456789\n"}, {12, "a  b  first\n"}, {10, "a  b\n"}, {3, "a\n"}};
    static const struct row row = {"a", "b", "0123456789", "first"};
    for (size_t i = 0; i < N(rows); i++) {
        struct grid grid;
        grid_init(&grid, columns, N(columns), 0);
        grid_add_row(&grid, &row, NULL);
        grid_leave_out(&grid, rows[i].max);
        expect_row(&grid, 0, rows[i].shown);
        grid_deinit(&grid);
    }
}

/* ---- table ---- */

static uint64_t alice = UINT64_MAX;

static const char *name_of(uint64_t uid)
{
    return uid == alice ? "alice" : NULL;
}

/* The first holder's user has a name. */
static void expect_table(
    const char *const lines[], size_t n, const struct table_style *style, const char *expected)
{
    struct status status = {0};
    struct text out = TEXT_INIT;
    take_status(&status, lines, n);
    if (status.n_resources > 0 && status.resources[0].leases.n > 0 &&
        status.resources[0].leases.list[0].is_held) {
        alice = status.resources[0].leases.list[0].uid;
    }
    user_name = name_of;
    table_print(&status, style, &out);
    alice = UINT64_MAX;
    expect_text(&out, expected);
    status_deinit(&status);
}

Test(table, whole)
{
    expect_table(whole, N(whole), &(struct table_style){0},
        "NAME          KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "gpus          pool           3     3     0     2  paused, reserved, draining, cooling, "
        "changed\n"
        "  paused by 0 (alice): driver upgrade\n"
        "  reserved items: gpu2, gpu1 (broken fan, left)\n"
        "  draining items: gpu9\n"
        "  1 unit cooling down\n"
        "  changed at runtime: limit, items\n"
        "  PLACE  UNITS              AGE   PID  USER   PROGRAM  PRIO  BLOCKED  LEASE  HOLDER  REASON\n"
        "  held   items gpu0,gpu9  2m03s  4711  alice  train                   3f9k   job-12  weekly "
        "load\n"
        "  #1     wants 2          1m01s  4712  alice             -5  quota    3f9m\n"
        "  #2     wants 1             1s  4713  1001   \\x1b[2J                 3f9n\n"
        "market/alice  semaphore      5     7     0     0  removed, over limit, reserved\n"
        "  reserved slots: 3 (spare)\n"
        "  PLACE  UNITS              AGE   PID  USER   PROGRAM  PRIO  BLOCKED  LEASE  HOLDER  REASON\n"
        "  held   slots 0-3,5,...     0s     1  0                              3f9p\n"
        "deploy        lock           0     0     0     0  closed\n"
        "\n"
        "3 resources; 2 held, 2 waiting\n");
}

Test(table, quiet)
{
    static const char *const lines[] = {
        "ok draining=0 held=0 waiting=0",
        "resource deploy kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){.width = 80},
        "NAME    KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "deploy  lock      1     0     1     0\n");
}

Test(table, who_has_changed_what)
{
    static const char *const lines[] = {
        "ok draining=1 drained_at=1 drained_by=60001 drain_reason=new%20disks held=1 waiting=0",
        "resource etl kind=semaphore scope=fleet limit=5 in_use=0 free=5 waiting=0 paused=1 "
        "paused_by=60001 paused_host=web1 changed=limit file_limit=20 changed_by=60002 "
        "changed_by_login=60003 changed_host=web2 change_reason=too%1Bslow",
        "resource g kind=pool scope=host limit=1 in_use=0 free=1 waiting=0 changed=items "
        "change_reason=fan",
        "end"};
    setenv("TZ", "UTC", 1);
    expect_table(lines, N(lines), &(struct table_style){0},
        "draining: this host grants nothing; 1 lease held; since 1970-01-01 00:00:00 by 60001: new "
        "disks\n"
        "NAME  KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "etl   semaphore      5     0     0     0  paused, changed\n"
        "  paused by 60001 on web1\n"
        "  limit 5 (file: 20), by 60002 (60003) on web2: too\\x1bslow\n"
        "g     pool           1     0     0     0  changed\n"
        "  changed at runtime: items: fan\n"
        "\n"
        "2 resources; 0 held, 0 waiting; draining\n");
}

Test(table, draining_host)
{
    static const char *const lines[] = {"ok draining=1 held=2 waiting=0", "end"};
    expect_table(lines, N(lines), &(struct table_style){0},
        "draining: this host grants nothing; 2 leases held\n"
        "NAME  KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "no resources are defined yet\n");
    expect_table(lines, N(lines), &(struct table_style){.is_of_some = true},
        "draining: this host grants nothing; 2 leases held\n"
        "NAME  KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "no resource or template matches that name\n");
}

/* Of a fresh installation, and of a fleet. */
static const char *const templates[] = {
    "ok draining=0 held=0 waiting=0",
    "database b state=down ttl=6000",
    "resource adhoc/report kind=lock scope=host limit=1 in_use=0 free=1 waiting=0 template=adhoc/*",
    "template adhoc/* kind=lock scope=host limit=0 instances=1 paused=1 pause_reason=a%1Bb paused_by=60001 changed=limit "
    "novelty=1",
    "template far/* kind=pool scope=fleet database=b database_state=down limit=3 instances=20",
    "end",
};

Test(table, templates)
{
    static const char *const fresh[] = {
        "ok draining=0 held=0 waiting=0",
        "template adhoc/* kind=lock scope=host limit=1 instances=0",
        "end",
    };
    expect_table(fresh, N(fresh), &(struct table_style){0},
        "NAME     KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "adhoc/*  lock      1     -     -     -  template, 0 instances\n");
    expect_table(templates, N(templates), &(struct table_style){0},
        "NAME          KIND  SCOPE  LIMIT  USED  FREE  WAIT  STATE\n"
        "adhoc/*       lock  host       0     -     -     -  template, 1 instance, paused, closed, "
        "changed\n"
        "  paused by 60001: a\\x1bb\n"
        "  changed at runtime: limit\n"
        "adhoc/report  lock  host       1     0     1     0\n"
        "far/*         pool  fleet      3     -     -     -  template, 20 instances, database down\n"
        "\n"
        "1 resource, 2 templates; 0 held, 0 waiting\n"
        "\n"
        "DATABASE  STATE  TTL\n"
        "b         down    6s\n");
}

/* Several hosts, one of which is this. */
static const char *const of_a_fleet[] = {
    "ok draining=0 held=1 waiting=0",
    "database default state=up ttl=30000 grace_until=41000 good_until=24950 incarnation=3 differing=2 calls=1042"
    " server=10.0.0.7:6379 redis_version=7.0.15 warning=no%20min-replicas%1b[2J new_key=1",
    "database b state=down ttl=6000 incarnation=0 differing=0 calls=0 why=refused%0aroot",
    "resource etl kind=semaphore scope=fleet database=default limit=2 in_use=2 free=0 waiting=0",
    "holder 3f9k units=0 token=7 since=-1000 pid=7 uid=0 host=db1 bound=process",
    "holder 0123456789abcdef/3f9k units=1 token=8 since=-1000 pid=7 uid=0 host=db%1b3",
    "resource far kind=lock scope=fleet database=b database_state=down limit=1 in_use=0 free=0"
    " waiting=0",
    "resource here kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
    "end",
};

Test(table, fleet)
{
    expect_table(of_a_fleet, N(of_a_fleet), &(struct table_style){0},
        "NAME  KIND       SCOPE  LIMIT  USED  FREE  WAIT  STATE\n"
        "etl   semaphore  fleet      2     2     0     0  grace\n"
        "  PLACE  UNITS   AGE  PID  HOST     USER   LEASE\n"
        "  held   slot 0   1s    7  db1      alice  3f9k\n"
        "  held   slot 1   1s    7  db\\x1b3  alice  0123456789abcdef/3f9k\n"
        "far   lock       fleet      1     0     0     0  database down\n"
        "here  lock       host       1     0     1     0\n"
        "\n"
        "3 resources; 2 held, 0 waiting\n"
        "\n"
        "DATABASE  STATE  TTL  GOOD FOR  GRACE  REDIS   SERVER\n"
        "default   up     30s       24s    41s  7.0.15  10.0.0.7:6379\n"
        "  warning: no min-replicas\\x1b[2J\n"
        "  differing: 2 definitions of this host's file differ from the fleet's\n"
        "b         down    6s\n"
        "  why: refused\\x0aroot\n");
}

Test(table, one_definition_differs)
{
    static const char *const lines[] = {
        "ok draining=0 held=0 waiting=0", "database default state=up ttl=6000 differing=1", "end"};
    expect_table(lines, N(lines), &(struct table_style){0},
        "NAME  KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "no resources are defined yet\n"
        "\n"
        "DATABASE  STATE  TTL\n"
        "default   up      6s\n"
        "  differing: 1 definition of this host's file differs from the fleet's\n");
}

/* How leases end: bound to what, how soon, being stopped, without a client. */
static const char *const lives[] = {
    "ok draining=0 held=4 waiting=1 grace_until=8999",
    "resource a kind=semaphore scope=host limit=4 in_use=4 free=0 waiting=1",
    "holder 3a units=0 token=1 pid=11 uid=1 since=-9000 bound=process away=1",
    "holder 3b units=1 token=2 pid=12 uid=1 since=-9000 bound=connection away=1",
    "holder 3c units=2 token=3 pid=13 uid=1 since=-9000 bound=time away=1 until=0",
    "holder 3d units=3 token=4 pid=14 uid=1 since=-9000 bound=process away=1 stopping=max-hold",
    "holder 3e units=4 token=5 pid=15 uid=1 since=-9000 bound=process stopping=%1b until=7200000",
    "waiter 3f position=1 wants=1 pid=16 uid=1 since=-1000 priority=0 away=1",
    "end",
};

Test(table, how_leases_end)
{
    expect_table(lives, N(lives), &(struct table_style){0},
        "grace: berthd has restarted and waits 8s more for its earlier clients to reconnect\n"
        "NAME  KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "a     semaphore      4     4     0     1\n"
        "  PLACE  UNITS    AGE   LEFT  PID  USER   BOUND       STATE                LEASE\n"
        "  held   slot 0    9s          11  alice                                   3a\n"
        "  held   slot 1    9s          12  alice  connection  away                 3b\n"
        "  held   slot 2    9s     0s   13  alice  time                             3c\n"
        "  stops  slot 3    9s          14  alice              stopping (max-hold)  3d\n"
        "  stops  slot 4    9s  2h00m   15  alice              stopping (\\x1b)      3e\n"
        "  #1     wants 1   1s          16  alice              away                 3f\n");
}

/* Who waits for the licence, and for whom two are kept meanwhile. */
static const char *const keeping[] = {
    "ok draining=0 held=1 waiting=3",
    "resource db kind=semaphore scope=host limit=4 in_use=1 free=3 waiting=2 kept=2 kept_for=1",
    "waiter 3f9m position=1 wants=2 since=-61000 pid=1 uid=1000 blocked=other blocker=licence kept=2",
    "waiter 3f9n position=2 wants=1 since=-61000 pid=2 uid=1000 blocked=quota blocker=db",
    "waiter 3f9p position=3 wants=1 since=-61000 pid=3 uid=1000 blocked=quota blocker=gpus",
    "end",
};

Test(table, what_is_kept)
{
    expect_table(keeping, N(keeping), &(struct table_style){0},
        "NAME  KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "db    semaphore      4     1     1     2\n"
        "  2 kept for #1\n"
        "  PLACE  UNITS      AGE  PID  USER  BLOCKED        LEASE\n"
        "  #1     wants 2  1m01s    1  1000  licence        3f9m\n"
        "  #2     wants 1  1m01s    2  1000  quota          3f9n\n"
        "  #3     wants 1  1m01s    3  1000  quota of gpus  3f9p\n");
}

/* By the resource itself, for each of the reasons that there are. */
Test(table, blocked_by_its_own_resource)
{
    static const char *const lines[] = {
        "ok draining=0 held=0 waiting=3",
        "resource a kind=semaphore scope=host limit=1 in_use=0 free=1 waiting=1",
        "waiter 3a position=1 wants=2 since=0 pid=1 uid=7 blocked=other blocker=a",
        "resource b kind=lock scope=host limit=0 in_use=0 free=0 waiting=1",
        "waiter 3b position=1 wants=1 since=0 pid=1 uid=7 blocked=other blocker=b",
        "resource c kind=lock scope=host limit=0 in_use=0 free=0 waiting=1 paused=1",
        "waiter 3c position=1 wants=1 since=0 pid=1 uid=7 blocked=other blocker=c",
        "end",
    };
    expect_table(lines, N(lines), &(struct table_style){0},
        "NAME  KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "a     semaphore      1     0     1     1\n"
        "  PLACE  UNITS    AGE  PID  USER  BLOCKED  LEASE\n"
        "  #1     wants 2   0s    1  7     limit    3a\n"
        "b     lock           0     0     0     1  closed\n"
        "  PLACE  UNITS    AGE  PID  USER  BLOCKED  LEASE\n"
        "  #1     wants 1   0s    1  7     closed   3b\n"
        "c     lock           0     0     0     1  paused, closed\n"
        "  PLACE  UNITS    AGE  PID  USER  BLOCKED  LEASE\n"
        "  #1     wants 1   0s    1  7     paused   3c\n"
        "\n"
        "3 resources; 0 held, 3 waiting\n");
}

static const char *const reasons[] = {
    "ok draining=0 held=1 waiting=0",
    "resource nightly-etl kind=semaphore scope=host limit=4 in_use=1 free=3 waiting=0",
    "holder 3f9kx7w units=0 token=7 pid=1234567 uid=1000 since=-7980000 holder=warehouse-loader"
    " program=etl-load reason=weekly%20load%20of%20the%20warehouse,%20ask%20Anna",
    "end",
};

Test(table, cut_on_a_terminal_only)
{
    expect_table(reasons, N(reasons), &(struct table_style){.width = 80},
        "NAME         KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "nightly-etl  semaphore      4     1     3     0\n"
        "  PLACE  UNITS     AGE  USER   PROGRAM   LEASE    HOLDER          REASON\n"
        "  held   slot 0  2h13m  alice  etl-load  3f9kx7w  warehouse-loa>  weekly load o>\n");
    expect_table(reasons, N(reasons), &(struct table_style){.width = 120},
        "NAME         KIND       LIMIT  USED  FREE  WAIT  STATE\n"
        "nightly-etl  semaphore      4     1     3     0\n"
        "  PLACE  UNITS     AGE      PID  USER   PROGRAM   LEASE    HOLDER            REASON\n"
        "  held   slot 0  2h13m  1234567  alice  etl-load  3f9kx7w  warehouse-loader"
        "  weekly load of the warehouse, ask Anna\n");
}

Test(table, long_queues_are_counted)
{
    struct status status = {0};
    struct text out = TEXT_INIT;
    char line[128];
    cr_assert_eq(status_take(&status, "ok draining=0 held=0 waiting=5"), ANSWER_MORE);
    for (int r = 0; r < 2; r++) {
        snprintf(line, sizeof line, "resource r%d kind=lock limit=1 waiting=5", r);
        cr_assert_eq(status_take(&status, line), ANSWER_MORE);
        for (int w = 0; w < 5 - r; w++) {
            snprintf(line, sizeof line, "waiter l%d%d position=%d wants=1 since=0 pid=9", r, w,
                w + 1);
            cr_assert_eq(status_take(&status, line), ANSWER_MORE);
        }
    }
    table_print(&status, &(struct table_style){.max_leases = 2}, &out);
    expect_text(&out,
        "NAME  KIND  LIMIT  USED  FREE  WAIT  STATE\n"
        "r0    lock      1     0     0     5\n"
        "  PLACE  UNITS    AGE  PID  USER  LEASE\n"
        "  #1     wants 1   0s    9  0     l00\n"
        "  #2     wants 1   0s    9  0     l01\n"
        "  ... and 3 more waiting: name the resource to see all\n"
        "r1    lock      1     0     0     5\n"
        "  PLACE  UNITS    AGE  PID  USER  LEASE\n"
        "  #1     wants 1   0s    9  0     l10\n"
        "  #2     wants 1   0s    9  0     l11\n"
        "  ... and 2 more waiting: name the resource to see all\n"
        "\n"
        "2 resources; 0 held, 9 waiting\n");
    status_deinit(&status);
}

/* ---- JSON ---- */

static void print_json(const char *const lines[], size_t n, struct text *out)
{
    struct status status = {0};
    take_status(&status, lines, n);
    json_print(&status, out);
    status_deinit(&status);
}

static void expect_json(
    const char *const lines[], size_t n, const char *const parts[], size_t n_parts)
{
    struct text out = TEXT_INIT;
    print_json(lines, n, &out);
    expect_parts(&out, parts, n_parts);
}

#define NOT_DRAINED \
    "\"drained_at\":null,\"drained_by_uid\":null,\"drained_by_user\":null," \
    "\"drained_by_login_uid\":null,\"drained_by_login_user\":null,\"drain_reason\":null,"
#define NOT_SINCE "\"paused_at\":null,\"paused_host\":null,"
#define NOT_SAID \
    "\"file_limit\":null,\"changed_at\":null,\"changed_by_uid\":null,\"changed_by_user\":null," \
    "\"changed_by_login_uid\":null,\"changed_by_login_user\":null,\"changed_host\":null," \
    "\"change_reason\":null"

Test(json, whole)
{
    struct text out = TEXT_INIT;
    print_json(whole, N(whole), &out);
    expect_text(&out,
        "{\"version\":1,\"draining\":false," NOT_DRAINED "\"held\":3,\"waiting\":2,\"granting\":null,"
        "\"grace_until\":null,\"closed\":null,\"now\":null,"
        "\"resources\":[{\"name\":\"gpus\",\"kind\":\"pool\",\"scope\":\"host\","
        "\"database\":null,\"database_state\":null,\"limit\":3,\"in_use\":3,\"free\":0,"
        "\"waiting\":2,\"kept\":0,\"kept_for\":null,\"cooling\":1,"
        "\"rate\":null,\"burst\":null,\"next\":null,\"also\":[],\"paused\":true,"
        "\"pause_reason\":\"driver upgrade\",\"paused_by_uid\":0,\"paused_by_user\":null,"
        "\"paused_by_login_uid\":1000,\"paused_by_login_user\":null," NOT_SINCE "\"removed\":false,"
        "\"template\":null,\"order\":null,\"changed\":[\"limit\",\"items\"]," NOT_SAID ",\"grantable\":0,"
        "\"items\":[{\"name\":\"gpu0\",\"state\":\"held\",\"reason\":null},"
        "{\"name\":\"gpu1\",\"state\":\"reserved\",\"reason\":\"broken fan, left\"},"
        "{\"name\":\"gpu2\",\"state\":\"reserved\",\"reason\":null},"
        "{\"name\":\"gpu9\",\"state\":\"draining\",\"reason\":null}],\"items_cut\":false,"
        "\"holders\":[{\"lease\":\"3f9k\",\"token\":\"9007199254740993\",\"since\":-123456,"
        "\"bound\":\"process\",\"all\":false,\"away\":false,\"until\":null,"
        "\"shares\":null,\"stopping\":null,"
        "\"unread\":false,\"pid\":4711,\"uid\":1000,\"host\":null,\"hidden\":false,"
        "\"holder\":\"job-12\",\"user\":null,\"share\":null,\"program\":\"train\",\"reason\":\"weekly load\","
        "\"units\":[\"gpu0\",\"gpu9\"],\"units_cut\":false}],"
        "\"waiters\":[{\"lease\":\"3f9m\",\"position\":1,\"wants\":2,\"since\":-61000,"
        "\"priority\":-5,\"all\":false,\"away\":false,\"blocked\":\"quota\","
        "\"blocker\":null,\"kept\":0,"
        "\"pid\":4712,\"uid\":1000,\"host\":null,\"hidden\":false,\"holder\":null,\"user\":null,"
        "\"share\":null,\"program\":null,\"reason\":null},"
        "{\"lease\":\"3f9n\",\"position\":2,\"wants\":1,\"since\":-1000,\"priority\":0,"
        "\"all\":false,\"away\":false,\"blocked\":null,\"blocker\":null,\"kept\":0,"
        "\"pid\":4713,\"uid\":1001,"
        "\"host\":null,\"hidden\":false,\"holder\":null,\"user\":null,\"share\":null,\"program\":\"\\u001B[2J\","
        "\"reason\":null}]},"
        "{\"name\":\"market/alice\",\"kind\":\"semaphore\",\"scope\":\"host\",\"database\":null,"
        "\"database_state\":null,\"limit\":5,\"in_use\":7,\"free\":0,\"waiting\":0,\"kept\":0,"
        "\"kept_for\":null,\"cooling\":0,\"rate\":null,\"burst\":null,\"next\":null,\"also\":[],"
        "\"paused\":false,\"pause_reason\":null,"
        "\"paused_by_uid\":null,\"paused_by_user\":null,\"paused_by_login_uid\":null,"
        "\"paused_by_login_user\":null," NOT_SINCE "\"removed\":true,\"template\":\"market/*\",\"order\":null,\"changed\":[]," NOT_SAID ","
        "\"grantable\":0,"
        "\"items\":[{\"name\":3,\"state\":\"reserved\",\"reason\":\"spare\"}],"
        "\"items_cut\":false,"
        "\"holders\":[{\"lease\":\"3f9p\",\"token\":\"7\",\"since\":0,\"bound\":null,"
        "\"all\":false,\"away\":false,\"until\":null,\"shares\":null,\"stopping\":null,"
        "\"unread\":false,\"pid\":1,\"uid\":0,"
        "\"host\":null,\"hidden\":false,\"holder\":null,\"user\":null,\"share\":null,\"program\":null,"
        "\"reason\":null,\"units\":[0,1,2,3,5],\"units_cut\":true}],\"waiters\":[]},"
        "{\"name\":\"deploy\",\"kind\":\"lock\",\"scope\":\"host\",\"database\":null,"
        "\"database_state\":null,\"limit\":0,\"in_use\":0,\"free\":0,\"waiting\":0,\"kept\":0,"
        "\"kept_for\":null,\"cooling\":0,\"rate\":null,\"burst\":null,\"next\":null,\"also\":[],"
        "\"paused\":false,\"pause_reason\":null,"
        "\"paused_by_uid\":null,\"paused_by_user\":null,\"paused_by_login_uid\":null,"
        "\"paused_by_login_user\":null," NOT_SINCE "\"removed\":false,\"template\":null,\"order\":null,\"changed\":[]," NOT_SAID ","
        "\"grantable\":0,\"items\":[],\"items_cut\":false,\"holders\":[],\"waiters\":[]}],"
        "\"templates\":[],\"databases\":[]}\n");
}

Test(json, what_is_kept)
{
    static const char *const parts[] = {
        "\"free\":3,\"waiting\":2,\"kept\":2,\"kept_for\":1,",
        "\"grantable\":1,",
        "\"blocked\":\"other\",\"blocker\":\"licence\",\"kept\":2,",
        "\"blocked\":\"quota\",\"blocker\":\"db\",\"kept\":0,",
    };
    expect_json(keeping, N(keeping), parts, N(parts));
}

Test(json, fleet)
{
    static const char *const parts[] = {
        "\"scope\":\"fleet\",\"database\":\"default\",\"database_state\":null,",
        "\"lease\":\"3f9k\"",
        "\"host\":\"db1\"",
        "\"lease\":\"0123456789abcdef/3f9k\"",
        "\"host\":\"db\\u001B3\"",
        "\"database\":\"b\",\"database_state\":\"down\",",
        "\"scope\":\"host\",\"database\":null,",
        "\"databases\":[{\"name\":\"default\",\"state\":\"up\",\"ttl_ms\":30000,"
        "\"grace_until\":41000,\"new\":false,\"good_until\":24950,\"incarnation\":3,"
        "\"differing\":2,\"calls\":1042,",
        "\"server\":\"10.0.0.7:6379\",\"redis_version\":\"7.0.15\","
        "\"warning\":\"no min-replicas\\u001B[2J\",\"lacks\":[],\"why\":null},",
        "{\"name\":\"b\",\"state\":\"down\",\"ttl_ms\":6000,\"grace_until\":null,\"new\":false,"
        "\"good_until\":null,\"incarnation\":0,\"differing\":0,\"calls\":0,",
        "\"server\":null,\"redis_version\":null,\"warning\":null,\"lacks\":[],"
        "\"why\":\"refused\\nroot\"}]}\n",
    };
    expect_json(of_a_fleet, N(of_a_fleet), parts, N(parts));
}

Test(json, templates)
{
    static const char *const parts[] = {
        ",\"templates\":["
        "{\"name\":\"adhoc/*\",\"kind\":\"lock\",\"scope\":\"host\",\"database\":null,"
        "\"database_state\":null,\"limit\":0,\"instances\":1,"
        "\"rate\":null,\"burst\":null,\"also\":[],\"paused\":true,"
        "\"pause_reason\":\"a\\u001Bb\",\"paused_by_uid\":60001,\"paused_by_user\":null,"
        "\"paused_by_login_uid\":null,\"paused_by_login_user\":null," NOT_SINCE
        "\"order\":null,\"changed\":[\"limit\"]," NOT_SAID "},"
        "{\"name\":\"far/*\",\"kind\":\"pool\",\"scope\":\"fleet\",\"database\":\"b\","
        "\"database_state\":\"down\",\"limit\":3,\"instances\":20,"
        "\"rate\":null,\"burst\":null,\"also\":[],\"paused\":false,"
        "\"pause_reason\":null,\"paused_by_uid\":null,\"paused_by_user\":null,"
        "\"paused_by_login_uid\":null,\"paused_by_login_user\":null," NOT_SINCE
        "\"order\":null,\"changed\":[]," NOT_SAID "}],"
        "\"databases\":[",
    };
    expect_json(templates, N(templates), parts, N(parts));
}

Test(json, how_leases_end)
{
    static const char *const ends[] = {
        "\"grace_until\":8999,",
        "\"bound\":\"process\",\"all\":false,\"away\":true,\"until\":null,"
        "\"shares\":null,\"stopping\":null,",
        "\"bound\":\"connection\",\"all\":false,\"away\":true,\"until\":null,"
        "\"shares\":null,\"stopping\":null,",
        "\"bound\":\"time\",\"all\":false,\"away\":true,\"until\":0,"
        "\"shares\":null,\"stopping\":null,",
        "\"bound\":\"process\",\"all\":false,\"away\":true,\"until\":null,"
        "\"shares\":null,\"stopping\":\"max-hold\",",
        "\"bound\":\"process\",\"all\":false,\"away\":false,\"until\":7200000,"
        "\"shares\":null,\"stopping\":\"\\u001B\",",
        "\"since\":-1000,\"priority\":0,\"all\":false,\"away\":true,",
    };
    expect_json(lives, N(lives), ends, N(ends));
}

/* Whatever a client wrote: printable ASCII, and the same again once parsed. */
Test(json, nothing_unescaped)
{
    static const char *const lines[] = {
        "ok draining=1 held=1 waiting=0",
        "resource a kind=lock limit=1",
        "holder b units=0 reason=%1b%0a%7f%c2%9b%e2%80%ae%22%5c%ff program=J%c3%bcrgen",
        "end",
    };
    struct text out = TEXT_INIT;
    print_json(lines, N(lines), &out);
    for (const char *c = out.bytes; c[1]; c++) {
        cr_expect(*c >= ' ' && *c < 0x7f);
    }
    json_t *root = json_loads(out.bytes, 0, NULL);
    cr_assert(root);
    cr_expect(json_is_true(json_object_get(root, "draining")));
    json_t *resource = json_array_get(json_object_get(root, "resources"), 0);
    json_t *holder = json_array_get(json_object_get(resource, "holders"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(holder, "reason")),
        "\x1b\n\x7f\xc2\x9b\xe2\x80\xae\"\\\\xff");
    cr_expect_str_eq(json_string_value(json_object_get(holder, "program")), "J\xc3\xbcrgen");
    json_decref(root);
    text_deinit(&out);
}
