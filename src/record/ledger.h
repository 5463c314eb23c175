/* ledger.h - write-ahead journaling: every change to a lease is journaled before anyone is told
 * about it. */
#pragma once

#include "base/sorted_set.h"
#include "base/text.h"
#include "core/core.h"
#include "journal/journal.h"

struct fleet_names;
struct history;
struct loop_iteration;

struct ledger {
    struct journal journal;
    struct text line; /* of a record; kept for its memory */
    struct sorted_set rests; /* (until, record) of units at rest */
    struct core *core;
    struct effects *effects; /* the core's */
    const struct loop_iteration *turn;
    const struct fleet_names *databases;
    struct history *history; /* gets what ends */
    uint32_t numbers_record; /* says .numbers_mark */
    uint64_t numbers_mark; /* all ids and tokens given out are smaller; 0: not written down */
    uint64_t numbers_of; /* the state file that they follow; 0: none, and nothing is written */
    nanoseconds grace; /* for earlier holders, when there is a journal again */
    bool is_behind; /* some leases are not in the journal */
    bool owes_grace; /* leases may be missing, and there is no journal to bring them back to */
    bool is_complete; /* no client is expected that the journal does not know */
};

/* For lease.record; other values are slots of the journal. */
#define RECORD_NONE UINT32_C(0)

/* Space for whatever becomes of a lease that this asks for. RECORD_NONE if there is none: then it
 * must not be granted. `units` as units_max_bytes() gives it. */
uint32_t ledger_reserve(struct ledger *ledger, const struct acquire_request *ask, size_t units);
void ledger_give_back(struct ledger *ledger, uint32_t record);

/* Writes down what the core's effects say: first what has ended, then what has changed. If that
 * fails for a lease, sets lease.is_unwritten: the record before is still there. */
void ledger_commit(struct ledger *ledger);

/* A lease that is held or waits without a record: after a start with no space for a new journal. */
void ledger_enter(struct ledger *ledger, struct lease *lease);
/* The units of a lease that has ended rest until then, and its record stays that long. What `ended`
 * says of the rest is written down; NULL: it has been. False if it cannot be. */
bool ledger_rest(struct ledger *ledger, uint32_t record, const struct saved_lease *ended,
    nanoseconds until);
/* The journal has that record of numbers, which follow the marks of that state file (its
 * fingerprint). The next start begins where this run ends, however it ends: the mark in the state
 * directory, which is far ahead, need not move. */
void ledger_take_numbers(struct ledger *ledger, uint32_t record, uint64_t mark, uint64_t of);
/* Closes the journal. */
void ledger_deinit(struct ledger *ledger);

/* Every lease is in the journal: when the grace, if there was one, is over. */
void ledger_note_complete(struct ledger *ledger);
