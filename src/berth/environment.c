#include "berth/environment.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* ---- as a block ---- */

static const char prefix[] = "BERTH_";

enum {
    VARIABLES_OF_A_RESOURCE = 4,
    /* The first resource's twice, LEASE, SOCKET, WAITED_MS, and the exported one. */
    MAX_VARIABLES = (1 + MAX_ARGUMENTS) * VARIABLES_OF_A_RESOURCE + 4,
};

/* An offset one past the end means that something did not fit. */
static void __attribute__((format(printf, 2, 3)))
environment_add(struct environment *environment, const char *format, ...)
{
    size_t left = sizeof environment->bytes - environment->n;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(environment->bytes + environment->n, left, format, arguments);
    va_end(arguments);
    environment->n += n >= 0 && (size_t)n < left ? (size_t)n : left;
}

/* NAME=units; "NAME=" is there already. */
static void environment_add_units(
    struct environment *environment, const struct granted *granted, char separator)
{
    if (granted->pool || granted->count <= ENVIRONMENT_MAX_SLOTS) {
        struct unit_walk walk = unit_walk_of(granted);
        for (int n_before = 0; unit_walk_next(&walk); n_before = 1) {
            environment_add(
                environment, "%.*s%.*s", n_before, &separator, (int)walk.length, walk.unit);
        }
    } else {
        size_t start = environment->n;
        environment_add(environment, "%s", granted->units);
        for (size_t i = start; i < environment->n; i++) {
            if (environment->bytes[i] == ',') {
                environment->bytes[i] = separator;
            }
        }
    }
    environment_add(environment, "%c", '\0');
}

/* `number` is "" or "1_", "2_", ... */
static void environment_add_granted(
    struct environment *environment, const struct granted *granted, const char *number)
{
    environment_add(environment, "%s%sNAME=%s%c", prefix, number, granted->name, '\0');
    environment_add(environment, "%s%sTOKEN=%s%c", prefix, number, granted->token, '\0');
    environment_add(
        environment, "%s%sCOUNT=%lu%c", prefix, number, (unsigned long)granted->count, '\0');
    environment_add(environment, "%s%s%s=", prefix, number, granted->pool ? "ITEM" : "SLOT");
    environment_add_units(environment, granted, ' ');
}

/* The resource that --export is about: the only pool, as its items mean something outside; else the
 * first. */
static const struct granted *exported(const struct grant *grant)
{
    const struct granted *pool = NULL;
    size_t n_pools = 0;
    for (size_t i = 0; i < grant->n; i++) {
        if (grant->granted[i].pool) {
            pool = &grant->granted[i];
            n_pools++;
        }
    }
    return n_pools == 1 ? pool : &grant->granted[0];
}

bool environment_fill(struct environment *environment, const struct grant *grant,
    const struct options *options, const char *socket)
{
    environment->n = 0;
    environment_add(environment, "%sLEASE=%s%c", prefix, grant->lease, '\0');
    environment_add(environment, "%sSOCKET=%s%c", prefix, socket, '\0');
    /* With several resources the plain names are the first one's. */
    environment_add_granted(environment, &grant->granted[0], "");
    for (size_t i = 0; grant->n > 1 && i < grant->n; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu_", i + 1);
        environment_add_granted(environment, &grant->granted[i], number);
    }
    if (options->export) {
        environment_add(environment, "%s=", options->export);
        environment_add_units(environment, exported(grant), ',');
    }
    return environment->n < sizeof environment->bytes;
}

bool environment_fill_waited(struct environment *environment, nanoseconds waited)
{
    environment_add(environment, "%sWAITED_MS=%llu%c", prefix,
        (unsigned long long)milliseconds(waited), '\0');
    return environment->n < sizeof environment->bytes;
}

static size_t n_variables; /* in environ, once we own it */

static bool is_ours(const char *variable)
{
    return strncmp(variable, prefix, sizeof prefix - 1) == 0;
}

size_t environment_size(void)
{
    size_t n_inherited = 0;
    while (environ[n_inherited]) {
        n_inherited++;
    }
    return (n_inherited + MAX_VARIABLES + 1) * sizeof *environ;
}

void environment_prepare(char **list)
{
    size_t n = 0;
    for (char **inherited = environ; *inherited; inherited++) {
        if (!is_ours(*inherited)) {
            list[n++] = *inherited;
        }
    }
    list[n] = NULL;
    n_variables = n;
    environ = list;
}

static void environment_put(char *variable)
{
    size_t name_length = (size_t)(strchrnul(variable, '=') - variable) + 1;
    for (size_t i = 0; i < n_variables; i++) {
        if (strncmp(environ[i], variable, name_length) == 0) {
            environ[i] = variable;
            return;
        }
    }
    environ[n_variables++] = variable;
    environ[n_variables] = NULL;
}

void environment_enter(struct environment *environment)
{
    for (size_t i = 0; i < environment->n; i += strlen(environment->bytes + i) + 1) {
        environment_put(environment->bytes + i);
    }
}

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

void environment_print(FILE *out, const struct environment *environment)
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

void grant_print_json(FILE *out, const struct grant *grant, const char *socket)
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
