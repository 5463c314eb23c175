/* prometheus.h - the answer to `metrics` as Prometheus reads it: all figures of one name together,
 * below their HELP and TYPE. Pure. */
#pragma once

#include "base/metrics.h"
#include "base/text.h"
#include "client/answer.h"

#include <stdbool.h>

struct prometheus {
    bool begun; /* the `ok` line of an answer has come */
    uint64_t next; /* where the next answer begins; 0: there is none */
    struct text samples[N_METRICS];
    char **databases; /* that the host has, by name */
    size_t n_databases;
};

/* Of a struct prometheus, of one answer after another. A figure that a later berthd has is left
 * out. */
answer_taker prometheus_take;
/* Adds the figures that the database has given; NULL: that it has given none. */
void prometheus_add_database(
    struct prometheus *prometheus, const char *name, const struct prometheus *figures);
void prometheus_print(const struct prometheus *prometheus, struct text *out);
void prometheus_deinit(struct prometheus *prometheus);
