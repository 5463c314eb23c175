/* fleet_names.h - the databases by number and by name: in records, and in messages. They are the
 * file's at the start, until the daemon ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct database;

/* Number 1 is the first: definition.database, lease.database. */
struct fleet_names {
    const struct database *databases; /* the configuration's */
    size_t n;
};

/* 1 ... names->n. */
const struct database *fleet_database(const struct fleet_names *names, uint8_t database);
/* NULL for 0. */
const char *fleet_name_of(const struct fleet_names *names, uint8_t database);
/* 0: no database has that name. */
uint8_t fleet_find(const struct fleet_names *names, const char *name);
