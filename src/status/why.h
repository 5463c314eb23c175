/* why.h - explains a refused acquire: who is in the way, what there is. Pure. */
#pragma once

#include "core/core.h"
#include "status/viewer.h"

#include <stddef.h>

/* Writes at most `size` bytes. The viewer made the request; `at_fault` is as core_acquire() set it,
 * or NULL. */
void why_refused(char *out, size_t size, struct core *core, const struct acquire_request *ask,
    const struct viewer *viewer, enum outcome outcome, const char *at_fault, nanoseconds now);
/* "2m03s", or below a second "250ms". */
void why_held_for(char *out, size_t size, nanoseconds held_for);
