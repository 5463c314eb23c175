/* fleet_hosts.h - the hosts of a database, from the rows that its script `snapshot` gives. Pure. */
#ifndef BERTH_STATUS_FLEET_HOSTS_H
#define BERTH_STATUS_FLEET_HOSTS_H

#include "status/fleet_rows.h"

struct fleet_host {
    const char *session, *name, *version; /* in the rows; the version of its berthd */
    uint64_t from, to; /* the layouts that it knows */
    uint64_t ttl, lag; /* its file's, milliseconds */
    uint64_t since; /* milliseconds, of a session that began in the first grace; else UINT64_MAX */
    uint64_t left; /* milliseconds until its session ends, unless it is heard from */
    uint64_t held, waiting; /* leases; one on several resources counts for each of them */
};

/* Sets *hostsp to the hosts by name, which the caller frees; returns how many. */
size_t fleet_hosts_new(const struct fleet_rows *rows, struct fleet_host **hostsp);
/* Appends their lines: `ttl` is the database's, in milliseconds; it said this at `listed_at`. */
void fleet_hosts_write(struct text *out, const struct fleet_rows *rows, const char *database,
    uint64_t ttl, nanoseconds listed_at);

#endif
