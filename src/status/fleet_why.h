/* fleet_why.h - explains a database's part in a refusal. Pure. */
#ifndef BERTH_STATUS_FLEET_WHY_H
#define BERTH_STATUS_FLEET_WHY_H

#include "core/database.h"
#include "core/outcome.h"

/* The database's place without a password: "unix:/PATH", "HOST:PORT", "MASTER by sentinel
 * HOST:PORT". At most `size` bytes. */
void database_place(char *out, size_t size, const struct database *database);

/* Why a request for `name` (NULL: none) in that database is refused, or a lease there is over.
 * `trouble` describes the database's own trouble, or is "". */
void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why);

#endif
