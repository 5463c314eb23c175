#include "base/text.h"

#include "base/words.h"

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

static void text_grown(struct text *text, size_t n)
{
    text->length += n;
    text->bytes[text->length] = '\0';
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
    memset(text_room(text, n), byte, n);
    text_grown(text, n);
}

void text_add_number(struct text *text, uint64_t number)
{
    text_end(text, put_number(text_room(text, MAX_DIGITS), number));
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
