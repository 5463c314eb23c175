/* journal_log.h - what the log says about the journal's file. */
#ifndef BERTH_RECORD_JOURNAL_LOG_H
#define BERTH_RECORD_JOURNAL_LOG_H

#include "journal/journal.h"

/* For journal_open(). Clients can provoke what happens while leases are written. */
void journal_log(const struct journal_report *report);

#endif
