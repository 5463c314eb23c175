#include "base/replace.h"

const char *const replace_words[N_REPLACE + 1] = {
    [REPLACE_NOTHING] = "nothing",
    [REPLACE_WAITING] = "waiting",
    [REPLACE_RUNNING] = "running",
};
