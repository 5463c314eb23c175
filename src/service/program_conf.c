#include "service/program_conf.h"

#include "base/closest_match.h"
#include "log/log.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>

/* inih takes 200 bytes, and cuts what is longer without a word. */
enum { MAX_LINE_LENGTH = 190 };

struct conf_reader {
    const char *path, *section;
    const struct conf_row *rows;
    void *object;
    FILE *stream;
    unsigned line;
    bool has_errors;
};

static __attribute__((format(printf, 2, 3))) void complain_at(
    struct conf_reader *reader, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_error("%s:%u: %s", reader->path, reader->line, text);
    reader->has_errors = true;
}

static void complain_of_key(struct conf_reader *reader, const char *name)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(name);
    for (const struct conf_row *row = reader->rows; row->key; row++) {
        closest_match_try(&nearest, row->key);
    }
    complain_at(reader, "%s: unknown key%s%s%s", name, nearest.best ? "; did you mean " : "",
        nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

/* Returns not 0: so inih wants it; errors are complained of here. */
static int take_key(void *context, const char *section, const char *name, const char *value)
{
    struct conf_reader *reader = context;
    if (strcmp(section, reader->section) != 0) {
        complain_at(reader, "%s: the only section is [%s]", name, reader->section);
        return 1;
    }
    for (const struct conf_row *row = reader->rows; row->key; row++) {
        if (strcmp(row->key, name) == 0) {
            char copy[MAX_LINE_LENGTH + 1];
            snprintf(copy, sizeof copy, "%s", value);
            const char *wrong = row->set((char *)reader->object + row->offset, copy);
            if (wrong) {
                complain_at(reader, "%s = %s: %s", name, value, wrong);
            }
            return 1;
        }
    }
    complain_of_key(reader, name);
    return 1;
}

/* As fgets, for inih. A line that is too long is complained of, and passed over. */
static char *next_line(char *out, int size, void *stream)
{
    struct conf_reader *reader = stream;
    if (!fgets(out, size, reader->stream)) {
        return NULL;
    }
    reader->line++;
    size_t n = strlen(out);
    bool is_whole = n > 0 && out[n - 1] == '\n';
    if (is_whole ? n <= MAX_LINE_LENGTH : feof(reader->stream) && n <= MAX_LINE_LENGTH) {
        return out;
    }
    complain_at(reader, "a line has at most %d bytes; a list may go on in indented lines",
        MAX_LINE_LENGTH);
    for (int c = 0; !is_whole && c != '\n' && c != EOF;) {
        c = fgetc(reader->stream);
    }
    memcpy(out, "\n", 2);
    return out;
}

bool program_conf_read(const char *path, const char *default_path, const char *section,
    const struct conf_row rows[], void *object)
{
    struct conf_reader reader = {.path = path ? path : default_path,
        .section = section,
        .rows = rows,
        .object = object};
    reader.stream = fopen(reader.path, "re");
    if (!reader.stream) {
        bool may_be_missing = !path && errno == ENOENT;
        if (!may_be_missing) {
            log_error("%s: %s", reader.path, strerror(errno));
        }
        return may_be_missing;
    }
    int wrong = ini_parse_stream(next_line, &reader, take_key, &reader);
    if (ferror(reader.stream)) {
        complain_at(&reader, "it cannot be read: %s", strerror(errno));
    } else if (wrong != 0 && !reader.has_errors) {
        reader.line = wrong > 0 ? (unsigned)wrong : reader.line;
        complain_at(&reader, "a line is KEY = VALUE below [%s]", section);
    }
    fclose(reader.stream);
    return !reader.has_errors;
}
