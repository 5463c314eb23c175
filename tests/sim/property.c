/* property.c - random operations on the core, each compared with the model: see runs.h. */
#include "drive.h"

#include <stdio.h>

static void run(uint64_t seed, uint64_t n_steps)
{
    struct random random = {.state = seed};
    struct simulation *simulation = simulation_new(seed);
    struct operation operation = {
        .kind = OPERATION_DEFINE, .rules_seed = random_next(&random), .now = 0};
    for (uint64_t step = 0; step < n_steps; step++) {
        run_length = step + 1;
        if (is_traced) {
            printf("%6ju ", (uintmax_t)step);
            operation_print(&operation);
        }
        simulation_step(simulation, &operation);
        operation_make(&operation, simulation_model(simulation), operation.now, &random);
    }
    simulation_end(simulation, operation.now);
}

int main(int argc, char **argv)
{
    static const struct simulator property = {.name = "property",
        .length_word = "--steps",
        .length = 2000,
        .n_tap_seeds = 20,
        .run = run};
    return runs_main(&property, argc, argv);
}
