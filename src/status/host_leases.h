/* host_leases.h - the leases on one resource as this host knows them, shown piece by piece. Between
 * two pieces anything may happen: what has gone is left out, and each list goes on behind the last
 * entry shown. Pure. */
#ifndef BERTH_STATUS_HOST_LEASES_H
#define BERTH_STATUS_HOST_LEASES_H

#include "base/text.h"
#include "base/words.h"
#include "core/core.h"
#include "status/own_waiters.h"
#include "status/viewer.h"

enum { MAX_HOLDERS_SHOWN = 8 }; /* to show to a waiting lease */

/* Which leases are shown to whom, in one piece. */
struct lease_scene {
    struct core *core;
    const struct viewer *viewer;
    nanoseconds now;
    bool follows; /* to one who follows */
    uint64_t only_waiter; /* the lease that is shown, with few of the holders; 0: all are */
};

enum lease_part { PART_HOLDERS, PART_WAITERS };

/* The place: at the holder with that token and lease, or behind the waiter with that key. */
struct host_leases {
    char name[NAME_BYTES + 1]; /* of the resource; empty: there is nothing to show */
    enum lease_part part;
    unsigned n_holders; /* shown; with scene.only_waiter */
    uint64_t token, holder;
    uint64_t major, minor; /* fleet scope: .minor is how many waiters were shown */
};

void host_leases_begin(struct host_leases *leases, const struct resource *resource);
/* Adds lines until `out` has `enough`, or .name is empty. `waiters` are those of the resource's
 * database. */
void host_leases_continue(struct host_leases *leases, const struct lease_scene *scene,
    const struct own_waiters *waiters, struct text *out, size_t enough);

/* Adds what has become of that lease on that resource, for one who follows: its line, or "gone". */
void host_tell_lease(
    struct text *out, const struct lease_scene *scene, uint64_t id, const char *name);

/* Adds the line of that lease if it waits for that resource. */
void host_describe_waiting(
    struct text *out, const struct lease_scene *scene, uint64_t id, const char *name);

#endif
