#include "berth/assignments.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- for shells ---- */

/* Single quotes where no byte may mean anything. For a single quote itself double ones: a shell's
 * usual '\'' is something else to systemd. */
static void print_quoted(FILE *out, const char *value)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:@%+,-";
    if (value[strspn(value, plain)] == '\0' && value[0] != '\0') {
        fputs(value, out);
        return;
    }
    char quote = strchr(value, '\'') ? '"' : '\'';
    fputc(quote, out);
    for (; *value; value++) {
        if (quote == '"' && strchr("\"\\$`", *value)) {
            fputc('\\', out);
        }
        fputc(*value, out);
    }
    fputc(quote, out);
}

void assignments_print(FILE *out, const struct environment *environment)
{
    for (size_t i = 0; i < environment->n; i += strlen(environment->bytes + i) + 1) {
        const char *variable = environment->bytes + i;
        int name_length = (int)strcspn(variable, "=");
        fprintf(out, "%.*s=", name_length, variable);
        print_quoted(out, variable + name_length + 1);
        fputc('\n', out);
    }
}

/* ---- JSON ---- */

/* The bytes of the UTF-8 sequence at `text`, or 0 if it is none. */
static size_t utf8_length(const char *text)
{
    static const struct {
        unsigned char first, last; /* lead bytes */
        unsigned char second_first, second_last;
        size_t n;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, /* no surrogates */
        {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (bytes[0] < rows[i].first || bytes[0] > rows[i].last) {
            continue;
        }
        size_t n = 1;
        bool valid = bytes[1] >= rows[i].second_first && bytes[1] <= rows[i].second_last;
        while (valid && ++n < rows[i].n) {
            valid = (bytes[n] & 0xc0) == 0x80;
        }
        return valid ? n : 0;
    }
    return 0;
}

/* As UTF-16 has it; `n` is its length, 2 to 4. */
static void print_character(FILE *out, const char *text, size_t n)
{
    uint32_t character = (unsigned char)text[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        character = character << 6 | ((unsigned char)text[i] & 0x3fu);
    }
    if (character >= 0x10000) {
        fprintf(out, "\\u%04x", 0xd800 + ((character - 0x10000) >> 10));
        character = 0xdc00 + (character & 0x3ff);
    }
    fprintf(out, "\\u%04x", character);
}

/* Printable ASCII, whatever the text is. */
static void print_string(FILE *out, const char *text, size_t length)
{
    const char *end = text + length;
    fputc('"', out);
    while (text < end) {
        size_t n = utf8_length(text);
        if (n > 0) {
            print_character(out, text, n);
            text += n;
            continue;
        }
        unsigned char byte = (unsigned char)*text++;
        if (byte >= 0x80) {
            fputs("\\ufffd", out);
        } else if (byte < ' ' || byte == 0x7f) {
            fprintf(out, "\\u%04x", byte);
        } else if (byte == '"' || byte == '\\') {
            fprintf(out, "\\%c", byte);
        } else {
            fputc(byte, out);
        }
    }
    fputc('"', out);
}

static void print_member(FILE *out, const char *name, const char *value)
{
    fprintf(out, "\"%s\":", name);
    print_string(out, value, strlen(value));
}

struct printing {
    FILE *out;
    bool is_pool, is_first;
};

static void print_unit(void *context, const char *unit, size_t length)
{
    struct printing *printing = context;
    if (!printing->is_first) {
        fputc(',', printing->out);
    }
    printing->is_first = false;
    if (printing->is_pool) {
        print_string(printing->out, unit, length);
    } else {
        fwrite(unit, 1, length, printing->out);
    }
}

/* As in `berthctl status --json`: tokens are strings, for readers whose numbers have 53 bits. */
static void print_granted(FILE *out, const struct granted *granted)
{
    struct printing printing = {out, granted->pool, true};
    fputc('{', out);
    print_member(out, "name", granted->name);
    fputc(',', out);
    print_member(out, "token", granted->token);
    fprintf(out, ",\"count\":%lu,\"units\":[", (unsigned long)granted->count);
    granted_for_each_unit(granted, print_unit, &printing);
    fputs("]}", out);
}

void assignments_print_json(FILE *out, const struct grant *grant, const char *socket)
{
    fputs("{\"version\":1,", out);
    print_member(out, "lease", grant->lease);
    fputc(',', out);
    print_member(out, "socket", socket);
    fputs(",\"resources\":[", out);
    for (size_t i = 0; i < grant->n; i++) {
        if (i > 0) {
            fputc(',', out);
        }
        print_granted(out, &grant->granted[i]);
    }
    fputs("]}\n", out);
}
