#include "view/printable.h"

#include "base/utf8.h"
#include "base/words.h"
#include "client/sanitize.h"
#include "view/users.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

void text_add_escaped(struct text *text, const char *untrusted)
{
    text_add(text, "");
    while (*untrusted) {
        char shown[SANITIZED_SIZE];
        text_add(text, *untrusted == '\\' ? "\\" : "");
        untrusted += sanitize_char(shown, untrusted);
        text_add(text, shown);
    }
}

void text_add_safe(struct text *text, const char *format, ...)
{
    static const char number[] = "%llu";
    va_list arguments;
    va_start(arguments, format);
    text_add(text, "");
    while (*format) {
        size_t plain = strcspn(format, "%");
        text_add_bytes(text, format, plain);
        format += plain;
        if (strncmp(format, "%s", 2) == 0) {
            const char *untrusted = va_arg(arguments, const char *);
            text_add_escaped(text, untrusted ? untrusted : "");
            format += 2;
        } else if (*format) {
            assert(strncmp(format, number, strlen(number)) == 0);
            text_add_number(text, va_arg(arguments, unsigned long long));
            format += strlen(number);
        }
    }
    va_end(arguments);
}

void text_add_valid(struct text *text, const char *untrusted)
{
    text_add(text, "");
    while (*untrusted) {
        uint32_t character;
        size_t n = utf8_decode(untrusted, &character);
        if (n == 0) {
            n = 1;
            text_add_format(text, "\\x%02x", (uint8_t)*untrusted);
        } else {
            text_add_bytes(text, untrusted, n);
        }
        untrusted += n;
    }
}

enum answer_result why_take(void *object, char *line)
{
    struct text *text = object;
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    if (n == 0 || strcmp(words[0], "because") != 0) {
        return n == 1 && strcmp(words[0], "end") == 0 ? ANSWER_END : ANSWER_MORE;
    }
    if (n < 2 || !percent_decode(words[1])) {
        return ANSWER_MALFORMED;
    }
    text_add_safe(text, "%s%s\n", text->length > 0 ? "  " : "", words[1]);
    return ANSWER_MORE;
}

void text_add_words(struct text *text, const struct words *words, const char *between)
{
    for (size_t i = 0; i < words->n; i++) {
        text_add(text, i > 0 ? between : "");
        text_add_escaped(text, words->list[i]);
    }
    text_add(text, words->is_cut ? between : "");
    text_add(text, words->is_cut ? "..." : "");
}

void text_add_given_age(struct text *text, bool is_given, uint64_t milliseconds)
{
    if (is_given) {
        text_add_age(text, milliseconds);
    } else {
        text_add(text, "-");
    }
}

/* The bytes of the character at `escaped`, which has at least one, and its columns. */
static size_t character_bytes(const char *escaped, size_t *widthp)
{
    uint32_t character;
    size_t n = utf8_decode(escaped, &character);
    int width = n == 0 ? -1 : wcwidth((wchar_t)character);
    *widthp = width < 0 ? 1 : (size_t)width;
    return n == 0 ? 1 : n;
}

size_t text_fitting(const char *escaped, size_t n, size_t *widthp)
{
    size_t at = 0, used = 0;
    while (at < n && escaped[at]) {
        size_t width, length = character_bytes(escaped + at, &width);
        if (used + width > *widthp) {
            break;
        }
        used += width;
        at += length;
    }
    *widthp = used;
    return at;
}

size_t text_width_of(const char *escaped, size_t n)
{
    size_t width = SIZE_MAX;
    text_fitting(escaped, n, &width);
    return width;
}

size_t text_width(const char *escaped)
{
    return text_width_of(escaped, SIZE_MAX);
}

static void add_ellipsis(struct text *text)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    text_add(text, wcwidth(L'\u2026') == 1 ? ellipsis : ">");
}

void text_add_cut(struct text *text, const char *escaped, size_t width)
{
    if (text_width(escaped) <= width) {
        text_add(text, escaped);
        return;
    }
    size_t used = width - 1;
    text_add_bytes(text, escaped, text_fitting(escaped, SIZE_MAX, &used));
    add_ellipsis(text);
    text_add_repeated(text, ' ', width - 1 - used); /* a wide character did not fit */
}

void text_add_cut_inside(struct text *text, const char *escaped, size_t width)
{
    size_t length = strlen(escaped), tail = width / 2;
    if (length <= width || text_width(escaped) != length) {
        text_add_cut(text, escaped, width);
        return;
    }
    text_add_bytes(text, escaped, width - 1 - tail);
    add_ellipsis(text);
    text_add(text, escaped + length - tail);
}

void text_add_user(struct text *text, uint64_t uid)
{
    const char *name = user_name(uid);
    if (name) {
        text_add_escaped(text, name);
    } else {
        text_add_number(text, uid);
    }
}

void text_add_who(
    struct text *text, const struct shown_user *user, const struct shown_user *login)
{
    text_add_user(text, user->uid.number);
    if (login->uid.is_given && login->uid.number != user->uid.number) {
        text_add(text, " (");
        text_add_user(text, login->uid.number);
        text_add(text, ")");
    }
}
