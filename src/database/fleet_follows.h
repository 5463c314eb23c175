/* fleet_follows.h - what the databases list, kept up to date while anybody follows (`watch`): the
 * leases of other hosts.
 *
 * Each database is asked with a pause of one second, or of 100 times as long as its last listing
 * took, but of no more than ten seconds (also after one that was too large); it lists again
 * only if something has changed. What is
 * different goes into the news. While a database is down, or in a grace, in which hosts still put
 * back what they have, its last listing stays. */
#pragma once

#include "core/core.h"
#include "status/listing.h"

#include <sys/queue.h>
#include <uv.h>

struct fleet_follows;
struct server;

/* A lease that a listing of several moments lacked: it is gone if the next one lacks it too. */
struct missing_lease {
    SLIST_ENTRY(missing_lease) link;
    char *resource, *key; /* owned */
};

/* One database. */
struct fleet_followed {
    struct server *server;
    uint8_t database;
    struct listing *listing; /* the last one, good until the turn ends; NULL: none yet */
    uint64_t n_listings; /* so far */
    SLIST_HEAD(, missing_lease) missing;
    bool is_asked; /* the answer has not come yet */
    bool is_late; /* nobody waits for that answer any more */
    bool is_too_large; /* the last answer took too much memory: .listing is older */
    bool was_up;
    nanoseconds asked_at, ask_at; /* the last time, the next time */
};

struct fleet_follows {
    struct server *server;
    uv_timer_t timer; /* runs until a database is asked, or its listing is let go */
    struct fleet_followed databases[MAX_DATABASES]; /* database 1 first */
};

void fleet_follows_init(struct fleet_follows *follows, struct server *server);
/* Frees the listings; the loop closes the timer. */
void fleet_follows_deinit(struct fleet_follows *follows);

/* At the end of each turn while anybody follows. */
void fleet_follows_look(struct fleet_follows *follows);
/* False: a database is about to list everything for the first time. */
bool fleet_follows_are_ready(const struct fleet_follows *follows);
