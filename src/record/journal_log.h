/* journal_log.h - what the log says about the files that outlive berthd: the journal, and that in
 * the state directory. */
#pragma once

#include "journal/journal.h"
#include "journal/state_file.h"

struct state;

/* For journal_open(). Clients can provoke what happens while leases are written. */
void journal_log(const struct journal_report *report);

/* What state_load() could not read. */
void state_log_loaded(const struct state *state);
/* What writing the file came to; `error`: errno. Nothing if it is STORED. */
void state_log_stored(const struct state *state, enum stored stored, int error);
/* state_want_numbers() has failed. */
void state_log_no_numbers(const struct state *state);
/* state_set_fleet_changes() has refused them. */
void state_log_too_many_changes(const struct state *state);
