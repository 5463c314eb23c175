/* test_watch.c - the end of real processes, seen from a loop. */
#include "child_help.h"
#include "job/process.h"
#include "job/watch.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static uv_loop_t loop;
static struct watches watches;
static struct rlimit usual_limit;
static unsigned n_open_before;

/* A process that is watched, and how often its end was reported. */
struct seen {
    struct watch *watch;
    struct seen *frees; /* whose watch the callback frees, or NULL */
    unsigned n;
};

/* What most tests have; a second one for some. */
static struct child child;
static struct seen seen, other;

static unsigned count_descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    cr_assert(folder);
    while (readdir(folder)) {
        n++;
    }
    closedir(folder);
    return n;
}

static void begin(void)
{
    uv_loop_t first; /* the first loop of all opens descriptors that stay */
    cr_assert_eq(uv_loop_init(&first), 0);
    uv_loop_close(&first);
    n_open_before = count_descriptors();
    getrlimit(RLIMIT_NOFILE, &usual_limit);
    cr_assert_eq(uv_loop_init(&loop), 0);
    watches_init(&watches, &loop, 100);
    child = child_start(NULL);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void end(void)
{
    watch_free(seen.watch);
    watch_free(other.watch);
    if (child.pid != 0) {
        child_reap(&child, child.hold >= 0 ? SIGKILL : 0);
    }
    watches_deinit(&watches);
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(uv_loop_close(&loop), 0);
    cr_expect_eq(watches.n_pidfds, 0);
    cr_expect_eq(count_descriptors(), n_open_before);
}

TestSuite(watch, .timeout = 30);

/* Not by .fini: a test may fail there and passes all the same. */
#define WATCH_TEST(name)                                                                           \
    static void name(void);                                                                        \
    Test(watch, name)                                                                              \
    {                                                                                              \
        begin();                                                                                   \
        name();                                                                                    \
        end();                                                                                     \
    }                                                                                              \
    static void name(void)

static void on_gone(struct watches *of, void *context)
{
    struct seen *of_it = context;
    cr_expect_eq(of, &watches);
    of_it->n++;
    if (of_it->frees) {
        of_it->frees->watch = watch_free(of_it->frees->watch);
    }
}

static void watch(struct seen *of, const struct process *process)
{
    of->watch = watch_new(&watches, process, on_gone, of);
    cr_assert(of->watch);
}

/* Until it is reported; the suite's time limit is the deadline. */
static void run_until_reported(const struct seen *of)
{
    while (of->n == 0) {
        cr_assert(uv_run(&loop, UV_RUN_ONCE) != 0 || of->n > 0, "nothing left to wait for");
    }
}

/* What is due is reported. */
static void run_what_is_due(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
}

/* ---- the end ---- */

WATCH_TEST(a_death_is_seen_before_it_is_reaped)
{
    watch(&seen, &child.process);
    cr_expect_eq(watches.n_pidfds, 1);
    run_what_is_due();
    cr_expect_eq(seen.n, 0);
    kill(child.pid, SIGKILL);
    run_until_reported(&seen);
    child_reap(&child, 0);
    run_what_is_due();
    cr_expect_eq(seen.n, 1);
}

WATCH_TEST(it_may_be_freed_long_after)
{
    struct child second = child_start(NULL);
    watch(&seen, &child.process);
    watch(&other, &second.process);
    child_end(&child);
    run_until_reported(&seen);
    kill(second.pid, SIGKILL);
    run_until_reported(&other);
    cr_expect_eq(seen.n, 1);
    cr_expect_not(watch_signal(seen.watch, SIGTERM));
    child_reap(&second, 0);
}

static void expect_reported_from_the_loop(const struct process *process)
{
    struct seen one = {0};
    watch(&one, process);
    cr_expect_eq(one.n, 0, "told from inside watch_new()");
    run_what_is_due();
    cr_expect_eq(one.n, 1);
    watch_free(one.watch);
}

WATCH_TEST(a_zombie_and_the_dead_are_told_from_the_loop)
{
    child_end(&child);
    expect_reported_from_the_loop(&child.process);
    child_reap(&child, 0);
    expect_reported_from_the_loop(&child.process);
}

WATCH_TEST(another_process_with_that_pid_is_not_watched)
{
    child.process.started--;
    expect_reported_from_the_loop(&child.process);
    watches.max = 0;
    expect_reported_from_the_loop(&child.process);
}

/* ---- freed ---- */

WATCH_TEST(a_watch_that_is_freed_says_nothing)
{
    watch(&seen, &child.process);
    watch(&other, &child.process);
    seen.watch = watch_free(seen.watch);
    cr_expect_null(seen.watch);
    cr_expect_null(watch_free(NULL));
    child_end(&child);
    run_until_reported(&other);
    watch_free(other.watch);
    watch(&other, &child.process); /* gone already */
    other.watch = watch_free(other.watch);
    run_what_is_due();
    cr_expect_eq(seen.n, 0);
    cr_expect_eq(other.n, 1);
}

/* Of two processes that are gone, the first callback frees both watches. */
static void expect_one_reported(struct child *second, bool are_alive)
{
    struct seen one = {.frees = &other};
    other = (struct seen){.frees = &one};
    watch(&one, &child.process);
    watch(&other, &second->process);
    if (are_alive) {
        child_end(&child);
        child_end(second);
    }
    while (one.n + other.n == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    run_what_is_due();
    cr_expect_eq(one.n + other.n, 1);
    watch_free(one.watch);
    other.watch = watch_free(other.watch);
}

WATCH_TEST(the_callback_may_free_any)
{
    struct child second = child_start(NULL);
    seen.frees = &seen;
    watch(&seen, &child.process);
    kill(child.pid, SIGKILL);
    kill(second.pid, SIGKILL);
    run_until_reported(&seen);
    child_await(&second);
    expect_one_reported(&second, false);
    watches.max = 0;
    expect_one_reported(&second, false);
    child_reap(&second, 0);
}

WATCH_TEST(two_that_end_at_once)
{
    struct child second = child_start(NULL);
    expect_one_reported(&second, true);
    child_reap(&second, 0);
}

static void watch_another_dead_one(struct watches *of, void *context)
{
    (void)context;
    if (seen.n++ < 3) {
        watch_free(seen.watch);
        seen.watch = watch_new(of, &child.process, watch_another_dead_one, NULL);
    }
}

WATCH_TEST(the_callback_may_watch_another)
{
    child_end(&child);
    seen.watch = watch_new(&watches, &child.process, watch_another_dead_one, NULL);
    run_what_is_due();
    cr_expect_eq(seen.n, 4);
}

/* ---- without descriptors ---- */

static int fillers[64];
static size_t n_fillers;

static void use_up_descriptors(void)
{
    int probe = dup(STDIN_FILENO);
    struct rlimit few = {.rlim_cur = (rlim_t)probe + 3, .rlim_max = usual_limit.rlim_max};
    close(probe);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    int fd;
    for (n_fillers = 0; (fd = dup(STDIN_FILENO)) >= 0; n_fillers++) {
        cr_assert(n_fillers < sizeof fillers / sizeof fillers[0]);
        fillers[n_fillers] = fd;
    }
    cr_assert_eq(errno, EMFILE);
}

static void give_descriptors_back(void)
{
    while (n_fillers > 0) {
        close(fillers[--n_fillers]);
    }
    setrlimit(RLIMIT_NOFILE, &usual_limit);
}

/* kill(2) tells who has been reaped, and finds a zombie. */
WATCH_TEST(without_descriptors_nobody_counts_as_gone_early)
{
    struct child ending = child_start(NULL);
    use_up_descriptors();
    watch(&seen, &child.process);
    watch(&other, &ending.process);
    cr_expect_eq(watches.n_pidfds, 0);
    cr_expect_eq(watches.n_looked_at, 2);
    cr_expect_not(watch_signal(seen.watch, SIGKILL));
    cr_expect_eq(errno, EMFILE);
    child_end(&ending);
    child_reap(&ending, 0);
    run_until_reported(&other);
    cr_expect_eq(seen.n, 0);
    expect_reported_from_the_loop(&ending.process);
    give_descriptors_back();
}

WATCH_TEST(deaths_are_seen_when_there_are_descriptors_again)
{
    use_up_descriptors();
    watch(&seen, &child.process);
    child_end(&child); /* a zombie */
    give_descriptors_back();
    run_until_reported(&seen);
    expect_reported_from_the_loop(&child.process);
    child.process.started++;
    expect_reported_from_the_loop(&child.process);
}

WATCH_TEST(descriptors_are_taken_when_there_are_some_again)
{
    use_up_descriptors();
    watch(&seen, &child.process);
    give_descriptors_back();
    while (watches.n_pidfds == 0) {
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    cr_expect_eq(watches.n_looked_at, 0);
    run_what_is_due();
    cr_expect_not(uv_is_active((uv_handle_t *)&watches.timer));
    child_end(&child);
    run_until_reported(&seen);
}

WATCH_TEST(no_more_than_that_many_descriptors)
{
    struct seen of_them[3] = {0};
    struct child children[3];
    watches.max = 1;
    for (size_t i = 0; i < 3; i++) {
        children[i] = child_start(NULL);
        watch(&of_them[i], &children[i].process);
    }
    cr_expect_eq(watches.n_pidfds, 1);
    cr_expect_eq(watches.n_looked_at, 2);
    for (size_t i = 3; i-- > 0;) {
        child_end(&children[i]);
        run_until_reported(&of_them[i]);
        cr_expect(watches.n_pidfds <= 1);
        watch_free(of_them[i].watch);
        child_reap(&children[i], 0);
    }
}

/* The one with a pidfd goes, and one of the others gets it. */
WATCH_TEST(a_descriptor_goes_to_the_next)
{
    watches.max = 1;
    watch(&seen, &child.process);
    watch(&other, &child.process);
    seen.watch = watch_free(seen.watch);
    while (watches.n_looked_at > 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    cr_expect_eq(watches.n_pidfds, 1);
}

/* Each at least once a second, which is ten looks, however many have ended at once. */
WATCH_TEST(many_that_are_looked_at)
{
    static struct seen many[95];
    uint32_t n_left = 95, n_looks = 0;
    const size_t n = sizeof many / sizeof many[0];
    watches.max = 0;
    for (size_t i = 0; i < n; i++) {
        watch(&many[i], &child.process);
    }
    child_end(&child);
    while (n_left > 0) {
        uv_run(&loop, UV_RUN_ONCE);
        n_looks += watches.n_looked_at < n_left;
        n_left = watches.n_looked_at;
    }
    cr_expect_leq(n_looks, 10);
    for (size_t i = 0; i < n; i++) {
        run_until_reported(&many[i]);
        watch_free(many[i].watch);
    }
}

/* ---- signals ---- */

WATCH_TEST(a_signal_goes_to_the_group)
{
    struct child leader = child_start_in_group(0), member = child_start_in_group(leader.pid);
    watch(&seen, &leader.process);
    cr_expect(watch_signal(seen.watch, SIGTERM));
    cr_expect(child_ends_by(&leader, SIGTERM));
    cr_expect(child_ends_by(&member, SIGTERM));
    run_until_reported(&seen);
    cr_expect_not(watch_signal(seen.watch, SIGKILL));
    cr_expect_eq(errno, ESRCH);
}

WATCH_TEST(signals_without_a_pidfd)
{
    struct child leader = child_start_in_group(0), member = child_start_in_group(leader.pid);
    struct process another = leader.process;
    another.started--;
    watches.max = 0;
    watch(&other, &another);
    cr_expect_not(watch_signal(other.watch, SIGTERM));
    cr_expect_eq(errno, ESRCH);
    watch(&seen, &leader.process);
    cr_expect(watch_signal(seen.watch, SIGTERM));
    cr_expect_eq(watches.n_pidfds, 0);
    cr_expect(child_ends_by(&leader, SIGTERM));
    cr_expect(child_ends_by(&member, SIGTERM));
}
