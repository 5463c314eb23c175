/* utf8.h - characters of UTF-8. */
#ifndef BERTH_BASE_UTF8_H
#define BERTH_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at `bytes`, or 0. RFC 3629: nothing overlong, no
 * surrogates, nothing above U+10FFFF. */
size_t utf8_decode(const char *bytes, uint32_t *characterp);

#endif
