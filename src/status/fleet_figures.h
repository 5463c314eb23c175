/* fleet_figures.h - the figures that all hosts of the fleet have in common, from the sums that the
 * script `snapshot` gives for FLEET_SUMS. Pure. */
#ifndef BERTH_STATUS_FLEET_FIGURES_H
#define BERTH_STATUS_FLEET_FIGURES_H

#include "core/core.h"
#include "status/database_load.h"
#include "status/fleet_rows.h"

/* Asked for instead of names: no resource is called so. */
#define FLEET_SUMS "*"

/* Appends how many hosts the database hears. */
void fleet_figures_hosts(struct text *out, const struct fleet_rows *rows, const char *database);
/* Appends how busy it is, if that is known. */
void fleet_figures_load(struct text *out, const struct load_view *load, const char *database);
/* Appends the figures of up to `n` definitions of the core that are of that database, number `from`
 * and those behind it. Returns the next number; 0: there are no more. */
size_t fleet_figures_resources(struct text *out, const struct fleet_rows *rows,
    const struct core *core, uint8_t number, const char *database, size_t from, size_t n);

#endif
