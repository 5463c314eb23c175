/* spawn.c - how long two commands take from start to end, run in turns.
 *
 *     spawn ROUNDS COMMAND-A... :: COMMAND-B...
 *
 * One line for each round: the nanoseconds of A and of B. Every second round runs B first, so that
 * neither always comes after the other. */
#include "bench/bench.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t run(char **command)
{
    pid_t pid;
    int status;
    int64_t start = bench_now();
    if (posix_spawnp(&pid, command[0], NULL, NULL, command, environ) != 0) {
        bench_fail_errno(command[0]);
    }
    if (waitpid(pid, &status, 0) != pid) {
        bench_fail_errno("waitpid");
    }
    int64_t end = bench_now();
    if (status != 0) {
        fprintf(stderr, "spawn: %s: wait status %#x\n", command[0], (unsigned)status);
        exit(1);
    }
    return end - start;
}

int main(int argc, char **argv)
{
    char **commands[2] = {argv + 2, NULL};
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "::") == 0) {
            argv[i] = NULL;
            commands[1] = argv + i + 1;
            break;
        }
    }
    if (!commands[1] || !commands[1][0]) {
        bench_fail("usage: spawn ROUNDS COMMAND-A... :: COMMAND-B...");
    }
    unsigned rounds = bench_number(argv[1]);
    for (unsigned i = 0; i < rounds; i++) {
        int64_t took[2];
        unsigned first = i % 2;
        took[first] = run(commands[first]);
        took[!first] = run(commands[!first]);
        printf("%lld %lld\n", (long long)took[0], (long long)took[1]);
    }
    return 0;
}
