/* metrics.h - the figures of metrics.def: their names, kinds and labels, and the bounds of the
 * histograms' buckets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_scope { METRIC_RESOURCE, METRIC_DAEMON, METRIC_DATABASE, METRIC_FLEET, METRIC_SHARED };
enum metric_kind {
    METRIC_COUNTER,
    METRIC_TIME,
    METRIC_GAUGE,
    METRIC_SPAN,
    METRIC_HISTOGRAM,
    METRIC_LATENCY
};

static inline bool metric_is_histogram(enum metric_kind kind)
{
    return kind == METRIC_HISTOGRAM || kind == METRIC_LATENCY;
}

/* What a figure is split by, besides its scope. */
enum metric_label {
    METRIC_NONE,
    METRIC_HOW, /* enum granted_how */
    METRIC_REASON, /* enum outcome */
    METRIC_VERB, /* enum command_index */
    METRIC_CODE, /* enum code */
    METRIC_CAUSE, /* enum refused_cause, of connections */
    METRIC_STATE, /* enum session_state */
    N_METRIC_LABELS
};

enum refused_cause {
    REFUSED_FULL,
    REFUSED_RATE,
    REFUSED_USER,
    N_REFUSED_CAUSES,
    NOT_REFUSED = N_REFUSED_CAUSES
};
enum granted_how { GRANTED_AT_ONCE, GRANTED_AFTER_WAITING, N_GRANTED_HOW };

enum metric {
#define METRIC(scope, kind, id, ...) METRIC_##scope##_##id,
#include "base/metrics.def"
#undef METRIC
    N_METRICS
};

struct metric_row {
    const char *name;
    const char *help;
    enum metric_scope scope;
    enum metric_kind kind;
    enum metric_label label;
};

extern const struct metric_row metric_table[N_METRICS];

extern const char *const metric_label_words[N_METRIC_LABELS]; /* NULL for METRIC_NONE */

/* What a histogram is of: how long jobs wait and run, or how fast something answers. */
enum metric_scale { METRIC_SPANS, METRIC_LATENCIES, N_METRIC_SCALES };

/* Upper bounds of the buckets, in microseconds, a scale in each pair of columns; one more bucket
 * has what is longer. */
#define METRIC_BOUNDS(BOUND)                                                                       \
    BOUND("0.01", 10000, "0.0005", 500)                                                            \
    BOUND("0.1", 100000, "0.001", 1000)                                                            \
    BOUND("1", 1000000, "0.0025", 2500)                                                            \
    BOUND("5", 5000000, "0.005", 5000)                                                             \
    BOUND("15", 15000000, "0.01", 10000)                                                           \
    BOUND("60", 60000000, "0.025", 25000)                                                          \
    BOUND("300", 300000000, "0.1", 100000)                                                         \
    BOUND("900", 900000000, "0.25", 250000)                                                        \
    BOUND("3600", UINT64_C(3600000000), "0.5", 500000)                                             \
    BOUND("14400", UINT64_C(14400000000), "1", 1000000)                                            \
    BOUND("43200", UINT64_C(43200000000), "2.5", 2500000)                                          \
    BOUND("86400", UINT64_C(86400000000), "10", 10000000)

enum {
#define BOUND(...) +1
    METRIC_BUCKETS = METRIC_BOUNDS(BOUND) + 1
#undef BOUND
};

/* The last one, "+Inf", has no bound. */
extern const char *const metric_bound_texts[N_METRIC_SCALES][METRIC_BUCKETS];
extern const uint64_t metric_bounds[N_METRIC_SCALES][METRIC_BUCKETS - 1];

struct metric_histogram {
    uint64_t sum; /* microseconds */
    uint64_t buckets[METRIC_BUCKETS]; /* each with its own, not with those below */
};

/* Of a time beyond the first bound. */
size_t metric_bucket(enum metric_scale scale, uint64_t microseconds);

/* Inline, as most times are short. */
static inline void metric_observe(
    struct metric_histogram *histogram, enum metric_scale scale, uint64_t microseconds)
{
    bool is_first = microseconds <= metric_bounds[scale][0];
    histogram->sum += microseconds;
    histogram->buckets[is_first ? 0 : metric_bucket(scale, microseconds)]++;
}
