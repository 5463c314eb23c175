/* test_store.c - what the history's file keeps, what it removes, and what becomes of it when the
 * disk or the file fails. Files are real; time is what a test says it is. */
#include "web/store_keeper.h"

#include "base/memory.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RETENTION = 1000000, BEGIN = 5000000 };

static struct store_keeper keeper;
static char path[4096];
static uint64_t max_pages = 1000;

static void open_store(void)
{
    snprintf(path, sizeof path, "%s", scratch_path("history.db"));
    store_keeper_init(&keeper, path, RETENTION, max_pages);
}

static void close_store(uint64_t now)
{
    store_keeper_finish(&keeper, now);
    store_keeper_deinit(&keeper);
}

static void reopen_store(void)
{
    close_store(BEGIN);
    open_store();
}

static void begin(void)
{
    scratch_begin();
    open_store();
}

static void end(void)
{
    store_keeper_deinit(&keeper);
    scratch_end();
}

/* Its JSON is its id and so many spaces. */
static void add_long(
    const char *id, uint64_t asked, uint64_t ended, const char *name, size_t spaces)
{
    size_t size = strlen(id) + spaces + 1;
    struct store_row *row = memory_new(sizeof *row + sizeof(char *) + 256 + size);
    char *room = (char *)&row->names[1], *json = room + 256;
    *row = (struct store_row){.asked = asked, .ended = ended, .bytes = 256 + size, .n_names = 1};
    row->id = strcpy(room, id);
    row->names[0] = strcpy(room + 64, name);
    row->json = memset(strcpy(json, id) + strlen(id), ' ', spaces) - strlen(id);
    store_keeper_add(&keeper, row);
}

static void add_numbered(unsigned number, uint64_t ended, size_t spaces)
{
    char id[16];
    snprintf(id, sizeof id, "%u", number);
    add_long(id, BEGIN, ended, "x", spaces);
}

static void add(const char *id, uint64_t asked, uint64_t ended, const char *name)
{
    add_long(id, asked, ended, name, 0);
}

/* The part of the answer between the brackets behind the key. */
static void expect_part(const char *json, const char *key, const char *expected)
{
    char part[65536] = "", *from = strstr(json, key);
    cr_assert(from, "%s in %s", key, json);
    from = strchr(from, '[') + 1;
    snprintf(part, sizeof part, "%.*s", (int)strcspn(from, "]"), from);
    cr_assert_str_eq(part, expected, "%s", json);
}

static void expect_of(const struct store_question *question, uint64_t now, const char *leases,
    const char *gaps, bool is_truncated)
{
    struct text json = TEXT_INIT;
    store_keeper_find(&keeper, question, now, &json);
    expect_part(json.bytes, "\"leases\":", leases);
    if (gaps) {
        expect_part(json.bytes, "\"gaps\":", gaps);
    }
    cr_assert_eq(strstr(json.bytes, "\"truncated\":true") != NULL, is_truncated, "%s", json.bytes);
    text_deinit(&json);
}

static void expect(uint64_t from, uint64_t until, const char *leases)
{
    const struct store_question question = {from, until, NULL, 100};
    expect_of(&question, BEGIN, leases, NULL, false);
}

static void expect_gaps(
    uint64_t from, uint64_t until, uint64_t now, const char *leases, const char *gaps)
{
    const struct store_question question = {from, until, NULL, 100};
    expect_of(&question, now, leases, gaps, false);
}

TestSuite(store, .init = begin, .fini = end);

/* ---- what is kept ---- */

Test(store, finds_what_overlaps_the_newest_first)
{
    add("a", BEGIN - 100, BEGIN - 50, "x");
    add("b", BEGIN - 90, BEGIN - 10, "y");
    add("c", BEGIN - 20, BEGIN - 15, "x");
    expect(0, BEGIN, "c,b,a"); /* in memory as they came */
    store_keeper_step(&keeper, BEGIN);
    cr_assert_eq(keeper.n_rows, 0);
    expect(0, BEGIN, "b,c,a");
    expect(BEGIN - 49, BEGIN, "b,c");
    expect(BEGIN - 50, BEGIN - 20, "b,a");
    expect(BEGIN - 9, BEGIN, "");
    const struct store_question of_x = {0, BEGIN, "x", 100}, two = {0, BEGIN, NULL, 2},
                                nobody = {0, BEGIN, "z", 100};
    expect_of(&of_x, BEGIN, "c,a", NULL, false);
    expect_of(&two, BEGIN, "b,c", NULL, true);
    expect_of(&nobody, BEGIN, "", NULL, false);
}

Test(store, keeps_a_lease_once)
{
    add("a", BEGIN - 100, BEGIN - 50, "x");
    store_keeper_step(&keeper, BEGIN);
    add("a", BEGIN - 99, BEGIN - 49, "x"); /* told again, by a clock that was set */
    store_keeper_step(&keeper, BEGIN);
    expect(0, BEGIN, "a");
    cr_assert_eq(keeper.file.n_leases, 1);
}

Test(store, keeps_all_over_a_restart)
{
    add("a", BEGIN - 100, BEGIN - 50, "x");
    store_keeper_cover(&keeper, BEGIN - 1000, BEGIN);
    reopen_store();
    store_keeper_step(&keeper, BEGIN + 5);
    cr_assert_eq(keeper.covered_until, BEGIN);
    cr_assert_eq(keeper.file.n_leases, 1);
    expect(0, BEGIN, "a");
}

Test(store, keeps_what_a_killed_process_has_written)
{
    add("a", BEGIN - 100, BEGIN - 50, "x");
    pid_t pid = fork();
    if (pid == 0) {
        store_keeper_step(&keeper, BEGIN);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    reopen_store();
    store_keeper_step(&keeper, BEGIN);
    expect(0, BEGIN, "a");
}

/* ---- gaps ---- */

Test(store, says_when_nothing_was_recorded)
{
    store_keeper_cover(&keeper, 4500000, 4600000);
    store_keeper_cover(&keeper, 4600000, 4650000);
    store_keeper_step(&keeper, BEGIN);
    store_keeper_cover(&keeper, 4700000, 4990000);
    expect_gaps(4400000, BEGIN, BEGIN, "",
        "{\"from_ms\":4400000,\"until_ms\":4500000},{\"from_ms\":4650000,\"until_ms\":4700000}");
    store_keeper_step(&keeper, BEGIN + STORE_COVER_MILLISECONDS);
    cr_assert_eq(keeper.n_spans, 0);
    expect_gaps(4600001, 4650000, BEGIN, "", "");
    expect_gaps(4640000, 4700001, BEGIN, "", "{\"from_ms\":4650000,\"until_ms\":4700000}");
    expect_gaps(
        4800000, BEGIN + 60000, BEGIN + 50000, "", "{\"from_ms\":4990000,\"until_ms\":5050000}");
}

Test(store, a_backfill_closes_a_gap)
{
    store_keeper_cover(&keeper, 4000000, 4600000);
    store_keeper_step(&keeper, 4700000);
    add("a", 4610000, 4620000, "x");
    store_keeper_cover(&keeper, 4600000, 4700000);
    store_keeper_step(&keeper, 4700000);
    expect_gaps(4000000, 4700000, 4700000, "a", "");
}

/* ---- what goes ---- */

Test(store, removes_what_is_too_old)
{
    add("a", BEGIN - RETENTION - 100, BEGIN - RETENTION - 1, "x");
    add("b", BEGIN - RETENTION - 100, BEGIN - RETENTION, "x");
    store_keeper_cover(&keeper, BEGIN - 2 * RETENTION, BEGIN);
    store_keeper_step(&keeper, BEGIN);
    store_keeper_step(&keeper, BEGIN + 60000);
    const struct store_question question = {0, BEGIN, NULL, 100}, of_x = {0, BEGIN, "x", 100};
    expect_of(&question, BEGIN, "", NULL, false);
    expect_of(&of_x, BEGIN, "", NULL, false);
    cr_assert_eq(keeper.file.n_leases, 0);
    expect_gaps(4000000, 4100000, BEGIN + 60000, "", "{\"from_ms\":4000000,\"until_ms\":4060000}");
}

Test(store, keeps_what_is_not_too_old)
{
    store_keeper_step(&keeper, BEGIN);
    add("b", BEGIN - RETENTION - 100, BEGIN - RETENTION + 60000, "x");
    store_keeper_step(&keeper, BEGIN + 60000);
    store_keeper_step(&keeper, BEGIN + 60000);
    expect(0, BEGIN, "b");
}

Test(store, a_file_that_is_nearly_full_loses_what_ended_first)
{
    enum { N = 3000 };
    max_pages = 200;
    reopen_store();
    for (unsigned i = 0; i < N; i++) {
        add_numbered(i, BEGIN + i, 1000);
        store_keeper_step(&keeper, BEGIN + i);
        cr_assert_str_empty(keeper.why, "%s", keeper.why);
    }
    cr_assert_leq(store_file_bytes(&keeper.file), 200 * STORE_PAGE_BYTES);
    cr_assert_gt(keeper.file.n_leases, 50);
    cr_assert_lt(keeper.file.n_leases, 700);
    struct text json = TEXT_INIT;
    const struct store_question last = {BEGIN + N - 1, BEGIN + N, NULL, 1};
    store_keeper_find(&keeper, &last, BEGIN + N, &json);
    cr_assert(strstr(json.bytes, "[2999 "));
    text_deinit(&json);
}

/* ---- what fails ---- */

/* So many pages that the file cannot grow, as on a full disk. */
static void allow(rlim_t bytes)
{
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(store, a_full_disk_is_said_and_waited_for)
{
    add("a", BEGIN - 100, BEGIN - 50, "x");
    store_keeper_step(&keeper, BEGIN);
    allow(50000);
    for (unsigned i = 0; i < 100; i++) {
        add_numbered(i, BEGIN + i, 5000);
        store_keeper_step(&keeper, BEGIN);
    }
    cr_assert(strstr(keeper.why, "history.db: "), "%s", keeper.why);
    cr_assert(strstr(keeper.notices.bytes, "kept in memory"), "%s", keeper.notices.bytes);
    cr_assert_gt(keeper.n_rows, 10);
    size_t in_memory = keeper.n_rows;
    store_keeper_step(&keeper, BEGIN + STORE_RETRY_MILLISECONDS);
    cr_assert_eq(keeper.n_rows, in_memory);
    allow(RLIM_INFINITY);
    store_keeper_step(&keeper, BEGIN + 2 * STORE_RETRY_MILLISECONDS);
    cr_assert_str_empty(keeper.why);
    cr_assert_eq(keeper.n_rows, 0);
    cr_assert_eq(keeper.file.n_leases, 101);
    cr_assert_eq(keeper.n_set_aside, 0);
    cr_assert(strstr(keeper.notices.bytes, "works"));
}

Test(store, memory_is_bounded_while_the_disk_fails)
{
    keeper.path = "/nowhere/history.db";
    store_keeper_step(&keeper, BEGIN);
    cr_assert(strstr(keeper.why, "No such file or directory"), "%s", keeper.why);
    for (unsigned i = 0; i < STORE_MAX_ROWS + 10; i++) {
        add("a", BEGIN, BEGIN, "x");
    }
    cr_assert_eq(keeper.n_rows, STORE_MAX_ROWS);
    const struct store_question one = {0, BEGIN + 1, NULL, 1};
    expect_of(&one, BEGIN, "a", NULL, true);
    struct text before = TEXT_INIT;
    text_add(&before, keeper.notices.bytes);
    store_keeper_step(&keeper, BEGIN + STORE_RETRY_MILLISECONDS);
    cr_assert_str_eq(before.bytes, keeper.notices.bytes); /* said once */
    text_deinit(&before);
}

Test(store, one_file_is_one_process_s)
{
    struct store_file other;
    store_keeper_step(&keeper, BEGIN);
    cr_assert_eq(store_file_open(&other, path, 100), STORE_FAILS);
    cr_assert(strstr(other.why, "another process has it"), "%s", other.why);
}

/* ---- damage ---- */

static void fill(void)
{
    for (unsigned i = 0; i < 300; i++) {
        add_numbered(i, BEGIN + i, 500);
    }
    close_store(BEGIN);
}

static void expect_set_aside(const char *reason)
{
    open_store();
    add("new", BEGIN, BEGIN, "x");
    store_keeper_step(&keeper, BEGIN);
    cr_assert_eq(keeper.n_set_aside, 1, "%s", keeper.why);
    cr_assert_str_empty(keeper.why);
    cr_assert(strstr(keeper.notices.bytes, reason), "%s", keeper.notices.bytes);
    cr_assert(strstr(keeper.notices.bytes, "history.db.damaged-1, and a new one begins"));
    cr_assert_eq(access(scratch_path("history.db.damaged-1"), F_OK), 0);
    expect(0, BEGIN + 1, "new");
}

Test(store, a_file_of_nonsense_is_set_aside)
{
    fill();
    scratch_write("history.db", "nonsense nonsense nonsense", 26);
    expect_set_aside("not a database");
    close_store(BEGIN);
    scratch_write("history.db", "nonsense nonsense nonsense", 26);
    open_store();
    store_keeper_step(&keeper, BEGIN);
    cr_assert_eq(access(scratch_path("history.db.damaged-2"), F_OK), 0);
}

Test(store, a_file_with_a_damaged_page_is_set_aside)
{
    size_t n;
    fill();
    char *bytes = scratch_read("history.db", &n);
    cr_assert_gt(n, 10 * STORE_PAGE_BYTES);
    memset(bytes + 5 * STORE_PAGE_BYTES, 0x5a, 2 * STORE_PAGE_BYTES);
    scratch_write("history.db", bytes, n);
    free(bytes);
    expect_set_aside("it is damaged");
}

Test(store, a_file_that_was_cut_is_set_aside)
{
    fill();
    cr_assert_eq(truncate(path, 7 * STORE_PAGE_BYTES + 100), 0);
    expect_set_aside("malformed");
}

Test(store, another_s_file_is_set_aside)
{
    sqlite3 *other;
    close_store(BEGIN);
    unlink(path);
    cr_assert_eq(sqlite3_open(path, &other), SQLITE_OK);
    sqlite3_exec(other, "CREATE TABLE leases (a)", NULL, NULL, NULL);
    sqlite3_close(other);
    expect_set_aside("does not know");
}

/* What is gone with it is a gap; all else is in a new one. */
Test(store, a_file_that_is_removed_is_missed)
{
    add("a", BEGIN - 100, BEGIN - 50, "x");
    store_keeper_cover(&keeper, BEGIN - 100, BEGIN - 40);
    store_keeper_step(&keeper, BEGIN);
    unlink(path);
    add("b", BEGIN - 30, BEGIN + 10, "x");
    store_keeper_cover(&keeper, BEGIN - 40, BEGIN + 20);
    store_keeper_step(&keeper, BEGIN + 20);
    cr_assert(strstr(keeper.why, "it has been removed"), "%s", keeper.why);
    expect(0, BEGIN + 20, "b");
    store_keeper_step(&keeper, BEGIN + 20 + STORE_RETRY_MILLISECONDS);
    cr_assert_str_empty(keeper.why, "%s", keeper.why);
    close_store(BEGIN + 20 + STORE_RETRY_MILLISECONDS);
    open_store();
    store_keeper_step(&keeper, BEGIN + 10000);
    expect_gaps(BEGIN - 100, BEGIN + 20, BEGIN + 100000, "b",
        "{\"from_ms\":4999900,\"until_ms\":4999960}");
}

Test(store, any_damaged_byte_is_survived)
{
    size_t n;
    fill();
    char *whole = scratch_read("history.db", &n);
    for (size_t i = 0; i < 100; i++) {
        size_t place = i < 50 ? i * 2 : i * 7919 % n;
        whole[place] ^= 0x55;
        scratch_write("history.db", whole, n);
        whole[place] ^= 0x55;
        open_store();
        add("new", BEGIN + 1000, BEGIN + 1000, "x");
        store_keeper_step(&keeper, BEGIN + 1000);
        const struct store_question all = {0, BEGIN * 2, NULL, 5000};
        struct text json = TEXT_INIT;
        store_keeper_find(&keeper, &all, BEGIN + 1000, &json);
        store_keeper_step(&keeper, BEGIN + 60000);
        store_keeper_step(&keeper, BEGIN + 70000);
        cr_assert_str_empty(keeper.why, "%zu: %s", place, keeper.why);
        text_deinit(&json);
        close_store(BEGIN + 70000);
        unlink(path);
    }
    free(whole);
    open_store();
}
