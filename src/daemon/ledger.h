/* ledger.h - keeps the journal true: what a lease was promised is written down before anybody
 * hears of it. */
#ifndef BERTH_DAEMON_LEDGER_H
#define BERTH_DAEMON_LEDGER_H

#include "core/core.h"

struct server;

/* Of lease.record; else it is a slot of the journal. */
#define RECORD_NONE UINT32_C(0)

/* Space for whatever becomes of a lease that this asks for, and numbers for it. RECORD_NONE if
 * there is none: then it must not be granted. */
uint32_t ledger_reserve(struct server *server, const struct ask *ask, size_t longest_grant);
void ledger_give_back(struct server *server, uint32_t record);

/* Writes down what the core's effects say: first what has ended, then what has changed. Of those
 * that fail, lease.is_unwritten is set: what was written before is still there. */
void ledger_commit(struct server *server);

/* A lease that is held or waits without a record: after a start for whose new journal there was no
 * space. */
void ledger_enter(struct server *server, struct lease *lease);
/* What a lease that has ended held rests until then, and so long its record stays. */
void ledger_rest(struct server *server, uint32_t record, nanoseconds until);
void ledger_deinit(struct server *server);

/* The journal knows everybody: when the grace, if there was one, is over. */
void ledger_note_complete(struct server *server);

#endif
