/* text.h - text that grows: answers of the daemon, pages of berthctl. Running out of memory ends
 * the program. First, unchecked appends to a buffer that is large enough. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- to a buffer that is large enough ----
 *
 * Each function returns the new end, so that a line of many parts needs one check for all; nothing
 * is NUL-terminated. text_room() makes the room. */

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

static inline char *put_signed(char *to, int64_t number)
{
    to = number < 0 ? put_byte(to, '-') : to;
    return put_number(to, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* Lower case, zeros in front: always 16 digits. */
enum { HEX_DIGITS = 16 };
char *put_hex(char *to, uint64_t number);

/* ---- text that grows ---- */

struct text {
    char *bytes; /* owned; NULL until something, even "", has been added; NUL-terminated */
    size_t length, size;
};

#define TEXT_INIT                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }

void text_deinit(struct text *text);
/* Hands the string over to the caller, who frees it; never NULL. */
char *text_take(struct text *text);

/* Whether it goes on like that behind its first `from` bytes. */
static inline bool text_has_at(const struct text *text, size_t from, const char *string)
{
    size_t n = strlen(string);
    return text->length >= from + n && memcmp(text->bytes + from, string, n) == 0;
}

/* Room for `n` more and a NUL: where they go. text_grow() makes it. */
char *text_grow(struct text *text, size_t n);
static inline char *text_room(struct text *text, size_t n)
{
    return text->size - text->length > n ? text->bytes + text->length : text_grow(text, n);
}

/* Into the room something was put, up to `end`. */
static inline void text_end(struct text *text, char *end)
{
    *end = '\0';
    text->length = (size_t)(end - text->bytes);
}

/* Inline, since most of what is added are literals, whose lengths the compiler knows. `bytes` may
 * be NULL if n is 0. */
static inline void text_add_bytes(struct text *text, const char *bytes, size_t n)
{
    char *room = text_room(text, n);
    if (n > 0) {
        memcpy(room, bytes, n);
    }
    room[n] = '\0';
    text->length += n;
}

static inline void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_repeated(struct text *text, char byte, size_t n);
/* "a, b" of "a,b" */
void text_add_list(struct text *text, const char *words);
void text_add_number(struct text *text, uint64_t number);
void text_add_age(struct text *text, uint64_t milliseconds); /* age_format() */
__attribute__((format(printf, 2, 3))) void text_add_format(
    struct text *text, const char *format, ...);

/* How the main process of a job has ended: "exit 3"; with `is_signal` "SIGTERM", or "signal 40" of
 * one that has no name. */
void text_add_job_status(struct text *text, bool is_signal, uint64_t number);

/* ---- words of the protocol ---- */

/* Adds the string percent-encoded. */
void text_add_encoded(struct text *text, const char *string);
/* Adds " key=value", the value percent-encoded; nothing if the value is NULL. Inline, as the keys
 * are literals. */
static inline void text_add_key_name(struct text *text, const char *key)
{
    char *to = put_byte(text_room(text, strlen(key) + 2), ' ');
    text_end(text, put_byte(put_string(to, key), '='));
}

static inline void text_add_key(struct text *text, const char *key, const char *value)
{
    if (value) {
        text_add_key_name(text, key);
        text_add_encoded(text, value);
    }
}

static inline void text_add_number_key(struct text *text, const char *key, uint64_t number)
{
    text_add_key_name(text, key);
    text_add_number(text, number);
}
