/* shown_columns.h - what a lease says about itself, as columns of a table. Pure. */
#ifndef BERTH_BERTHCTL_SHOWN_COLUMNS_H
#define BERTH_BERTHCTL_SHOWN_COLUMNS_H

#include "berthctl/grid.h"
#include "wire/shown.h"

/* The columns and cells that stand behind the fixed ones: all but the program, which has a fixed
 * one. The first returns how many columns there are with these. */
size_t shown_add_columns(struct column columns[MAX_COLUMNS], size_t n);
void shown_add_cells(struct grid *grid, const char *const shown[N_SHOWN]);

#endif
