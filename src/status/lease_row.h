/* lease_row.h - a holder or a waiter as it is shown: one kind of row, filled from the core or from
 * what a database has listed. Pure. */
#pragma once

#include "status/resource_row.h"

struct lease_row {
    struct status_lease line;
    const struct lease *own; /* this host's; NULL: only what its host has reported is known */
    bool is_waiter;
    bool is_aside; /* a waiter that others pass, and for whom nothing is kept */
    uint64_t units; /* that it holds, or wants */
    /* What .line may point to: */
    char id[LEASE_ID_SIZE];
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

/* NULL: it is not on that resource, or there is no lease. */
const struct claim *lease_claim_on(const struct lease *lease, const char *name);

/* Adds its line. The line of one who follows changes only when something becomes of the lease. */
void lease_row_write(struct text *out, struct lease_row *row, const struct scene *scene);
