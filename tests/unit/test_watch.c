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

/* A process that is watched, and how often its end was reported. */
struct seen {
    struct watch *watch;
    struct seen *frees; /* whose watch the callback frees, or NULL */
    unsigned n;
};

static void on_gone(struct watches *of, void *context)
{
    struct seen *seen = context;
    cr_expect_eq(of, &watches);
    seen->n++;
    if (seen->frees) {
        seen->frees->watch = watch_free(seen->frees->watch);
    }
}

static void watch(struct seen *seen, const struct process *process)
{
    seen->watch = watch_new(&watches, process, on_gone, seen);
    cr_assert(seen->watch);
}

static void watch_child(struct seen *seen, const struct child *child)
{
    struct process process = child_process(child);
    watch(seen, &process);
}

/* Until it is reported; the suite's time limit is the deadline. */
static void run_until_reported(const struct seen *seen)
{
    while (seen->n == 0) {
        cr_assert(uv_run(&loop, UV_RUN_ONCE) != 0 || seen->n > 0, "nothing left to wait for");
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
    struct seen seen = {0};
    struct child child = child_start(NULL);
    watch_child(&seen, &child);
    cr_expect_eq(watches.n_pidfds, 1);
    run_what_is_due();
    cr_expect_eq(seen.n, 0);
    kill(child.pid, SIGKILL);
    run_until_reported(&seen);
    child_reap(&child, 0);
    run_what_is_due();
    cr_expect_eq(seen.n, 1);
    watch_free(seen.watch);
}

WATCH_TEST(it_may_be_freed_long_after)
{
    struct seen seen = {0}, other = {0};
    struct child child = child_start(NULL);
    struct child second = child_start(NULL);
    watch_child(&seen, &child);
    watch_child(&other, &second);
    child_end(&child);
    run_until_reported(&seen);
    kill(second.pid, SIGKILL);
    run_until_reported(&other);
    cr_expect_eq(seen.n, 1);
    cr_expect_not(watch_signal(seen.watch, SIGTERM));
    watch_free(seen.watch);
    watch_free(other.watch);
    child_reap(&child, 0);
    child_reap(&second, 0);
}

static void expect_reported_from_the_loop(const struct process *process)
{
    struct seen seen = {0};
    watch(&seen, process);
    cr_expect_eq(seen.n, 0, "told from inside watch_new()");
    run_what_is_due();
    cr_expect_eq(seen.n, 1);
    watch_free(seen.watch);
}

WATCH_TEST(a_zombie_and_the_dead_are_told_from_the_loop)
{
    struct child child = child_start(NULL);
    struct process process = child_process(&child);
    child_end(&child);
    expect_reported_from_the_loop(&process);
    child_reap(&child, 0);
    expect_reported_from_the_loop(&process);
}

WATCH_TEST(another_process_with_that_pid_is_not_watched)
{
    struct child child = child_start(NULL);
    struct process process = child_process(&child);
    process.started--;
    expect_reported_from_the_loop(&process);
    watches.max = 0;
    expect_reported_from_the_loop(&process);
    child_reap(&child, SIGKILL);
}

/* ---- freed ---- */

WATCH_TEST(a_watch_that_is_freed_says_nothing)
{
    struct seen seen = {0}, other = {0};
    struct child child = child_start(NULL);
    struct process process = child_process(&child);
    watch_child(&seen, &child);
    watch_child(&other, &child);
    cr_expect_null(watch_free(seen.watch));
    cr_expect_null(watch_free(NULL));
    child_end(&child);
    run_until_reported(&other);
    watch_free(other.watch);
    watch(&other, &process); /* gone already */
    cr_expect_null(watch_free(other.watch));
    run_what_is_due();
    cr_expect_eq(seen.n, 0);
    cr_expect_eq(other.n, 1);
    child_reap(&child, 0);
}

/* Of two processes that are gone, the first callback frees both watches. */
static void expect_one_reported(struct process *one, struct process *two)
{
    struct seen first = {0}, second = {0};
    first.frees = &second;
    second.frees = &first;
    watch(&first, one);
    watch(&second, two);
    while (first.n + second.n == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    run_what_is_due();
    cr_expect_eq(first.n + second.n, 1);
    watch_free(first.watch);
    watch_free(second.watch);
}

WATCH_TEST(the_callback_may_free_any)
{
    struct child one = child_start(NULL), two = child_start(NULL);
    struct process first = child_process(&one), second = child_process(&two);
    struct seen own = {0};
    own.frees = &own;
    watch(&own, &first);
    kill(one.pid, SIGKILL);
    kill(two.pid, SIGKILL);
    run_until_reported(&own);
    child_await(&two);
    expect_one_reported(&first, &second);
    watches.max = 0;
    expect_one_reported(&first, &second);
    child_reap(&one, 0);
    child_reap(&two, 0);
}

WATCH_TEST(two_that_end_at_once)
{
    struct child one = child_start(NULL), two = child_start(NULL);
    struct process first = child_process(&one), second = child_process(&two);
    struct seen of_first = {0}, of_second = {0};
    of_first.frees = &of_second;
    of_second.frees = &of_first;
    watch(&of_first, &first);
    watch(&of_second, &second);
    child_end(&one);
    child_end(&two);
    while (of_first.n + of_second.n == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    run_what_is_due();
    cr_expect_eq(of_first.n + of_second.n, 1);
    watch_free(of_first.watch);
    watch_free(of_second.watch);
    child_reap(&one, 0);
    child_reap(&two, 0);
}

static struct process dead;
static void watch_another_dead_one(struct watches *of, void *context)
{
    struct seen *seen = context;
    if (seen->n++ < 3) {
        watch_free(seen->watch);
        seen->watch = watch_new(of, &dead, watch_another_dead_one, seen);
    }
}

WATCH_TEST(the_callback_may_watch_another)
{
    struct seen seen = {0};
    struct child child = child_start(NULL);
    dead = child_process(&child);
    child_end(&child);
    seen.watch = watch_new(&watches, &dead, watch_another_dead_one, &seen);
    run_what_is_due();
    cr_expect_eq(seen.n, 4);
    watch_free(seen.watch);
    child_reap(&child, 0);
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
    struct seen of_lasting = {0}, of_ending = {0};
    struct child lasting = child_start(NULL), ending = child_start(NULL);
    struct process process = child_process(&ending), last = child_process(&lasting);
    use_up_descriptors();
    watch(&of_lasting, &last);
    watch(&of_ending, &process);
    cr_expect_eq(watches.n_pidfds, 0);
    cr_expect_eq(watches.n_looked_at, 2);
    cr_expect_not(watch_signal(of_lasting.watch, SIGKILL));
    cr_expect_eq(errno, EMFILE);
    child_end(&ending);
    child_reap(&ending, 0);
    run_until_reported(&of_ending);
    cr_expect_eq(of_lasting.n, 0);
    expect_reported_from_the_loop(&process);
    give_descriptors_back();
    watch_free(of_ending.watch);
    watch_free(of_lasting.watch);
    child_reap(&lasting, SIGKILL);
}

WATCH_TEST(deaths_are_seen_when_there_are_descriptors_again)
{
    struct seen seen = {0};
    struct child child = child_start(NULL);
    struct process process = child_process(&child);
    use_up_descriptors();
    watch(&seen, &process);
    child_end(&child); /* a zombie */
    give_descriptors_back();
    run_until_reported(&seen);
    expect_reported_from_the_loop(&process);
    process.started++;
    expect_reported_from_the_loop(&process);
    watch_free(seen.watch);
    child_reap(&child, 0);
}

WATCH_TEST(descriptors_are_taken_when_there_are_some_again)
{
    struct seen seen = {0};
    struct child child = child_start(NULL);
    struct process process = child_process(&child);
    use_up_descriptors();
    watch(&seen, &process);
    give_descriptors_back();
    while (watches.n_pidfds == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    cr_expect_eq(watches.n_looked_at, 0);
    run_what_is_due();
    cr_expect_not(uv_is_active((uv_handle_t *)&watches.timer));
    child_end(&child);
    run_until_reported(&seen);
    watch_free(seen.watch);
    child_reap(&child, 0);
}

WATCH_TEST(no_more_than_that_many_descriptors)
{
    struct seen seen[3] = {0};
    struct child children[3];
    watches.max = 1;
    for (size_t i = 0; i < 3; i++) {
        children[i] = child_start(NULL);
        watch_child(&seen[i], &children[i]);
    }
    cr_expect_eq(watches.n_pidfds, 1);
    cr_expect_eq(watches.n_looked_at, 2);
    for (size_t i = 3; i-- > 0;) {
        child_end(&children[i]);
        run_until_reported(&seen[i]);
        cr_expect(watches.n_pidfds <= 1);
        watch_free(seen[i].watch);
        child_reap(&children[i], 0);
    }
}

/* The one with a pidfd goes, and one of the others gets it. */
WATCH_TEST(a_descriptor_goes_to_the_next)
{
    struct seen one = {0}, two = {0};
    struct child child = child_start(NULL);
    watches.max = 1;
    watch_child(&one, &child);
    watch_child(&two, &child);
    watch_free(one.watch);
    while (watches.n_looked_at > 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    cr_expect_eq(watches.n_pidfds, 1);
    watch_free(two.watch);
    child_reap(&child, SIGKILL);
}

/* Each at least once a second, which is ten looks, however many have ended at once. */
WATCH_TEST(many_that_are_looked_at)
{
    static struct seen seen[95];
    uint32_t n_left = 95, n_looks = 0;
    const size_t n = sizeof seen / sizeof seen[0];
    struct child child = child_start(NULL);
    struct process process = child_process(&child);
    watches.max = 0;
    for (size_t i = 0; i < n; i++) {
        watch(&seen[i], &process);
    }
    child_end(&child);
    while (n_left > 0) {
        uv_run(&loop, UV_RUN_ONCE);
        n_looks += watches.n_looked_at < n_left;
        n_left = watches.n_looked_at;
    }
    cr_expect_leq(n_looks, 10);
    for (size_t i = 0; i < n; i++) {
        run_until_reported(&seen[i]);
        watch_free(seen[i].watch);
    }
    child_reap(&child, 0);
}

/* ---- signals ---- */

static void expect_ended_by(struct child *child, int signal)
{
    int status = child_reap(child, 0);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == signal, "%x", (unsigned)status);
}

WATCH_TEST(a_signal_goes_to_the_group)
{
    struct seen seen = {0};
    struct child leader = child_start_in_group(0), member = child_start_in_group(leader.pid);
    watch_child(&seen, &leader);
    cr_expect(watch_signal(seen.watch, SIGTERM));
    expect_ended_by(&leader, SIGTERM);
    expect_ended_by(&member, SIGTERM);
    run_until_reported(&seen);
    cr_expect_not(watch_signal(seen.watch, SIGKILL));
    cr_expect_eq(errno, ESRCH);
    watch_free(seen.watch);
}

WATCH_TEST(or_to_the_process_alone)
{
    struct seen seen = {0};
    struct child leader = child_start_in_group(0), member = child_start_in_group(leader.pid);
    watch_child(&seen, &member);
    cr_expect(watch_signal(seen.watch, SIGKILL));
    expect_ended_by(&member, SIGKILL);
    child_end(&leader);
    cr_expect(WIFEXITED(child_reap(&leader, 0)));
    watch_free(seen.watch);
}

WATCH_TEST(signals_without_a_pidfd)
{
    struct seen seen = {0}, of_another = {0};
    struct child leader = child_start_in_group(0), member = child_start_in_group(leader.pid);
    struct process process = child_process(&leader), another = process;
    another.started--;
    watches.max = 0;
    watch(&of_another, &another);
    cr_expect_not(watch_signal(of_another.watch, SIGTERM));
    cr_expect_eq(errno, ESRCH);
    watch(&seen, &process);
    cr_expect(watch_signal(seen.watch, SIGTERM));
    cr_expect_eq(watches.n_pidfds, 0);
    expect_ended_by(&leader, SIGTERM);
    expect_ended_by(&member, SIGTERM);
    watch_free(seen.watch);
    watch_free(of_another.watch);
}
