/* operation.h - one random step of the simulation, and how it reads. */
#ifndef BERTH_TESTS_SIM_OPERATION_H
#define BERTH_TESTS_SIM_OPERATION_H

#include "model.h"
#include "random.h"

enum operation_kind {
    OPERATION_ACQUIRE,
    OPERATION_END,
    OPERATION_CLIENT,
    OPERATION_GONE,
    OPERATION_TICK,
    OPERATION_CHANGE,
    OPERATION_DRAIN,
    OPERATION_DEFINE,
};

struct operation {
    enum operation_kind kind;
    nanoseconds now;
    int client; /* who acts */
    uint32_t uid;
    struct model_ask ask;
    uint64_t lease; /* what ends */
    char name[MODEL_NAME]; /* what is changed */
    enum change_kind change;
    uint32_t number; /* limit, slot or item */
    bool draining;
    uint64_t rules_seed;
};

/* What makes sense in the model's present state, more or less. */
void operation_make(
    struct operation *operation, const struct model *model, nanoseconds now, struct random *random);
/* A configuration; the same seed makes the same one. */
void rules_make(struct rules_file *file, uint64_t seed);
void operation_write(const struct operation *operation, char *out, size_t size);

#endif
