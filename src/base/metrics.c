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

#define SPAN_TEXT(span_text, span, latency_text, latency) span_text,
#define LATENCY_TEXT(span_text, span, latency_text, latency) latency_text,
#define SPAN(span_text, span, latency_text, latency) span,
#define LATENCY(span_text, span, latency_text, latency) latency,

const char *const metric_bound_texts[N_METRIC_SCALES][METRIC_BUCKETS] = {
    [METRIC_SPANS] = {METRIC_BOUNDS(SPAN_TEXT) "+Inf"},
    [METRIC_LATENCIES] = {METRIC_BOUNDS(LATENCY_TEXT) "+Inf"},
};

const uint64_t metric_bounds[N_METRIC_SCALES][METRIC_BUCKETS - 1] = {
    [METRIC_SPANS] = {METRIC_BOUNDS(SPAN)},
    [METRIC_LATENCIES] = {METRIC_BOUNDS(LATENCY)},
};

size_t metric_bucket(enum metric_scale scale, uint64_t microseconds)
{
    size_t i = 1;
    while (i < METRIC_BUCKETS - 1 && microseconds > metric_bounds[scale][i]) {
        i++;
    }
    return i;
}
