#include "berth/child.h"

#include "client/exit_status.h"
#include "client/message.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* The pipe carries what is used of the struct: the number of bytes in the block, then the block. */
_Static_assert(offsetof(struct environment, bytes) == sizeof(size_t), "no padding");

static bool environment_is_whole(const struct environment *environment, size_t n_read)
{
    size_t head = sizeof environment->n;
    return n_read >= head && n_read - head >= environment->n;
}

static bool read_environment(int fd, struct environment *environment)
{
    size_t done = 0;
    while (!environment_is_whole(environment, done)) {
        ssize_t now = read(fd, (char *)environment + done, sizeof *environment - done);
        if (now == 0 || (now < 0 && errno != EINTR)) {
            return false;
        }
        done += now > 0 ? (size_t)now : 0;
    }
    return true;
}

static void write_all(int fd, const void *in, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t now = write(fd, (const char *)in + done, n - done);
        if (now < 0 && errno != EINTR) {
            return; /* EPIPE: the child has died */
        }
        done += now > 0 ? (size_t)now : 0;
    }
}

static int say_not_executed(char **argv, const struct file_lock *file_lock, int error)
{
    bool is_a_line = error == ENOENT && !argv[1] && strpbrk(argv[0], " ;|&<>$");
    const char *words = file_lock ? "-c '...'" : "-- sh -c '...'";
    message("%s: %s%s%s", argv[0], strerror(error),
        is_a_line ? "; to run a shell command line: " : "", is_a_line ? words : "");
    return file_lock      ? EX_UNAVAILABLE
        : error == ENOENT ? STATUS_NOT_FOUND
                          : STATUS_CANNOT_EXECUTE;
}

/* 0: exec may succeed, or fail in another way. */
static int error_of_file(const char *path)
{
    struct stat status;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0) {
        return stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? EACCES : 0;
    }
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? errno : 0;
}

/* Looks where execvp() does. */
static int error_of_command(const char *name)
{
    const char *path = getenv("PATH");
    int error = ENOENT;
    if (strchr(name, '/') || !name[0]) {
        return name[0] ? error_of_file(name) : ENOENT;
    }
    for (path = path ? path : "/bin:/usr/bin"; path; path = path[0] ? path + 1 : NULL) {
        char file[PATH_MAX];
        size_t n = strcspn(path, ":");
        int length =
            snprintf(file, sizeof file, "%.*s%s%s", (int)n, path, n > 0 ? "/" : "", name);
        int now = length < (int)sizeof file ? error_of_file(file) : 0;
        if (now == 0) {
            return 0;
        }
        error = now == EACCES ? EACCES : error;
        path += n;
    }
    return error;
}

int child_check_command(char **argv, const struct file_lock *file_lock)
{
    int error = error_of_command(argv[0]);
    return error != 0 ? say_not_executed(argv, file_lock, error) : 0;
}

int child_execute(char **argv, const struct file_lock *file_lock)
{
    execvp(argv[0], argv);
    return say_not_executed(argv, file_lock, errno);
}

/* Of a wrapper that is killed meanwhile the job does not begin. */
static void take_lock(const struct file_lock *file_lock, pid_t wrapper)
{
    int status = STATUS_CANNOT_EXECUTE;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != wrapper || !file_lock_take(file_lock, &status)) {
        _exit(status);
    }
    prctl(PR_SET_PDEATHSIG, 0);
}

static _Noreturn void child_main(
    const struct child *child, int go, char **argv, const struct signals *signals, pid_t wrapper)
{
    static struct environment environment;
    setpgid(0, 0);
    signals_restore(signals);
    if (!child->file_lock) {
        /* On the stack, of which the kernel lets arguments and environment have a quarter. The
         * first malloc() of a process costs three system calls and ten page faults. */
        environment_prepare(alloca(environment_size()));
    }
    if (!read_environment(go, &environment)) {
        _exit(0); /* berth has gone, or does not need us */
    }
    if (child->file_lock) {
        take_lock(child->file_lock, wrapper);
    } else {
        environment_enter(&environment);
    }
    _exit(child_execute(argv, child->file_lock));
}

bool child_fork(struct child *child, char **argv, const struct signals *signals)
{
    int ends[2];
    pid_t wrapper = child->file_lock ? getpid() : 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    /* Not fork(): its handlers, which make the locks of threads usable in the child, copy three
     * pages; and berth has one thread. */
    pid_t pid = _Fork();
    if (pid == 0) {
        close(ends[1]); /* otherwise the child would never see the end of the pipe */
        child_main(child, ends[0], argv, signals, wrapper);
    }
    int saved_errno = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        errno = saved_errno;
        return false;
    }
    setpgid(pid, pid); /* both do it: neither knows who comes first */
    child->pid = pid;
    child->go = ends[1];
    return true;
}

void child_start(struct child *child, const struct environment *environment)
{
    enum { PIPE_BYTES = 65536 };
    size_t n = environment->n + sizeof environment->n;
    if (n > PIPE_BYTES) {
        /* All of it must fit: berth must not wait for a child that somebody has stopped. */
        fcntl(child->go, F_SETPIPE_SZ, (int)n);
    }
    write_all(child->go, environment, n);
    close(child->go);
    child->go = -1;
}

void child_discard(struct child *child)
{
    if (child->pid == 0 || child->is_reaped) {
        return;
    }
    close(child->go);
    kill(child->pid, SIGKILL); /* it would exit by itself, but not if somebody has stopped it */
    waitpid(child->pid, NULL, 0);
    *child = (struct child){.go = -1};
}

static void signal_group(const struct child *child, int signal)
{
    /* The group is gone if the job has left it. Then, once the child is reaped, its number may
     * become another group's, but only after all other numbers have been used. */
    if (child->pid > 0 && kill(-child->pid, signal) != 0 && errno == ESRCH && !child->is_reaped) {
        kill(child->pid, signal);
    }
}

void child_signal(const struct child *child, int signal)
{
    signal_group(child, signal);
    if (child->tree && child->is_reaped) {
        tree_signal(child->tree, child->pid, signal);
    }
}

void child_stop(const struct child *child, int signal, bool only_new)
{
    if (!only_new) {
        /* Orphans become our children, and end as such: nobody else might reap them. */
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        signal_group(child, signal);
        signal_group(child, SIGCONT);
    }
    if (child->tree) {
        tree_stop(child->tree, child->pid, signal, only_new);
    }
}

bool child_is_stuck(const struct child *child)
{
    char path[64], line[256];
    bool is_stuck = false;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)child->pid);
    FILE *file = child->is_reaped ? NULL : fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        is_stuck |= strncmp(line, "State:\tD", 8) == 0;
    }
    if (file) {
        fclose(file);
    }
    return is_stuck;
}

bool child_has_group(const struct child *child)
{
    return child->pid > 0 && (kill(-child->pid, 0) == 0 || errno != ESRCH);
}

/* Whose changes we wait for. As the init of a container: also those of all orphans, as nobody else
 * reaps them. */
static pid_t pid_to_wait_for(const struct child *child)
{
    if (child->tree || getpid() == 1) {
        return -1;
    }
    return child->is_reaped ? -child->pid : child->pid;
}

enum child_change child_look(struct child *child, int *statusp)
{
    pid_t pid;
    while ((pid = waitpid(pid_to_wait_for(child), statusp, WNOHANG | WUNTRACED)) > 0) {
        if (pid == child->pid) {
            child->is_reaped = !WIFSTOPPED(*statusp);
            return child->is_reaped ? CHILD_ENDED : CHILD_STOPPED;
        }
    }
    child->is_alone = pid < 0 || (child->tree && !tree_has_members(child->tree));
    return CHILD_AS_BEFORE;
}
