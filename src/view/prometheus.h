/* prometheus.h - the answer to `metrics` as Prometheus reads it: all figures of one name together,
 * below their HELP and TYPE. Pure. */
#pragma once

#include "base/metrics.h"
#include "base/text.h"

#include <stdbool.h>

struct prometheus {
    struct text samples[N_METRICS];
    char **databases; /* that the host has, by name */
    size_t n_databases;
};

/* Takes a line of the answer between its first and "end", in place. A figure that a later berthd
 * has is left out. False: malformed. */
bool prometheus_take(struct prometheus *prometheus, char *line);
/* Adds the figures that the database has given; NULL: that it has given none. */
void prometheus_add_database(
    struct prometheus *prometheus, const char *name, const struct prometheus *figures);
void prometheus_print(const struct prometheus *prometheus, struct text *out);
void prometheus_deinit(struct prometheus *prometheus);
