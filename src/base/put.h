/* put.h - unchecked appends of bytes and numbers to a buffer that is large enough. Each function
 * returns the new end, so that a line of many parts needs one check for all; nothing is
 * NUL-terminated. Pure; text.h makes the room. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MAX_DIGITS = 20 }; /* the room of a number; all of it may be written to */

static inline char *put_bytes(char *to, const char *bytes, size_t n)
{
    memcpy(to, bytes, n);
    return to + n;
}

/* Inline, as most are literals, whose lengths the compiler knows. */
static inline char *put_string(char *to, const char *string)
{
    return put_bytes(to, string, strlen(string));
}

static inline char *put_byte(char *to, char byte)
{
    *to = byte;
    return to + 1;
}

/* From 10 on. */
char *put_large_number(char *to, uint64_t number);

/* Inline, as many have only one digit. */
static inline char *put_number(char *to, uint64_t number)
{
    return number < 10 ? put_byte(to, (char)('0' + number)) : put_large_number(to, number);
}

/* Lower case, zeros in front: always 16 digits. */
enum { HEX_DIGITS = 16 };
char *put_hex(char *to, uint64_t number);
