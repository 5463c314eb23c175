/* waiters.c - what it costs to hand a lock on, with many and with few in the queue.
 *
 *     waiters SOCKET ROUNDS HANDOVERS GROUP GROUP
 *
 * GROUP is NAME:WAITERS (each has its own connection) or NAME:WAITERS:shared (all have one). NAME
 * must have one unit, which goes round a ring of one holder and WAITERS waiters: a client that has
 * given it back asks again. In a round each group in turn hands its unit on HANDOVERS times. One
 * line for each round: nanoseconds for a release, the grant that follows, and the request that
 * joins the queue, for each group. */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_GROUPS = 2, LINE_SIZE = 256 };

struct asker {
    int fd;
    char lease[BENCH_LEASE_SIZE]; /* held or waiting */
};

struct group {
    const char *name;
    bool shared;
    unsigned n_askers;
    struct asker *askers; /* in the order of their turns, as a ring */
    unsigned holder;
};

static char answers[64 * 1024];

static void group_parse(struct group *group, char *text)
{
    group->name = strtok(text, ":");
    const char *waiters = strtok(NULL, ":");
    const char *shared = strtok(NULL, ":");
    if (!group->name || !waiters || (shared && strcmp(shared, "shared") != 0)) {
        bench_fail("a group is NAME:WAITERS or NAME:WAITERS:shared");
    }
    group->shared = shared != NULL;
    group->n_askers = bench_number(waiters) + 1;
    group->askers = calloc(group->n_askers, sizeof group->askers[0]);
    if (!group->askers) {
        bench_fail("out of memory");
    }
}

static void ask(const struct group *group, struct asker *asker, const char *expected)
{
    char line[LINE_SIZE];
    int n = snprintf(line, sizeof line, "acquire %s:1 program=job pid=%ld\n", group->name,
        (long)getpid());
    bench_write(asker->fd, line, (size_t)n);
    char *answer = bench_read_lines(asker->fd, 1, answers, sizeof answers);
    bench_expect(answer, expected);
    bench_copy_lease(asker->lease, answer);
}

static void group_enter(struct group *group, const char *socket)
{
    for (unsigned i = 0; i < group->n_askers; i++) {
        struct asker *asker = &group->askers[i];
        asker->fd = group->shared && i > 0 ? group->askers[0].fd : bench_connect(socket);
        ask(group, asker, i == 0 ? "ok " : "waiting ");
    }
}

/* The answer to the release comes with the grant if both use one connection. */
static void read_grant(const struct group *group, const struct asker *next)
{
    char granted[LINE_SIZE];
    snprintf(granted, sizeof granted, "* granted %s ", next->lease);
    char *line = bench_read_lines(next->fd, group->shared ? 2 : 1, answers, sizeof answers);
    if (group->shared && strncmp(line, "ok\n", 3) == 0) {
        line += 3;
    }
    bench_expect(line, granted);
}

static void hand_on(struct group *group)
{
    struct asker *before = &group->askers[group->holder];
    group->holder = (group->holder + 1) % group->n_askers;
    char line[LINE_SIZE];
    int n = snprintf(line, sizeof line, "release %s\n", before->lease);
    bench_write(before->fd, line, (size_t)n);
    read_grant(group, &group->askers[group->holder]);
    if (!group->shared) {
        bench_expect(bench_read_lines(before->fd, 1, answers, sizeof answers), "ok\n");
    }
    ask(group, before, "waiting ");
}

static int64_t hand_on_often(struct group *group, unsigned handovers)
{
    int64_t start = bench_now();
    for (unsigned i = 0; i < handovers; i++) {
        hand_on(group);
    }
    return (bench_now() - start) / handovers;
}

int main(int argc, char **argv)
{
    static struct group groups[N_GROUPS];
    if (argc != 4 + N_GROUPS) {
        bench_fail("usage: waiters SOCKET ROUNDS HANDOVERS GROUP GROUP");
    }
    unsigned rounds = bench_number(argv[2]);
    unsigned handovers = bench_number(argv[3]);
    for (unsigned i = 0; i < N_GROUPS; i++) {
        group_parse(&groups[i], argv[4 + i]);
        group_enter(&groups[i], argv[1]);
    }
    for (unsigned i = 0; i < rounds; i++) {
        int64_t first = hand_on_often(&groups[0], handovers);
        int64_t second = hand_on_often(&groups[1], handovers);
        printf("%lld %lld\n", (long long)first, (long long)second);
    }
    return 0;
}
