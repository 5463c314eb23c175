/* stamp.c - a job that reports its times: prints CLOCK_MONOTONIC in nanoseconds as its first act,
 * waits for the end of its standard input, and prints it again as its last act. */
#include "bench/bench.h"

#include <stdio.h>
#include <unistd.h>

static void stamp(void)
{
    char line[32];
    int64_t now = bench_now();
    bench_write(STDOUT_FILENO, line, (size_t)snprintf(line, sizeof line, "%lld\n", (long long)now));
}

int main(void)
{
    char nothing[64];
    stamp();
    while (read(STDIN_FILENO, nothing, sizeof nothing) > 0) {
    }
    stamp();
    _exit(0);
}
