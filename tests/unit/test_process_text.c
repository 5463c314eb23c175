/* test_process_text.c - what is read out of the texts of /proc. */
#include "job/process_text.h"

#include <criterion/criterion.h>

TestSuite(process_text, .timeout = 20);

/* ---- stat ---- */

#define BETWEEN " 1 2 3 34816 -1 4194304 97 0 1 0 0 0 0 0 20 0 "
#define AFTER " 3133440 375 18446744073709551615 1 1\n"

static const struct {
    const char *text;
    char state;
    uint32_t n_threads;
    uint64_t started;
} stats[] = {
    {"7 (cat) R" BETWEEN "1 0 1343763" AFTER, 'R', 1, 1343763},
    {"7 (a b) S" BETWEEN "12 0 5" AFTER, 'S', 12, 5},
    {"7 () Z" BETWEEN "1 0 5" AFTER, 'Z', 1, 5},
    {"7 ()) S" BETWEEN "1 0 5" AFTER, 'S', 1, 5},
    {"7 (x) Z 9 9 (y) S" BETWEEN "1 0 5" AFTER, 'S', 1, 5},
    {"7 (x) R" BETWEEN "1 0 4) S" BETWEEN "1 0 5" AFTER, 'S', 1, 5},
    {"7 (a\n(b) S" BETWEEN "1 0 5" AFTER, 'S', 1, 5},
    {"7 (a) S" BETWEEN "1 0 18446744073709551615", 'S', 1, UINT64_MAX},
};

Test(process_text, the_name_may_look_like_anything)
{
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
        struct process_stat stat;
        cr_assert(process_stat_parse(stats[i].text, &stat), "%s", stats[i].text);
        cr_expect_eq(stat.state, stats[i].state, "%s", stats[i].text);
        cr_expect_eq(stat.n_threads, stats[i].n_threads, "%s", stats[i].text);
        cr_expect_eq(stat.started, stats[i].started, "%s", stats[i].text);
    }
}

static const char *const bad_stats[] = {
    "",
    "7",
    "7 (cat",
    "7 (cat)",
    "7 (cat) ",
    "7 (cat) R",
    "7 (cat) R ",
    "7 (cat) RR" BETWEEN "1 0 5" AFTER,
    "7 (cat)  R" BETWEEN "1 0 5" AFTER,
    "7 (cat) R" BETWEEN "1 0",
    "7 (cat) R" BETWEEN "1 0 ",
    "7 (cat) R" BETWEEN "1 0 -5" AFTER,
    "7 (cat) R" BETWEEN "1 0 5x" AFTER,
    "7 (cat) R" BETWEEN "x 0 5" AFTER,
    "7 (cat) R" BETWEEN "1 0 18446744073709551616" AFTER,
    "7 (cat) R" BETWEEN "1 0 99999999999999999999999" AFTER,
    "7 (cat) R 1 2 3\n",
};

Test(process_text, other_texts_are_no_stat)
{
    struct process_stat stat;
    for (size_t i = 0; i < sizeof bad_stats / sizeof bad_stats[0]; i++) {
        cr_expect_not(process_stat_parse(bad_stats[i], &stat), "%s", bad_stats[i]);
    }
}

Test(process_text, who_is_alive)
{
    for (const char *state = "RSDTtIWKP"; *state; state++) {
        cr_expect(process_stat_is_alive(&(struct process_stat){.state = *state, .n_threads = 1}));
    }
    for (const char *state = "ZXx"; *state; state++) {
        cr_expect_not(
            process_stat_is_alive(&(struct process_stat){.state = *state, .n_threads = 1}));
        cr_expect_not(
            process_stat_is_alive(&(struct process_stat){.state = *state, .n_threads = 0}));
        cr_expect(process_stat_is_alive(&(struct process_stat){.state = *state, .n_threads = 2}));
    }
}

/* ---- status ---- */

#define HEAD                                                                                       \
    "Name:\tcat\nUmask:\t0022\nState:\tR (running)\nTgid:\t8\nNgid:\t0\nPid:\t8\nPPid:\t1\n"
#define UIDS "Uid:\t10\t11\t12\t13\nGid:\t1\t2\t3\t4\nFDSize:\t256\nGroups:\t4 24 \nNStgid:\t8\n"

static const struct {
    const char *text;
    struct process_status status;
} statuses[] = {
    {HEAD UIDS "NSpid:\t8\nNSpgid:\t8\n", {8, 8, 10, 12, 1}},
    {HEAD UIDS "NSpid:\t8\t3\nNSpgid:\t8\t3\n", {8, 8, 10, 12, 2}},
    {HEAD UIDS "NSpid:\t8\t3\t1", {8, 8, 10, 12, 3}},
    {HEAD UIDS "NSpid:\t", {8, 8, 10, 12, 0}},
    {HEAD UIDS, {8, 8, 10, 12, 0}},
    {"Name:\tx\nTgid:\t8\nPid:\t9\n" UIDS "NSpid:\t9\n", {9, 8, 10, 12, 1}},
    {"Name:\tUid:\t0\t0\t0\t0\\nPid:\t5\nTgid:\t8\nPid:\t8\n" UIDS "NSpid:\t8\n",
        {8, 8, 10, 12, 1}},
    {"Name:\tx\nTgid:\t8\nPid:\t8\nUid:\t4294967295\t0\t0\t0\n", {8, 8, UINT32_MAX, 0, 0}},
};

Test(process_text, status_says_whose_it_is_and_where)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const struct process_status *expected = &statuses[i].status;
        struct process_status status;
        cr_assert(process_status_parse(statuses[i].text, &status), "%s", statuses[i].text);
        cr_expect_eq(status.pid, expected->pid, "%s", statuses[i].text);
        cr_expect_eq(status.leader, expected->leader, "%s", statuses[i].text);
        cr_expect_eq(status.real_uid, expected->real_uid, "%s", statuses[i].text);
        cr_expect_eq(status.saved_uid, expected->saved_uid, "%s", statuses[i].text);
        cr_expect_eq(status.n_namespaces, expected->n_namespaces, "%s", statuses[i].text);
    }
}

static const char *const bad_statuses[] = {
    "", "\n\n\n", UIDS, HEAD, HEAD "Uid:\t10\n", HEAD "Uid:\t10\t11\n", HEAD "Uid:\t10\t11\tx\n",
    HEAD "Uid:\t10\t11\t4294967296\n", HEAD "Uid: 10\t11\t12\t13\n", "Name:\tx\nTgid:\t8\n" UIDS,
    "Name:\tx\nPid:\t8\n" UIDS, "Name:\tx\nTgid:\t8\nPid:\t-8\n" UIDS,
    "Name:\tx\nTgid:\t8\nPid:\t2147483648\n" UIDS,
    "Uid:\t10\t11\t12\t13\nTgid:\t8\nPid:\t8\n", /* the first line is the name's */
};

Test(process_text, other_texts_are_no_status)
{
    struct process_status status;
    for (size_t i = 0; i < sizeof bad_statuses / sizeof bad_statuses[0]; i++) {
        cr_expect_not(process_status_parse(bad_statuses[i], &status), "%s", bad_statuses[i]);
    }
}

/* ---- cgroup, arguments ---- */

static const struct {
    const char *text, *path;
} cgroups[] = {
    {"0::/system.slice/cron.service\n", "/system.slice/cron.service"},
    {"0::/\n", NULL},
    {"", NULL},
    {"0::/cut", NULL},
    {"nonsense\n\n:\n", NULL},
    {"9:name=systemd:/user.slice/run-1.scope\n8:pids:/x\n0::/\n", "/user.slice/run-1.scope"},
    {"9:name=systemd:/old\n8:pids:/x\n0::/new\n", "/new"},
    {"8:pids:/x\n7:cpu,cpuacct:/y\n", NULL},
    {"8:pids:/x::y\n", NULL},
    {"1:name=systemd:/docker/0123\n", "/docker/0123"},
    {"0::/a:b\n", "/a:b"},
};

Test(process_text, cgroup_is_that_of_the_unit_or_container)
{
    for (size_t i = 0; i < sizeof cgroups / sizeof cgroups[0]; i++) {
        char text[256];
        strcpy(text, cgroups[i].text);
        const char *path = process_cgroup_find(text);
        cr_assert_eq(!path, !cgroups[i].path, "%s", cgroups[i].text);
        cr_expect(!path || strcmp(path, cgroups[i].path) == 0, "%s: %s", cgroups[i].text, path);
    }
}

Test(process_text, arguments_have_spaces_between_them)
{
    char two[] = "sh\0-c\0exit 3\0", none[] = "\0", empty[] = "a\0\0b\0", cut[] = "ab";
    cr_expect_str_eq(process_args_join(two, sizeof two - 1, false), "sh -c exit 3");
    cr_expect_null(process_args_join(none, 0, false));
    cr_expect_null(process_args_join(none, 1, false));
    cr_expect_str_eq(process_args_join(empty, sizeof empty - 1, false), "a  b");
    cr_expect_str_eq(process_args_join(cut, 2, false), "ab");
}

/* At the end of a character, and not within. */
Test(process_text, arguments_that_are_cut_end_in_dots)
{
    char ascii[] = "sh\0-c\0exit", empty[] = "a\0\0\0\0";
    char last[] = "echo \u00e9\u00e9\u00e9", first[] = "echo x\u00e9\u00e9";
    cr_expect_str_eq(process_args_join(ascii, sizeof ascii - 1, true), "sh -c e...");
    cr_expect_str_eq(process_args_join(last, sizeof last - 1, true), "echo \u00e9...");
    cr_expect_str_eq(process_args_join(first, sizeof first - 1, true), "echo x...");
    cr_expect_str_eq(process_args_join(empty, sizeof empty - 1, true), "a ...");
}

/* ---- locks ---- */

#define LOCK(number, arrow, kind, pid)                                                             \
    number ": " arrow kind "  ADVISORY  WRITE " pid " fe:00:9 0 EOF\n"

static const struct {
    const char *text;
    int32_t pid, holder;
} locks[] = {
    {"", 7, 0},
    {LOCK("1", "", "FLOCK", "5"), 5, 0},
    {LOCK("1", "", "FLOCK", "5") LOCK("1", "-> ", "FLOCK", "7"), 7, 5},
    {LOCK("1", "", "FLOCK", "5") LOCK("1", "-> ", "FLOCK", "7"), 5, 0},
    {LOCK("1", "", "FLOCK", "5") LOCK("1", "-> ", "FLOCK", "71"), 7, 0},
    {LOCK("1", "", "FLOCK", "5") LOCK("1", "-> ", "FLOCK", "8") LOCK("1", "-> ", "FLOCK", "7"), 7,
        5},
    {LOCK("1", "", "FLOCK", "5") LOCK("1", "  -> ", "FLOCK", "7"), 7, 5},
    {LOCK("1", "", "POSIX", "5") LOCK("1", "-> ", "POSIX", "7"), 7, 0},
    {LOCK("1", "", "FLOCK", "5") LOCK("2", "-> ", "FLOCK", "7"), 7, -1},
    {LOCK("1", "", "FLOCK", "5") LOCK("11", "-> ", "FLOCK", "7"), 7, -1},
    {LOCK("1", "", "FLOCK", "-1") LOCK("1", "-> ", "FLOCK", "7"), 7, -1},
    {LOCK("1", "-> ", "FLOCK", "7"), 7, -1},
    {LOCK("1", "", "FLOCK", "5") "1: -> FLOCK  ADVISORY", 7, 0},
    {"\n\n->\n: -> FLOCK\n", 7, 0},
};

Test(process_text, who_has_the_lock_of_a_file)
{
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        cr_expect_eq(
            process_locks_find(locks[i].text, locks[i].pid), locks[i].holder, "%s", locks[i].text);
    }
}
