/* test_feed.c - what /status.json says of a copy (web/feed.h), and which
 * names a request may give (web/host_allowlist.h). */
#include "web/feed.h"

#include "base/memory.h"
#include "web/host_allowlist.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND NANOSECONDS_PER_SECOND

static struct live live;
static struct feed feed;
static struct feed_around around = {
    .is_connected = true, .host = "web1", .hosts = "[]", .gone = "[]", .events = 1};
static nanoseconds now;

/* ---- the copy ---- */

static void take(const char *line)
{
    cr_assert_neq(live_take(&live, line, now), LIVE_MALFORMED, "%s", line);
}

static void batch(const char *const lines[])
{
    for (size_t i = 0; lines[i]; i++) {
        take(lines[i]);
    }
    take("end");
    feed_note(&feed);
}

#define BATCH(...) batch((const char *const[]){__VA_ARGS__, NULL})
#define RESOURCE(name, in_use)                                                                     \
    "resource " name " kind=semaphore scope=host limit=5 in_use=" in_use " free=1 waiting=0"

static void begin(void)
{
    now = 100 * SECOND;
    live_init(&live);
    feed_init(&feed, &live, 0xabc);
    BATCH("ok draining=0 held=0 waiting=0", "snapshot", RESOURCE("a", "0"), RESOURCE("b", "0"),
        "template t/* kind=lock scope=host limit=1 instances=0");
}

static void finish(void)
{
    feed_deinit(&feed);
    live_deinit(&live);
}

TestSuite(feed, .init = begin, .fini = finish);

static struct feed_serial serial(void)
{
    return (struct feed_serial){feed.instance, live.serial, around.events};
}

/* The answer; good until the next. */
static const char *answer(const struct feed_serial *after)
{
    static struct text text;
    text.length = 0;
    feed_print(&feed, &around, after, now, &text);
    return text.bytes;
}

static bool has(const char *json, const char *part)
{
    return strstr(json, part) != NULL;
}

/* ---- serials ---- */

Test(feed, serials_are_words)
{
    struct feed_serial serial = {0x123456789abcdef0, 17, 3}, read;
    char word[FEED_SERIAL_SIZE];
    feed_serial_format(word, &serial);
    cr_assert_str_eq(word, "123456789abcdef0.17.3");
    cr_assert(feed_serial_parse(word, &read));
    cr_assert(read.instance == serial.instance && read.live == 17 && read.events == 3);
    static const char *const malformed[] = {"", ".", "..", "123456789abcdef0.17", "1.17.3",
        "123456789abcdef0.17.", "123456789ABCDEF0.17.3", "123456789abcdef0.-1.3",
        "123456789abcdef0.17.3.4", "123456789abcdef0.17.18446744073709551616",
        "0000000000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        cr_assert_not(feed_serial_parse(malformed[i], &read), "%s", malformed[i]);
    }
}

/* ---- answers ---- */

Test(feed, all)
{
    const char *json = answer(NULL);
    cr_assert(has(json, "{\"version\":1,\"serial\":\"0000000000000abc.1.1\",\"now_ms\":0,"));
    cr_assert(has(json, "\"connected\":true,\"why\":null,\"host\":\"web1\",\"draining\":false,"));
    cr_assert(has(json, "\"full\":true,\"resources\":[{\"name\":\"a\","));
    cr_assert(has(json, ",{\"name\":\"b\",") && has(json, "\"templates\":[{\"name\":\"t/*\","));
    cr_assert_not(has(json, "\"removed\":["));
}

Test(feed, only_what_has_changed)
{
    answer(NULL);
    struct feed_serial before = serial();
    cr_assert_not(feed_is_behind(&feed, &around, &before));
    BATCH("holder 1 resource=b units=0 uid=0 pid=1 token=1 since=0", RESOURCE("b", "1"));
    cr_assert(feed_is_behind(&feed, &around, &before));
    const char *json = answer(&before);
    cr_assert(has(json, "\"full\":false,\"resources\":[{\"name\":\"b\","), "%s", json);
    cr_assert(has(json, "\"in_use\":1,") && !has(json, "\"name\":\"a\""));
    cr_assert(has(json, "\"templates\":[],\"removed\":[]}"));
    before = serial();
    cr_assert(has(answer(&before), "\"resources\":[],"));
}

Test(feed, a_lease_that_is_gone)
{
    BATCH("holder 1 resource=b units=0 uid=0 pid=1 token=1 since=0");
    cr_assert(has(answer(NULL), "\"lease\":\"1\""));
    struct feed_serial before = serial();
    BATCH("gone 1 resource=b");
    cr_assert(has(answer(&before), "\"holders\":[]"));
    cr_assert_not(has(answer(NULL), "\"lease\":\"1\""));
}

Test(feed, removed)
{
    struct feed_serial before = serial();
    BATCH("removed a", "removed t/*");
    cr_assert(has(answer(&before), "\"removed\":[\"t/*\",\"a\"]") ||
        has(answer(&before), "\"removed\":[\"a\",\"t/*\"]"));
    struct feed_serial later = serial();
    cr_assert(has(answer(&later), "\"removed\":[]"));
    BATCH(RESOURCE("a", "0"));
    cr_assert(has(answer(&before), "\"removed\":[\"t/*\"]"));
    cr_assert(has(answer(&before), "\"resources\":[{\"name\":\"a\""));
}

/* Who has missed more removals than are kept gets all. */
Test(feed, too_many_removed)
{
    struct feed_serial before = serial();
    char resource[100], removed[40];
    for (int i = 0; i < FEED_REMOVED; i++) {
        snprintf(resource, sizeof resource, "resource r%d kind=lock scope=host limit=1", i);
        snprintf(removed, sizeof removed, "removed r%d", i);
        BATCH(resource);
        BATCH(removed);
        cr_assert(has(answer(&before), "\"full\":false"));
    }
    BATCH(RESOURCE("r", "0"));
    BATCH("removed r");
    cr_assert(has(answer(&before), "\"full\":true"));
}

Test(feed, templates)
{
    answer(NULL);
    struct feed_serial before = serial();
    BATCH("template t/* kind=lock scope=host limit=1 instances=7");
    cr_assert(has(answer(&before), "\"instances\":7"));
    before = serial();
    cr_assert(has(answer(&before), "\"templates\":[]"));
}

Test(feed, what_a_drain_makes_of_all)
{
    cr_assert(has(answer(NULL), "\"grantable\":1"));
    struct feed_serial before = serial();
    BATCH("host draining=1 drained_at=17 drained_by=60001 drain_reason=a%20b held=0 waiting=0");
    BATCH("host draining=1 drained_at=17 drained_by=60001 drain_reason=a%20b held=1 waiting=0");
    const char *json = answer(&before);
    cr_assert(has(json, "\"drain\":{\"drained_at\":17,\"drained_by_uid\":60001,"
                        "\"drained_by_user\":null,\"drained_by_login_user\":null,"
                        "\"drain_reason\":\"a b\"}"));
    cr_assert(has(json, "\"draining\":true") && has(json, "{\"name\":\"a\""), "%s", json);
    cr_assert(has(json, "{\"name\":\"b\"") && !has(json, "\"grantable\":1"));
}

Test(feed, what_is_around)
{
    struct feed_serial before = serial();
    around.events++;
    around.is_connected = false;
    around.why = "it is \"gone\"";
    cr_assert(feed_is_behind(&feed, &around, &before));
    cr_assert(has(answer(&before), "\"connected\":false,\"why\":\"it is \\\"gone\\\"\""));
}

Test(feed, of_another_process)
{
    struct feed_serial other = {0xdef, 1, 1}, later = {0xabc, 2, 1};
    cr_assert(has(answer(&other), "\"full\":true"));
    cr_assert(has(answer(&later), "\"full\":true"));
}

Test(feed, only_now_goes_on)
{
    BATCH("holder 1 resource=b units=0 uid=0 pid=1 token=1 since=-500 until=9000");
    cr_assert(has(answer(NULL), "\"since\":-500") && has(answer(NULL), "\"until\":9000"));
    cr_assert(has(answer(NULL), "\"now\":0,"));
    now += 2 * SECOND;
    cr_assert(has(answer(NULL), "\"now\":2000,"));
    cr_assert(has(answer(NULL), "\"since\":-500") && has(answer(NULL), "\"until\":9000"));
}

/* ---- names ---- */

static struct name_list names_of(const char *name)
{
    struct name_list list = {0};
    name_list_add(&list, name);
    return list;
}

Test(asker_names, hosts)
{
    struct name_list hosts = names_of("web.example");
    static const char *const known[] = {"localhost", "LocalHost:1", "127.0.0.1", "127.9.8.7:65535",
        "[::1]", "[::1]:80", "web.example", "WEB.example:443"};
    static const char *const unknown[] = {"", ":80", "localhost:", "localhost:80x",
        "localhost:123456", "localhost.", "xlocalhost", "127.0.0.1.example", "127.0.0", "127.0.0.1.", "127..0.1",
        "127.0.0.1.1", "128.0.0.1", "[::2]", "[::1", "::1", "[]", "web.example.evil", "web",
        "web.example/", "user@localhost", "localhost localhost", "0.0.0.0"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert(host_is_known(known[i], &hosts), "%s", known[i]);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        cr_assert_not(host_is_known(unknown[i], &hosts), "%s", unknown[i]);
    }
    name_list_deinit(&hosts);
}

Test(asker_names, origins)
{
    cr_assert(origin_is_own("http://localhost:8181", "localhost:8181"));
    cr_assert(origin_is_own("https://LocalHost", "localhost"));
    cr_assert_not(origin_is_own("http://localhost:8182", "localhost:8181"));
    cr_assert_not(origin_is_own("http://localhost:8181.evil", "localhost:8181"));
    cr_assert_not(origin_is_own("ftp://localhost", "localhost"));
    cr_assert_not(origin_is_own("null", "null"));
}
