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

/* Room for `n` more and a NUL; returns where they go. */
static char *text_room(struct text *text, size_t n)
{
    if (text->size - text->length <= n) {
        size_t size = text->size < SMALLEST ? SMALLEST : text->size;
        while (size - text->length <= n) {
            size *= 2;
        }
        text->bytes = realloc(text->bytes, size);
        if (!text->bytes) {
            abort();
        }
        text->size = size;
    }
    return text->bytes + text->length;
}

static void text_grown(struct text *text, size_t n)
{
    text->length += n;
    text->bytes[text->length] = '\0';
}

void text_add_bytes(struct text *text, const char *bytes, size_t n)
{
    char *room = text_room(text, n);
    if (n > 0) {
        memcpy(room, bytes, n);
    }
    text_grown(text, n);
}

void text_add_repeated(struct text *text, char byte, size_t n)
{
    memset(text_room(text, n), byte, n);
    text_grown(text, n);
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
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
    text_add_bytes(text, " ", 1);
    text_add(text, key);
    text_add_bytes(text, "=", 1);
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
