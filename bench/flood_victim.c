/* flood_victim.c - what an acquire and its release cost a user who asks in moderation.
 *
 *     flood_victim SOCKET UID NAME kept|fresh BURSTS
 *
 * Every 10 ms a burst of 10 pairs, one after the other, over one connection or over a fresh one for
 * each pair. One line for each pair: nanoseconds. */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 10, PACE_NS = 10 * 1000 * 1000, LINE_SIZE = 256 };

struct victim {
    const char *socket;
    char acquire[LINE_SIZE];
    size_t acquire_length;
    bool is_fresh;
    int fd;
};

static void acquire_and_release(int fd, const struct victim *victim)
{
    char answer[1024], lease[BENCH_LEASE_SIZE], release[LINE_SIZE];
    bench_write(fd, victim->acquire, victim->acquire_length);
    bench_read_lines(fd, 1, answer, sizeof answer);
    bench_expect(answer, "ok ");
    bench_copy_lease(lease, answer);
    int n = snprintf(release, sizeof release, "release %s\n", lease);
    bench_write(fd, release, (size_t)n);
    bench_expect(bench_read_lines(fd, 1, answer, sizeof answer), "ok\n");
}

static int64_t measure(const struct victim *victim)
{
    int64_t start = bench_now();
    if (victim->is_fresh) {
        int fd = bench_connect(victim->socket);
        acquire_and_release(fd, victim);
        close(fd);
    } else {
        acquire_and_release(victim->fd, victim);
    }
    return bench_now() - start;
}

/* Sets the pace: nothing else is waited for. */
static void wait_for_the_next(struct timespec *next)
{
    next->tv_nsec += PACE_NS;
    if (next->tv_nsec >= 1000 * 1000 * 1000) {
        next->tv_nsec -= 1000 * 1000 * 1000;
        next->tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

int main(int argc, char **argv)
{
    struct victim victim = {.fd = -1};
    if (argc != 6) {
        bench_fail("usage: flood_victim SOCKET UID NAME kept|fresh BURSTS");
    }
    bench_become(bench_number(argv[2]));
    victim.socket = argv[1];
    victim.acquire_length = (size_t)snprintf(victim.acquire, sizeof victim.acquire,
        "acquire %s:1 program=job pid=%ld once=0123456789abcdef\n", argv[3], (long)getpid());
    victim.is_fresh = strcmp(argv[4], "fresh") == 0;
    victim.fd = victim.is_fresh ? -1 : bench_connect(victim.socket);
    unsigned n = bench_number(argv[5]) * BURST;
    int64_t *samples = calloc(n, sizeof samples[0]);
    if (!samples || victim.acquire_length >= sizeof victim.acquire) {
        bench_fail("out of memory, or the name is too long");
    }
    struct timespec next;
    measure(&victim); /* waits until it is accepted */
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned i = 0; i < n; i++) {
        if (i % BURST == 0) {
            wait_for_the_next(&next);
        }
        samples[i] = measure(&victim);
    }
    for (unsigned i = 0; i < n; i++) {
        printf("%lld\n", (long long)samples[i]);
    }
    return 0;
}
