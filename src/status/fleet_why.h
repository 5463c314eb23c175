/* fleet_why.h - explains a database's part in a refusal. Pure. */
#pragma once

#include "base/text.h"
#include "base/time.h"
#include "core/database.h"
#include "core/types.h"

#include <stddef.h>

/* What is to be said about a database of that name in its first grace, `left` of which is left. It
 * follows "the database", or "its database". */
void fleet_why_new(struct text *out, const char *name, nanoseconds left);

/* Why a request for `name` (NULL: none) in that database is refused, or a lease there is over.
 * `trouble` describes the database's own trouble (for OUTCOME_GRACE: fleet_why_new()), or is "". */
void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why);
