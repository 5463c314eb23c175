/* snapshot.h - the answer to `status`: made and sent piece by piece, so that neither a long list
 * nor a slow reader costs memory.
 *
 * What one piece shows is of one moment. Between two of them anything may happen: what has gone is
 * left out, and a list goes on behind the last one shown. */
#ifndef BERTH_DAEMON_SNAPSHOT_H
#define BERTH_DAEMON_SNAPSHOT_H

#include "core/core.h"
#include "wire/textbuf.h"

struct snapshot;

/* Of all resources; nothing is made yet. */
struct snapshot *snapshot_new(struct core *core);
/* Of these, which are known and are copied; at most MAX_ARGUMENTS. */
struct snapshot *snapshot_new_of(struct core *core, const char *const names[], size_t n);
struct snapshot *snapshot_free(struct snapshot *snapshot); /* NULL is fine; returns NULL */
/* Adds to `out` until it has `enough` bytes. False when that was the end; then the "end" line and
 * the events held back have been added as well. */
bool snapshot_continue(struct snapshot *snapshot, struct text *out, size_t enough);
/* Events that must not stand inside the answer. */
struct text *snapshot_held_back(struct snapshot *snapshot);

#endif
