#include "berth/file_lock.h"

#include "base/clock.h"
#include "client/message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <sysexits.h>
#include <unistd.h>

/* ---- the file ---- */

/* Read-only, so that nobody who watches the file hears of a writer. O_CREAT is refused for a
 * directory, and for another user's file where everybody may write (fs.protected_regular). */
static int open_to_read(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_NOCTTY | O_CREAT | flags, 0666);
    int error = errno;
    if (fd < 0 && (error == EISDIR || error == EACCES)) {
        fd = open(path, O_RDONLY | O_NOCTTY | flags);
        errno = fd < 0 && errno == ENOENT ? error : errno;
    }
    return fd;
}

/* NFS has the locks of fcntl(2) in place of these: an exclusive one needs a writer. */
static void reopen_to_write(struct file_lock *lock, int flags)
{
    struct statfs system;
    bool is_nfs = fstatfs(lock->fd, &system) == 0 && system.f_type == NFS_SUPER_MAGIC;
    int fd = is_nfs && !lock->is_shared ? open(lock->path, O_RDWR | O_NOCTTY | flags) : -1;
    if (fd >= 0) {
        close(lock->fd);
        lock->fd = fd;
    }
}

int file_lock_open(struct file_lock *lock)
{
    int flags = lock->is_closed ? O_CLOEXEC : 0;
    lock->fd = open_to_read(lock->path, flags);
    if (lock->fd >= 0) {
        reopen_to_write(lock, flags);
        return 0;
    }
    int error = errno;
    message("cannot open %s: %s", lock->path, strerror(error));
    return error == ENOMEM || error == EMFILE || error == ENFILE ? EX_OSERR
        : error == EROFS || error == ENOSPC                      ? EX_CANTCREAT
                                                                 : EX_NOINPUT;
}

/* ---- its lock ---- */

static int take(const struct file_lock *lock, int flags)
{
    return flock(lock->fd, (lock->is_shared ? LOCK_SH : LOCK_EX) | flags);
}

static void on_alarm(int signal)
{
    (void)signal;
}

/* A signal that comes just before the call would be missed: so it comes again and again. */
static bool begin_alarms(timer_t *timer, nanoseconds at)
{
    const struct itimerspec when = {
        .it_value = {at / NANOSECONDS_PER_SECOND, at % NANOSECONDS_PER_SECOND},
        .it_interval = {.tv_nsec = 10 * NANOSECONDS_PER_MILLISECOND},
    };
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    if (timer_create(CLOCK_BOOTTIME, &event, timer) != 0) {
        errno = ENOMEM; /* EAGAIN, as of too many signals, would mean that the lock is taken */
        return false;
    }
    return timer_settime(*timer, TIMER_ABSTIME, &when, NULL) == 0;
}

/* False with errno; EINTR: the time is over. */
static bool wait_for_lock(const struct file_lock *lock)
{
    bool is_got;
    do {
        is_got = take(lock, 0) == 0;
    } while (!is_got && errno == EINTR && clock_now() < lock->until);
    return is_got;
}

static bool wait_with_alarms(const struct file_lock *lock)
{
    struct sigaction action = {.sa_handler = on_alarm}, old_action;
    sigset_t alarm, old_mask;
    timer_t timer;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigaction(SIGALRM, &action, &old_action);
    sigprocmask(SIG_UNBLOCK, &alarm, &old_mask);
    bool is_got = false;
    if (begin_alarms(&timer, lock->until)) {
        is_got = wait_for_lock(lock);
        int error = errno;
        timer_delete(timer);
        errno = error;
    }
    sigprocmask(SIG_SETMASK, &old_mask, NULL);
    sigaction(SIGALRM, &old_action, NULL);
    return is_got;
}

static bool file_lock_wait(const struct file_lock *lock)
{
    if (clock_now() >= lock->until) {
        return false;
    }
    if (lock->is_verbose) {
        message("waiting for the file's lock: %s", lock->path);
    }
    return lock->until == NEVER ? wait_for_lock(lock) : wait_with_alarms(lock);
}

bool file_lock_take(const struct file_lock *lock, int *statusp)
{
    bool is_got = take(lock, LOCK_NB) == 0 || (errno == EWOULDBLOCK && file_lock_wait(lock));
    if (is_got) {
        return true;
    }
    int error = errno;
    bool is_conflict = error == EWOULDBLOCK || error == EINTR;
    if (lock->is_verbose || !is_conflict) {
        message("%s: %s", lock->path, is_conflict ? "its lock is taken" : strerror(error));
    }
    *statusp = is_conflict                   ? lock->conflict_status
        : error == ENOLCK || error == ENOMEM ? EX_OSERR
                                             : EX_DATAERR;
    return false;
}
