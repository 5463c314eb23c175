/* outcome.h - how an operation of the core, or a lease, ended: named results that the caller must
 * handle. Running out of memory is none of them: it ends the daemon (doc/architecture.md). */
#pragma once

enum outcome {
#define OUTCOME(id, code, refusal) OUTCOME_##id,
#include "core/outcomes.def"
#undef OUTCOME
    N_OUTCOMES
};
