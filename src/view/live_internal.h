/* live_internal.h - what the files of live.h tell each other. */
#pragma once

#include "view/live.h"

/* ---- live_records.c ---- */

/* Takes a `holder` or `waiter` line. False: malformed. */
bool live_lease_take(struct live *live, const char *line, enum status_line kind);
/* The lease holds, or waits for, nothing of the resource any more. Unknown names are ignored. */
void live_lease_gone(struct live *live, const char *id, const char *resource);
/* What has changed is now how things stand. */
void live_leases_settle(struct live *live);

/* What the last line has said; and what the copy had of it when it was last whole, or NULL. */
const void *live_record_shown(enum status_line kind, const struct live_record *record);
const void *live_record_before(enum status_line kind, const struct live_record *record);

/* Takes a line of this kind. False: malformed. */
bool live_record_take(struct live *live, enum status_line kind, const char *line);
/* The record is gone, and so are the leases of a resource. An unknown name is ignored. */
void live_record_gone(struct live *live, enum status_line kind, const char *name);
/* The same for all records and leases that no line of this generation has named. */
void live_sweep(struct live *live);
/* What has changed is now how things stand. Leases have settled. */
void live_records_settle(struct live *live);
/* NULL: it is not there. */
struct live_record *live_record_named(
    const struct live *live, enum status_line kind, const char *name);

/* ---- live_tell.c ---- */

/* Tells the watchers what has changed since the copy was last whole. */
void live_tell(struct live *live);
/* Notes which databases have listed their leases, once that was told. */
void live_note_databases(struct live *live, nanoseconds now);
