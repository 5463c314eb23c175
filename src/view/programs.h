/* programs.h - the names of processes, as /proc has them, for leases without a program. */
#pragma once

#include "view/status.h"

/* Sets `process` of each lease of this host without a program, unless its texts are hidden from who
 * asks: such a name is as telling as a program. It stays empty if /proc does not show the process,
 * or shows one of another user: then it is not the lease's (any more), or this program sees other
 * pids than berthd does. */
void programs_fill_in(struct status *status);
void program_fill_in(struct status_lease *lease);

/* Reads a file ("comm", "cmdline") of the lease's process, under the same conditions. Returns how
 * many bytes it has put into `out`; 0: nothing is known. */
size_t program_read(const struct status_lease *lease, const char *file, char *out, size_t size);
