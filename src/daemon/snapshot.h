/* snapshot.h - the answer to `status`: made and sent piece by piece, so that neither a long list
 * nor a slow reader costs memory. Each resource's lines are of one moment. */
#ifndef BERTH_DAEMON_SNAPSHOT_H
#define BERTH_DAEMON_SNAPSHOT_H

#include "core/core.h"
#include "daemon/text.h"

struct snapshot;

/* Of all resources; nothing is made yet. */
struct snapshot *snapshot_new(struct core *core);
struct snapshot *snapshot_free(struct snapshot *snapshot); /* NULL is fine; returns NULL */
/* Adds to `out` until it has `enough` bytes. False when that was the end; then the "end" line and
 * the events held back have been added as well. */
bool snapshot_continue(struct snapshot *snapshot, struct text *out, size_t enough);
/* Events that must not stand inside the answer. */
struct text *snapshot_held_back(struct snapshot *snapshot);

/* The pieces, for short answers. */
void snapshot_add_head(struct text *out, const struct core *core);
void snapshot_add_resource(struct text *out, const struct resource *resource, nanoseconds now);
/* As seen by one lease: no other waiters, and few of the holders. */
void snapshot_add_resource_for(struct text *out, const struct resource *resource,
    const struct lease *lease, nanoseconds now);
void snapshot_add_end(struct text *out);

#endif
