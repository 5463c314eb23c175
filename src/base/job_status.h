/* job_status.h - how the main process of a job has ended, in words. Pure. */
#ifndef BERTH_BASE_JOB_STATUS_H
#define BERTH_BASE_JOB_STATUS_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends "exit 3"; with `is_signal` "SIGTERM", or "signal 40" of one that has no name. */
void text_add_job_status(struct text *out, bool is_signal, uint64_t number);

#endif
