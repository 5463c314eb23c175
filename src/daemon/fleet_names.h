/* fleet_names.h - a database by its name: in what is written down, and in what people are told. */
#ifndef BERTH_DAEMON_FLEET_NAMES_H
#define BERTH_DAEMON_FLEET_NAMES_H

#include "core/outcome.h"

#include <stddef.h>
#include <stdint.h>

struct server;

/* definition.database and its name; NULL of 0. */
const char *fleet_name_of(const struct server *server, uint8_t database);
/* 0: there is none of that name. */
uint8_t fleet_find(const struct server *server, const char *name);

/* Why a request for `name` of that database is refused, or a lease of it is over (`name` as it has
 * it there; NULL: none). */
void fleet_why(char *out, size_t size, const struct server *server, uint8_t database,
    const char *name, enum outcome why);
#endif
