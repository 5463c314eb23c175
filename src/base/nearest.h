/* nearest.h - "did you mean ...?" Pure, and bounded: a candidate costs at most a few hundred steps.
 */
#ifndef BERTH_BASE_NEAREST_H
#define BERTH_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

struct nearest {
    const char *word; /* what was written */
    const char *best; /* the nearest candidate so far, if near enough; or NULL */
    size_t distance;
};

#define NEAREST_INIT(written)                                                                      \
    {                                                                                              \
        .word = (written)                                                                          \
    }

/* How many letters were left out, added, changed or swapped with their neighbour, ignoring case.
 * SIZE_MAX: more than `max`, or a word is too long to be compared. */
size_t nearest_distance(const char *a, const char *b, size_t max);

/* Whether the candidate would be the best: of two that are as near, the one that begins with more
 * letters of the word; else the first. */
bool nearest_is_better(const struct nearest *nearest, const char *candidate);
/* Keeps the candidate if it is the best. */
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
