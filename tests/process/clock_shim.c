/* clock_shim.c - LD_PRELOAD: a process whose gettimeofday() may be stepped while it runs.
 *
 * $BERTH_CLOCK_FILE holds one int64 in the machine's byte order: microseconds that are added to what
 * the time really is. fleet_help.Clock writes it. Without the variable the time is what it is. Redis
 * takes all its times of day from here; its monotonic clock is left alone, as by a real step. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none;
static const volatile int64_t *offset = &none;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("BERTH_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *map = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) {
        offset = map;
    }
    close(file);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec real;
    if (clock_gettime(CLOCK_REALTIME, &real) < 0) {
        return -1;
    }
    int64_t microseconds = (int64_t)real.tv_sec * 1000000 + real.tv_nsec / 1000 + *offset;
    now->tv_sec = (time_t)(microseconds / 1000000);
    now->tv_usec = (suseconds_t)(microseconds % 1000000);
    return 0;
}
