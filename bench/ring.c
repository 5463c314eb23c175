/* ring.c - a round trip to the echo server over each of many connections in turn, and over each of
 * few: how much dearer many sockets are, whoever serves them.
 *
 *     ring ECHO-SOCKET ROUNDS TRIPS CONNECTIONS CONNECTIONS
 *
 * A round has TRIPS round trips over the first number of connections, and as many over the second.
 * One line for each round: nanoseconds a round trip, for each. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_GROUPS = 2 };

struct group {
    unsigned n, next;
    int *connections;
};

static void group_init(struct group *group, unsigned n, const char *socket)
{
    group->n = n;
    group->connections = calloc(n, sizeof *group->connections);
    if (!group->connections) {
        bench_fail("out of memory");
    }
    for (unsigned i = 0; i < n; i++) {
        group->connections[i] = bench_connect(socket);
    }
}

static int64_t trip_often(struct group *group, unsigned trips)
{
    static const char line[] = "release cw9ljb1q6f\n";
    static char answer[sizeof line];
    int64_t start = bench_now();
    for (unsigned i = 0; i < trips; i++) {
        int fd = group->connections[group->next++ % group->n];
        bench_write(fd, line, sizeof line - 1);
        bench_read_lines(fd, 1, answer, sizeof answer);
    }
    return (bench_now() - start) / trips;
}

int main(int argc, char **argv)
{
    static struct group groups[N_GROUPS];
    if (argc != 4 + N_GROUPS) {
        bench_fail("usage: ring ECHO-SOCKET ROUNDS TRIPS CONNECTIONS CONNECTIONS");
    }
    unsigned rounds = bench_number(argv[2]);
    unsigned trips = bench_number(argv[3]);
    for (unsigned i = 0; i < N_GROUPS; i++) {
        group_init(&groups[i], bench_number(argv[4 + i]), argv[1]);
    }
    for (unsigned i = 0; i < rounds; i++) {
        int64_t first = trip_often(&groups[0], trips);
        int64_t second = trip_often(&groups[1], trips);
        printf("%lld %lld\n", (long long)first, (long long)second);
    }
    return 0;
}
