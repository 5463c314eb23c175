/* lease_row.h - a holder or a waiter as it is shown: one kind of row, filled from the core or from
 * what a database has listed; and all of a resource, one after the other. Pure. */
#pragma once

#include "status/resource_row.h"

struct lease_row {
    struct status_lease line;
    const struct lease *own; /* this host's; NULL: only what its host has reported is known */
    bool is_aside; /* a waiter that others pass, and for whom nothing is kept */
    uint64_t units; /* that it holds, or wants */
    nanoseconds max_hold; /* it holds them for so long in total at most; NEVER: not limited */
    /* What .line may point to: */
    char id[LEASE_ID_SIZE], sharer[LEASE_ID_SIZE];
    char host[REASON_BYTES + 1];
    char texts[N_SHOWN][REASON_BYTES + 1];
    struct text unit_words; /* the only part to be initialized, and to be freed */
};

/* Whose lease it is: what holders and waiters have in common. */
void lease_row_identify(
    struct lease_row *row, const struct lease *lease, const struct scene *scene);
/* A held or waiting lease, as the core has it; without its position in host scope, which costs. */
void lease_row_fill(struct lease_row *row, const struct claim *claim, const struct scene *scene);
/* A lease in a listing; false if the row describes none on this resource. */
bool lease_row_fill_listed(struct lease_row *row, const struct fleet_row *fields,
    const struct fleet_resource *resource, const struct scene *scene);
/* The lease of a row of a listing if it is this host's; or NULL. */
const struct lease *lease_row_own(const struct fleet_row *fields, const struct scene *scene);

/* How much longer its max-hold lets a holder hold; NEVER: it is not limited. */
static inline nanoseconds lease_row_hold_left(const struct lease_row *row, struct instant now)
{
    nanoseconds held = (now.at - row->line.since.at) * NANOSECONDS_PER_MILLISECOND;
    return row->max_hold == NEVER ? NEVER : later(row->max_hold - held, 0);
}

/* NULL: it is not on that resource, or there is no lease. */
const struct claim *lease_claim_on(const struct lease *lease, const char *name);

/* Adds its line. The line of one who follows changes only when something becomes of the lease. */
void lease_row_write(struct text *out, struct lease_row *row, const struct scene *scene);

/* ---- the leases on one resource: those that the core knows, those that a database has listed, or
 * both ----
 *
 * A walk may be made in pieces. Between two of them anything may happen: what has gone is left out,
 * and the walk goes on behind the last lease it came to. A newer listing begins again, as a line
 * more does no harm to one who follows. */

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
