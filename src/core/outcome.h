/* outcome.h - how an operation of the core, or a lease, ended. Named results that the caller must
 * handle, never "out of memory" (which ends the daemon: doc/architecture.md). */
#ifndef BERTH_CORE_OUTCOME_H
#define BERTH_CORE_OUTCOME_H

enum outcome {
#define OUTCOME(id, code, refusal) OUTCOME_##id,
#include "core/outcomes.def"
#undef OUTCOME
    N_OUTCOMES
};

#endif
