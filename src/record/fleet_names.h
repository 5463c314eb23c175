/* fleet_names.h - the databases by number and by name: in records, and in messages. They are the
 * file's at the start, until the daemon ends. */
#pragma once

#include "core/database.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Number 1 is the first: definition.database, lease.database. */
struct fleet_names {
    const struct database *databases; /* the configuration's */
    size_t n;
};

/* 1 ... names->n. */
static inline const struct database *fleet_database(
    const struct fleet_names *names, uint8_t database)
{
    return &names->databases[database - 1];
}

/* NULL for 0. */
static inline const char *fleet_name_of(const struct fleet_names *names, uint8_t database)
{
    return database == 0 ? NULL : fleet_database(names, database)->name;
}

/* 0: no database has that name. */
static inline uint8_t fleet_find(const struct fleet_names *names, const char *name)
{
    size_t i = names->n;
    while (i > 0 && strcmp(names->databases[i - 1].name, name) != 0) {
        i--;
    }
    return (uint8_t)i;
}
