/* on_lost.h - what becomes of a job whose lease is lost. */
#ifndef BERTH_BASE_ON_LOST_H
#define BERTH_BASE_ON_LOST_H

#include <stdbool.h>

enum on_lost { /* stricter is larger */
    ON_LOST_WARN, /* it is told */
    ON_LOST_TERM, /* it gets a signal */
    ON_LOST_KILL, /* and SIGKILL, if that does not end it */
    N_ON_LOST,
    ON_LOST_NOT_SAID = N_ON_LOST /* whoever is asked decides */
};

extern const char *const on_lost_words[N_ON_LOST + 1]; /* ends with NULL */

/* False if it is none of the words. */
bool on_lost_parse(const char *word, enum on_lost *on_lostp);

#endif
