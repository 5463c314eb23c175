/* fleet_metrics.h - `metrics database=NAME`: the figures that all hosts have in common, from sums
 * for which the database is asked at most once a second. */
#ifndef BERTH_DAEMON_FLEET_METRICS_H
#define BERTH_DAEMON_FLEET_METRICS_H

#include "daemon/command_call.h"
#include "daemon/fleet_views.h"
#include "status/database_load.h"

/* Answers with up to `n` definitions, from number `from` on; or parks the connection until the
 * database has answered. */
void fleet_metrics(struct call *call, uint8_t database, size_t from, size_t n);

/* How busy the database is. Keeps what the view of all hosts or sums says, for the next one. Its
 * rows must be there. */
struct load_view fleet_load_take(struct server *server, uint8_t database, const struct view *view);

#endif
