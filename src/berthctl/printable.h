/* printable.h - the one place where what strangers wrote is made harmless, and widths of text.
 *
 * Pure but for the locale (LC_CTYPE), which says what can be printed: with "C" everything outside
 * ASCII is escaped. Widths are columns of a terminal. Memory that is not there ends the program. */
#ifndef BERTH_BERTHCTL_PRINTABLE_H
#define BERTH_BERTHCTL_PRINTABLE_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* `untrusted` with a backslash doubled, and every byte that belongs to no printable character as
 * \xNN: controls, bad UTF-8, and characters that are invisible or turn the direction of writing. */
void text_add_escaped(struct text *text, const char *untrusted);
/* The same, but only bad UTF-8 is replaced: for formats that escape for themselves. */
void text_add_valid(struct text *text, const char *untrusted);

/* As age_format() of base/words.h writes it. */
void text_add_age(struct text *text, uint64_t milliseconds);

/* Columns of a text that has been escaped. */
size_t text_width(const char *escaped);
/* Cut to `width` columns (at least 1), the last of which then shows that something is missing. */
void text_add_cut(struct text *text, const char *escaped, size_t width);

/* realloc() that cannot fail. */
void *memory_resized(void *memory, size_t n, size_t size);

#endif
