/* words.h - parses and formats the lexical types of the protocol and the configuration: names,
 * numbers, durations, percent-encoding, lease ids. Pure; nothing here allocates or keeps state.
 *
 * Formatting functions write at most `size` bytes including the final NUL and return the length
 * that was needed, as snprintf does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NAME_BYTES = 128, /* resource names */
    ITEM_BYTES = 64, /* pool items */
    HOLDER_BYTES = 128, /* identities */
    REASON_BYTES = 256,
    PROGRAM_BYTES = 64,
    SHARE_BYTES = 32, /* whose turn a request takes: order = fair */
    ONCE_BYTES = 32,
    PROOF_BYTES = 3990, /* a hash, tokens, and the units of levels: a line is longer */
    LEASE_ID_SIZE = 14, /* 13 digits of base 32 and a NUL */
};

/* [A-Za-z0-9._/@+-]{1,128}, beginning with a letter or digit, no empty, "." or ".." parts. */
bool name_is_valid(const char *name);
/* The name of a template: a name whose last part is a star. */
bool template_name_is_valid(const char *name);
/* [A-Za-z0-9._/:@+-]{1,64} */
bool item_is_valid(const char *item);

/* Strict decimals: no sign, blank, or leading zero. False if malformed or above `max`. */
bool number_parse(const char *text, uint64_t max, uint64_t *valuep);
/* A number of bytes, or with a suffix that a power of 1024 has: 512K, 2M, 1G. */
bool size_parse(const char *text, uint64_t max, uint64_t *bytesp);
/* The same as number_parse() with an optional minus; the magnitude is at most `max`. */
bool signed_number_parse(const char *text, int64_t max, int64_t *valuep);

/* Of a uint64_t, or of a struct that begins with one: for qsort() and the like. */
int numbers_compare(const void *left, const void *right);

/* Parses `length` bytes: "3-7", the smaller number first, or "7", which is first and last. */
bool range_parse(
    const char *text, size_t length, uint64_t max, uint64_t *firstp, uint64_t *lastp);

/* Parses "250ms", "30s", "1.5h", "10" (seconds), or several such with ever smaller units, as
 * age_format() writes them ("2m03s"), into nanoseconds; at most 10 years. */
bool duration_parse(const char *text, int64_t *nanosecondsp);
/* Uses the largest unit that keeps the value whole: "90s", "2h", "250ms". Drops nanoseconds below a
 * millisecond. */
size_t duration_format(char *out, size_t size, int64_t nanoseconds);
/* An age in at most 6 columns: "14s", "2m03s", "3h12m", "5d04h". */
size_t age_format(char *out, size_t size, uint64_t milliseconds);

/* Writes `text` with every byte outside [!-~], and %, as %XX. */
size_t percent_encode(char *out, size_t size, const char *text);
/* How many bytes at the start of `text` percent_encode() writes as they are. */
size_t percent_plain(const char *text);
/* How many percent_encode() writes in all. */
size_t percent_encoded_length(const char *text);
/* Decodes in place. False for a bad escape or an encoded zero byte (the text is then
 * unspecified). */
bool percent_decode(char *text);

/* Ends the first word of a line at its space. Returns the rest, or NULL if there is none. */
char *word_cut(char *text);
/* Splits a line at its spaces, in place. Returns the number of words, or 0 if it is empty or has
 * more than `max`. Words are not decoded. */
size_t words_split(char *line, char *words[], size_t max);

/* Where the word is in a list, which may have gaps; n: nowhere. */
size_t words_index(const char *word, const char *const list[], size_t n);
/* The same of a list that ends with NULL. False: nowhere, and *placep is as it was. */
bool word_look_up(const char *const words[], const char *word, unsigned *placep);
/* The value of key=value among words, or NULL. Not decoded. */
char *words_find(char *const words[], size_t n, const char *key);
/* The same of a number, at most INT64_MAX. False: it is missing, or no number. */
bool words_find_number(char *const words[], size_t n, const char *key, uint64_t *numberp);

/* Copies as many names, with commas between them, as fit whole; "..." stands for the others. */
void names_cut(char *out, size_t size, const char *names);

/* A lease id is a number inside, and a word of base 32 (Crockford's digits, lower case) outside. */
/* Returns its length. */
size_t lease_id_format(char out[static LEASE_ID_SIZE], uint64_t id);
bool lease_id_parse(const char *text, uint64_t *idp);
