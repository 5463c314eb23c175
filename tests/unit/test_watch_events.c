/* test_watch_events.c - the lines of `berthctl watch` (berthctl/watch_events.h). */
#include "berthctl/watch_events.h"
#include "view/users.h"
#include "print_help.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 2026-11-23 01:30:00 UTC. */
#define WALL INT64_C(1795397400000)

static struct live live;
static struct watch_events events;

static const char *name_of(uint64_t uid)
{
    return uid == 1000 ? "alice" : uid == 0 ? "root" : NULL;
}

static void setup(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
    live_init(&live);
    user_name = name_of;
}

static void teardown(void)
{
    live_deinit(&live);
    text_deinit(&events.out);
}

TestSuite(watch, .init = setup, .fini = teardown);

static void take(const char *lines)
{
    char *copy = strdup(lines), *rest = copy;
    events.now = 100 * NANOSECONDS_PER_SECOND;
    events.wall = WALL;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && rest;) {
        cr_assert_neq(live_take(&live, line, events.now), LIVE_MALFORMED, "%s", line);
    }
    free(copy);
}

#define BEGINNING                                                                                  \
    "ok draining=0 held=1 waiting=0\nsnapshot\ndatabase main state=up\n"                           \
    "resource etl kind=semaphore scope=host limit=2\n"                                             \
    "resource gpus kind=pool scope=host limit=1 items=gpu0\n"                                      \
    "resource web kind=semaphore scope=fleet database=main limit=4\n"                              \
    "template market/* kind=semaphore scope=host limit=5\n"                                        \
    "holder a resource=etl units=0 token=1 since=-5000 pid=11 uid=1000 program=train\nend\n"

static void begin(const struct watch_choice *choice)
{
    watch_events_init(&events, &live, choice);
    take(BEGINNING);
    text_deinit(&events.out);
}

static void expect(const char *expected)
{
    expect_text(&events.out, expected);
}

Test(watch, the_first_line_says_that_it_begins)
{
    char *names[] = {"etl"};
    watch_events_init(&events, &live, &(const struct watch_choice){0});
    take(BEGINNING);
    expect("01:30:00  -             watching 3 resources\n");
    live_deinit(&live);
    watch_events_init(&events, &live, &(const struct watch_choice){.names = names, .n_names = 1});
    take(BEGINNING);
    expect("01:30:00  -             watching 1 resource\n");
}

Test(watch, leases_come_and_go)
{
    begin(&(const struct watch_choice){0});
    take("waiter b resource=etl wants=2 since=0 priority=0 ticket=8 pid=12 uid=1001 program=load\n"
         "waiter c resource=gpus wants=1 since=0 priority=0 ticket=9 pid=13 uid=0\nend\n");
    expect("01:30:00  etl           waits for 2 units, place 1  1001 (load, b)\n"
           "01:30:00  gpus          waits for 1 unit, place 1   root (c)\n");
    take("gone a resource=etl\n"
         "holder b resource=etl units=0-1 token=2 since=0 pid=12 uid=1001 program=load\n"
         "gone c resource=gpus\nend\n");
    expect("01:30:00  etl           given back slot 0           alice (train, a)\n"
           "01:30:00  gpus          left the queue              root (c)\n"
           "01:30:00  etl           granted slots 0-1           1001 (load, b)\n");
     take("holder b resource=etl units=0-1 token=2 since=-9 stopping=revoked pid=12"
         " uid=1001\nend\n");
    expect("01:30:00  etl           stopping (revoked)          1001 (b)\n");
    take("holder 01/x resource=web units=3 token=2 since=-9 pid=12 uid=1000 host=web1\nend\n");
    expect("01:30:00  web           granted slot 3              alice on web1 (01/x)\n");
}

Test(watch, operators_change_things)
{
    begin(&(const struct watch_choice){0});
    take("resource etl kind=semaphore scope=host limit=3 paused=1"
         " pause_reason=disk%20full paused_by=0 paused_by_login=1000\n"
         "resource gpus kind=pool scope=host limit=1 items=gpu0 reserved=gpu0"
         " reserve=gpu0,broken\n"
         "template market/* kind=semaphore scope=host limit=5 paused=1\n"
         "resource new kind=lock scope=host limit=1\n"
         "resource market/alice kind=semaphore scope=host limit=5 template=market/*\n"
         "host draining=1 held=1 waiting=0\nend\n");
    expect("01:30:00  -             draining\n"
           "01:30:00  etl           limit 3, was 2\n"
           "01:30:00  etl           paused: disk full           root (alice)\n"
           "01:30:00  gpus          reserved gpu0: broken\n"
           "01:30:00  new           new\n"
           "01:30:00  market/*      paused\n");
    take("resource etl kind=semaphore scope=host limit=3\n"
         "resource gpus kind=pool scope=host limit=1 items=gpu0\n"
         "resource new kind=lock scope=host limit=1 removed=1\n"
         "host draining=0 held=1 waiting=0\nend\nremoved new\nremoved market/alice\nend\n");
    expect("01:30:00  -             no longer draining\n"
           "01:30:00  etl           resumed\n"
           "01:30:00  gpus          no longer reserved: gpu0\n"
           "01:30:00  new           removed, still held\n"
           "01:30:00  new           removed\n");
}

Test(watch, databases_go_and_come_back)
{
    begin(&(const struct watch_choice){0});
    take(
        "database main state=down why=connection%20refused\n"
        "resource web kind=semaphore scope=fleet database=main database_state=down limit=3\nend\n");
    expect("01:30:00  main          database down: connection refused\n");
    take("database main state=down why=timeout\nend\n");
    take("database main state=listing\nend\n");
    expect("");
    take("database main state=up\n"
         "resource web kind=semaphore scope=fleet database=main limit=4\nend\n");
    expect("01:30:00  main          database up\n");
}

Test(watch, ends_take_the_place_of_what_is_given_back)
{
    begin(&(const struct watch_choice){.with_ended = true});
    take("gone a resource=etl\n"
         "ended a units=etl:0 uid=1000 how=released exit=3 ended=1795397399000 held=5000 waited=0"
         " program=train\n"
         "ended d units=etl=2;gpus=1 uid=1000 how=denied code=queue-full ended=1795397400000"
         " waited=0\nend missed=1\n");
    expect("01:29:59  etl           ended: exit 3               alice (train, a)\n"
           "01:30:00  etl, gpus     got nothing: denied (queue-full)  alice (d)\n"
           "01:30:00  -             more leases have ended\n");
}

Test(watch, ends_are_not_told_unless_wanted)
{
    begin(&(const struct watch_choice){0});
    take("ended a units=etl:0 uid=1000 how=released ended=1795397399000 held=5000 waited=0\nend\n");
    expect("");
}

Test(watch, names_choose)
{
    char *names[] = {"gpus", "mark*/*"};
    begin(&(const struct watch_choice){.names = names, .n_names = 2, .with_ended = true});
    cr_expect_null(watch_events_unknown(&events));
    take("gone a resource=etl\nresource etl kind=semaphore scope=host limit=9\n"
         "waiter c resource=gpus wants=1 since=0 priority=0 ticket=9 pid=13 uid=0\n"
         "template market/* kind=semaphore scope=host limit=6\n"
         "database main state=down\n"
         "ended a units=etl:0 uid=1000 how=released ended=1795397399000 held=5000 waited=0\nend\n");
    expect("01:30:00  market/*      limit 6, was 5\n"
           "01:30:00  gpus          waits for 1 unit, place 1   root (c)\n");
    char *unknown[] = {"etl", "market/bob", "market/*", "nothing/*", "market/bob/x"};
    events.choice.names = unknown;
    events.choice.n_names = N(unknown);
    cr_expect_str_eq(watch_events_unknown(&events), "market/bob/x");
}

Test(watch, what_strangers_wrote_is_escaped)
{
    begin(&(const struct watch_choice){0});
    take("holder b resource=etl units=1 token=2 since=0 pid=12 uid=1000 program=%1b[2Ja%0ab\n"
         "resource gpus kind=pool scope=host limit=1 paused=1 pause_reason=a%0ab%1b\nend\n");
    expect("01:30:00  gpus          paused: a\\x0ab\\x1b\n"
           "01:30:00  etl           granted slot 1              alice (\\x1b[2Ja\\x0ab, b)\n");
}

Test(watch, one_object_for_each_event)
{
    begin(&(const struct watch_choice){.is_json = true, .with_ended = true});
    take("gone a resource=etl\n"
         "holder b resource=etl units=0-1 token=2 since=-700 pid=12 uid=1001 program=load\n"
         "database main state=down why=gone\n"
         "host draining=1 held=1 waiting=0\nend\n");
    expect(
        "{\"event\":\"draining\",\"time_ms\":1795397400000,\"now\":0,\"resource\":null,\"database\":null,"
        "\"text\":\"this host is being drained, and grants nothing\"}\n"
        "{\"event\":\"database-down\",\"time_ms\":1795397400000,\"now\":0,\"resource\":null,"
        "\"database\":\"main\",\"text\":\"database main is down: gone\"}\n"
        "{\"event\":\"granted\",\"time_ms\":1795397400000,\"now\":0,\"resource\":\"etl\",\"database\":null,"
        "\"text\":\"1001 (load, b) was granted slots 0-1 of etl\",\"lease\":\"b\",\"token\":\"2\","
        "\"since\":-700,\"bound\":null,\"all\":false,\"away\":false,\"until\":null,\"shares\":null,"
        "\"stopping\":null,"
        "\"unread\":false,\"pid\":12,\"uid\":1001,\"host\":null,\"hidden\":false,\"holder\":null,"
        "\"user\":null,\"share\":null,\"program\":\"load\",\"reason\":null,\"units\":[0,1],"
        "\"units_cut\":false}\n");
    take("ended a units=etl:0 uid=1000 how=released ended=1795397399000 held=5000 waited=0\nend\n");
    const char *begins =
        "{\"event\":\"ended\",\"time_ms\":1795397399000,\"now\":0,\"resource\":\"etl\",\"database\":null,"
        "\"text\":\"alice (a) no longer holds anything of etl: released\",\"lease\":\"a\",";
    cr_expect(strncmp(events.out.bytes, begins, strlen(begins)) == 0, "%s", events.out.bytes);
}

static void find_program(struct status_lease *lease)
{
    strcpy(lease->process, "sleep");
}

Test(watch, a_process_stands_for_a_program)
{
    begin(&(const struct watch_choice){.find_program = find_program});
    take("holder b resource=etl units=1 token=2 since=0 pid=12 uid=1000\nend\n");
    expect("01:30:00  etl           granted slot 1              alice ([sleep], b)\n");
}
