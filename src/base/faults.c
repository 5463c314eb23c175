#include "base/faults.h"

enum { WARNED, REFUSED };

const struct fault_row fault_table[N_FAULTS] = {
#define FAULT(id, word, done, its_meaning)                                                         \
    [FAULT_##id] = {.meaning = (its_meaning), .is_refused = (done) == REFUSED},
#include "base/faults.def"
#undef FAULT
};

const char *const fault_words[N_FAULTS + 1] = {
#define FAULT(id, word, done, meaning) [FAULT_##id] = (word),
#include "base/faults.def"
#undef FAULT
};
