#include "daemon/text.h"

#include "core/memory.h"
#include "wire/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_deinit(struct text *text)
{
    free(text->bytes);
    *text = (struct text)TEXT_INIT;
}

/* Room for `n` more; returns where they go. */
static char *text_room(struct text *text, size_t n)
{
    if (text->length + n > text->size) {
        size_t size = text->size < 128 ? 128 : text->size;
        while (size < text->length + n) {
            size *= 2;
        }
        text->bytes = memory_resize(text->bytes, size, 1);
        text->size = size;
    }
    return text->bytes + text->length;
}

void text_add_bytes(struct text *text, const char *bytes, size_t n)
{
    if (n > 0) { /* `bytes` may be NULL if not */
        memcpy(text_room(text, n), bytes, n);
        text->length += n;
    }
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

void text_add_encoded(struct text *text, const char *string)
{
    size_t most = 3 * strlen(string) + 1;
    text->length += percent_encode(text_room(text, most), most, string);
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

void text_add_format(struct text *text, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (n >= (int)sizeof piece) {
        n = (int)sizeof piece - 1;
    }
    if (n > 0) {
        text_add_bytes(text, piece, (size_t)n);
    }
}
