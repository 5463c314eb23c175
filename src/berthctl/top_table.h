/* top_table.h - a row of the list of `berthctl top` as a line of any width. Pure. */
#ifndef BERTH_BERTHCTL_TOP_TABLE_H
#define BERTH_BERTHCTL_TOP_TABLE_H

#include "berthctl/top_state.h"

/* The columns for the units of leases: those that are seen now decide. */
size_t top_table_units_width(const struct top *top);

/* Adds it to an empty line. */
void top_table_titles(const struct top *top, struct top_line *line);
void top_table_line(const struct top *top, const struct top_row *row, struct top_line *line);

#endif
