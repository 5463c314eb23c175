/* unit_list.h - lists of units that must fit on a line of `status`: what does not fit is cut. Pure.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

/* In bytes. */
enum {
    UNITS_OF_HOLDER_BYTES = 1200,
    UNITS_OF_RESOURCE_BYTES = 600,
};

/* "gpu0,gpu1" or "0-3,7"; if it was cut, it ends in "...". */
struct unit_list {
    size_t max; /* one of these */
    struct text text; /* .bytes is NULL until something has been added */
    bool is_cut;
};

/* Does nothing once the list is cut. */
void unit_list_add(struct unit_list *list, const char *unit);
/* Adds adjacent slots: "3", or "0-3". */
void unit_list_add_slots(struct unit_list *list, uint64_t first, uint64_t last);
/* Adds the units of such a list of untrusted text: its items (for a pool), or its slots, with runs
 * of slots as first-last. Skips what is neither. */
void unit_list_add_all(struct unit_list *list, const char *units, bool is_pool);

/* Why units are reserved: words " reserve=UNIT,REASON". As many as there is room for, in the order
 * in which they come. */
struct reserve_list {
    struct text words;
    bool is_full;
};

void reserve_list_add(struct reserve_list *list, const char *unit, const char *reason);
