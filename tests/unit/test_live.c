/* test_live.c - the copy that the lines of `watch` make, and who hears of its changes
 * (view/live.h). */
#include "base/memory.h"
#include "print_help.h"
#include "view/live.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND NANOSECONDS_PER_SECOND

static struct live live;
static struct text heard; /* a line for each call of the watcher */

/* ---- a watcher that writes down what it hears ---- */

static void hear(const char *what, const char *name)
{
    text_add_format(&heard, "%s %s\n", what, name);
}

static void hear_begun(void *context)
{
    (void)context;
    hear("begun", "");
}

static void hear_host(void *context, const struct status *before, const struct status *now)
{
    (void)context;
    text_add_format(&heard, "host %d>%d held %llu>%llu\n", before->draining, now->draining,
        (unsigned long long)before->held, (unsigned long long)now->held);
}

static void hear_record(void *context, enum status_line kind, const void *before, const void *now)
{
    const char *name = *(const char *const *)(before ? before : now);
    (void)context;
    if (kind == LINE_DATABASE) {
        const struct status_database *was = before, *is = now;
        text_add_format(&heard, "database %s %s>%s\n", name, was ? was->state : "",
            is ? is->state : "");
    } else {
        const struct status_resource *was = before, *is = now;
        text_add_format(&heard, "%s %s %d>%d\n", kind == LINE_RESOURCE ? "resource" : "template",
            name, was ? (int)was->limit : -1, is ? (int)is->limit : -1);
    }
}

static void hear_lease(void *context, const struct live_lease *lease)
{
    static const char *const standings[] = {"absent", "waits", "holds"};
    static const char *const events[] = {"gone", "waits", "granted"};
    (void)context;
    if (lease->state == lease->previous_state) {
        text_add_format(&heard, "changed %s %s>%s\n", lease->shown.id,
            lease->before.stopping ? lease->before.stopping : "",
            lease->shown.stopping ? lease->shown.stopping : "");
    } else {
        text_add_format(&heard, "%s %s %s, %s before, pid %d\n", events[lease->state],
            lease->resource->shown.name, lease->shown.id, standings[lease->previous_state],
            (int)lease->shown.pid);
    }
}

static void hear_ended(void *context, const struct past_lease *lease)
{
    (void)context;
    text_add_format(&heard, "ended %s %s\n", lease->id, lease->how);
}

static void hear_missed(void *context)
{
    (void)context;
    hear("missed", "");
}

static const struct live_watcher watcher = {
    .begun = hear_begun,
    .host = hear_host,
    .record = hear_record,
    .lease = hear_lease,
    .ended = hear_ended,
    .missed = hear_missed,
};

/* ---- helpers ---- */

static void setup(void)
{
    live_init(&live);
    live_watch(&live, &watcher);
}

static void teardown(void)
{
    live_deinit(&live);
    text_deinit(&heard);
}

TestSuite(live, .init = setup, .fini = teardown);

/* Lines, each with its LF; none of them ends a batch but "end". */
static void take(nanoseconds now, const char *lines)
{
    char *copy = strdup(lines), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && rest;) {
        bool is_end = strncmp(line, "end", 3) == 0 && (line[3] == '\0' || line[3] == ' ');
        cr_assert_eq(live_take(&live, line, now), is_end ? LIVE_END : LIVE_MORE, "%s", line);
    }
    free(copy);
}

static void expect_heard(const char *expected)
{
    expect_text(&heard, expected);
}

/* "holders | waiters" of a resource, in order, with the places of the waiters. */
static void expect_leases(const char *name, const char *expected)
{
    struct text text = TEXT_INIT;
    const struct status *status = live_status(&live, 0);
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        if (strcmp(resource->name, name) != 0) {
            continue;
        }
        cr_assert_str_eq(live_resource_at(&live, i)->shown.name, name);
        const struct status_lease *lease = resource->leases.list;
        const struct status_lease *end = lease + resource->leases.n;
        for (; lease < end && lease->is_held; lease++) {
            text_add_format(&text, "%s ", lease->id);
        }
        text_add(&text, "|");
        for (; lease < end; lease++) {
            text_add_format(&text, " %llu:%s", (unsigned long long)lease->position, lease->id);
        }
    }
    expect_text(&text, expected);
}

#define ETL "resource etl kind=semaphore scope=host limit=2 in_use=2 free=0 waiting=2\n"
#define GPUS "resource gpus kind=pool scope=host limit=1 in_use=0 free=1 waiting=0 items=gpu0\n"
#define HOLDER "holder a resource=etl units=0-1 token=7 since=-5000 bound=process pid=11 uid=1000\n"
#define FIRST "waiter b resource=etl wants=1 since=-900 priority=0 ticket=8 pid=12 uid=1000\n"
#define SECOND_ "waiter c resource=etl wants=1 since=-800 priority=0 ticket=9 pid=13 uid=1000\n"
#define OK "ok draining=0 held=1 waiting=2\n"
#define SNAPSHOT "snapshot\n" ETL HOLDER FIRST SECOND_ GPUS "end\n"

static void begin(void)
{
    take(100 * SECOND, OK SNAPSHOT);
    text_deinit(&heard);
}

/* ---- the copy ---- */

Test(live, a_snapshot_is_a_copy)
{
    take(100 * SECOND, OK SNAPSHOT);
    expect_heard("begun \n");
    expect_leases("etl", "a | 1:b 2:c");
    const struct status *status = live_status(&live, 103 * SECOND);
    cr_expect_eq(status->held, 1);
    cr_expect_eq(status->n_resources, 2);
    cr_expect_eq(status_since(status, &status->resources[0].leases.list[0].since), 8000);
    cr_expect_eq(status_since(status, &status->resources[0].leases.list[2].since), 3800);
    cr_expect_eq(status_grantable(status, &status->resources[1]), 1);
    cr_expect_str_eq(status->resources[1].items.list[0], "gpu0");
}

Test(live, the_queue_is_in_order_of_priority_and_ticket)
{
    begin();
    take(0,
        "waiter d resource=etl wants=1 since=0 priority=0 ticket=3 pid=1 uid=0\n"
        "waiter e resource=etl wants=1 since=0 priority=-5 ticket=1 pid=1 uid=0\n"
        "waiter f resource=etl wants=1 since=0 priority=5 ticket=20 pid=1 uid=0\n"
        "waiter g resource=etl wants=1 since=0 priority=0 ticket=9 pid=1 uid=0\n"
        "end\n");
    expect_leases("etl", "a | 1:f 2:d 3:b 4:c 5:g 6:e");
    take(0, "waiter h resource=etl wants=1 since=0 priority=0 pid=1 uid=0\nend\n");
    expect_leases("etl", "a | 1:f 2:d 3:b 4:c 5:g 6:h 7:e");
    take(0, "gone h resource=etl\nend\n");
    take(0,
        "gone b resource=etl\nwaiter e resource=etl wants=1 since=0 priority=9 ticket=1 pid=1\n"
        "end\n");
    expect_leases("etl", "a | 1:e 2:f 3:d 4:c 5:g");
#define MOVED(lease, ticket)                                                                       \
    "waiter " lease " resource=etl wants=1 since=0 priority=0 ticket=" ticket " pid=1\n"
    take(0, MOVED("c", "9007199254740900") MOVED("g", "9007199254740899") MOVED("d", "21") "end\n");
    expect_leases("etl", "a | 1:g 2:c 3:e 4:f 5:d");
#undef MOVED
}

Test(live, a_batch_says_what_has_changed)
{
    begin();
    take(110 * SECOND,
        "host draining=1 held=1 waiting=1\n"
        "gone a resource=etl\n"
        "holder b resource=etl units=0 token=9 since=0 bound=process pid=12 uid=1000\n"
        "waiter d resource=gpus wants=1 since=0 priority=0 ticket=10 pid=14 uid=1000\n"
        "resource etl kind=semaphore scope=host limit=3 in_use=1 free=1 waiting=1\n"
        "ended a units=etl:0-1 uid=1000 how=released ended=1795397400000 held=5000 waited=0\n"
        "template market/* kind=semaphore scope=host limit=5 instances=0\n"
        "end\n");
    expect_heard("host 0>1 held 1>1\n"
                 "resource etl 2>3\n"
                 "template market/* -1>5\n"
                 "gone etl a, holds before, pid 11\n"
                 "granted etl b, waits before, pid 12\n"
                 "waits gpus d, absent before, pid 14\n"
                 "ended a released\n");
    expect_leases("etl", "b | 1:c");
    expect_leases("gpus", "| 1:d");
    take(110 * SECOND, "removed gpus\nremoved market/*\nremoved nothing\nend missed=1\n");
    expect_heard("resource gpus 1>-1\n"
                 "template market/* 5>-1\n"
                 "gone gpus d, waits before, pid 14\n"
                 "missed \n");
    cr_expect_eq(live_status(&live, 0)->n_resources, 1);
    cr_expect_eq(live_status(&live, 0)->n_templates, 0);
}

Test(live, nothing_is_told_before_the_batch_ends)
{
    begin();
    take(0, "gone a resource=etl\nresource etl kind=semaphore scope=host limit=9\n");
    expect_heard("");
    take(0, HOLDER ETL "end\n");
    expect_heard("");
    take(0,
        "gone a resource=etl\n" HOLDER "gone a resource=etl\n" HOLDER "gone a resource=etl\nend\n");
    expect_heard("gone etl a, holds before, pid 11\n");
    take(0, HOLDER "gone a resource=etl\nend\n");
    expect_heard("");
}

Test(live, what_ends_by_itself_is_counted_down)
{
    begin();
    take(100 * SECOND,
        "host draining=0 held=0 waiting=0 grace_until=8000\n"
        "database main state=up grace_until=5000 good_until=20000\nend\n");
    const struct status *status = live_status(&live, 103 * SECOND);
    cr_expect_eq(status_until(status, &status->grace_until), 5000);
    cr_expect_eq(status_until(status, &status->databases[0].grace_until), 2000);
    cr_expect_eq(status_until(status, &status->databases[0].good_until), 17000);
    status = live_status(&live, 110 * SECOND);
    cr_expect_eq(status_until(status, &status->databases[0].grace_until), 0);
}

Test(live, a_change_of_times_alone_is_none)
{
    begin();
    take(105 * SECOND,
        "holder a resource=etl units=0-1 token=7 since=-5001 bound=process until=8000 pid=11 "
        "uid=1000\n"
        "end\n");
    expect_heard("");
    const struct status *status = live_status(&live, 106 * SECOND);
    cr_expect_eq(status_until(status, &status->resources[0].leases.list[0].until), 2000);
    take(105 * SECOND,
        "holder a resource=etl units=0-1 token=7 since=-10000 bound=process stopping=revoked pid=11"
        " uid=1000\nend\n");
    expect_heard("changed a >revoked\n");
}

/* berthd's clock need not be ours. */
Test(live, instants_are_on_the_clock_of_berthd)
{
    take(100 * SECOND, "ok now=7000 draining=0 held=0 waiting=0\n" SNAPSHOT);
    cr_expect_eq(live_now(&live, 101 * SECOND).at, 8000);
    take(103 * SECOND, "host now=10001 draining=0 held=1 waiting=0\nend\n");
    cr_expect_eq(live_status(&live, 104 * SECOND)->now.at, 11001); /* it came sooner */
    take(106 * SECOND, "host now=12000 draining=0 held=0 waiting=0\nend\n");
    cr_expect_eq(live_status(&live, 106 * SECOND)->now.at, 13001); /* that took a while to come */
    live_forget(&live);
    take(110 * SECOND, "ok now=17000 draining=0 held=0 waiting=0\n" SNAPSHOT);
    cr_expect_eq(live_now(&live, 110 * SECOND).at, 17000);
}

Test(live, a_fresh_snapshot_tells_differences_alone)
{
    begin();
    take(0, SNAPSHOT);
    expect_heard("");
    expect_leases("etl", "a | 1:b 2:c");
    take(0,
        "snapshot\n" ETL
        "holder b resource=etl units=0 token=9 since=0 bound=process pid=12 uid=1000\n" SECOND_
        "waiter d resource=etl wants=1 since=0 priority=0 ticket=10 pid=14 uid=1000\n"
        "end\n");
    expect_heard("resource gpus 1>-1\n"
                 "gone etl a, holds before, pid 11\n"
                 "granted etl b, waits before, pid 12\n"
                 "waits etl d, absent before, pid 14\n");
    expect_leases("etl", "b | 1:c 2:d");
    cr_expect_null(live_resource_find(&live, "gpus"));
}

Test(live, a_new_connection_tells_differences_alone)
{
    begin();
    take(0, "gone a resource=etl\nholder b resource=etl units=0 since=0 pid=12\n");
    live_forget(&live); /* in the middle of a batch */
    take(0, OK SNAPSHOT);
    expect_heard("");
    expect_leases("etl", "a | 1:b 2:c");
    live_forget(&live);
    cr_expect_eq(live_status(&live, 0)->n_resources, 2);
    take(0, "ok draining=1 held=0 waiting=0\nsnapshot\n" GPUS "end\n");
    expect_heard("host 0>1 held 1>0\n"
                 "resource etl 2>-1\n"
                 "gone etl a, holds before, pid 11\n"
                 "gone etl b, waits before, pid 12\n"
                 "gone etl c, waits before, pid 13\n");
}

Test(live, a_snapshot_within_a_batch_takes_the_place_of_all_before)
{
    begin();
    take(0,
        "holder d resource=gpus units=gpu0 token=1 since=0 pid=14 uid=0\n"
        "gone a resource=etl\n" SNAPSHOT);
    expect_heard("");
    expect_leases("gpus", "|");
    expect_leases("etl", "a | 1:b 2:c");
}

/* ---- databases ---- */

#define UP "database main state=up ttl=30000\n"
#define DOWN "database main state=down why=gone ttl=30000\n"
#define WEB                                                                                        \
    "resource web kind=semaphore scope=fleet database=main limit=4 in_use=2 free=2 waiting=0"
#define THEIRS "holder 0123/x resource=web units=0 token=1 since=0 pid=1 uid=0 host=other\n"
#define OURS "holder y resource=web units=1 token=2 since=0 pid=2 uid=0 host=this\n"

static void begin_fleet(void)
{
    take(0, OK "snapshot\n" UP WEB "\n" THEIRS OURS "end\n");
    text_deinit(&heard);
}

Test(live, leases_of_other_hosts_are_told_while_the_database_is_up)
{
    begin_fleet();
    take(0,
        "holder 0123/z resource=web units=2 token=3 since=0 pid=1 uid=0 host=other\n"
        "gone 0123/x resource=web\nend\n");
    expect_heard("gone web 0123/x, holds before, pid 1\n"
                 "granted web 0123/z, absent before, pid 1\n");
    take(0,
        "resource new kind=semaphore scope=fleet database=main limit=1\n"
        "holder 0123/w resource=new units=0 token=4 since=0 pid=5 uid=0 host=other\nend\n");
    expect_heard("resource new -1>1\ngranted new 0123/w, absent before, pid 5\n");
}

Test(live, a_database_that_goes_and_comes_back_is_told_once)
{
    begin_fleet();
    take(0, DOWN WEB " database_state=down\ngone 0123/x resource=web\nend\n");
    expect_heard("database main up>down\nresource web 4>4\n");
    take(0, DOWN "gone y resource=web\nend\n");
    expect_heard("gone web y, holds before, pid 2\n");
    take(0, UP "end\n");
    expect_heard("database main down>up\n");
    take(0,
        WEB "\n" THEIRS
            "holder 0123/z resource=web units=2 token=3 since=0 pid=1 uid=0 host=other\nend\n");
    expect_heard("resource web 4>4\n");
    expect_leases("web", "0123/x 0123/z |");
    take(0, "gone 0123/z resource=web\nend\n");
    expect_heard("gone web 0123/z, holds before, pid 1\n");
}

Test(live, a_lease_that_ended_while_the_database_was_away_is_not_told)
{
    begin_fleet();
    take(0, DOWN WEB " database_state=down\nend\n");
    text_deinit(&heard);
    take(0, UP WEB "\ngone 0123/x resource=web\nend\n");
    expect_heard("database main down>up\nresource web 4>4\n");
    expect_leases("web", "y |");
}

Test(live, a_restart_with_a_database_that_has_not_answered_is_quiet)
{
    begin_fleet();
    live_forget(&live);
    take(0,
        OK "snapshot\ndatabase main state=listing ttl=30000\n" WEB " database_state=listing\n" OURS
           "end\n");
    expect_heard("database main up>listing\nresource web 4>4\n");
    take(0, UP WEB "\n" THEIRS "end\n");
    expect_heard("database main listing>up\nresource web 4>4\n");
    expect_leases("web", "y 0123/x |");
}

/* Its resources say no more that it is silent, and its first listing is a snapshot of its own. */
Test(live, the_first_listing_after_a_database_is_up_is_quiet)
{
    begin_fleet();
    take(0, DOWN "end\n");
    take(5 * SECOND, UP "end\n");
    text_deinit(&heard);
    take(7 * SECOND, "gone y resource=web\nend\n");
    expect_heard("gone web y, holds before, pid 2\n");
    take(8 * SECOND,
        "snapshot\n" UP WEB
        "\nholder 0123/z resource=web units=2 token=3 since=0 pid=1 uid=0\nend\n");
    expect_heard("");
    expect_leases("web", "0123/z |");
    take(9 * SECOND, "gone 0123/z resource=web\nend\n");
    expect_heard("gone web 0123/z, holds before, pid 1\n");
}

Test(live, a_database_that_has_nothing_new_has_listed_after_a_while)
{
    take(0, OK "snapshot\n" UP WEB "\nend\n");
    take(1 * SECOND, THEIRS "end\n");
    expect_heard("begun \ngranted web 0123/x, absent before, pid 1\n");
    take(2 * SECOND, DOWN "end\n");
    take(3 * SECOND, UP "end\n");
    take(19 * SECOND, "host draining=0 held=1 waiting=3\nend\n");
    text_deinit(&heard);
    take(20 * SECOND, "gone 0123/x resource=web\nend\n");
    expect_heard("gone web 0123/x, holds before, pid 1\n");
}

/* ---- lines that no berthd sends, or only a later one ---- */

Test(live, what_is_unknown_is_ignored)
{
    begin();
    take(0,
        "holder z resource=nothing units=0 since=0 pid=1 uid=0\n"
        "waiter z resource=nothing wants=1 since=0 priority=0 ticket=1 pid=1 uid=0\n"
        "gone z resource=etl\ngone a resource=nothing\nremoved nothing\n"
        "new_line of=a later=daemon\nend new=1\n");
    expect_heard("");
    expect_leases("etl", "a | 1:b 2:c");
}

Test(live, duplicates_replace_each_other)
{
    begin();
    take(0,
        HOLDER HOLDER FIRST FIRST ETL ETL "host draining=0 held=1 waiting=2\n"
                                          "host draining=0 held=1 waiting=2\nend\n");
    expect_heard("");
    expect_leases("etl", "a | 1:b 2:c");
    take(0, "removed etl\n" ETL HOLDER "end\nend\n");
    expect_heard("gone etl b, waits before, pid 12\ngone etl c, waits before, pid 13\n");
    expect_leases("etl", "a |");
}

Test(live, malformed_lines_are_refused)
{
    static const char *const lines[] = {
        "",
        "holder",
        "holder a",
        "holder a units=0 since=0 pid=1 uid=0",
        "waiter a resource=etl priority=99999999999999999999 ticket=1",
        "waiter a resource=etl priority=0 ticket=18446744073709551616",
        "waiter a resource=etl priority=0 ticket=-1",
        "holder a resource=etl since=-9223372036854775808",
        "holder a resource=etl holder=%zz",
        "holder a resource=etl away=2",
        "gone",
        "gone a",
        "removed",
        "resource",
        "resource etl",
        "resource etl kind=lock limit=x",
        "template market/*",
        "database main",
        "host draining=7",
        "ended a",
        "holder  a resource=etl",
    };
    begin();
    for (size_t i = 0; i < N(lines); i++) {
        cr_expect_eq(live_take(&live, lines[i], 0), LIVE_MALFORMED, "%s", lines[i]);
    }
    take(0, "end\n");
    expect_heard("");
    expect_leases("etl", "a | 1:b 2:c");
}

Test(live, the_largest_numbers_do_no_harm)
{
    const nanoseconds a_century = (nanoseconds)100 * 366 * 86400 * SECOND;
    begin();
    take(a_century,
        "holder a resource=etl units=0 token=9223372036854775807"
        " since=-2305843009213693951 until=2305843009213693951 pid=1 uid=0\n"
        "waiter b resource=etl wants=9223372036854775807 since=-2305843009213693951"
        " priority=-9223372036854775807 ticket=9223372036854775807 pid=1 uid=0\nend\n");
    live_status(&live, a_century);
    live_status(&live, 0);
    expect_leases("etl", "a | 1:b 2:c"); /* such a ticket stands before all: base/ticket.h */
}

Test(live, a_connection_begins_with_ok_and_a_snapshot)
{
    cr_expect_eq(live_take(&live, "snapshot", 0), LIVE_MALFORMED);
    cr_expect_eq(live_take(&live, "ok draining=0 held=0 waiting=0", 0), LIVE_MORE);
    cr_expect_eq(live_take(&live, "resource etl kind=lock limit=1", 0), LIVE_MALFORMED);
    cr_expect_eq(live_take(&live, "end", 0), LIVE_MALFORMED);
    cr_expect_eq(live_status(&live, 0)->n_resources, 0);
    cr_expect_eq(live_take(&live, "snapshot", 0), LIVE_MORE);
    cr_expect_eq(live_take(&live, "end", 0), LIVE_END);
    expect_heard("begun \n");
}

/* ---- many ---- */

/* Comes at the head each time, and leaves from the middle: the worst for a list. */
Test(live, ten_thousand_waiters_come_and_go)
{
    enum { MANY = 10000 };
    char line[200];
    begin();
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof line,
            "waiter w%d resource=gpus wants=1 since=0 priority=0 ticket=%d pid=1 uid=0", i,
            MANY * 2 - i);
        cr_assert_eq(live_take(&live, line, 0), LIVE_MORE);
    }
    cr_assert_eq(live_take(&live, "end", 0), LIVE_END);
    const struct status_resource *gpus = &live_status(&live, 0)->resources[1];
    cr_assert_eq(gpus->leases.n, MANY);
    cr_expect_str_eq(gpus->leases.list[0].id, "w9999");
    cr_expect_eq(gpus->leases.list[MANY - 1].position, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof line, "gone w%d resource=gpus", (i + MANY / 2) % MANY);
        cr_assert_eq(live_take(&live, line, 0), LIVE_MORE);
    }
    cr_assert_eq(live_take(&live, "end", 0), LIVE_END);
    expect_leases("gpus", "|");
}

Test(live, serials_say_what_has_changed)
{
    begin();
    uint64_t first = live.serial;
    cr_expect_eq(live_resource_find(&live, "gpus")->changed, first);
    take(0, "gone b resource=etl\nend\n");
    cr_expect_eq(live.serial, first + 1);
    cr_expect_eq(live_resource_find(&live, "etl")->changed, first + 1);
    cr_expect_eq(live_resource_find(&live, "gpus")->changed, first);
}
