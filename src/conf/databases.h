/* databases.h - [redis] sections, and whether they have what resources of fleet scope need. */
#pragma once

#include "conf/complaints.h"
#include "conf/keys.h"

struct loading;


/* Where the keys of a [redis] section are given; line 0: nowhere. */
struct database_places {
    struct place header, url, ttl;
};

/* A resource of scope = fleet, kept until all files are read: its database may come later. */
struct fleet_use {
    size_t definition; /* index in conf->definitions */
    char *section; /* as in messages */
    char *database;
    enum key_id key; /* the one that names the database: redis, or scope */
    struct place place; /* of that key */
    uint32_t kill_after_line; /* in the same file; 0: not given */
};


/* The section being read is [redis] (name NULL) or [redis NAME]. */
void database_open(struct loading *loading, const char *name);
void database_close(struct loading *loading);
/* The section being read was a resource. */
void fleet_use_note(struct loading *loading);
/* All files have been read: links resources to their databases, and complains of what does not
 * fit. */
void fleet_uses_resolve(struct loading *loading);
void fleet_uses_deinit(struct loading *loading);
