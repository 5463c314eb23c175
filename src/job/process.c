#include "job/process.h"

#include "base/text.h"
#include "base/words.h"
#include "job/process_text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT_SIZE = 2048, STAT_SIZE = 1024, CGROUPS_SIZE = 4096, ARGS_SIZE = 1024 };
enum { LOCKS_SIZE = 256 * 1024 };

/* ---- files ---- */

static void close_quietly(int fd)
{
    int saved = errno;
    close(fd);
    errno = saved;
}

enum { PATH_BYTES = 40 };

/* "/proc/PID" and `file`. */
static const char *path_of(char path[static PATH_BYTES], pid_t pid, const char *file)
{
    *put_string(put_number(put_string(path, "/proc/"), (uint64_t)pid), file) = '\0';
    return path;
}

/* Everything opened below it belongs to one process; when that is gone, nothing can be. */
static int open_folder(pid_t pid)
{
    char path[PATH_BYTES];
    return open(path_of(path, pid, ""), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* As much as fits, and a NUL. `folder` may be AT_FDCWD. Returns its length; -1 with errno. */
static ssize_t read_short(int folder, const char *path, char *text, size_t size)
{
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t n = fd >= 0 ? 1 : -1;
    while (n > 0 && length < size - 1) {
        n = read(fd, text + length, size - 1 - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        close_quietly(fd);
    }
    text[n >= 0 ? length : 0] = '\0';
    return n >= 0 ? (ssize_t)length : -1;
}

/* The fields that we read are in the first kilobyte. */
static bool read_stat(int folder, const char *path, struct process_stat *stat)
{
    char text[STAT_SIZE];
    bool is_read = read_short(folder, path, text, sizeof text) >= 0;
    bool is_good = is_read && process_stat_parse(text, stat);
    errno = is_read && !is_good ? EPROTO : errno;
    return is_good;
}

/* With 65536 groups the text has almost a megabyte, and NSpid is behind them. */
static bool read_status(int folder, const char *path, struct process_status *status)
{
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    struct text text = TEXT_INIT;
    ssize_t n;
    do {
        char *room = text_room(&text, TEXT_SIZE);
        n = read(fd, room, TEXT_SIZE);
        text_end(&text, room + (n > 0 ? n : 0));
    } while (n > 0);
    close_quietly(fd);
    bool is_good = n == 0 && process_status_parse(text.bytes, status);
    text_deinit(&text); /* free() keeps errno */
    errno = n == 0 && !is_good ? EPROTO : errno;
    return is_good;
}

bool process_look(pid_t pid, struct process_stat *stat, struct process_status *status)
{
    if (!status) {
        char path[PATH_BYTES];
        return read_stat(AT_FDCWD, path_of(path, pid, "/stat"), stat);
    }
    int folder = open_folder(pid);
    if (folder < 0) {
        return false;
    }
    bool is_good = read_stat(folder, "stat", stat) && read_status(folder, "status", status);
    close_quietly(folder);
    return is_good;
}

/* One among more locks than fit is not found. */
pid_t process_file_lock_holder(pid_t pid)
{
    static char locks[LOCKS_SIZE];
    ssize_t n = read_short(AT_FDCWD, "/proc/locks", locks, sizeof locks);
    return n > 0 ? process_locks_find(locks, pid) : 0;
}

size_t process_and_ancestors(pid_t pid, pid_t pids[MAX_PARENTS])
{
    struct process_stat stat;
    size_t n = 0;
    while (pid > 1 && n < MAX_PARENTS) {
        pids[n++] = pid;
        pid = process_look(pid, &stat, NULL) ? stat.parent : 0;
    }
    return n;
}

bool process_is_or_descends_from(pid_t pid, pid_t ancestor)
{
    pid_t pids[MAX_PARENTS];
    size_t n = pid == ancestor ? 0 : process_and_ancestors(pid, pids), i = 0;
    while (i < n && pids[i] != ancestor) {
        i++;
    }
    return pid == ancestor || i < n;
}

static bool read_login(int folder, const char *path, uint32_t *uidp)
{
    char text[16];
    uint64_t uid;
    read_short(folder, path, text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    if (!number_parse(text, UINT32_MAX - 1, &uid)) { /* UINT32_MAX: nobody has logged in */
        return false;
    }
    *uidp = (uint32_t)uid;
    return true;
}

bool process_login(pid_t pid, uint32_t *uidp)
{
    char path[PATH_BYTES];
    return pid > 0 && read_login(AT_FDCWD, path_of(path, pid, "/loginuid"), uidp);
}

/* ---- where it comes from ---- */

static bool was_there(uint64_t started, nanoseconds at)
{
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 && started <= (uint64_t)at / (uint64_t)(NANOSECONDS_PER_SECOND / ticks);
}

static bool is_the_one(
    const struct process *process, nanoseconds there_at, const struct process_stat *stat)
{
    return process->started != 0 ? stat->started == process->started
                                 : was_there(stat->started, there_at);
}

bool process_look_origin(const struct process *process, nanoseconds there_at, bool with_args,
    struct process_origin *origin)
{
    static char cgroups[CGROUPS_SIZE], args[ARGS_SIZE];
    struct process_stat stat;
    int folder = process->pid > 0 ? open_folder(process->pid) : -1;
    if (folder < 0) {
        return false;
    }
    bool is_there = read_stat(folder, "stat", &stat) && is_the_one(process, there_at, &stat);
    *origin = (struct process_origin){.has_login = false};
    if (is_there) {
        origin->has_login = read_login(folder, "loginuid", &origin->login);
        read_short(folder, "cgroup", cgroups, sizeof cgroups);
        origin->cgroup = process_cgroup_find(cgroups);
    }
    if (is_there && with_args) {
        ssize_t n = read_short(folder, "cmdline", args, sizeof args);
        origin->args = process_args_join(args, n > 0 ? (size_t)n : 0, n == sizeof args - 1);
    }
    close(folder);
    return is_there;
}

static bool says_gone(int error)
{
    return error == ENOENT || error == ESRCH;
}

/* ---- questions ---- */

bool process_may_be_signalled_by(const struct process_status *status, uint32_t uid)
{
    return uid == 0 || uid == status->real_uid || uid == status->saved_uid;
}

enum process_check process_identify(pid_t pid, uint32_t asker_uid, bool asker_is_admin,
    struct process *out, struct process_place *placep)
{
    struct process_stat stat;
    struct process_status status;
    *placep = (struct process_place){.is_here = false};
    if (pid == 1) {
        return PROCESS_NOT_YOURS; /* its parent has gone, so this one may get it */
    }
    if (pid <= 0 || !process_look(pid, &stat, &status)) {
        errno = pid <= 0 || says_gone(errno) ? ESRCH : errno;
        return PROCESS_NONE;
    }
    *placep = (struct process_place){
        .is_here = status.n_namespaces == 1, .parent = stat.parent};
    if (status.pid != status.leader || !process_stat_is_alive(&stat)) {
        errno = ESRCH;
        return PROCESS_NONE;
    }
    if (!asker_is_admin && !process_may_be_signalled_by(&status, asker_uid)) {
        return PROCESS_NOT_YOURS;
    }
    *out = (struct process){.pid = pid, .started = stat.started};
    return PROCESS_OK;
}

bool process_is_alive(const struct process *process)
{
    struct process_stat stat;
    if (process->pid <= 0 || process->started == 0) {
        return false;
    }
    if (process_look(process->pid, &stat, NULL)) {
        return stat.started == process->started && process_stat_is_alive(&stat);
    }
    /* hidepid may hide another user's process from us. This needs no descriptor. */
    return kill(process->pid, 0) == 0 || errno != ESRCH;
}

/* Does not compare /proc/PID/ns/pid with our own: reading that link requires the right to trace the
 * process, which the daemon does not have over other users. */
bool process_shares_our_namespace(pid_t peer_pid)
{
    char path[PATH_BYTES];
    struct process_status status;
    return peer_pid > 0 &&
        read_status(AT_FDCWD, path_of(path, peer_pid, "/status"), &status) &&
        status.n_namespaces == 1;
}

/* ---- pidfds ---- */

static bool is_gone(int pidfd)
{
    struct pollfd gone = {.fd = pidfd, .events = POLLIN};
    return poll(&gone, 1, 0) != 0;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Linux 6.5 gives a pidfd of the very process: if that lives after the look, the look was at it.
 * Before, the start time tells it from all but one that took its number between connect() and
 * accept(). */
bool process_of_peer(int socket, pid_t pid, nanoseconds connected_by, struct process *out)
{
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    errno = 0;
    bool has_pidfd = getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0;
    bool is_old_kernel = !has_pidfd && errno == ENOPROTOOPT;
    struct process_place place;
    bool is_there = (has_pidfd || is_old_kernel) &&
        process_identify(pid, 0, true, out, &place) == PROCESS_OK &&
        (has_pidfd ? !is_gone(pidfd) : was_there(out->started, connected_by));
    if (has_pidfd) {
        close_quietly(pidfd);
    }
    return is_there;
}

/* With errno of reading /proc: what hidepid hides from us is still alive. */
static int why_unseen(int pidfd)
{
    return !says_gone(errno) ? errno : is_gone(pidfd) ? ESRCH : EACCES;
}

int process_open(const struct process *process)
{
    if (process->pid <= 0 || process->started == 0) {
        errno = ESRCH;
        return -1;
    }
    int fd = pidfd_open(process->pid, 0);
    if (fd < 0) {
        /* If a thread has the number now: EINVAL, or ENOENT since 6.9. */
        errno = errno == EINVAL || says_gone(errno) ? ESRCH : errno;
        return -1;
    }
    /* First opens, then compares: if it is this process now, it was when the pidfd was opened. */
    struct process_stat stat;
    bool is_seen = process_look(process->pid, &stat, NULL);
    int error = is_seen ? ESRCH : why_unseen(fd);
    if (is_seen && stat.started == process->started && process_stat_is_alive(&stat)) {
        return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

/* Asked before the pidfd says that the process still lives: so the answer was about this
 * process. */
bool process_leads_group(int pidfd, const struct process *process)
{
    return process->pid != getpgrp() && getpgid(process->pid) == process->pid && !is_gone(pidfd);
}

/* Other signals reach a stopped process only when it is continued. */
static bool is_taken_when_stopped(int signal)
{
    static const int signals[] = {0, SIGKILL, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i] == signal) {
            return true;
        }
    }
    return false;
}

/* To a group by number: until its leader has been reaped that number cannot mean another group, and
 * the leader lived a moment ago. (Kernels before 6.9 cannot signal a group by pidfd.) */
static bool send_to(int pidfd, pid_t group, int signal)
{
    return group > 0 ? kill(-group, signal) == 0 : pidfd_send_signal(pidfd, signal, NULL, 0) == 0;
}

bool process_signal(int pidfd, const struct process *process, int signal)
{
    pid_t group = process && process_leads_group(pidfd, process) ? process->pid : 0;
    if (!send_to(pidfd, group, signal)) {
        return false;
    }
    if (!is_taken_when_stopped(signal)) {
        int saved = errno;
        send_to(pidfd, group, SIGCONT); /* it may have ended already */
        errno = saved;
    }
    return true;
}
