#include "base/text.h"

#include "base/words.h"

#include <endian.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 128 };

void text_deinit(struct text *text)
{
    free(text->bytes);
    *text = (struct text)TEXT_INIT;
}

char *text_take(struct text *text)
{
    text_add_repeated(text, '\0', 0);
    char *bytes = text->bytes;
    *text = (struct text)TEXT_INIT;
    return bytes;
}

char *text_grow(struct text *text, size_t n)
{
    size_t size = text->size < SMALLEST ? SMALLEST : text->size;
    while (size - text->length <= n) {
        size *= 2;
    }
    text->bytes = realloc(text->bytes, size);
    if (!text->bytes) {
        abort();
    }
    text->size = size;
    return text->bytes + text->length;
}

void text_add_list(struct text *text, const char *words)
{
    for (; *words; words++) {
        text_add_bytes(text, words, 1);
        text_add(text, *words == ',' ? " " : "");
    }
}

void text_add_repeated(struct text *text, char byte, size_t n)
{
    char *room = text_room(text, n);
    memset(room, byte, n);
    text_end(text, room + n);
}

void text_add_number(struct text *text, uint64_t number)
{
    text_end(text, put_number(text_room(text, MAX_DIGITS), number));
}

void text_add_age(struct text *text, uint64_t milliseconds)
{
    char age[32];
    text_add_bytes(text, age, age_format(age, sizeof age, milliseconds));
}

void text_add_format(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0) {
        abort();
    }
    char *room = text_room(text, (size_t)n);
    vsnprintf(room, (size_t)n + 1, format, again);
    va_end(again);
    text_end(text, room + n);
}

void text_add_encoded(struct text *text, const char *string)
{
    size_t plain = percent_plain(string); /* all of them, as a rule */
    text_add_bytes(text, string, plain);
    string += plain;
    if (*string) {
        size_t max = 3 * strlen(string);
        char *room = text_room(text, max);
        text_end(text, room + percent_encode(room, max + 1, string));
    }
}

void text_add_job_status(struct text *text, bool is_signal, uint64_t number)
{
    const char *name = is_signal && number <= INT_MAX ? sigabbrev_np((int)number) : NULL;
    if (name) {
        text_add(text, "SIG");
        text_add(text, name);
    } else {
        text_add(text, is_signal ? "signal " : "exit ");
        text_add_number(text, number);
    }
}

/* ---- to a buffer that is large enough ---- */

#define EIGHT_DIGITS 100000000U

/* quotients + (rests << bits), of each lane of `numbers` divided by `base`. */
static inline uint64_t split(uint64_t numbers, uint64_t quotients, uint64_t base, int bits)
{
    return (numbers << bits) - quotients * ((base << bits) - 1);
}

/* The digits of a number below EIGHT_DIGITS, zeros in front, the first one in the lowest byte. They
 * are split off together, in lanes of one word: two of four digits, four of two, eight of one. */
static inline uint64_t eight_digits(uint32_t number)
{
    uint64_t fours = split(number, number / 10000, 10000, 32);
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x7f0000007f); /* 10486/2^20 is 1/100 */
    uint64_t twos = split(fours, hundreds, 100, 16);
    uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f); /* 103/2^10 is 1/10 */
    return split(twos, tens, 10, 8);
}

static inline char *put_eight(char *to, uint64_t digits)
{
    uint64_t bytes = htole64(digits + UINT64_C(0x3030303030303030));
    return put_bytes(to, (const char *)&bytes, sizeof bytes);
}

/* Without the zeros in front, for which it writes as many bytes too many behind. `number` > 0. */
static inline char *put_first(char *to, uint32_t number)
{
    uint64_t digits = eight_digits(number);
    unsigned n_zeros = (unsigned)__builtin_ctzll(digits) / 8;
    return put_eight(to, digits >> 8 * n_zeros) - n_zeros;
}

char *put_large_number(char *to, uint64_t number)
{
    if (number < EIGHT_DIGITS) {
        return put_first(to, (uint32_t)number);
    }
    uint64_t upper = number / EIGHT_DIGITS;
    uint32_t lower = (uint32_t)(number - upper * EIGHT_DIGITS);
    if (upper < EIGHT_DIGITS) {
        to = put_first(to, (uint32_t)upper);
    } else {
        to = put_first(to, (uint32_t)(upper / EIGHT_DIGITS));
        to = put_eight(to, eight_digits((uint32_t)(upper % EIGHT_DIGITS)));
    }
    return put_eight(to, eight_digits(lower));
}

/* Four bits each, the first one in the lowest byte. */
static inline uint64_t eight_nibbles(uint32_t number)
{
    uint64_t lanes = number;
    lanes = (lanes | lanes << 16) & UINT64_C(0x0000ffff0000ffff);
    lanes = (lanes | lanes << 8) & UINT64_C(0x00ff00ff00ff00ff);
    lanes = (lanes | lanes << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return __builtin_bswap64(lanes);
}

static inline char *put_eight_hex(char *to, uint32_t number)
{
    uint64_t nibbles = eight_nibbles(number);
    uint64_t carries = (nibbles + UINT64_C(0x0606060606060606)) >> 4; /* from ten on */
    return put_eight(to, nibbles + (carries & UINT64_C(0x0101010101010101)) * ('a' - '0' - 10));
}

char *put_hex(char *to, uint64_t number)
{
    return put_eight_hex(put_eight_hex(to, (uint32_t)(number >> 32)), (uint32_t)number);
}
