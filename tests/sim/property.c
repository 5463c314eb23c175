/* property.c - random operations on the core, each compared with the model.
 *
 *   property [--seed N] [--steps N] [--seeds N] [--tap]
 *
 * --seed N alone replays that seed; --seeds K runs the seeds N, N+1 ... N+K-1. There is no clock
 * and no other source of chance: the same numbers do the same. */
#include "drive.h"
#include "runs.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_HISTORY = 30 };

static struct {
    struct operation operations[N_HISTORY];
    uint64_t seed, n;
    bool tap;
} history;

static void print_history(void)
{
    static char text[16384];
    uint64_t first = history.n > N_HISTORY ? history.n - N_HISTORY : 0;
    for (uint64_t i = first; i < history.n; i++) {
        operation_write(&history.operations[i % N_HISTORY], text, sizeof text);
        printf("%s%6ju %s\n", history.tap ? "# " : "", (uintmax_t)i, text);
    }
    printf("%sagain with: property --seed %ju --steps %ju\n", history.tap ? "# " : "",
        (uintmax_t)history.seed, (uintmax_t)history.n);
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (history.tap) {
        printf("not ok 1 - seed %ju\n", (uintmax_t)history.seed);
    }
    print_history();
    printf("%s", history.tap ? "# " : "");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
    _exit(1);
}

/* From core_check() or an assert(). The program ends here anyway, so stdio is good enough. */
static void aborted(int signal)
{
    (void)signal;
    fail("the core has aborted");
}

static void run(uint64_t seed, uint64_t n_steps)
{
    struct random random = {.state = seed};
    struct simulation *simulation = simulation_new(seed);
    struct operation operation = {
        .kind = OPERATION_DEFINE, .rules_seed = random_next(&random), .now = 0};
    history.seed = seed;
    history.n = 0;
    for (uint64_t step = 0; step < n_steps; step++) {
        history.operations[history.n++ % N_HISTORY] = operation;
        simulation_step(simulation, &operation);
        operation_make(&operation, simulation_model(simulation), operation.now, &random);
    }
    simulation_end(simulation, operation.now);
}

int main(int argc, char **argv)
{
    struct runs runs = {
        .program = "property", .length_word = "--steps", .length = 2000, .n_tap_seeds = 20};
    runs_parse(&runs, argc, argv);
    history.tap = runs.is_tap;
    signal(SIGABRT, aborted);
    for (uint64_t i = 0; i < runs.n_seeds; i++) {
        run(runs.seed + i, runs.length);
    }
    printf("%s%ju steps on each of the seeds %ju ... %ju\n", history.tap ? "ok 1 - " : "",
        (uintmax_t)runs.length, (uintmax_t)runs.seed,
        (uintmax_t)(runs.seed + runs.n_seeds - 1));
    return 0;
}
