/* why.h - explains a refused acquire: who is in the way, what there is; and what part a database
 * has in it. Pure. */
#pragma once

#include "base/text.h"
#include "core/core.h"
#include "core/database.h"
#include "status/viewer.h"

#include <stddef.h>

/* Writes at most `size` bytes. The viewer made the request; `at_fault` is as core_acquire() set it,
 * or NULL. */
void why_refused(char *out, size_t size, struct core *core, const struct acquire_request *ask,
    const struct viewer *viewer, enum outcome outcome, const char *at_fault, nanoseconds now);
/* "2m03s", or below a second "250ms". */
void why_held_for(char *out, size_t size, nanoseconds held_for);

/* What is to be said about a database of that name in its first grace, `left` of which is left. It
 * follows "the database", or "its database". */
void fleet_why_new(struct text *out, const char *name, nanoseconds left);

/* Why a request for `name` (NULL: none) in that database is refused, or a lease there is over.
 * `trouble` describes the database's own trouble (for OUTCOME_GRACE: fleet_why_new()), or NULL
 * or "". */
void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why);
