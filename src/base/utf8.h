/* utf8.h - characters of UTF-8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at `bytes`, or 0. RFC 3629: nothing overlong, no
 * surrogates, nothing above U+10FFFF. */
size_t utf8_decode(const char *bytes, uint32_t *characterp);

/* The length of `text`, cut to at most `max` bytes: a character that would be cut is left out. */
size_t utf8_cut(const char *text, size_t max);
