/* test_top_rows.c - `berthctl top` without its terminal: which rows there are, what a screen of any
 * size shows, what the keys do. */
#include "top/top_internal.h"
#include "print_help.h"
#include "status_help.h"

#include <stdio.h>
#include <string.h>

static const char *const answer[] = {
    "ok draining=0 held=4 waiting=2",
    "resource etl kind=semaphore scope=host limit=4 in_use=3 free=1 waiting=0",
    "holder 1 units=0-2 token=1 pid=11 uid=7 since=-5000 bound=process program=make",
    "resource gpus kind=pool scope=host limit=3 in_use=1 free=1 waiting=2 items=g0,g1,g2 reserved=g2",
    "holder 2 units=g1 token=2 pid=12 uid=8 since=-65000 bound=process holder=nightly",
    "waiter 3 wants=2 position=1 pid=13 uid=9 since=-9000 blocked=other blocker=etl",
    "waiter 4 wants=1 position=2 pid=14 uid=7 since=-8000",
    "resource idle kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
    "resource t/x10 kind=lock scope=host limit=1 in_use=1 free=0 waiting=0 template=t/*",
    "holder 5 units=0 token=3 pid=15 uid=8 since=-1000 bound=process stopping=revoked",
    "resource t/x9 kind=lock scope=host limit=1 in_use=1 free=0 waiting=0 template=t/*",
    "holder 6 units=0 token=3 pid=16 uid=9 since=-99000 bound=process",
    "template t/* kind=lock scope=host limit=1 instances=2",
    "end",
};

static const char *no_process(void *context, const struct status_lease *lease, bool arguments)
{
    (void)context;
    return lease->pid == 12 ? (arguments ? "train --big" : "train") : NULL;
}

/* ---- a screen ---- */

static struct status status;
static struct top top;

static void end(void)
{
    top_deinit(&top);
    status_deinit(&status);
    top = (struct top){0};
    status = (struct status){0};
}

/* A test may begin again. */
static void begin_with(const char *const lines[], size_t n, size_t width, size_t height)
{
    end();
    take_status(&status, lines, n);
    top.status = &status;
    top.host = "here";
    top.width = width;
    top.height = height;
    top.choice.process_of = no_process;
    top_update(&top);
}

static void begin(size_t width, size_t height)
{
    begin_with(answer, N(answer), width, height);
}

/* What most tests begin with. */
static void begin_large(void)
{
    begin(80, 24);
}

#define TOP_SUITE(name) TestSuite(name, .init = begin_large, .fini = end)
TOP_SUITE(top_rows);
TOP_SUITE(top_screen);
TOP_SUITE(top_keys);
TOP_SUITE(top_units);

/* The lines, without blanks at their ends. No line is ever too long. */
static void expect_screen(const char *expected)
{
    struct top_screen screen;
    struct text shown = TEXT_INIT;
    top_screen_make(&screen, &top);
    cr_expect_eq(screen.n, top.height);
    for (size_t i = 0; i < screen.n; i++) {
        const struct text *line = &screen.lines[i].text;
        size_t n = line->length;
        cr_expect_leq(text_width(line->bytes), top.width, "%s", line->bytes);
        while (n > 0 && line->bytes[n - 1] == ' ') {
            n--;
        }
        text_add_bytes(&shown, line->bytes, n);
        text_add(&shown, "\n");
    }
    expect_text(&shown, expected);
    top_screen_deinit(&screen);
}

/* The names of resources and templates, and the ids of leases, in order. */
static void expect_rows(const char *expected)
{
    struct text shown = TEXT_INIT;
    text_add(&shown, "");
    for (size_t i = 0; i < top.rows.n; i++) {
        const struct top_row *row = &top.rows.list[i];
        text_add(&shown, i > 0 ? " " : "");
        text_add(&shown, row->lease ? row->lease->id : row->resource->name);
    }
    expect_text(&shown, expected);
}

static void type(const char *keys)
{
    for (; *keys; keys++) {
        top_type(&top, *keys == '\n' ? (uint32_t)TOP_KEY_ENTER : (uint32_t)*keys);
    }
}

static void expect_row(const char *name)
{
    const struct top_row *row = top_row(&top);
    cr_expect_str_eq(row->lease ? row->lease->id : row->resource->name, name);
}

#define EVERYTHING "etl 1 gpus 2 3 4 idle t/* t/x9 6 t/x10 5"

Test(top_rows, who_holds_what_is_seen_at_once)
{
    expect_rows(EVERYTHING);
}

Test(top_rows, what_does_not_fit_stays_closed)
{
    begin(80, 12); /* 9 rows: 6 of resources and the template; leases may take 4, were it full */
    expect_rows("etl 1 gpus 2 3 4 idle t/* t/x9 t/x10");
    begin(80, 8); /* 5 rows, of which leases may take 2 */
    expect_rows("etl 1 gpus idle t/* t/x9 6 t/x10");
}

Test(top_rows, a_resource_that_gets_its_first_lease_opens)
{
    static const char *const before[] = {
        "ok draining=0 held=0 waiting=0",
        "resource a kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
        "end",
    };
    static const char *const after[] = {
        "ok draining=0 held=1 waiting=0",
        "resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0",
        "holder 1 units=0 token=1 pid=11 uid=7 since=-5000 bound=process",
        "end",
    };
    struct status later = {0};
    begin_with(before, N(before), 80, 24);
    expect_rows("a");
    take_status(&later, after, N(after));
    top.status = &later;
    top_update(&top);
    expect_rows("a 1");
    type(" ");
    expect_rows("a");
    top_update(&top); /* what the user has closed stays closed */
    expect_rows("a");
    end();
    status_deinit(&later);
}

Test(top_rows, sorted)
{
    type("N");
    expect_rows("etl 1 gpus 2 3 4 idle t/x9 6 t/x10 5 t/*");
    type("U");
    expect_rows("etl 1 gpus 2 3 4 t/x10 5 t/x9 6 idle t/*");
    type("W");
    expect_rows("gpus 2 3 4 etl 1 idle t/x10 5 t/x9 6 t/*");
    type("A");
    expect_rows("t/x9 6 gpus 2 3 4 etl 1 t/x10 5 idle t/*");
    expect_row("t/x9");
    type("F");
    expect_rows(EVERYTHING);
}

static void expect_counts(const char *expected)
{
    char counts[64];
    snprintf(counts, sizeof counts, "%zu of %zu, %zu, %zu", top.rows.n_busy, top.rows.n_resources,
        top.rows.n_held, top.rows.n_waiting);
    cr_expect_str_eq(counts, expected);
}

/* Of all hosts, whatever this one holds; a lease on several resources once; also below what is
 * closed; and nothing that is not listed. */
Test(top_rows, counts_are_of_what_is_listed)
{
    static const char *const fleet[] = {
        "ok draining=0 held=0 waiting=0",
        "resource a kind=semaphore scope=fleet database=d limit=2 in_use=2 free=0 waiting=1",
        "holder 0123456789abcdef/1 units=0 token=1 pid=11 uid=7 since=-5000 host=x",
        "holder 0123456789abcdef/2 units=1 token=2 pid=12 uid=8 since=-5000 host=x",
        "waiter 0123456789abcdef/3 wants=1 position=1 pid=13 uid=9 since=-9000 host=x",
        "resource b kind=lock scope=fleet database=d limit=1 in_use=1 free=0 waiting=0",
        "holder 0123456789abcdef/1 units=0 token=1 pid=11 uid=7 since=-5000 host=x",
        "resource c kind=lock scope=host limit=1 in_use=0 free=1 waiting=0",
        "end",
    };
    expect_counts("4 of 5, 4, 2");
    begin_with(fleet, N(fleet), 80, 24);
    expect_counts("2 of 3, 2, 1");
    type(" ");
    expect_counts("2 of 3, 2, 1");
    type("u8\n");
    expect_counts("1 of 1, 1, 0");
}

Test(top_rows, filtered)
{
    type("b");
    expect_rows("etl 1 gpus 2 3 4 t/* t/x9 6 t/x10 5");
    type("b");
    type("u7\n");
    expect_rows("etl 1 gpus 4");
    type("/gp");
    expect_rows("gpus 4");
    top_type(&top, TOP_KEY_ESCAPE); /* the filter as it was: none */
    expect_rows("etl 1 gpus 4");
    top_type(&top, TOP_KEY_ESCAPE);
    expect_rows(EVERYTHING);
    type("/MAKE\n");
    expect_rows("etl 1");
    type("/\b\b\b\bnightly\n");
    expect_rows("gpus 2");
    type("/\b\b\b\b\b\b\btrain\n"); /* which /proc knows */
    expect_rows("gpus 2");
    type("/\b\b\b\b\b--big\n");
    expect_rows("");
    type("a");
    expect_rows("gpus 2");
    type("a/\b\b\b\b\bnothing\n");
    expect_rows("");
    type("/\b\b\b\b\b\b\b\n");
    expect_rows(EVERYTHING);
}

Test(top_rows, a_user_whom_nobody_knows_changes_nothing)
{
    type("uno such user\n");
    expect_rows(EVERYTHING);
    cr_expect_str_eq(top.message.bytes, "no such user: no such user");
}

Test(top_rows, what_is_looked_for_is_shown_also_of_a_closed_resource)
{
    begin(80, 8);
    type("/nightly\n");
    expect_rows("gpus 2");
}

Test(top_rows, the_cursor_stays_with_its_lease)
{
    type("jjjj");
    expect_row("3");
    type("N");
    expect_row("etl"); /* a new order begins at its start */
    type("Gkk");
    expect_row("t/x10");
    type("b");
    expect_row("t/x10");
    type("F");
    type("gjjjjj");
    expect_row("4");
    type("u9\n"); /* 4 is gone: the row in its line */
    expect_row("6");
}

Test(top_rows, folding_a_lease_leads_to_its_resource)
{
    type("jjjjh");
    expect_row("gpus");
    expect_rows("etl 1 gpus idle t/* t/x9 6 t/x10 5");
    type("l");
    expect_rows(EVERYTHING);
}

Test(top_rows, pages_and_ends)
{
    begin(80, 8);
    type("F");
    top_type(&top, TOP_KEY_PAGE_DOWN);
    expect_row("t/*");
    cr_expect_eq(top.cursor.first, 0);
    top_type(&top, TOP_KEY_END);
    expect_row("t/x10");
    cr_expect_eq(top.cursor.first, 3);
    top_type(&top, TOP_KEY_DOWN);
    expect_row("t/x10");
    top_type(&top, TOP_KEY_HOME);
    expect_row("etl");
    top_type(&top, TOP_KEY_UP);
    expect_row("etl");
}

/* ---- screens ---- */

Test(top_screen, of_80_columns)
{
    begin(80, 20);
    strcpy(top.clock, "12:03:55");
    type("jjj");
    expect_screen(
        "here: 4 of 5 resources busy, 4 held, 2 waiting                          12:03:55\n"
        "    NAME     USED WAIT  UNITS\n"
        "  - etl       3/4    0  [###.]\n"
        "      held   slots 0-2     5s 7             11 make\n"
        "  - gpus      1/3    2  g0 [g1] (g2)  reserved\n"
        ">     held   item g1    1m05s 8             12 [train], nightly\n"
        "      #1     wants 2       9s 9             13 blocked: etl\n"
        "      #2     wants 1       8s 7             14\n"
        "    idle      0/1    0  [.]\n"
        "    t/*       -/1    -  template, 2 instances\n"
        "  - t/x9      1/1    0  [#]\n"
        "      held   slot 0     1m39s 9             16\n"
        "  - t/x10     1/1    0  [#]\n"
        "      stops  slot 0        1s 8             15 stopping (revoked)\n"
        "\n\n\n\n\n"
        "? help  q quit  Enter opens  / find  w why  d details  x revoke  b busy  u user\n");
}

/* An id is whole or not there. */
Test(top_screen, ids)
{
    static const char *const fleet[] = {
        "ok draining=0 held=0 waiting=0",
        "resource a kind=lock scope=fleet database=d limit=1 in_use=1 free=0 waiting=0",
        "holder 0123456789abcdef/1k0r2jf5ee4 units=0 token=1 pid=11 uid=7 since=-5000 host=x"
        " program=make",
        "end",
    };
    for (size_t width = 80; width < 130; width++) {
        struct top_screen screen;
        begin_with(fleet, N(fleet), width, 9);
        top_screen_make(&screen, &top);
        const char *line = screen.lines[3].text.bytes, *id = strstr(line, "0123");
        bool is_whole = id && strncmp(id, "0123456789abcdef/1k0r2jf5ee4 ", 29) == 0;
        cr_expect_eq(is_whole, width >= 107, "%s", line);
        cr_expect(is_whole || !id, "%s", line);
        top_screen_deinit(&screen);
    }
}

Test(top_screen, of_any_size)
{
    for (size_t width = 1; width < 130; width += width < 40 ? 1 : 5) {
        for (size_t height = 1; height < 20; height++) {
            static const char keys[] = "jjjj?dwx\n/abc\n\xe2";
            begin(width, height);
            for (const char *key = keys; *key; key++) {
                struct top_screen screen;
                top_type(&top, *key == '\n' ? (uint32_t)TOP_KEY_ENTER : (uint8_t)*key);
                top_screen_make(&screen, &top);
                cr_expect_eq(screen.n, height);
                for (size_t i = 0; i < height; i++) {
                    cr_expect_leq(text_width(screen.lines[i].text.bytes), width);
                }
                top_screen_deinit(&screen);
            }
        }
    }
}

Test(top_screen, of_60_columns)
{
    begin(60, 9);
    type("jjk");
    expect_screen("here: 4 of 5 resources busy, 4 held, 2 waiting\n"
                  "    NAME     USED WAIT  UNITS\n"
                  "  - etl       3/4    0  [###.]\n"
                  ">     held   slots 0-2     5s 7             11 make\n"
                  "  + gpus      1/3    2  g0 [g1] (g2)  reserved\n"
                  "    idle      0/1    0  [.]\n"
                  "    t/*       -/1    -  template, 2 instances\n"
                  "  - t/x9      1/1    0  [#]\n"
                  "? help  q quit  Enter opens  / find  w why  d details\n");
}

Test(top_screen, of_20_columns)
{
    begin(20, 6);
    expect_screen("here: 4 of 5 resour>\n"
                  "    NAME     USED W>\n"
                  "> - etl       3/4  0\n"
                  "      held   make\n"
                  "  + gpus      1/3  2\n"
                  "? help  q quit\n");
}

Test(top_screen, what_is_hostile_is_harmless)
{
    static const char *const hostile[] = {
        "ok draining=0 held=1 waiting=0",
        "resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0 paused=1 pause_reason=%1B[2J",
        "holder 1 units=0 token=1 pid=11 uid=7 since=0 bound=process program=%1B]0;x%07%0Ay reason=%C2%9B",
        "end",
    };
    begin_with(hostile, N(hostile), 80, 6);
    expect_screen("here: 1 of 1 resources busy, 1 held, 0 waiting\n"
                  "    NAME     USED WAIT  UNITS\n"
                  "> - a         1/1    0  [#]  paused\n"
                  "      held   slot 0      0s 7             11 \\x1b]0;x\\x07\\x0ay, \\xc2\\x9b\n"
                  "\n"
                  "? help  q quit  Enter opens  / find  w why  d details  x revoke  b busy  u user\n");
    type("d");
    expect_screen("here: 1 of 1 resources busy, 1 held, 0 waiting\n"
                  "Details of a\n"
                  "  kind     lock, scope host\n"
                  "  units    [#]\n"
                  "  used     1 of 1, 0 free\n"
                  "q back  arrows scroll  w why  x revoke\n");
}

Test(top_screen, wide_characters_keep_to_their_columns)
{
    static const char *const wide[] = {
        "ok draining=0 held=1 waiting=0",
        "resource a kind=lock scope=host limit=1 in_use=1 free=0 waiting=0",
        "holder 1 units=0 token=1 pid=11 uid=7 since=0 bound=process program=%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5",
        "end",
    };
    use_utf8();
    begin_with(wide, N(wide), 60, 6);
    expect_screen("here: 1 of 1 resources busy, 1 held, 0 waiting\n"
                  "    NAME     USED WAIT  UNITS\n"
                  "> - a         1/1    0  [#]\n"
                  "      held   slot 0      0s 7             11 日日日日日日日…\n"
                  "\n"
                  "? help  q quit  Enter opens  / find  w why  d details\n");
    top.width = 56;
    expect_screen("here: 1 of 1 resources busy, 1 held, 0 waiting\n"
                  "    NAME     USED WAIT  UNITS\n"
                  "> - a         1/1    0  [#]\n"
                  "      held   slot 0      0s 7        日日日日日日日日日\n"
                  "\n"
                  "? help  q quit  Enter opens  / find  w why  d details\n");
}

Test(top_screen, what_keeps_the_host_from_granting_stands_above)
{
    static const char *const held_back[] = {
        "ok draining=1 granting=0 held=0 waiting=0 grace_until=5000",
        "database one state=down why=gone%1B ttl=1000",
        "database two state=up ttl=1000",
        "database three state=up ttl=1000 grace_until=2000",
        "resource a kind=lock scope=fleet database=one database_state=down limit=1 in_use=0 free=0 waiting=0",
        "end",
    };
    begin_with(held_back, N(held_back), 100, 8);
    expect_screen("here: 0 of 1 resources busy, 0 held, 0 waiting\n"
                  "draining: this host grants nothing; grace: berthd has restarted and waits 5s for its clients\n"
                  "database one: down: gone\\x1b\n"
                  "database three: up, in its grace for 2s\n"
                  "    NAME     USED WAIT  UNITS\n"
                  ">   a         0/1    0  [.]  database down\n"
                  "\n"
                  "? help  q quit  Enter opens  / find  w why  d details  x revoke  b busy  u user\n");
}

Test(top_screen, of_a_fleet)
{
    static const char *const fleet[] = {
        "ok draining=0 held=1 waiting=1",
        "database main state=up ttl=1000",
        "resource etl kind=semaphore scope=fleet database=main limit=20 in_use=3 free=16 waiting=1 cooling=1",
        "holder 1 units=0-2 token=1 pid=11 uid=7 since=-5000 bound=process host=north program=make until=9000",
        "waiter far/2 wants=18 position=1 pid=22 uid=8 since=-65000 host=south priority=5 hidden=1",
        "resource lost kind=lock scope=fleet database=main limit=9 in_use=0 free=0 waiting=0 database_state=no-answer",
        "end",
    };
    begin_with(fleet, N(fleet), 80, 8);
    expect_screen("here: 1 of 2 resources busy, 1 held, 1 waiting\n"
                  "    NAME     USED WAIT  UNITS\n"
                  "> - etl      3/20    1  [###~................]  cooling\n"
                  "      held   slots 0-2     5s 7        north           11 9s left; make\n"
                  "      #1     wants 18   1m05s 8        south           22 priority 5; (hidden)\n"
                  "    lost      0/9    0  [.........]  database no-answer\n"
                  "\n"
                  "? help  q quit  Enter opens  / find  w why  d details  x revoke  b busy  u user\n");
    top.width = 46;
    expect_screen("here: 1 of 2 resources busy, 1 held, 1 waiting\n"
                  "    NAME     USED WAIT  UNITS\n"
                  "> - etl      3/20    1  [#..........]  cooling\n"
                  "      held   slots 0-2 7        9s left; make\n"
                  "      #1     wants 18  8        priority 5; (>\n"
                  "    lost      0/9    0  [......]  database no>\n"
                  "\n"
                  "? help  q quit  Enter opens  / find  w why\n");
}

Test(top_screen, a_picture_that_is_old_says_so)
{
    struct top_screen screen;
    begin(80, 24);
    top.is_stale = true;
    strcpy(top.clock, "12:03:55");
    text_add(&top.trouble, "trying again");
    top_screen_make(&screen, &top);
    cr_expect(screen.is_grey);
    cr_expect_str_eq(
        screen.lines[0].text.bytes, "berthd is gone; last update at 12:03:55; trying again");
    top_screen_deinit(&screen);
    type("jx"); /* and nobody can be asked */
    cr_expect_eq(top.prompt, TOP_NO_PROMPT);
}

/* ---- questions ---- */

Test(top_keys, nothing_is_revoked_without_a_yes)
{
    static const char *const ways[] = {"x", "xn\n", "xq\n", "x\n\n", "xy\x1b\n", "jxy"};
    for (size_t i = 0; i < N(ways); i++) {
        begin(80, 24);
        type("j");
        for (const char *key = ways[i]; *key; key++) {
            top_type(&top, *key == '\n'      ? (uint32_t)TOP_KEY_ENTER
                         : *key == '\x1b' ? (uint32_t)TOP_KEY_ESCAPE
                                          : (uint32_t)*key);
        }
        cr_expect_eq(top.question.asking, TOP_ASKS_NOTHING, "%s", ways[i]);
        cr_expect(!top.quits);
    }
}

Test(top_keys, revoke_with_a_reason)
{
    type("jxyspace is\b\bneeded");
    cr_expect_eq(top.question.asking, TOP_ASKS_NOTHING);
    type("\n");
    cr_expect_eq(top.question.asking, TOP_ASKS_REVOKE);
    cr_expect(top.question.is_new);
    cr_expect_str_eq(top.question.subject.lease, "1");
    cr_expect_str_eq(top.question.reason, "space needed");
    type("jjx"); /* its answer comes first */
    cr_expect_eq(top.prompt, TOP_NO_PROMPT);
    top_answered(&top, false, "only its owner may\n");
    cr_expect_str_eq(top.message.bytes, "not revoked: only its owner may");
    cr_expect_eq(top.question.asking, TOP_ASKS_NOTHING);
}

Test(top_keys, the_lease_that_was_asked_about_is_revoked)
{
    static const char *const later[] = {
        "ok draining=0 held=1 waiting=0",
        "resource etl kind=semaphore scope=host limit=4 in_use=3 free=1 waiting=0",
        "holder 9 units=0-2 token=1 pid=11 uid=7 since=-5000 bound=process",
        "end",
    };
    struct status other = {0};
    begin(80, 24);
    take_status(&other, later, N(later));
    type("jx");
    top.status = &other; /* another one stands in its row now */
    top_update(&top);
    expect_row("9");
    type("y\n");
    cr_expect_str_eq(top.question.subject.lease, "1");
    end();
    status_deinit(&other);
}

Test(top_keys, why)
{
    begin(60, 8);
    type("jj jjw");
    cr_expect_eq(top.question.asking, TOP_ASKS_WHY);
    cr_expect_str_eq(top.question.subject.lease, "3");
    top_answered(&top, true,
        "Lease 3 waits for 2 of gpus.\n"
        "  gpus: 1 is held by lease 2, which is another sentence.\n");
    expect_screen("here: 4 of 5 resources busy, 4 held, 2 waiting\n"
                  "Why: lease 3 on gpus\n"
                  "Lease 3 waits for 2 of gpus.\n"
                  "  gpus: 1 is held by lease 2, which is another sentence.\n"
                  "\n\n\n"
                  "q back  arrows scroll  w why  x revoke\n");
    type("q");
    cr_expect(!top.quits);
    type("q");
    cr_expect(top.quits);
}

Test(top_keys, each_key_has_one_meaning_and_the_help_has_all)
{
    for (const struct top_key *key = top_keys; key->label; key++) {
        for (const struct top_key *other = top_keys; other != key; other++) {
            for (size_t i = 0; i < N(key->codes) * N(other->codes); i++) {
                uint32_t code = key->codes[i % N(key->codes)];
                cr_expect(code == 0 || code != other->codes[i / N(key->codes)], "%s", key->label);
            }
        }
    }
    begin(80, 60);
    type("?");
    struct top_screen screen;
    struct text all = TEXT_INIT;
    top_screen_make(&screen, &top);
    for (size_t i = 0; i < screen.n; i++) {
        text_add(&all, screen.lines[i].text.bytes);
    }
    for (const struct top_key *key = top_keys; key->label; key++) {
        cr_expect(strstr(all.bytes, key->help), "%s", key->help);
    }
    text_deinit(&all);
    top_screen_deinit(&screen);
}

/* ---- boxes ---- */

static void expect_boxes(const char *line, const char *holder, size_t width, const char *expected)
{
    const char *const lines[] = {"ok draining=0 held=0 waiting=0", line, holder, "end"};
    struct status one = {0};
    struct text boxes = TEXT_INIT;
    take_status(&one, lines, N(lines));
    text_add_boxes(&boxes, &one.resources[0], width);
    expect_text(&boxes, expected);
    status_deinit(&one);
}

Test(top_units, boxes)
{
    static const char *const none = "other";
    static const char *const few =
        "resource a kind=semaphore limit=6 in_use=2 free=2 cooling=1 waiting=0 reserved=5";
    static const char *const many =
        "resource a kind=semaphore limit=1000 in_use=999 free=1 waiting=0";
    static const char *const pool =
        "resource a kind=pool limit=3 in_use=1 free=2 waiting=0 items=a,b,c reserved=c";
    expect_boxes(few, "holder 1 units=1,3 token=1 pid=1 uid=1 since=-1", 20, "[~#.#.x]");
    expect_boxes(few, none, 20, "[##~..x]");
    expect_boxes(few, none, 7, "[#....]");
    expect_boxes(many, none, 12, "[#########.]");
    expect_boxes(many, none, 4, "");
    expect_boxes(pool, "holder 1 units=b token=1 pid=1 uid=1 since=-1", 20, "a [b] (c)");
    expect_boxes(pool, "holder 1 units=b token=1 pid=1 uid=1 since=-1", 8, "[.#x]");
    expect_boxes("resource a kind=semaphore limit=2 in_use=3 free=0 waiting=0", none, 20, "[##]");
    expect_boxes("resource a kind=semaphore limit=0 in_use=0 free=0 waiting=0", none, 20, "[]");
    expect_boxes("resource a kind=semaphore limit=9000 in_use=1 free=8999 waiting=0", none, 12,
        "[#.........]");
}
