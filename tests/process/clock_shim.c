/* clock_shim.c - LD_PRELOAD: the time of day of a process may be stepped, or stopped,
 * while it runs, and all its clocks may be slow or fast; and its locale orders text in a
 * way that programs must not rely on.
 *
 * $BERTH_CLOCK_FILE holds four int64 in the machine's byte order: microseconds to add to
 * the real time of day; unless 0, the microseconds since 1970 to return instead of it; by
 * how many millionths all clocks are fast (negative: slow), and since when, in
 * nanoseconds of CLOCK_BOOTTIME. fleet_help.Clock writes it. Without the variable the
 * time is real.
 *
 * gettimeofday(), from which Redis takes all its times of day, and CLOCK_REALTIME are
 * stepped. The clocks that never step, as berthd and its clients use them, and their
 * timerfds have only the rate. Other sleeps take real time: one that was computed on a
 * fast clock ends late, by its share.
 *
 * With $BERTH_COLLATE, strcoll() sorts letters and digits first and ignores case, as most
 * locales do. */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    MILLION = 1000000,
    BILLION = 1000000000,
};

struct clock {
    int64_t offset, instead, rate, since;
};

static const volatile struct clock real;
static const volatile struct clock *shown = &real;

__attribute__((constructor)) static void map_clock(void)
{
    const char *path = getenv("BERTH_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *map = mmap(NULL, sizeof *shown, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) {
        shown = map;
    }
    close(file);
}

static int64_t nanoseconds_of(struct timespec time)
{
    return (int64_t)time.tv_sec * BILLION + time.tv_nsec;
}

static struct timespec timespec_of(int64_t nanoseconds)
{
    return (struct timespec){.tv_sec = nanoseconds / BILLION, .tv_nsec = nanoseconds % BILLION};
}

/* By how much all clocks are ahead, in nanoseconds. */
static int64_t drift(void)
{
    struct timespec now;
    if (shown->rate == 0 || syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now) < 0) {
        return 0;
    }
    return (nanoseconds_of(now) - shown->since) / MILLION * shown->rate;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 &&
        (clock == CLOCK_BOOTTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)) {
        *time = timespec_of(nanoseconds_of(*time) + drift());
    }
    if (result == 0 && clock == CLOCK_REALTIME) {
        *time = timespec_of(nanoseconds_of(*time) + shown->offset * 1000);
    }
    return result;
}

/* Of CLOCK_BOOTTIME. */
int timerfd_settime(int fd, int flags, const struct itimerspec *timer, struct itimerspec *before)
{
    struct itimerspec set = *timer;
    int64_t value = nanoseconds_of(set.it_value);
    if (value != 0 && shown->rate != 0) {
        int64_t from = flags & TFD_TIMER_ABSTIME ? shown->since : 0;
        double stretch = MILLION / (double)(MILLION + shown->rate);
        value = from + (int64_t)((double)(value - from) * stretch);
        set.it_value = timespec_of(value > 0 ? value : 1);
    }
    return (int)syscall(SYS_timerfd_settime, fd, flags, &set, before);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec time;
    if (syscall(SYS_clock_gettime, CLOCK_REALTIME, &time) < 0) {
        return -1;
    }
    int64_t microseconds = shown->instead;
    if (microseconds == 0) {
        microseconds = (nanoseconds_of(time) + drift()) / 1000;
    }
    microseconds += shown->offset;
    now->tv_sec = (time_t)(microseconds / MILLION);
    now->tv_usec = (suseconds_t)(microseconds % MILLION);
    return 0;
}

static int next_letter(const char **textp)
{
    while (**textp && !isalnum((unsigned char)**textp)) {
        (*textp)++;
    }
    return **textp ? tolower((unsigned char)*(*textp)++) : 0;
}

int strcoll(const char *a, const char *b)
{
    const char *left = a, *right = b;
    int letter, other;
    if (!getenv("BERTH_COLLATE")) {
        return strcmp(a, b);
    }
    do {
        letter = next_letter(&left);
        other = next_letter(&right);
    } while (letter == other && letter);
    return letter == other ? strcmp(a, b) : letter - other;
}
