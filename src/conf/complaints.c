#include "conf/complaints.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void complaints_deinit(struct complaints *complaints)
{
    for (size_t i = 0; i < complaints->n; i++) {
        free(complaints->list[i].text);
    }
    for (size_t i = 0; i < complaints->n_files; i++) {
        free(complaints->files[i]);
    }
    free(complaints->list);
    free(complaints->files);
    *complaints = (struct complaints)COMPLAINTS_INIT;
}

uint32_t complaints_add_file(struct complaints *complaints, const char *name)
{
    size_t n = complaints->n_files++;
    complaints->files = memory_grow(complaints->files, n, sizeof *complaints->files);
    complaints->files[n] = memory_string(name);
    return (uint32_t)n;
}

const char *complaints_file(const struct complaints *complaints, struct place place)
{
    return complaints->files[place.file];
}

/* Takes the text over. */
static void complaints_append(struct complaints *complaints, struct place place, char *text)
{
    size_t n = complaints->n++;
    complaints->list = memory_grow(complaints->list, n, sizeof *complaints->list);
    complaints->list[n] = (struct complaint){.place = place, .sequence = n, .text = text};
}

/* A message is one line that a terminal can show, whatever the files and their names contain. */
static void text_clean(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

/* The end of the part of a URL that may hold a password: the last @ of the quotation. Without an @
 * there is no such part, unless the quotation was cut. */
static char *secret_end(char *text)
{
    char *quote = strrchr(text, '"');
    char *at = quote ? memrchr(text, '@', (size_t)(quote - text)) : strrchr(text, '@');
    char *word_end = text + strcspn(text, " \t\"]");
    bool is_quoted = *word_end == '"' || *word_end == ']';
    return at ? at + 1 : is_quoted ? word_end : text;
}

/* A message must not show a password, even where another line was mistaken for a URL. */
static void hide_urls(char *text)
{
    static const char begin[] = "://", hidden[] = "...";
    while ((text = strstr(text, begin))) {
        text += strlen(begin);
        char *end = secret_end(text);
        size_t n = (size_t)(end - text) < strlen(hidden) ? (size_t)(end - text) : strlen(hidden);
        memcpy(text, hidden, n);
        memmove(text + n, end, strlen(end) + 1);
        text += n;
    }
}

void complain(struct complaints *complaints, struct place place, const char *section,
    const char *key, const char *format, ...)
{
    struct text text = TEXT_INIT;
    char *what;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&what, format, arguments);
    va_end(arguments);
    if (n < 0) {
        abort();
    }
    text_add(&text, complaints_file(complaints, place));
    size_t name_length = text.length;
    if (place.line > 0) {
        text_add_format(&text, ":%lu", (unsigned long)place.line);
    }
    text_add(&text, ": ");
    if (section && section[0] != '\0') {
        text_add_format(&text, "[%s]%s", section, key ? " " : ": ");
    }
    if (key) {
        text_add_format(&text, "%.*s%s: ", QUOTE(key));
    }
    text_add(&text, what);
    free(what);
    text_clean(text.bytes);
    hide_urls(text.bytes + name_length);
    complaints_append(complaints, place, text_take(&text));
}

bool complaints_has(const struct complaints *complaints, struct place place)
{
    for (size_t i = 0; place.line != 0 && i < complaints->n; i++) {
        const struct place *other = &complaints->list[i].place;
        if (other->file == place.file && other->line == place.line) {
            return true;
        }
    }
    return false;
}

static int complaint_compare(const void *a, const void *b)
{
    const struct complaint *left = a, *right = b;
    if (left->place.file != right->place.file) {
        return left->place.file < right->place.file ? -1 : 1;
    }
    if (left->place.line != right->place.line) {
        return left->place.line < right->place.line ? -1 : 1;
    }
    return left->sequence < right->sequence ? -1 : 1;
}

void complaints_report(struct complaints *complaints, struct conf_errors *errors)
{
    if (complaints->n == 0) {
        return;
    }
    qsort(complaints->list, complaints->n, sizeof *complaints->list, complaint_compare);
    errors->messages =
        memory_resize(errors->messages, errors->n + complaints->n, sizeof *errors->messages);
    for (size_t i = 0; i < complaints->n; i++) {
        errors->messages[errors->n++] = complaints->list[i].text;
    }
    complaints->n = 0;
}

int quote_length(const char *text)
{
    size_t n = strnlen(text, QUOTE_BYTES + 1);
    if (n <= QUOTE_BYTES) {
        return (int)n;
    }
    n = QUOTE_BYTES;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
        n--;
    }
    return (int)n;
}
