#include "berth/assignments.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- for shells ---- */

/* Single quotes protect every byte but themselves. These get double quotes: the usual '\'' means
 * something else to systemd. */
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

/* As a UTF-16 escape. */
static void print_character(FILE *out, uint32_t character)
{
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
        uint32_t character;
        size_t n = utf8_decode(text, &character);
        if (n > 1) {
            print_character(out, character);
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

/* As in `berthctl status --json`: tokens are strings, for readers whose numbers have 53 bits. */
static void print_granted(FILE *out, const struct granted *granted)
{
    struct unit_walk walk = unit_walk_of(granted);
    fputc('{', out);
    print_member(out, "name", granted->name);
    fputc(',', out);
    print_member(out, "token", granted->token);
    fprintf(out, ",\"count\":%lu,\"units\":[", (unsigned long)granted->count);
    for (bool is_first = true; unit_walk_next(&walk); is_first = false) {
        fputs(is_first ? "" : ",", out);
        if (granted->pool) {
            print_string(out, walk.unit, walk.length);
        } else {
            fwrite(walk.unit, 1, walk.length, out);
        }
    }
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
