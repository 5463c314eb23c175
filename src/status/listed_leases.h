/* listed_leases.h - the leases on one resource as a database has listed them, shown piece by piece.
 * Pure. */
#ifndef BERTH_STATUS_LISTED_LEASES_H
#define BERTH_STATUS_LISTED_LEASES_H

#include "status/fleet_lines.h"

struct listed_leases {
    const struct fleet_rows *rows;
    const struct fleet_resource *resource; /* NULL: there is nothing to show */
    size_t row; /* the next */
    unsigned n_holders; /* shown; with .only_waiter */
    bool has_shown_waiter; /* with .only_waiter */
};

/* The rows, the resource's among them, must stay until all leases have been shown. */
void listed_leases_begin(struct listed_leases *leases, const struct fleet_rows *rows,
    const struct fleet_resource *resource);
/* Adds lines until `out` has `enough`, or .resource is NULL. Of the waiters only that lease, with
 * few of the holders; 0: all. */
void listed_leases_continue(struct listed_leases *leases, const struct fleet_scene *scene,
    uint64_t only_waiter, struct text *out, size_t enough);

#endif
