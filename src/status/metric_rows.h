/* metric_rows.h - the rows of the answer to `metrics`: figures with their labels, and those of the
 * core. Pure. */
#pragma once

#include "base/metrics.h"
#include "base/text.h"
#include "core/core.h"
#include "status/database_load.h"

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

/* ---- that all hosts of the fleet have in common ---- */

/* Asked for instead of names: no resource is called so. */
#define FLEET_SUMS "*"

/* Appends how many hosts the database hears, and how many are gone. */
void metrics_hosts(struct text *out, const struct fleet_rows *rows, const char *database);
/* Appends how busy it is, if that is known. */
void metrics_load(struct text *out, const struct load_view *load, const char *database);
/* Sums of the fleet. */
struct metrics_sums {
    const struct fleet_rows *rows;
    uint8_t number; /* of the database that has said .rows */
    const char *database; /* its name */
};

/* ---- definitions ---- */

/* Adds the figures of up to `n` definitions, number `from` and those behind it: this host's, or
 * these sums of the definitions of that database. Returns the next number; 0: there are no more. */
size_t metrics_resources(struct text *out, struct core *core, const struct metrics_sums *sums,
    size_t from, size_t n, nanoseconds now);
