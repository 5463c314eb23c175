/* ledger.h - keeps the journal true: what a lease was promised is written down before anybody
 * hears of it. */
#ifndef BERTH_DAEMON_LEDGER_H
#define BERTH_DAEMON_LEDGER_H

#include "base/order.h"
#include "base/text.h"
#include "core/core.h"
#include "journal/journal.h"

struct fleet_names;
struct numbers;
struct turn;

struct ledger {
    struct journal journal;
    struct text line; /* of a record; kept for its memory */
    struct order rests; /* records of units at rest, by until when */
    struct core *core;
    struct effects *effects; /* the core's */
    const struct turn *turn;
    const struct numbers *numbers;
    const struct fleet_names *databases;
    nanoseconds grace; /* for those who had a lease before, when there is a journal again */
    bool is_behind; /* some leases are not in the journal */
    bool owes_grace; /* leases may be missing, and there is no journal to bring them back to */
    bool is_complete; /* no client is expected that the journal does not know */
};

/* Of lease.record; else it is a slot of the journal. */
#define RECORD_NONE UINT32_C(0)

/* Space for whatever becomes of a lease that this asks for, and numbers for it. RECORD_NONE if
 * there is none: then it must not be granted. `units` as units_most_bytes() gives it. */
uint32_t ledger_reserve(struct ledger *ledger, const struct ask *ask, size_t units);
void ledger_give_back(struct ledger *ledger, uint32_t record);

/* Writes down what the core's effects say: first what has ended, then what has changed. Of those
 * that fail, lease.is_unwritten is set: what was written before is still there. */
void ledger_commit(struct ledger *ledger);

/* A lease that is held or waits without a record: after a start for whose new journal there was no
 * space. */
void ledger_enter(struct ledger *ledger, struct lease *lease);
/* What a lease that has ended held rests until then, and so long its record stays. */
void ledger_rest(struct ledger *ledger, uint32_t record, nanoseconds until);
/* Closes the journal. */
void ledger_deinit(struct ledger *ledger);

/* The journal knows everybody: when the grace, if there was one, is over. */
void ledger_note_complete(struct ledger *ledger);

#endif
