/* drive.h - one step: done by the core, explained by the model, compared. */
#pragma once

#include "model.h"
#include "operation.h"

struct simulation;

struct simulation *simulation_new(uint64_t seed);
void simulation_step(struct simulation *simulation, const struct operation *operation);
const struct model *simulation_model(const struct simulation *simulation);
/* All clients go; then everything must be free and core_free() must find nothing left. */
struct simulation *simulation_end(struct simulation *simulation, nanoseconds now);
