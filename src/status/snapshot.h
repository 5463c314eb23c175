/* snapshot.h - the answer to `status`: made and sent piece by piece, so that neither a long list
 * nor a slow reader costs memory (apart from the views of databases, which are shared).
 *
 * A piece shows one moment. Between two pieces anything may happen: what has gone is left out, and
 * a list goes on behind the last entry shown. What a database says is of one moment. */
#ifndef BERTH_STATUS_SNAPSHOT_H
#define BERTH_STATUS_SNAPSHOT_H

#include "base/text.h"
#include "core/core.h"
#include "status/fleet_view.h"
#include "status/long_answer.h"

struct snapshot;

/* What lines say about a database. */
struct snapshot_database {
    const char *name;
    const char *session; /* this daemon's leases there belong to it */
};

/* What a snapshot is made from; all that it points to must outlive the snapshot. */
struct snapshot_source {
    struct core *core;
    struct snapshot_database databases[MAX_DATABASES]; /* database 1 first */
};

/* Of these, at most MAX_ARGUMENTS, which are copied: known names, and patterns; of all if n is 0.
 * Nothing is made yet. */
struct snapshot *snapshot_new_of(
    const struct snapshot_source *source, const char *const names[], size_t n);
/* Of the lease's resources, as it sees them: no other waiters, and few of the holders. */
struct snapshot *snapshot_new_of_lease(
    const struct snapshot_source *source, const struct lease *lease);
struct snapshot *snapshot_free(struct snapshot *snapshot); /* accepts NULL; returns NULL */
/* Before the first piece. Takes the view over; NULL: `why` (static) says why there is none. */
void snapshot_set_view(
    struct snapshot *snapshot, uint8_t database, struct view *view, const char *why);
/* For the connection to continue. */
struct long_answer *snapshot_answer(struct snapshot *snapshot);

#endif
