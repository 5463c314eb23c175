#include "runs.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_traced;
uint64_t run_length;

static const struct simulator *simulator;
static uint64_t run_seed;
static bool is_tap;

static void exit_with_usage(void)
{
    fprintf(stderr, "usage: %s [--seed N] [%s N] [--seeds N] [--trace] [--tap]\n", simulator->name,
        simulator->length_word);
    exit(64);
}

static uint64_t parse_number(const char *text)
{
    char *end;
    unsigned long long number = text ? strtoull(text, &end, 10) : 0;
    if (!text || text[0] < '0' || text[0] > '9' || *end != '\0') {
        exit_with_usage();
    }
    return number;
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s", is_tap ? "not ok 1 - " : "");
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n# again with: %s --seed %ju %s %ju --trace\n", simulator->name, (uintmax_t)run_seed,
        simulator->length_word, (uintmax_t)run_length);
    if (simulator->print_state) {
        simulator->print_state();
    }
    fflush(stdout);
    _exit(1);
}

/* From core_check() or an assert(). The program ends here anyway, so stdio is good enough. */
static void aborted(int signal_number)
{
    (void)signal_number;
    fail("aborted");
}

int runs_main(const struct simulator *with, int argc, char **argv)
{
    uint64_t seed = 1, n_seeds = 1, length = with->length;
    simulator = with;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tap") == 0) {
            is_tap = true;
            n_seeds = simulator->n_tap_seeds;
            puts("1..1");
        } else if (strcmp(argv[i], "--trace") == 0) {
            is_traced = true;
        } else {
            uint64_t *target = strcmp(argv[i], "--seed") == 0  ? &seed
                : strcmp(argv[i], simulator->length_word) == 0 ? &length
                : strcmp(argv[i], "--seeds") == 0              ? &n_seeds
                                                               : NULL;
            uint64_t number = parse_number(target ? argv[++i] : NULL);
            *target = number;
        }
    }
    signal(SIGABRT, aborted);
    for (run_seed = seed; run_seed < seed + n_seeds; run_seed++) {
        run_length = length;
        simulator->run(run_seed, length);
    }
    printf("%sseeds %ju ... %ju, each with %s %ju", is_tap ? "ok 1 - " : "", (uintmax_t)seed,
        (uintmax_t)(seed + n_seeds - 1), simulator->length_word, (uintmax_t)length);
    if (simulator->print_figures) {
        simulator->print_figures();
    }
    printf("\n");
    return 0;
}
