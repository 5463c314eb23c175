#include "base/on_lost.h"

const char *const on_lost_words[N_ON_LOST + 1] = {
    [ON_LOST_WARN] = "warn",
    [ON_LOST_TERM] = "term",
    [ON_LOST_KILL] = "kill",
};
