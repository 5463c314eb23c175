/* runs.h - what the simulations share: the command line, runs one after the other, failures.
 *
 *   PROGRAM [--seed N] [--seeds N] [--steps|--seconds N] [--trace] [--tap]
 *
 * --seed N alone replays that seed; --seeds K runs the seeds N, N+1 ... N+K-1. There is no clock
 * and no other source of chance: the same numbers do the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct simulator {
    const char *name;
    const char *length_word; /* the option for the length of each run, with its dashes */
    uint64_t length; /* its default */
    uint64_t n_tap_seeds; /* how many runs in `make check` */
    void (*run)(uint64_t seed, uint64_t length);
    void (*print_state)(void); /* for a failure: what happened before; or NULL */
    void (*print_figures)(void); /* after all runs: text that continues a line; or NULL */
};

extern bool is_traced;
extern uint64_t run_length; /* of the present run: a program that counts steps sets it to these */

/* Returns the exit status; exits with 64 if the command line is wrong. */
int runs_main(const struct simulator *simulator, int argc, char **argv);

/* Says what is wrong and how to replay it, and ends the program. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
#define REQUIRE(condition, ...) ((condition) ? (void)0 : fail(__VA_ARGS__))
