/* printable.h - text from elsewhere in tables and messages, as sanitize.h makes it; and widths of
 * text.
 *
 * Pure but for the locale (LC_CTYPE). Widths are columns of a terminal. Running out of memory ends
 * the program. */
#pragma once

#include "client/answer.h"
#include "wire/fields.h"

#include <stddef.h>
#include <stdint.h>

/* Adds `untrusted` made harmless, with backslashes doubled. */
void text_add_escaped(struct text *text, const char *untrusted);
/* As text_add_format(), but escapes each %s (NULL: nothing). Knows %s and %llu. */
void text_add_safe(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As text_add_escaped(), but replaces only bad UTF-8: for formats with their own escapes. */
void text_add_valid(struct text *text, const char *untrusted);

/* Of a struct text, and the answer to `why`: each sentence, with an LF. All but the first, which
 * says what becomes of it, are indented. */
answer_taker why_take;

/* Adds them escaped, with this between; then "..." if the list was cut. */
void text_add_words(struct text *text, const struct words *words, const char *between);

/* As text_add_age(); "-" if it is not given. */
void text_add_given_age(struct text *text, bool is_given, uint64_t milliseconds);

/* The name, else the uid. */
void text_add_user(struct text *text, uint64_t uid);
/* "root (alice)": who, and as whom they logged in. */
void text_add_who(
    struct text *text, const struct shown_user *user, const struct shown_user *login);

/* Columns of an escaped text. */
size_t text_width(const char *escaped);
size_t text_width_of(const char *escaped, size_t n); /* of at most `n` bytes of it */
/* How many of at most `n` bytes of it, in whole characters, fit into `*widthp` columns; sets that
 * to the columns of these. */
size_t text_fitting(const char *escaped, size_t n, size_t *widthp);
/* Cuts to `width` columns (at least 1); the last then shows that something is missing. */
void text_add_cut(struct text *text, const char *escaped, size_t width);
/* The same, but leaves out the middle, where the text is ASCII: of names, the end tells most. */
void text_add_cut_inside(struct text *text, const char *escaped, size_t width);
