/* metric_rows.h - the rows of the answer to `metrics`: figures with their labels, and those of the
 * core. Pure. */
#ifndef BERTH_STATUS_METRIC_ROWS_H
#define BERTH_STATUS_METRIC_ROWS_H

#include "base/metrics.h"
#include "base/text.h"
#include "core/core.h"

/* NULL: no such label. */
struct metrics_labels {
    const char *resource, *database;
    const char *word; /* of what the figure is split by */
};

/* Adds "figure NAME [label=...] value=N\n". */
void metrics_value(
    struct text *out, enum metric metric, const struct metrics_labels *labels, uint64_t value);
/* The same with a time in seconds. */
void metrics_time(struct text *out, enum metric metric, const struct metrics_labels *labels,
    uint64_t microseconds);
/* Adds "histogram NAME [label=...] sum=SECONDS le=BOUND:COUNT,...\n", the counts with those of the
 * buckets below. */
void metrics_histogram(struct text *out, enum metric metric, const struct metrics_labels *labels,
    const struct metric_histogram *histogram);

/* Adds "ok [next=NEXT]", the rows and "end"; `next` is 0 if there are no more. */
void metrics_answer(struct text *out, const struct text *rows, size_t next);

/* Adds the figures of up to `n` definitions, from that number on. Returns the next number, or 0
 * behind the last one. */
size_t metrics_resources(
    struct text *out, struct core *core, size_t from, size_t n, nanoseconds now);

#endif
