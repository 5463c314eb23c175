#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void exit_with_usage(const struct runs *runs)
{
    fprintf(stderr, "usage: %s [--seed N] [%s N] [--seeds N]%s [--tap]\n", runs->program,
        runs->length_word, runs->can_trace ? " [--trace]" : "");
    exit(64);
}

static uint64_t parse_number(const struct runs *runs, const char *text)
{
    char *end;
    unsigned long long number = text ? strtoull(text, &end, 10) : 0;
    if (!text || text[0] < '0' || text[0] > '9' || *end != '\0') {
        exit_with_usage(runs);
    }
    return number;
}

void runs_parse(struct runs *runs, int argc, char **argv)
{
    runs->seed = runs->n_seeds = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tap") == 0) {
            runs->is_tap = true;
            runs->n_seeds = runs->n_tap_seeds;
            puts("1..1");
        } else if (runs->can_trace && strcmp(argv[i], "--trace") == 0) {
            runs->is_traced = true;
        } else {
            uint64_t *target = strcmp(argv[i], "--seed") == 0 ? &runs->seed
                : strcmp(argv[i], runs->length_word) == 0     ? &runs->length
                : strcmp(argv[i], "--seeds") == 0             ? &runs->n_seeds
                                                              : NULL;
            uint64_t number = parse_number(runs, target ? argv[++i] : NULL);
            *target = number;
        }
    }
}
