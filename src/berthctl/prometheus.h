/* prometheus.h - the answer to `metrics` as Prometheus reads it: all figures of one name together,
 * below their HELP and TYPE. Pure. */
#ifndef BERTH_BERTHCTL_PROMETHEUS_H
#define BERTH_BERTHCTL_PROMETHEUS_H

#include "base/metrics.h"
#include "base/text.h"
#include "berthctl/status.h"

#include <stdbool.h>

struct prometheus {
    struct text samples[N_METRICS];
    char **fleet; /* the definitions of fleet scope */
    size_t n_fleet;
};

/* Takes a line of the answer between its first and "end", in place. A figure that a later berthd
 * has is left out. False: malformed. */
bool prometheus_take(struct prometheus *prometheus, char *line);
/* Adds what all hosts of the fleet have of that definition, unless its database has not answered.
 * `status` is of that name, and perhaps of others. */
void prometheus_add_fleet(
    struct prometheus *prometheus, const char *name, const struct status *status);
void prometheus_print(const struct prometheus *prometheus, struct text *out);
void prometheus_deinit(struct prometheus *prometheus);

#endif
