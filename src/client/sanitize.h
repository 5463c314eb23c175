/* sanitize.h - escapes untrusted text for printing, by the one rule of all programs.
 *
 * Printable characters of UTF-8 stay as they are if the locale (LC_CTYPE) can print them: with "C"
 * these are those of ASCII. Each byte of everything else becomes \xNN: controls, bad UTF-8, and
 * characters that are invisible or change the direction of writing. */
#pragma once

#include <stddef.h>

/* Four bytes of UTF-8, each as \xNN, and a NUL. */
enum { SANITIZED_SIZE = 4 * sizeof "\\xNN" };

/* Takes the locale of the environment if it is one of UTF-8, else "C". */
void sanitize_choose_locale(void);

/* Writes the first character of `text`, which is not empty. Returns how many of its bytes that
 * was. */
size_t sanitize_char(char out[static SANITIZED_SIZE], const char *text);
