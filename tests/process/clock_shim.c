/* clock_shim.c - LD_PRELOAD: gettimeofday() of a process may be stepped, or stopped, while it runs;
 * and its locale orders text in a way that programs must not rely on.
 *
 * $BERTH_CLOCK_FILE holds two int64 in the machine's byte order: microseconds to add to the real
 * time; and, unless 0, the microseconds since 1970 to return instead of the real time.
 * fleet_help.Clock writes it. Without the variable the time is real. Redis takes all its times of
 * day from here; its monotonic clock goes on, as in a real step.
 *
 * With $BERTH_COLLATE, strcoll() sorts letters and digits first and ignores case, as most locales
 * do. */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct clock {
    int64_t offset, instead;
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

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time) < 0) {
        return -1;
    }
    int64_t microseconds = shown->instead;
    if (microseconds == 0) {
        microseconds = (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
    }
    microseconds += shown->offset;
    now->tv_sec = (time_t)(microseconds / 1000000);
    now->tv_usec = (suseconds_t)(microseconds % 1000000);
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
