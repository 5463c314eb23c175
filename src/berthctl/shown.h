/* shown.h - what a lease says about itself: read from a line of berthd, and as columns. Pure. */
#ifndef BERTH_BERTHCTL_SHOWN_H
#define BERTH_BERTHCTL_SHOWN_H

#include "berthctl/grid.h"

/* The attributes of a lease (base/attributes.def). Status and history show those with a title. */
enum shown {
#define ATTRIBUTE(word, ...) SHOWN_##word,
#include "base/attributes.def"
#undef ATTRIBUTE
    N_SHOWN
};

struct shown_row {
    const char *word;
    const char *title; /* or NULL */
};

extern const struct shown_row shown_rows[N_SHOWN];

/* Sets each from its key among `words`, decoded in place; NULL: it is missing, or has no title.
 * False: a value of the wrong form. */
bool shown_take(const char *shown[N_SHOWN], char *const words[], size_t n);

/* The columns and cells that stand behind the fixed ones: all but the program, which has a fixed
 * one. The first returns how many columns there are with these. */
size_t shown_add_columns(struct column columns[MAX_COLUMNS], size_t n);
void shown_add_cells(struct grid *grid, const char *const shown[N_SHOWN]);

#endif
