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

/* Two digits at a time: the divisions are what takes long. */
void text_add_number(struct text *text, uint64_t number)
{
    static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334"
                                "3536373839404142434445464748495051525354555657585960616263646566676869"
                                "707172737475767778798081828384858687888990919293949596979899";
    char digits[20];
    size_t n = sizeof digits;
    for (; number >= 10; number /= 100) {
        n -= 2;
        memcpy(digits + n, pairs + 2 * (number % 100), 2);
    }
    if (number > 0 || n == sizeof digits) {
        digits[--n] = (char)('0' + number);
    }
    text_add_bytes(text, digits + n, sizeof digits - n);
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
    size_t most = 3 * strlen(string);
    text_grown(text, percent_encode(text_room(text, most), most + 1, string));
}

static void text_add_key_name(struct text *text, const char *key)
{
    size_t n = strlen(key);
    char *room = text_room(text, n + 2);
    room[0] = ' ';
    memcpy(room + 1, key, n);
    room[n + 1] = '=';
    text_grown(text, n + 2);
}

void text_add_key(struct text *text, const char *key, const char *value)
{
    if (value) {
        text_add_key_name(text, key);
        text_add_encoded(text, value);
    }
}

void text_add_number_key(struct text *text, const char *key, uint64_t number)
{
    text_add_key_name(text, key);
    text_add_number(text, number);
}
