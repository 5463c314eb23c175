#include "base/metrics.h"

const struct metric_row metric_table[N_METRICS] = {
#define METRIC(scope, kind, id, name, label, help)                                                 \
    {name, help, METRIC_##scope, METRIC_##kind, METRIC_##label},
#include "base/metrics.def"
#undef METRIC
};

const char *const metric_label_words[N_METRIC_LABELS] = {
    [METRIC_HOW] = "how",
    [METRIC_REASON] = "reason",
    [METRIC_VERB] = "verb",
    [METRIC_CODE] = "code",
    [METRIC_CAUSE] = "cause",
    [METRIC_STATE] = "state",
};

const char *const metric_bound_texts[METRIC_BUCKETS] = {
#define BOUND(text, microseconds) text,
    METRIC_BOUNDS(BOUND) "+Inf"
#undef BOUND
};

static const uint64_t bounds[] = {
#define BOUND(text, microseconds) microseconds,
    METRIC_BOUNDS(BOUND)
#undef BOUND
};

size_t metric_bucket(uint64_t microseconds)
{
    size_t i = 1;
    while (i < METRIC_BUCKETS - 1 && microseconds > bounds[i]) {
        i++;
    }
    return i;
}
