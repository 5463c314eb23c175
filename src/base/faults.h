/* faults.h - safeguards that a Redis may lack and an operator may accept (faults.def): the values
 * of `acknowledge`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fault {
#define FAULT(id, ...) FAULT_##id,
#include "base/faults.def"
#undef FAULT
    N_FAULTS
};

struct fault_row {
    const char *meaning;
    bool is_refused; /* unless it is acknowledged; else the server is used, with a warning */
};

extern const struct fault_row fault_table[N_FAULTS];
extern const char *const fault_words[N_FAULTS + 1]; /* ends with NULL */

/* A set of faults. */
typedef uint32_t fault_set;

static inline bool fault_is_in(fault_set set, enum fault fault)
{
    return set >> fault & 1;
}
