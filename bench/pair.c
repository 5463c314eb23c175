/* pair.c - what an acquire and its release cost over one connection, beside two round trips of the
 * same requests to an echo server, or beside another berthd.
 *
 *     pair SOCKET PEER-SOCKET echo|berthd NAME DEPTH ROUNDS PAIRS
 *
 * DEPTH requests are sent at once (1: one at a time), their answers read, then their releases. One
 * line for each round: nanoseconds a pair at berthd, and nanoseconds of the same at the peer. */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 256, LINE_SIZE = 256, BATCH_SIZE = MAX_DEPTH * LINE_SIZE };

struct batch {
    unsigned depth;
    size_t acquire_length, release_length;
    char acquire[BATCH_SIZE], release[BATCH_SIZE];
};

static char answers[BATCH_SIZE + 1];

/* As berth run sends them: each with its own `once`, or berthd would repeat the first answer. */
static void batch_init(struct batch *batch, unsigned depth, const char *name)
{
    if (depth > MAX_DEPTH) {
        bench_fail("the depth is too large");
    }
    batch->depth = depth;
    batch->acquire_length = 0;
    for (unsigned i = 0; i < depth; i++) {
        int n = snprintf(batch->acquire + batch->acquire_length, LINE_SIZE,
            "acquire %s:1 program=job once=%016x pid=%ld\n", name, i, (long)getpid());
        if (n < 0 || n >= LINE_SIZE) {
            bench_fail("the name is too long");
        }
        batch->acquire_length += (size_t)n;
    }
}

/* The releases of what `line` and the lines after it have granted. */
static void batch_fill_releases(struct batch *batch, char *line)
{
    char lease[BENCH_LEASE_SIZE];
    batch->release_length = 0;
    for (unsigned i = 0; i < batch->depth; i++) {
        char *next = bench_expect(line, "ok ");
        bench_copy_lease(lease, line);
        batch->release_length += (size_t)snprintf(
            batch->release + batch->release_length, LINE_SIZE, "release %s\n", lease);
        line = next;
    }
}

static void acquire_and_release(int fd, struct batch *batch)
{
    bench_write(fd, batch->acquire, batch->acquire_length);
    batch_fill_releases(batch, bench_read_lines(fd, batch->depth, answers, sizeof answers));
    bench_write(fd, batch->release, batch->release_length);
    char *line = bench_read_lines(fd, batch->depth, answers, sizeof answers);
    for (unsigned i = 0; i < batch->depth; i++) {
        line = bench_expect(line, "ok\n");
    }
}

static void echo_twice(int fd, struct batch *batch)
{
    bench_write(fd, batch->acquire, batch->acquire_length);
    bench_read_lines(fd, batch->depth, answers, sizeof answers);
    bench_write(fd, batch->release, batch->release_length);
    bench_read_lines(fd, batch->depth, answers, sizeof answers);
}

static int64_t measure(
    int fd, struct batch *batch, unsigned pairs, void (*once)(int fd, struct batch *batch))
{
    int64_t start = bench_now();
    for (unsigned done = 0; done < pairs; done += batch->depth) {
        once(fd, batch);
    }
    return (bench_now() - start) / pairs;
}

int main(int argc, char **argv)
{
    static struct batch batch;
    if (argc != 8) {
        bench_fail("usage: pair SOCKET PEER-SOCKET echo|berthd NAME DEPTH ROUNDS PAIRS");
    }
    batch_init(&batch, bench_number(argv[5]), argv[4]);
    unsigned rounds = bench_number(argv[6]);
    unsigned pairs = bench_number(argv[7]);
    int berthd = bench_connect(argv[1]);
    int peer = bench_connect(argv[2]);
    bool is_echo = strcmp(argv[3], "echo") == 0;
    void (*at_peer)(int fd, struct batch * batch) = is_echo ? echo_twice : acquire_and_release;
    measure(berthd, &batch, pairs, acquire_and_release); /* warm */
    measure(peer, &batch, pairs, at_peer);
    for (unsigned i = 0; i < rounds; i++) {
        int64_t of_berthd = measure(berthd, &batch, pairs, acquire_and_release);
        int64_t of_peer = measure(peer, &batch, pairs, at_peer);
        printf("%lld %lld\n", (long long)of_berthd, (long long)of_peer);
    }
    return 0;
}
