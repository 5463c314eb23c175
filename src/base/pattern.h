/* pattern.h - names with stars, as operators write them: market/ and a star is all that is one level below
 * market. Pure. */
#ifndef BERTH_BASE_PATTERN_H
#define BERTH_BASE_PATTERN_H

#include <stdbool.h>

/* 1 to 128 bytes of names and stars, one star at least, and at most 3: that bounds what a match costs. */
bool pattern_is_valid(const char *pattern);
/* A star stands for any bytes but "/", or none. A template's name, which ends with a star, is one that a star
 * stands for. */
bool pattern_matches(const char *pattern, const char *name);

#endif
