/* past_json.h - what `berthctl history --json` and `berthctl stats --json` print. Pure.
 *
 * As json.h: one object on one line, whose keys are always there and never change their meaning
 * within a version; later ones may be added. What is not known, not given or may not be seen is
 * null. Instants (..._at_ms) are milliseconds since 1970, durations (..._ms) milliseconds.
 *
 * history: {
 *   "version": 1,
 *   "now_at_ms": 1795000000000,
 *   "since_at_ms": 1794990000000,   when the oldest lease that berthd still knows ended
 *   "leases": [{                    the newest last
 *     "lease": "3f9k",
 *     "resources": [{
 *       "name": "gpus",
 *       "units": ["gpu0", "gpu1"],  items, or slots and ranges of slots ("0-3")
 *       "units_cut": false,
 *       "wanted": null}],           units, of one that was never granted
 *     "resources_cut": false,
 *     "database": null,             of fleet scope: its name
 *     "uid": 1000, "user": "alice",
 *     "login_uid": null, "login_user": null,   as whom the job's user logged in
 *     "pid": 4711,
 *     "program": "train", ...       and each other attribute that status shows
 *     "holder": null, "cgroup": null, "args": null,
 *     "asked_at_ms": ..., "granted_at_ms": ..., "ended_at_ms": ...,
 *     "waited_ms": 0, "held_ms": 123456,
 *     "how": "released", "code": null,         why it was denied
 *     "exit": 0, "signal": null,    how the job's main process ended
 *     "unseen": false,              it ended while there was no berthd, before ended_at_ms
 *     "by_uid": null, "by_user": null, "by_login_uid": null, "by_login_user": null,
 *     "why": null}]}                who took it away, as whom they logged in, and their reason
 *
 * stats: {
 *   "version": 1, "from_at_ms": ..., "to_at_ms": ...,
 *   "resources": [{
 *     "name": "gpus",
 *     FIGURES,
 *     "use": 0.417,                 unit_ms as a part of limit times span
 *     "users": [{"uid": 1000, "user": "alice", FIGURES, "use": 0.2}]}],
 *   "users": [{"uid": 1000, "user": "alice", FIGURES,
 *     "share": 0.5}]}               unit_ms as a part of what all users had
 * FIGURES: "leases": 12, "refused": 1,
 *   "waited_ms": {"median": 0, "p95": 1200, "longest": 1300, "sum": 2500},   or null: of none
 *   "held_ms": the same,
 *   "unit_ms": 123456               a unit held for so long, or two for half of it */
#ifndef BERTH_VIEW_PAST_JSON_H
#define BERTH_VIEW_PAST_JSON_H

#include "base/text.h"
#include "view/past.h"
#include "view/stats.h"

void past_json_print(const struct past *past, struct text *out);
/* One element of its leases, without an LF. */
void past_json_add_lease(const struct past_lease *lease, struct text *out);
void stats_json_print(const struct stats *stats, struct text *out);

#endif
