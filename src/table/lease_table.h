/* lease_table.h - the columns of a holder or a waiter; and its rows in the table of `berthctl
 * status`. Pure. */
#pragma once

#include "table/grid.h"
#include "table/status_table.h"

enum lease_column {
    LEASE_PLACE,
    LEASE_UNITS,
    LEASE_AGE,
    LEASE_LEFT,
    LEASE_PID,
    LEASE_HOST,
    LEASE_USER,
    LEASE_PROGRAM,
    LEASE_PRIORITY,
    LEASE_BLOCKED,
    LEASE_BOUND,
    LEASE_STATE,
    LEASE_ID,
    LEASE_HOLDER,
    N_LEASE_COLUMNS
};

/* A row is a struct status_lease. */
extern const struct column lease_columns[N_LEASE_COLUMNS];

/* Fills in the columns of such a grid; returns how many there are. */
size_t lease_table_columns(struct column columns[MAX_COLUMNS]);

/* Adds the rows of one resource, holders first. */
void lease_table_add(struct grid *grid, const struct status *status,
    const struct status_resource *resource, const struct table_style *style);

/* Prints as many rows as lease_table_add() has added for these leases, from row `*rowp` on, which
 * moves behind them, and how many more there are. */
void lease_table_print(const struct grid *grid, size_t *rowp, const struct status_leases *leases,
    const struct table_style *style, struct text *out);
