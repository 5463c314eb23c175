/* pattern.h - matches resource names against patterns: a star matches any text without a slash, so
 * market/ and a star match all names one level below market. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* 1 to 128 bytes of names and stars, with 1 to 3 stars: that bounds the cost of a match. */
bool pattern_is_valid(const char *pattern);
/* A star matches any bytes but "/", or none. It also matches the star at the end of a template's
 * name. */
bool pattern_matches(const char *pattern, const char *name);
/* Whether one of them, which may be names, matches; n 0: any does. */
bool patterns_match(char *const patterns[], size_t n, const char *name);
