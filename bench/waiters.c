/* waiters.c - what it costs to hand a lock on, with many and with few in the queue.
 *
 *     waiters SOCKET ROUNDS HANDOVERS GROUP GROUP
 *
 * GROUP is NAME:WAITERS (each has a connection of its own) or NAME:WAITERS:shared (all have one).
 * NAME must have one unit. In a round each group in turn hands its unit on HANDOVERS times; who has
 * given it back asks again, so the queue keeps its length. One line for each round: nanoseconds
 * from sending `release` to having read the next one's `granted`, for each group. */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_GROUPS = 2, LINE_SIZE = 256 };

struct asker {
    int fd;
    char lease[BENCH_LEASE_SIZE];
};

struct group {
    const char *name;
    unsigned n_askers; /* one holds, the others wait, in the order of the ring */
    bool shared;
    struct asker *askers;
    unsigned holder;
};

static char answers[64 * 1024];

static void group_parse(struct group *group, char *text)
{
    group->name = strtok(text, ":");
    char *waiters = strtok(NULL, ":");
    char *shared = strtok(NULL, ":");
    if (!group->name || !waiters || (shared && strcmp(shared, "shared") != 0)) {
        bench_fail("a group is NAME:WAITERS or NAME:WAITERS:shared");
    }
    group->n_askers = bench_number(waiters) + 1;
    group->shared = shared != NULL;
    group->askers = calloc(group->n_askers, sizeof group->askers[0]);
    if (!group->askers) {
        bench_fail("out of memory");
    }
}

static void ask(const struct group *group, const struct asker *asker)
{
    char line[LINE_SIZE];
    int n = snprintf(line, sizeof line, "acquire %s:1 program=job pid=12345\n", group->name);
    bench_write(asker->fd, line, (size_t)n);
}

static void group_enter(struct group *group, const char *socket)
{
    for (unsigned i = 0; i < group->n_askers; i++) {
        struct asker *asker = &group->askers[i];
        asker->fd = group->shared && i > 0 ? group->askers[0].fd : bench_connect(socket);
        ask(group, asker);
        char *line = bench_read_lines(asker->fd, 1, answers, sizeof answers);
        bench_expect(line, i == 0 ? "ok " : "waiting ");
        bench_copy_lease(asker->lease, line);
    }
}

/* Reads what the release has brought: if all share a connection, the answer comes with it. */
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

static int64_t hand_on(struct group *group)
{
    struct asker *holder = &group->askers[group->holder];
    group->holder = (group->holder + 1) % group->n_askers;
    const struct asker *next = &group->askers[group->holder];
    char line[LINE_SIZE];
    int n = snprintf(line, sizeof line, "release %s\n", holder->lease);

    int64_t start = bench_now();
    bench_write(holder->fd, line, (size_t)n);
    read_grant(group, next);
    int64_t took = bench_now() - start;

    if (!group->shared) {
        bench_expect(bench_read_lines(holder->fd, 1, answers, sizeof answers), "ok\n");
    }
    ask(group, holder);
    char *answer = bench_read_lines(holder->fd, 1, answers, sizeof answers);
    bench_expect(answer, "waiting ");
    bench_copy_lease(holder->lease, answer);
    return took;
}

static int64_t hand_on_often(struct group *group, unsigned handovers)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < handovers; i++) {
        sum += hand_on(group);
    }
    return sum / handovers;
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
