/* databases.h - [redis] sections, and whether what resources of fleet scope want of them is there
 * and fits. */
#ifndef BERTH_CONF_DATABASES_H
#define BERTH_CONF_DATABASES_H

#include "conf/complaints.h"
#include "conf/keys.h"

struct loading;

#define DEFAULT_DATABASE "default" /* the name of [redis] */

/* Where a [redis] section says what; line 0: nowhere. */
struct database_places {
    struct place header, url, ttl;
};

/* A resource of scope = fleet, kept until all files are read: its database may come later. */
struct fleet_use {
    size_t definition; /* index in conf->definitions */
    char *section; /* as in messages */
    char *database;
    enum key_id key; /* that says which database: redis, or scope */
    struct place place; /* of that key */
    uint32_t kill_after_line; /* in the same file; 0: not given */
};


/* The section being read is [redis] (name NULL) or [redis NAME]. */
void database_open(struct loading *loading, const char *name);
void database_close(struct loading *loading);
/* The section being read was a resource. */
void fleet_use_note(struct loading *loading);
/* All files have been read: says who uses which database, and what does not fit. */
void fleet_uses_resolve(struct loading *loading);
void fleet_uses_deinit(struct loading *loading);

#endif
