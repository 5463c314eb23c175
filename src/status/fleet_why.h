/* fleet_why.h - what a database has to do with a refusal, in words. Pure. */
#ifndef BERTH_STATUS_FLEET_WHY_H
#define BERTH_STATUS_FLEET_WHY_H

#include "core/database.h"
#include "core/outcome.h"

/* Where it is, without a password: "unix:/PATH", "HOST:PORT", "MASTER by sentinel HOST:PORT". At
 * most `size` bytes. */
void database_place(char *out, size_t size, const struct database *database);

/* Why a request for `name` of that database is refused, or a lease of it is over (`name` as it has
 * it there; NULL: none), and `trouble` is what there is to say of the database, or "". */
void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why);

#endif
