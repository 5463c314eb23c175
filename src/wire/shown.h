/* shown.h - what a lease says about itself: read from a line of berthd. Pure. */
#ifndef BERTH_VIEW_SHOWN_H
#define BERTH_VIEW_SHOWN_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
