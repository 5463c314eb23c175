#include "base/text.h"

#include "base/words.h"

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

static void text_grown(struct text *text, size_t n)
{
    text->length += n;
    text->bytes[text->length] = '\0';
}

void text_add_repeated(struct text *text, char byte, size_t n)
{
    memset(text_room(text, n), byte, n);
    text_grown(text, n);
}

/* The digits of 2^n are about n * log(2), which is 1233/4096. */
static size_t count_digits(uint64_t number)
{
    static const uint64_t powers[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
        1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
        1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
        10000000000000000000U};
    size_t n = (size_t)(64 - __builtin_clzll(number | 1)) * 1233 >> 12;
    return n + (number >= powers[n]);
}

/* Of two digits. */
static void put_pair(char *to, uint32_t number)
{
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334"
        "3536373839404142434445464748495051525354555657585960616263646566676869"
        "707172737475767778798081828384858687888990919293949596979899";
    memcpy(to, pairs + (size_t)2 * number, 2);
}

/* The divisions are what takes long, above all those of 64 bits: so one for four digits. */
void text_add_number(struct text *text, uint64_t number)
{
    size_t n = count_digits(number);
    char *digits = text_room(text, n) + n;
    for (; number >= 10000; number /= 10000) {
        uint32_t four = (uint32_t)(number % 10000);
        put_pair(digits -= 2, four % 100);
        put_pair(digits -= 2, four / 100);
    }
    uint32_t rest = (uint32_t)number;
    for (; rest >= 10; rest /= 100) {
        put_pair(digits -= 2, rest % 100);
    }
    if (n % 2 == 1) {
        digits[-1] = (char)('0' + rest);
    }
    text_grown(text, n);
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
    vsnprintf(text_room(text, (size_t)n), (size_t)n + 1, format, again);
    va_end(again);
    text_grown(text, (size_t)n);
}

void text_add_encoded(struct text *text, const char *string)
{
    size_t plain = percent_plain(string); /* all of them, as a rule */
    text_add_bytes(text, string, plain);
    string += plain;
    if (*string) {
        size_t max = 3 * strlen(string);
        text_grown(text, percent_encode(text_room(text, max), max + 1, string));
    }
}
