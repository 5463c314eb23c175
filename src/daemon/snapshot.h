/* snapshot.h - the answer to `status`: made and sent piece by piece, so that neither a long list
 * nor a slow reader costs memory (but for the views of databases, which are shared).
 *
 * What one piece shows is of one moment. Between two of them anything may happen: what has gone is
 * left out, and a list goes on behind the last one shown. What databases say is of one moment. */
#ifndef BERTH_DAEMON_SNAPSHOT_H
#define BERTH_DAEMON_SNAPSHOT_H

#include "base/text.h"
#include "core/core.h"
#include "daemon/fleet_views.h"
#include "status/describe.h"
#include "status/fleet_lines.h"

struct conn;
struct snapshot;

/* Of all resources, for who asks there, which outlives it; nothing is made yet. */
struct snapshot *snapshot_new(struct conn *conn);
/* Of these, which are known and are copied; at most MAX_ARGUMENTS. */
struct snapshot *snapshot_new_of(struct conn *conn, const char *const names[], size_t n);
/* Of the resources of that lease, as seen by it: no other waiters, and few of the holders. */
struct snapshot *snapshot_new_of_lease(struct conn *conn, const struct lease *lease);
struct snapshot *snapshot_free(struct snapshot *snapshot); /* NULL is fine; returns NULL */
/* Before the first piece. Takes the view over; NULL: `why` (static) is why there is none. */
void snapshot_set_view(
    struct snapshot *snapshot, uint8_t database, struct view *view, const char *why);
/* Whether it keeps any. */
bool snapshot_has_views(const struct snapshot *snapshot);
/* Adds to `out` until it has `enough` bytes. False when that was the end; then the "end" line and
 * the events held back have been added as well. */
bool snapshot_continue(struct snapshot *snapshot, struct text *out, size_t enough);
/* Events that must not stand inside the answer. */
struct text *snapshot_held_back(struct snapshot *snapshot);

#endif
