/* witness_job.c - a job that sees for itself how many run: of Berth it knows only its slot and
 * token, and of the others only what the kernel says.
 *
 * usage: witness_job DIRECTORY NUMBER
 *
 * DIRECTORY/locks is locked byte by byte (POSIX record locks: gone with the process, however it
 * dies), DIRECTORY/log gets a line for each event, written at once:
 *   start NUMBER PID OTHERS SLOT TOKEN    OTHERS jobs were alive as well at that moment
 *   twice NUMBER PID                      that number runs already: ends with status 3
 *   taken NUMBER PID SLOT                 that slot is another's already: ends with status 3
 *   end NUMBER                            the test has let it go
 * It lasts until the test unlocks the gate of its number, or until a signal ends it. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the bytes of DIRECTORY/locks stand for; witness.py knows them too. */
enum {
    JOBS = 0,
    MAX_JOBS = 1 << 20,
    START = 1 << 20, /* held by the one that starts at present */
    SLOTS = 1 << 21,
    GATES = 1 << 22,
};

static int locks, event_log;

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* False if another process has it (with F_SETLKW: never). */
static bool lock(int command, off_t byte)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (fcntl(locks, command, &range) == 0) {
        return true;
    }
    if (errno != EAGAIN && errno != EACCES) {
        fail("lock");
    }
    return false;
}

static void unlock(off_t byte)
{
    struct flock range = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (fcntl(locks, F_SETLK, &range) < 0) {
        fail("unlock");
    }
}

/* Counts the locks of others in [from, to). F_GETLK returns any one of them: there may be more on
 * both sides. Each is one byte long, as only locks of one process are merged. */
static unsigned count_others(off_t from, off_t to)
{
    unsigned n = 0;
    while (from < to) {
        struct flock other = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from};
        if (fcntl(locks, F_GETLK, &other) < 0) {
            fail("F_GETLK");
        }
        if (other.l_type == F_UNLCK) {
            break;
        }
        n += 1 + count_others(from, other.l_start);
        from = other.l_start + other.l_len;
    }
    return n;
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : "-";
}

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[1]) < 0) {
        fail("usage: witness_job DIRECTORY NUMBER");
    }
    int number = atoi(argv[2]), pid = (int)getpid();
    const char *slot = environment("BERTH_SLOT");
    locks = open("locks", O_RDWR | O_CLOEXEC);
    event_log = open("log", O_RDWR | O_APPEND | O_CLOEXEC); /* a FIFO: opened at once */
    if (locks < 0 || event_log < 0) {
        fail(argv[1]);
    }
    /* Others may end while we count, but none starts: all we count were alive when we came in. */
    lock(F_SETLKW, START);
    if (!lock(F_SETLK, JOBS + number)) {
        dprintf(event_log, "twice %d %d\n", number, pid);
        return 3;
    }
    if (slot[0] != '-' && !lock(F_SETLK, SLOTS + atoi(slot))) {
        dprintf(event_log, "taken %d %d %s\n", number, pid, slot);
        return 3;
    }
    dprintf(event_log, "start %d %d %u %s %s\n", number, pid, count_others(JOBS, MAX_JOBS), slot,
        environment("BERTH_TOKEN"));
    unlock(START);
    lock(F_SETLKW, GATES + number);
    dprintf(event_log, "end %d\n", number);
    return 0;
}
