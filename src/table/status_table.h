/* status_table.h - what `berthctl status` shows to people. Pure. */
#pragma once

#include "table/status_filter.h"
#include "view/printable.h"

struct table_style {
    size_t width; /* of the terminal; 0: cut nothing */
    size_t max_leases; /* of one resource; the others are only counted. 0: all */
    bool is_of_some; /* those that the command line names */
    const struct sort_row *sort; /* NULL: instances stand below their templates */
    bool is_coloured;
};

void table_print(const struct status *status, const struct table_style *style, struct text *out);

/* The lines below a resource, or a template, that say more about its state: who has paused it, and
 * why; which units are reserved. Perhaps none. */
void table_print_notes(
    struct text *out, const struct status *status, const struct status_resource *resource);
