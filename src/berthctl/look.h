/* look.h - how a part of what berthctl prints looks, and whether there is colour. */
#ifndef BERTH_BERTHCTL_LOOK_H
#define BERTH_BERTHCTL_LOOK_H

#include <stdbool.h>

/* Colours are optional: whatever a look says, words say as well. */
enum look {
    LOOK_PLAIN,
    LOOK_STRONG, /* a title */
    LOOK_QUIET, /* a title inside another table */
    LOOK_NOTICE, /* what an operator should look at */
    LOOK_ALARM,
    N_LOOKS
};

/* Whether the user wants colour on a terminal: the rule of all commands, as https://no-color.org
 * has it. */
bool look_wants_colour(void);

/* The codes that begin a look, and that end any. */
const char *look_begin(enum look look);
const char *look_end(void);

#endif
