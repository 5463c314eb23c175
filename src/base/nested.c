#include "base/nested.h"

const char *const nested_words[N_NESTED + 1] = {
    [NESTED_COUNT] = "count",
    [NESTED_REFUSE] = "refuse",
    [NESTED_SHARE] = "share",
};
