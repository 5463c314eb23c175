/* runs.h - the command line that the simulations share: which seeds, how long each.
 *
 *   PROGRAM [--seed N] [--seeds N] [--steps|--seconds N] [--trace] [--tap]
 *
 * --seed N alone replays that seed; --seeds K runs the seeds N, N+1 ... N+K-1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct runs {
    const char *program;
    const char *length_word; /* the option that gives `length`, with its dashes */
    uint64_t length; /* of each run: its default before, the given value after */
    uint64_t n_tap_seeds; /* how many in `make check` */
    bool can_trace;
    uint64_t seed, n_seeds;
    bool is_tap, is_traced;
};

/* Exits with 64 if the command line is wrong; begins the TAP output if requested. */
void runs_parse(struct runs *runs, int argc, char **argv);
