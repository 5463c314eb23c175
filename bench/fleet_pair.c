/* fleet_pair.c - what an acquire and its release cost in fleet scope through berthd, beside a bare
 * client that calls the same two scripts itself.
 *
 *     fleet_pair BERTH-SOCKET REDIS-SOCKET PREFIX NAME DEPTH ROUNDS PAIRS
 *
 * REDIS-SOCKET may be "-": then there is no bare client. DEPTH requests are sent at once (1: one at
 * a time), and when all are granted, their releases. One line for each round: nanoseconds a pair
 * through berthd, those of the bare client, and those of its two calls of a function that does
 * nothing. */
#include "bench/bench.h"
#include "bench/redis.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 256, LINE_SIZE = 256, BUFFER_SIZE = 1 << 17 };

struct berth {
    int fd;
    char requests[MAX_DEPTH * LINE_SIZE];
    size_t length; /* of the requests */
    char out[MAX_DEPTH * LINE_SIZE];
    char in[BUFFER_SIZE + 1];
    size_t begin, end; /* what has been read and not looked at yet */
    char leases[MAX_DEPTH][BENCH_LEASE_SIZE];
};

/* The next line, without its LF: good until the next call. */
static char *next_line(struct berth *berth)
{
    for (;;) {
        char *line = berth->in + berth->begin;
        char *lf = memchr(line, '\n', berth->end - berth->begin);
        if (lf) {
            *lf = '\0';
            berth->begin = (size_t)(lf + 1 - berth->in);
            return line;
        }
        memmove(berth->in, line, berth->end - berth->begin);
        berth->end -= berth->begin;
        berth->begin = 0;
        ssize_t n = read(berth->fd, berth->in + berth->end, BUFFER_SIZE - berth->end);
        if (n <= 0) {
            bench_fail("berthd has closed the connection, or says too much");
        }
        berth->end += (size_t)n;
    }
}

/* As berth run sends them: each with its own `once`, or berthd would repeat the first answer. */
static void write_requests(struct berth *berth, const char *name, unsigned depth)
{
    if (depth > MAX_DEPTH) {
        bench_fail("the depth is too large");
    }
    for (unsigned i = 0; i < depth; i++) {
        int n = snprintf(berth->requests + berth->length, LINE_SIZE,
            "acquire %s:1 program=job once=%016x pid=%ld\n", name, i, (long)getpid());
        if (n < 0 || n >= LINE_SIZE) {
            bench_fail("the name is too long");
        }
        berth->length += (size_t)n;
    }
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static void unexpected(const char *line)
{
    fprintf(stderr, "berthd says: %s\n", line);
    bench_fail("not what was expected");
}

/* A line that may come before `granted`. */
static bool is_interim(const char *line)
{
    return begins(line, "pending ") || begins(line, "waiting ") || begins(line, "* waiting ") ||
        begins(line, "* deadline ");
}

/* Each request is answered `pending`, and then granted by an event; deadlines may come in
 * between. */
static void acquire(struct berth *berth, unsigned depth)
{
    bench_write(berth->fd, berth->requests, berth->length);
    for (unsigned granted = 0; granted < depth;) {
        char *line = next_line(berth);
        if (begins(line, "* granted ")) {
            bench_copy_lease(berth->leases[granted++], line + 2);
        } else if (!is_interim(line)) {
            unexpected(line);
        }
    }
}

static void release(struct berth *berth, unsigned depth)
{
    size_t length = 0;
    for (unsigned i = 0; i < depth; i++) {
        length +=
            (size_t)snprintf(berth->out + length, LINE_SIZE, "release %s\n", berth->leases[i]);
    }
    bench_write(berth->fd, berth->out, length);
    for (unsigned released = 0; released < depth;) {
        char *line = next_line(berth);
        if (strcmp(line, "ok") == 0) {
            released++;
        } else if (!begins(line, "* deadline ")) {
            unexpected(line);
        }
    }
}

static int64_t measure_berth(struct berth *berth, unsigned depth, unsigned pairs)
{
    int64_t start = bench_now();
    for (unsigned done = 0; done < pairs; done += depth) {
        acquire(berth, depth);
        release(berth, depth);
    }
    return (bench_now() - start) / pairs;
}

static int64_t measure_redis(struct redis *redis, unsigned depth, unsigned pairs)
{
    redis_renew(redis);
    int64_t start = bench_now();
    for (unsigned done = 0; done < pairs; done += depth) {
        redis_acquire(redis, depth);
        redis_release(redis, depth);
    }
    return (bench_now() - start) / pairs;
}

static int64_t measure_nothing(struct redis *redis, unsigned depth, unsigned pairs)
{
    int64_t start = bench_now();
    for (unsigned done = 0; done < pairs; done += depth) {
        redis_nothing(redis, depth);
        redis_nothing(redis, depth);
    }
    return (bench_now() - start) / pairs;
}

int main(int argc, char **argv)
{
    static struct berth berth;
    if (argc != 8) {
        bench_fail("usage: fleet_pair BERTH-SOCKET REDIS-SOCKET PREFIX NAME DEPTH ROUNDS PAIRS");
    }
    unsigned depth = bench_number(argv[5]);
    unsigned rounds = bench_number(argv[6]);
    unsigned pairs = bench_number(argv[7]);
    write_requests(&berth, argv[4], depth);
    berth.fd = bench_connect(argv[1]);
    bool is_alone = strcmp(argv[2], "-") == 0;
    struct redis *redis = is_alone ? NULL : redis_new(argv[2], argv[3], argv[4]);
    measure_berth(&berth, depth, pairs); /* warm */
    if (redis) {
        measure_redis(redis, depth, pairs);
    }
    for (unsigned i = 0; i < rounds; i++) {
        int64_t of_berth = measure_berth(&berth, depth, pairs);
        int64_t of_redis = redis ? measure_redis(redis, depth, pairs) : 0;
        int64_t of_nothing = redis ? measure_nothing(redis, depth, pairs) : 0;
        printf("%lld %lld %lld\n", (long long)of_berth, (long long)of_redis,
            (long long)of_nothing);
    }
    return 0;
}
