/* test_process.c - real processes: their owners, whether they live, signals to them. */
#include "child_help.h"
#include "job/process.h"
#include "job/process_text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(process, .timeout = 20);

/* ---- identifying it ---- */

static void skip_unless_root(void)
{
    if (geteuid() != 0) {
        cr_skip_test("needs root");
    }
}

Test(process, our_own_and_no_process)
{
    struct process process;
    cr_assert_eq(identify(getpid(), getuid(), false, &process), PROCESS_OK);
    cr_expect_eq(process.pid, getpid());
    cr_expect(process.started > 0);
    cr_expect(process_is_alive(&process));
    const pid_t none[] = {0, -1, INT_MIN, INT_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        errno = 0;
        cr_expect_eq(identify(none[i], 0, true, &process), PROCESS_NONE);
        cr_expect_eq(errno, ESRCH);
    }
}

Test(process, nobody_may_have_pid_1)
{
    struct process process;
    cr_expect_eq(identify(1, 0, false, &process), PROCESS_NOT_YOURS);
    cr_expect_eq(identify(1, 0, true, &process), PROCESS_NOT_YOURS);
    cr_expect_eq(identify(1, 1000, false, &process), PROCESS_NOT_YOURS);
}

static void become_three_users(void)
{
    if (setresuid(1000, 2000, 3000) < 0) {
        _exit(1);
    }
}

Test(process, yours_by_the_real_or_saved_uid)
{
    skip_unless_root();
    struct process process;
    struct child child = child_start(become_three_users);
    cr_expect_eq(identify(child.pid, 1000, false, &process), PROCESS_OK);
    cr_expect_eq(identify(child.pid, 3000, false, &process), PROCESS_OK);
    cr_expect_eq(identify(child.pid, 2000, false, &process), PROCESS_NOT_YOURS);
    cr_expect_eq(identify(child.pid, 1001, false, &process), PROCESS_NOT_YOURS);
    cr_expect_eq(identify(child.pid, 1001, true, &process), PROCESS_OK);
    cr_expect_eq(identify(child.pid, 0, false, &process), PROCESS_OK);
    child_reap(&child, SIGKILL);
}

static void *wait_for_ever(void *tid)
{
    *(volatile pid_t *)tid = gettid();
    static char byte;
    ssize_t unused = write(((int *)tid)[1], &byte, 1);
    (void)unused;
    while (true) {
        pause();
    }
    return NULL;
}

Test(process, a_thread_is_no_process)
{
    int ready[2];
    char byte;
    cr_assert(pipe2(ready, O_CLOEXEC) == 0);
    int thread_and_pipe[2] = {0, ready[1]};
    pthread_t thread;
    struct process process;
    cr_assert(pthread_create(&thread, NULL, wait_for_ever, thread_and_pipe) == 0);
    cr_assert(read(ready[0], &byte, 1) == 1);
    pid_t tid = thread_and_pipe[0];
    cr_assert_neq(tid, getpid());
    cr_expect_eq(identify(tid, 0, true, &process), PROCESS_NONE);
    cr_expect_eq(process_open(&(struct process){.pid = tid, .started = 1}), -1);
    cr_expect_eq(errno, ESRCH);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    close(ready[0]);
    close(ready[1]);
}

static void take_a_bad_name(void)
{
    prctl(PR_SET_NAME, ") Z 1 (\nUid:\t0");
}

Test(process, a_name_confuses_nobody)
{
    struct child child = child_start(take_a_bad_name);
    cr_expect(process_is_alive(&child.process));
    if (getuid() == 0) {
        cr_expect_eq(identify(child.pid, 12345, false, &child.process), PROCESS_NOT_YOURS);
    }
    child_reap(&child, SIGKILL);
}

/* ---- whether it lives ---- */

static void expect_gone(const struct process *process)
{
    cr_expect_not(process_is_alive(process));
    cr_expect_eq(process_open(process), -1);
    cr_expect_eq(errno, ESRCH);
}

Test(process, alive_zombie_gone)
{
    struct child child = child_start(NULL);
    struct process unused;
    cr_expect(process_is_alive(&child.process));
    child_end(&child);
    expect_gone(&child.process);
    cr_expect_eq(identify(child.pid, 0, true, &unused), PROCESS_NONE);
    child_reap(&child, 0);
    expect_gone(&child.process);
    cr_expect_eq(identify(child.process.pid, 0, true, &unused), PROCESS_NONE);
}

Test(process, another_with_the_same_pid)
{
    struct child child = child_start(NULL);
    const uint64_t others[] = {0, child.process.started - 1, child.process.started + 1};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct process other = {.pid = child.process.pid, .started = others[i]};
        expect_gone(&other);
    }
    child_reap(&child, SIGKILL);
}

static void *end_on_request(void *hold)
{
    char byte;
    while (read(*(int *)hold, &byte, 1) > 0) {
    }
    _exit(0);
}

/* The main thread ends, another one goes on: a zombie to look at, but the process lives. */
static int thread_hold[2];
static void end_main_thread(void)
{
    pthread_t thread;
    close(thread_hold[1]);
    if (pthread_create(&thread, NULL, end_on_request, &thread_hold[0]) == 0) {
        pthread_exit(NULL);
    }
    _exit(1);
}

static char state_of(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    cr_assert(n > 0);
    text[n] = '\0';
    struct process_stat stat;
    cr_assert(process_stat_parse(text, &stat));
    return stat.state;
}

Test(process, lives_on_without_its_main_thread)
{
    cr_assert(pipe2(thread_hold, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        end_main_thread();
    }
    close(thread_hold[0]);
    while (state_of(pid) != 'Z') { /* bounded by the suite's time limit */
        sched_yield();
    }
    struct child child = {.pid = pid, .hold = thread_hold[1]};
    cr_assert_eq(identify(pid, 0, false, &child.process), PROCESS_OK);
    cr_expect(process_is_alive(&child.process));
    int fd = process_open(&child.process);
    cr_assert(fd >= 0);
    cr_expect_eq(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 0);
    child_end(&child);
    cr_expect_not(process_is_alive(&child.process));
    cr_expect_eq(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 1);
    close(fd);
    child_reap(&child, 0);
}

Test(process, without_descriptors_it_is_taken_for_alive)
{
    struct rlimit limit, none;
    struct child child = child_start(NULL);
    struct process unused;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool is_alive = process_is_alive(&child.process);
    enum process_check check = identify(child.pid, 0, true, &unused);
    int check_errno = errno;
    int fd = process_open(&child.process);
    int open_errno = errno;
    child_end(&child);
    child_reap(&child, 0);
    bool is_alive_then = process_is_alive(&child.process);
    setrlimit(RLIMIT_NOFILE, &limit);
    cr_expect(is_alive);
    cr_expect_eq(check, PROCESS_NONE);
    cr_expect_eq(check_errno, EMFILE);
    cr_expect_eq(fd, -1);
    cr_expect_eq(open_errno, EMFILE);
    cr_expect_not(is_alive_then);
}

/* ---- namespaces ---- */

static gid_t many_groups[NGROUPS_MAX];
static void join_many_groups(void)
{
    for (size_t i = 0; i < NGROUPS_MAX; i++) {
        many_groups[i] = (gid_t)(3000000000u + i);
    }
    if (setgroups(NGROUPS_MAX, many_groups) < 0) {
        _exit(1);
    }
}

Test(process, the_same_namespace)
{
    cr_expect(process_shares_our_namespace(getpid()));
    cr_expect(process_shares_our_namespace(getppid()));
    cr_expect_not(process_shares_our_namespace(0));
    cr_expect_not(process_shares_our_namespace(-1));
    cr_expect_not(process_shares_our_namespace(INT_MAX));
}

/* Its status is almost a megabyte long, and the fields we read are behind that. */
Test(process, somebody_in_many_groups)
{
    skip_unless_root();
    struct child child = child_start(join_many_groups);
    struct process process;
    cr_expect(process_shares_our_namespace(child.pid));
    cr_expect_eq(identify(child.pid, 0, false, &process), PROCESS_OK);
    child_reap(&child, SIGKILL);
}

/* For what would change this process for good: returns the exit status. */
static int run_apart(int (*run)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(run());
    }
    struct child child = {.pid = pid, .hold = -1};
    int status = child_reap(&child, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

enum { IMPOSSIBLE_HERE = 77 };

static int look_into_a_namespace(void)
{
    if (unshare(CLONE_NEWPID) < 0) { /* from now on our children are in it */
        return IMPOSSIBLE_HERE;
    }
    struct child child = child_start(NULL);
    struct process process;
    bool shares = process_shares_our_namespace(child.pid);
    bool is_there = identify(child.pid, 0, true, &process) == PROCESS_OK;
    child_reap(&child, SIGKILL);
    return shares ? 1 : !is_there ? 2 : 0;
}

Test(process, a_namespace_of_its_own)
{
    int status = run_apart(look_into_a_namespace);
    if (status == IMPOSSIBLE_HERE) {
        cr_skip_test("no PID namespaces here");
    }
    cr_expect_eq(status, 0);
}

/* Another user's process, with a /proc that shows us our own alone. */
static int look_where_it_is_hidden(void)
{
    struct child child = child_start(NULL);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") < 0 || setgroups(0, NULL) < 0 ||
        setresgid(1000, 1000, 1000) < 0 || setresuid(1000, 1000, 1000) < 0) {
        return IMPOSSIBLE_HERE;
    }
    bool is_hidden = access("/proc/1", F_OK) < 0;
    bool is_alive = process_is_alive(&child.process);
    bool may_live = process_open(&child.process) < 0 && errno != ESRCH;
    child_end(&child);
    child_reap(&child, 0);
    bool is_dead =
        !process_is_alive(&child.process) && process_open(&child.process) < 0 && errno == ESRCH;
    return !is_hidden ? 1 : !is_alive ? 2 : !may_live ? 3 : !is_dead ? 4 : 0;
}

Test(process, who_is_hidden_is_not_gone)
{
    skip_unless_root();
    int status = run_apart(look_where_it_is_hidden);
    if (status == IMPOSSIBLE_HERE) {
        cr_skip_test("nothing can be mounted here");
    }
    cr_expect_eq(status, 0, "step %d", status);
}

/* ---- signals ---- */

Test(process, a_pidfd_is_not_inherited)
{
    struct child child = child_start(NULL);
    int fd = process_open(&child.process);
    cr_assert(fd >= 0);
    cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    child_reap(&child, SIGKILL);
}

Test(process, signals_go_to_the_group_of_a_leader)
{
    struct child leader = child_start_in_group(0);
    struct child member = child_start_in_group(leader.pid);
    int fd = process_open(&leader.process);
    cr_assert(process_signal(fd, &leader.process, SIGTERM));
    cr_expect(child_ends_by(&leader, SIGTERM));
    cr_expect(child_ends_by(&member, SIGTERM));
    close(fd);
}

Test(process, others_are_signalled_alone)
{
    struct child leader = child_start_in_group(0);
    struct child member = child_start_in_group(leader.pid);
    int fd = process_open(&member.process);
    cr_assert(process_signal(fd, &member.process, SIGTERM));
    cr_expect(child_ends_by(&member, SIGTERM));
    child_end(&leader); /* it must live to end by itself */
    cr_expect(WIFEXITED(child_reap(&leader, 0)));
    close(fd);
}

/* A process that leads the group it asks from, and another one in that group. */
static int signal_our_own_group(void)
{
    struct process own;
    setpgid(0, 0);
    struct child other = child_start(NULL);
    signal(SIGUSR1, SIG_IGN);
    int fd = identify(getpid(), 0, true, &own) == PROCESS_OK ? process_open(&own) : -1;
    bool sent = fd >= 0 && process_signal(fd, &own, SIGUSR1);
    child_end(&other);
    return !sent ? 1 : !WIFEXITED(child_reap(&other, 0)) ? 2 : 0;
}

Test(process, our_own_group_is_not_signalled)
{
    cr_expect_eq(run_apart(signal_our_own_group), 0);
}

Test(process, a_stopped_job_can_end)
{
    struct child child = child_start_in_group(0);
    siginfo_t info;
    kill(child.pid, SIGSTOP);
    cr_assert(waitid(P_PID, (id_t)child.pid, &info, WSTOPPED | WNOWAIT) == 0);
    int fd = process_open(&child.process);
    cr_assert(process_signal(fd, &child.process, SIGTERM));
    cr_expect(child_ends_by(&child, SIGTERM));
    close(fd);
}

Test(process, a_signal_to_the_dead_fails)
{
    struct child child = child_start_in_group(0);
    int fd = process_open(&child.process);
    child_end(&child);
    child_reap(&child, 0);
    cr_expect_not(process_signal(fd, &child.process, SIGTERM));
    cr_expect_eq(errno, ESRCH);
    close(fd);
}

/* The number is a group's again, but another group's. */
Test(process, a_group_whose_leader_has_gone_is_not_signalled)
{
    struct child child = child_start(NULL), another = child_start_in_group(0);
    int fd = process_open(&child.process);
    child_end(&child);
    child_reap(&child, 0);
    child.process.pid = another.pid;
    cr_expect_not(process_signal(fd, &child.process, SIGTERM));
    cr_expect_eq(errno, ESRCH);
    child_end(&another);
    cr_expect(WIFEXITED(child_reap(&another, 0)));
    close(fd);
}

static void become_a_user(void)
{
    if (setresuid(1000, 1000, 1000) < 0) {
        _exit(1);
    }
}

static int signal_another_users(void)
{
    struct child child = child_start(become_a_user);
    int fd = process_open(&child.process);
    bool may = setresuid(1001, 1001, 1001) < 0 || process_signal(fd, &child.process, SIGTERM);
    return may ? 1 : errno != EPERM ? 2 : 0;
}

Test(process, a_signal_that_is_not_permitted_fails)
{
    skip_unless_root();
    cr_expect_eq(run_apart(signal_another_users), 0);
}

/* ---- where it comes from ---- */

static nanoseconds boot_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

Test(process, arguments_of_that_process)
{
    struct process ourselves;
    struct process_origin origin;
    cr_assert_eq(identify(getpid(), getuid(), false, &ourselves), PROCESS_OK);
    cr_assert(process_look_origin(&ourselves, 0, true, &origin));
    cr_assert(origin.args && origin.args[0]);
    cr_assert(process_look_origin(&ourselves, 0, false, &origin));
    cr_expect_null(origin.args);
    struct process earlier = {.pid = ourselves.pid, .started = ourselves.started - 1};
    cr_expect_not(process_look_origin(&earlier, boot_time(), true, &origin));
}

/* Known by its pid alone: it must have been there. */
Test(process, a_process_that_came_later_is_another)
{
    struct process ourselves;
    struct process_origin origin;
    cr_assert_eq(identify(getpid(), getuid(), false, &ourselves), PROCESS_OK);
    const struct process client = {.pid = getpid()};
    nanoseconds tick = NANOSECONDS_PER_SECOND / sysconf(_SC_CLK_TCK);
    nanoseconds start = (nanoseconds)ourselves.started * tick;
    cr_expect(process_look_origin(&client, boot_time(), true, &origin));
    cr_expect(process_look_origin(&client, start, true, &origin));
    cr_expect_not(process_look_origin(&client, start - tick, true, &origin));
    const struct process nobody = {.pid = 0};
    cr_expect_not(process_look_origin(&nobody, boot_time(), true, &origin));
}

Test(process, long_arguments_are_cut)
{
    struct process job;
    struct process_origin origin;
    char text[4000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-c", "kill -STOP $$; :", text, NULL);
        _exit(1);
    }
    cr_assert_eq(identify(pid, getuid(), false, &job), PROCESS_OK);
    do {
        cr_assert(process_look_origin(&job, 0, true, &origin));
    } while (!origin.args || strncmp(origin.args, "sh", 2) != 0); /* until it has begun */
    cr_expect_lt(strlen(origin.args), (size_t)1024);
    cr_expect_str_eq(origin.args + strlen(origin.args) - 4, "x...");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
