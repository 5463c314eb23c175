/* one_line.h - sentences for the log and for status that quote a peer: one line, bounded, and
 * harmless to a terminal. Pure. */
#pragma once

#include <stddef.h>

enum { ONE_LINE_BYTES = 256 };

/* As snprintf(); bytes outside printable ASCII become '?'. */
__attribute__((format(printf, 3, 4))) void format_one_line(
    char *out, size_t size, const char *format, ...);
