/* lease_walk.h - the leases on one resource, one after the other: those that the core knows, those
 * that a database has listed, or both. Pure.
 *
 * A walk may be made in pieces. Between two of them anything may happen: what has gone is left out,
 * and the walk goes on behind the last lease it came to. A newer listing begins again, as a line
 * more does no harm to one who follows. */
#pragma once

#include "status/lease_row.h"

enum { MAX_HOLDERS_SHOWN = 8 }; /* to show to a waiting lease */

enum walk_part { WALK_HOLDERS, WALK_WAITERS, WALK_LISTED, WALK_OWN_WAITER, WALK_OVER };

struct lease_walk {
    char name[NAME_BYTES + 1]; /* of the resource; empty: there is nothing to show */
    enum walk_part part;
    uint64_t only; /* the only waiter, with MAX_HOLDERS_SHOWN holders; 0: all */
    unsigned n_holders; /* with .only: seen so far */
    bool has_seen; /* with .only: that waiter */
    uint64_t token, holder; /* the next holder has these, or comes behind */
    uint64_t major, minor; /* the last waiter's */
    uint64_t listing; /* its number */
    size_t next; /* row of the listing */

    /* Within a piece: */
    const struct resource *here;
    const struct fleet_resource *listed;
    const struct claim *claim; /* the next holder */
    struct sorted_set_node *nodes[N_STANDINGS]; /* the next waiter of each of the core's sets */
    uint32_t position; /* of the next waiter */
};

void lease_walk_begin(struct lease_walk *walk, const char *name, uint64_t only);
/* Before each piece. */
void lease_walk_resume(struct lease_walk *walk, const struct scene *scene);
/* The next one is the first waiter, whoever came before. */
void lease_walk_skip_holders(struct lease_walk *walk, const struct scene *scene);
/* False: there are no more. Holders come before waiters; in each part of a walk. */
bool lease_walk_next(struct lease_walk *walk, const struct scene *scene, struct lease_row *row);

/* Adds the lines of a piece until `out` has `enough`, or .name is empty. */
void lease_walk_write(
    struct lease_walk *walk, const struct scene *scene, struct text *out, size_t enough);
