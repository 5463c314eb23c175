/* test_fleet_ended.c - a page of a database's history as `ended` lines: whatever other hosts may
 * have written harms neither the line nor its reader. */
#include "base/words.h"
#include "row_help.h"
#include "status/fleet_ended.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "0123456789abcdef/3f9k"
#define SECOND NANOSECONDS_PER_SECOND
#define CLAIMS "etl 3 90 0-1,7|gpus 1 91 g0"
#define INFO "pid=77 program=load reason=a%20b at=999000 hide=0"
#define ENDING "how=revoked waited=500 held=9000 exit=3 by=7 by_login=8 why=too%20slow"

static struct text text; /* the rows so far */
static struct fleet_rows *rows;
static struct fleet_page page;
static struct core *core;
static char line[LINE_BYTES];
static struct definition definitions[] = {
    {.name = (char *)"etl", .limit = 9, .max_hold = NEVER, .max_units_per_user = UNBOUNDED},
    {.name = (char *)"secret", .limit = 9, .max_hold = NEVER, .shows_to_owner_only = true},
    {.name = (char *)"gpus", .limit = 9, .max_hold = NEVER},
};

/* The first row of the next one. */
static void add_page(void)
{
    ADD_ROW(&text, "page", "1010000", "1000-0", "1005-1", "");
}

static void begin(void)
{
    struct effects effects = EFFECTS_INIT;
    const struct user_bounds bounds = {100, 100, 100, 100};
    const char *at_fault;
    core = core_new(0);
    core_define(core, definitions, 3, &bounds, 0, &effects, &at_fault);
    effects_clear_changed(&effects);
    effects_clear(&effects);
    effects_deinit(&effects);
    add_page();
}

static void end(void)
{
    text_deinit(&text);
    fleet_rows_free(rows);
    core_free(core);
}

TestSuite(fleet_ended, .init = begin, .fini = end);

static const struct definition *seen; /* what this hides; NULL: nothing */

static bool sees_one(void *context, const struct rights *rights)
{
    (void)context;
    return seen && rights == &seen->rights;
}

/* The page was read 10 s after the entry. */
static void read_page(void)
{
    fleet_rows_free(rows);
    rows = fleet_rows_new(&text);
    add_page();
    cr_assert(fleet_page_read(&page, rows, 100 * SECOND));
}

/* Of the last row, as a user who sees nothing that is hidden; "": it makes no sense. */
static const char *shown(void)
{
    struct fleet_ended ended;
    const struct viewer viewer = {.uid = 1, .may_see = sees_one};
    const struct answer_moment moment = {.viewer = &viewer, .now = 100 * SECOND,
        .wall_now = 2000 * SECOND};
    read_page();
    line[0] = '\0';
    if (fleet_ended_read(&ended, &rows->rows[rows->n_rows - 1], &page)) {
        struct text out = TEXT_INIT;
        const struct ended_lease its = {.entry = &ended.entry, .lease = &ended.lease,
            .database = "d", .key = ended.key, .host = ended.host};
        ended_line_write(&out, &its, wall_milliseconds(ended.entry.ended_at, &moment),
            viewer_sees_ended(&viewer, core, &ended.lease, ended.entry.hiding));
        cr_assert_lt(out.length, sizeof line);
        memcpy(line, out.bytes, out.length);
        line[out.length] = '\0';
        text_deinit(&out);
        fleet_ended_deinit(&ended);
    }
    return line;
}

static void entry(const char *ending, const char *info, const char *claims)
{
    ADD_ROW(&text, "past", "1000000-0", KEY, "db1", ending, "H", "7", "job%2012", info, claims);
}

Test(fleet_ended, a_page)
{
    read_page();
    cr_expect_eq(page.now, 1010000);
    cr_expect_eq(page.since, 1000);
    cr_expect_str_eq(page.next, "1005-1");
    cr_expect_eq(page.n_missed, 0);
    cr_expect_eq(fleet_page_instant(&page, 1009000), 99 * SECOND);
}

Test(fleet_ended, whole)
{
    entry(ENDING, INFO, CLAIMS);
    cr_expect_str_eq(shown(),
        "ended " KEY " units=etl:0-1,7;gpus:g0 uid=7 how=revoked ended=1990000 held=9000 "
        "waited=500 pid=77 database=d host=db1 by=7 by_login=8 exit=3 holder=job%2012 "
        "program=load reason=a%20b why=too%20slow\n");
}

/* Redis' clock was set back since: its ids go on. */
Test(fleet_ended, nothing_ends_in_the_future)
{
    ADD_ROW(
        &text, "past", "1020000-7", KEY, "db1", "how=released held=9", "H", "7", "", "", CLAIMS);
    cr_expect(strstr(shown(), " ended=2000000 held=9 "), "%s", line);
}

Test(fleet_ended, a_wait)
{
    entry("how=timeout waited=300", INFO, "etl 2 0 -");
    cr_expect(
        strstr(shown(), " units=etl=2 uid=7 how=timeout ended=1990000 waited=300 "), "%s", line);
    entry("how=quota waited=300", INFO, "etl 2 0 -");
    cr_expect(strstr(shown(), " how=denied code=quota "), "%s", line);
}

/* Its end is that of its session; how long it had waited, only the clocks of its host and of Redis
 * say. */
Test(fleet_ended, of_a_host_that_is_gone)
{
    entry("how=deadline ended=1008000 held=7000", INFO, CLAIMS);
    cr_expect(strstr(shown(), " ended=1998000 held=7000 waited=2000 "), "%s", line);
    entry("how=deadline ended=1008000 held=7000", "pid=77 at=1009000", CLAIMS);
    cr_expect(strstr(shown(), " ended=1998000 held=7000 waited=0 "), "%s", line);
}

Test(fleet_ended, what_is_hidden)
{
    entry(ENDING, "pid=77 program=load hide=1", CLAIMS);
    cr_expect_null(strstr(shown(), "program"), "its host hides it");
    cr_expect(strstr(line, " exit=3"));
    entry(ENDING, "pid=77 program=load", "secret 1 90 0");
    cr_expect_null(strstr(shown(), "program"), "this host does");
    entry(ENDING, "pid=77 program=load hide=1", "secret 1 90 0|etl 1 91 1");
    cr_expect_null(strstr(shown(), "why="));
}

/* What another resource hides, nobody sees by the right to see this one. */
Test(fleet_ended, which_resource_hides)
{
    static const char both[] = "secret 1 90 0|gpus 1 91 1";
    for (size_t i = 1; i < 3; i++) {
        seen = core_find_definition(core, definitions[i].name);
        entry(ENDING, "pid=77 program=load hide=1 hides=gpus", both);
        cr_expect_null(strstr(shown(), "program"), "gpus hides it there, and secret here");
        entry(ENDING, "pid=77 program=load hide=1", both);
        cr_expect_null(strstr(shown(), "program"), "an older host does not say which one does");
        entry(ENDING, "pid=77 program=load hide=2 hides=secret,other", both);
        cr_expect_null(strstr(shown(), "program"), "it has hidden what is not named");
        entry(ENDING, "pid=77 program=load hide=1 hides=secret", both);
        cr_expect_eq(i == 1, strstr(shown(), " program=load") != NULL, "%s", line);
    }
    entry(ENDING, "pid=77 program=load hide=1 hides=gpus", CLAIMS);
    cr_expect(strstr(shown(), " program=load"), "%s", line);
    seen = NULL;
}

/* ---- what operators did ---- */

static const char *did(const char *key, const char *words, const char *info, const char *claims)
{
    struct fleet_ended ended;
    ADD_ROW(&text, "did", "1000000-0", key, "db1", words, "", "0", "", info, claims);
    read_page();
    line[0] = '\0';
    if (fleet_ended_read(&ended, &rows->rows[rows->n_rows - 1], &page)) {
        struct text out = TEXT_INIT;
        did_line_write(&out, &ended.did, 1, NULL);
        snprintf(line, sizeof line, "%.*s from=%.4s uid=%u hiding=%x lease=%d",
            (int)out.length - 1, out.bytes, ended.from, ended.lease.uid, ended.entry.hiding,
            ended.lease.id != 0);
        text_deinit(&out);
        fleet_ended_deinit(&ended);
    }
    return line;
}

Test(fleet_ended, what_an_operator_did)
{
    cr_expect_str_eq(did("", "how=limit from=0123 word=5 was=20 by=7 by_login=8 why=too%20slow",
                         "", "etl 1 0 -"),
        "did limit at=1 uid=7 login=8 resource=etl target=5 old=20 reason=too%20slow "
        "from=0123 uid=7 hiding=0 lease=0");
    cr_expect_str_eq(did("", "how=pause by=7", "", "m/* 1 0 -"),
        "did pause at=1 uid=7 resource=m/* from= uid=7 hiding=0 lease=0");
    cr_expect_str_eq(
        did("", "how=found by=7", "", ""), "did found at=1 uid=7 from= uid=7 hiding=0 lease=0");
    cr_expect_str_eq(did(KEY, "how=drop by=7", "at=1 hide=1 hides=gpus", CLAIMS),
        "did drop at=1 uid=7 resource=etl from= uid=7 hiding=2 lease=1");
    cr_expect_str_eq(did("", "how=reserve word=a,b was=%20 by=x why=%2", "", "etl 1 0 -"),
        "did reserve at=1 uid=0 resource=etl from= uid=0 hiding=0 lease=0", "words make no sense");
    cr_expect_str_eq(did("KEY", "how=drop", "", "etl 1 0 -"), "");
    cr_expect_str_eq(did(KEY, "how=drop", "", ""), "");
    cr_expect_str_eq(did("", "how=", "", "etl 1 0 -"), "");
    cr_expect_str_eq(did("", "how=limit", "", "e%l 1 0 -"), "");
    ADD_ROW(&text, "past", "1000000-0", "", "db1", ENDING, "", "0", "", "", "etl 1 0 -");
    cr_expect_str_eq(shown(), "");
}

Test(fleet_ended, nonsense_is_no_line)
{
    static const char *const endings[] = {
        "", "how=", "how=a%20b", "exit=3", "how=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const claims[] = {"", "etl", "etl 1", "etl 1 2", "etl x 2 0", "etl 0 2 0",
        "e%l 1 2 0", "etl 99999999 2 0", "etl 1 2 0|", "|etl 1 2 0"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        entry(endings[i], INFO, CLAIMS);
        cr_expect_str_eq(shown(), "", "%s", endings[i]);
    }
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        entry(ENDING, INFO, claims[i]);
        cr_expect_str_eq(shown(), "", "%s", claims[i]);
    }
    ADD_ROW(&text, "past", "1000000-0", "KEY", "db1", ENDING, "H", "7", "", INFO, CLAIMS);
    cr_expect_str_eq(shown(), "");
    ADD_ROW(&text, "past", "x-0", KEY, "db1", ENDING, "H", "7", "", INFO, CLAIMS);
    cr_expect_str_eq(shown(), "");
    ADD_ROW(&text, "past", "1000000-0", KEY, "db1", ENDING, "H", "-7", "", INFO, CLAIMS);
    cr_expect_str_eq(shown(), "");
    ADD_ROW(&text, "past", "1000000-0", KEY);
    cr_expect_str_eq(shown(), "");
}

/* Units that are not as many, or no units, are none that it held; wrong words are not there. */
Test(fleet_ended, nonsense_within)
{
    entry(ENDING, INFO, "etl 3 90 0-1|etl 1 91 ,");
    cr_expect(strstr(shown(), " units=etl=3;etl=1 "), "%s", line);
    entry("how=released held=x waited=99999999999999999999 exit=999 by=x why=%",
        "pid=-1 program=%zz at=x", CLAIMS);
    cr_expect(strstr(shown(), " held=0 waited=0 pid=0 "), "%s", line);
}

Test(fleet_ended, a_line_is_never_too_long)
{
    char units[9000], info[3000], host[600];
    size_t n = 0;
    for (int i = 0; i < 1000; i++) {
        n += (size_t)snprintf(
            units + n, sizeof units - n, "%s%d", i > 0 ? "," : "big 1000 9 ", 2 * i);
    }
    memset(host, '%', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    n = (size_t)snprintf(info, sizeof info, "program=");
    for (int i = 0; i < 255; i++) {
        n += (size_t)snprintf(info + n, sizeof info - n, "%%01");
    }
    ADD_ROW(&text, "past", "1000000-0", KEY, host, ENDING, "H", "7", "h", info, units);
    cr_expect(strstr(shown(), "... uid=7"), "%s", line);
    host[256] = '\0';
    ADD_ROW(&text, "past", "1000000-0", KEY, host, ENDING, "H", "7", "h", info, units);
    cr_expect_eq(line[strlen(shown()) - 1], '\n');
}

Test(fleet_ended, nor_is_one_of_an_operator)
{
    char word[257];
    struct text out = TEXT_INIT;
    memset(word, '%', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const struct did did = {.verb = "limit",
        .resource = word,
        .target = word,
        .old = word,
        .new = word,
        .host = word,
        .reason = word};
    did_line_write(&out, &did, 1, NULL);
    cr_expect_lt(out.length, LINE_BYTES);
    cr_expect(!strstr(out.bytes, " reason="));
    text_deinit(&out);
}

Test(fleet_ended, what_was_left_out)
{
    struct fleet_missed missed;
    ADD_ROW(&text, "missed", "1000000-0", "17", "999000");
    ADD_ROW(&text, "missed", "1000000-0", "x", "999000");
    ADD_ROW(&text, "missed", "1000000-0");
    read_page();
    cr_expect(fleet_missed_read(&missed, &rows->rows[1]));
    cr_expect(missed.n == 17 && missed.from == 999000 && missed.until == 1000000);
    cr_expect_not(fleet_missed_read(&missed, &rows->rows[2]));
    cr_expect_not(fleet_missed_read(&missed, &rows->rows[3]));
    cr_expect_not(fleet_missed_read(&missed, &rows->rows[0]));
    text.length = 0;
    ADD_ROW(&text, "page", "1010000", "", "x", "3 1009000");
    read_page();
    cr_expect(page.since == 0 && page.next[0] == '\0');
    cr_expect(page.n_missed == 3 && page.missed_since == 1009000);
}
