/* top_processes.h - what /proc says of the jobs on the screen of `berthctl top`; looked up seldom.
 */
#ifndef BERTH_BERTHCTL_TOP_PROCESSES_H
#define BERTH_BERTHCTL_TOP_PROCESSES_H

#include "base/time.h"
#include "view/status.h"

struct top_processes;

struct top_processes *top_processes_new(void);
void top_processes_free(struct top_processes *processes);

/* What is older than a few seconds then is looked up again. */
void top_processes_set_time(struct top_processes *processes, nanoseconds now);

/* The arguments, with blanks between them, or the name of the lease's process; as program_read().
 * Good until the next call. NULL: not known. `context` is the struct. */
const char *top_process_of(void *context, const struct status_lease *lease, bool arguments);

#endif
