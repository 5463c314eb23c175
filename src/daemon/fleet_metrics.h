/* fleet_metrics.h - `metrics database=NAME`: the figures that all hosts have in common, from sums
 * for which the database is asked at most once a second. */
#ifndef BERTH_DAEMON_FLEET_METRICS_H
#define BERTH_DAEMON_FLEET_METRICS_H

#include "daemon/command_call.h"

/* Answers with up to `n` definitions, from number `from` on; or parks the connection until the
 * database has answered. */
void fleet_metrics(struct call *call, uint8_t database, size_t from, size_t n);

#endif
