/* test_tree.c - the cost of stopping a job of many processes: looks at /proc and at processes, and
 * the steps in between, instead of seconds. There is no job here: /proc, getpgid() and kill() are
 * the test's own. */
#include "berth/tree.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_PID = 1000,
    GROUP = 77,
    FEW = 1000,
    MANY = 10 * FEW,
    TIMES_AT_MAX = 25, /* ten times as many processes: a logarithm more than ten times */
};

static int n_children; /* FIRST_PID, and so on */
static int n_reads, n_looks, n_signals;
static uint64_t n_steps;

FILE *__wrap_fopen(const char *path, const char *mode);
pid_t __wrap_getpgid(pid_t pid);
int __wrap_kill(pid_t pid, int signal);
void __sanitizer_cov_trace_pc(void);

/* Called by what was compiled with -fsanitize-coverage=trace-pc. */
void __sanitizer_cov_trace_pc(void)
{
    n_steps++;
}

/* The last child comes first: the list is to be sorted. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
    cr_assert(strncmp(path, "/proc/self/task/", strlen("/proc/self/task/")) == 0);
    (void)mode;
    n_reads++;
    FILE *file = tmpfile();
    for (int i = n_children; i-- > 0;) {
        fprintf(file, "%d ", FIRST_PID + i);
    }
    rewind(file);
    return file;
}

/* Each is in its own group. */
pid_t __wrap_getpgid(pid_t pid)
{
    n_looks++;
    return pid;
}

int __wrap_kill(pid_t pid, int signal)
{
    (void)pid;
    n_signals += signal != SIGCONT;
    return 0;
}

static void stop(struct tree *tree, int signal, bool only_new)
{
    n_reads = n_looks = n_signals = 0;
    n_steps = 0;
    tree_stop(tree, GROUP, signal, only_new);
}

static void tree_end(struct tree *tree)
{
    free(tree->strangers.pids);
    free(tree->signalled.pids);
}

/* The question repeated while a job ends: which processes are new. */
static uint64_t steps_of_new_ones(int n)
{
    struct tree tree = {.signalled = {0}};
    n_children = n;
    stop(&tree, SIGTERM, false);
    cr_expect(n_reads == 1 && n_looks == n && n_signals == n);
    stop(&tree, SIGTERM, true);
    cr_expect(n_reads == 1 && n_looks == 0 && n_signals == 0);
    n_children = n + 3;
    stop(&tree, SIGTERM, true);
    cr_expect(n_reads == 1 && n_looks == 3 && n_signals == 3);
    uint64_t steps = n_steps;
    tree_end(&tree);
    return steps;
}

Test(tree, known_members_cost_one_read)
{
    uint64_t few = steps_of_new_ones(FEW), many = steps_of_new_ones(MANY);
    cr_expect(few > 0 && many < few * TIMES_AT_MAX, "%ju steps have become %ju", (uintmax_t)few,
        (uintmax_t)many);
}

/* Children that were there before the job do not matter: nobody looks at them either. */
Test(tree, strangers)
{
    struct tree tree = {.signalled = {0}};
    n_children = FEW;
    cr_assert(tree_init(&tree));
    n_children = FEW + 2;
    stop(&tree, SIGKILL, false);
    cr_expect(n_reads == 1 && n_looks == 2 && n_signals == 2);
    cr_expect(tree_has_members(&tree));
    n_children = FEW;
    cr_expect_not(tree_has_members(&tree));
    tree_end(&tree);
}
