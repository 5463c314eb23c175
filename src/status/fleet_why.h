/* fleet_why.h - explains a database's part in a refusal. Pure. */
#ifndef BERTH_STATUS_FLEET_WHY_H
#define BERTH_STATUS_FLEET_WHY_H

#include "core/database.h"
#include "core/outcome.h"

/* Why a request for `name` (NULL: none) in that database is refused, or a lease there is over.
 * `trouble` describes the database's own trouble, or is "". */
void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why);

#endif
