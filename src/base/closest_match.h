/* closest_match.h - "did you mean ...?" Pure, and bounded: a candidate costs at most a few hundred
 * steps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct closest_match {
    const char *word; /* what was written */
    const char *best; /* the nearest candidate so far, if near enough; or NULL */
    size_t distance;
};

#define CLOSEST_MATCH_INIT(written)                                                                \
    {                                                                                              \
        .word = (written)                                                                          \
    }

/* How many letters were left out, added, changed or swapped with their neighbour, ignoring case.
 * SIZE_MAX: more than `max`, or a word is too long to be compared. */
size_t closest_match_distance(const char *a, const char *b, size_t max);

/* Whether the candidate would be the best: of two that are as near, the one that begins with more
 * letters of the word; else the first. */
bool closest_match_is_better(const struct closest_match *match, const char *candidate);
/* Keeps the candidate if it is the best. */
void closest_match_try(struct closest_match *match, const char *candidate);
