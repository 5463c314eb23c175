#include "web/web_conf.h"

#include "base/closest_match.h"
#include "base/memory.h"
#include "base/words.h"
#include "log/log.h"
#include "web/web_listener.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* inih takes 200 bytes, and cuts what is longer without a word. */
enum { MAX_LINE_LENGTH = 190 };

#define DEFAULT_PATH SYSCONFDIR "/berth/berth-web.conf"

struct web_reader {
    struct web_conf *conf;
    const char *path;
    FILE *stream;
    unsigned line;
    bool has_errors;
};

static __attribute__((format(printf, 2, 3))) void complain(
    struct web_reader *reader, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_error("%s:%u: %s", reader->path, reader->line, text);
    reader->has_errors = true;
}

/* ---- keys ---- */

enum key_type { KEY_PATH, KEY_LISTEN, KEY_HOSTS };

struct web_key {
    const char *name;
    enum key_type type;
    size_t offset;
    const char *wanted;
};

static const struct web_key keys[] = {
    {"socket", KEY_PATH, offsetof(struct web_conf, socket), "an absolute path"},
    {"listen", KEY_LISTEN, offsetof(struct web_conf, listen), NULL},
    {"hosts", KEY_HOSTS, offsetof(struct web_conf, hosts), "names without scheme and port"},
};

static void set_string(void *member, const char *value)
{
    char **string = member;
    free(*string);
    *string = memory_string(value);
}

/* Names separated by blanks or commas, over one line or several. */
static bool take_hosts(struct name_list *list, const char *value)
{
    char *copy = memory_string(value), *rest = copy;
    bool is_good = true;
    for (char *name; is_good && (name = strsep(&rest, " \t,")) != NULL;) {
        if (name[0] != '\0') {
            is_good = host_is_valid(name);
            name_list_add(list, name);
        }
    }
    free(copy);
    return is_good;
}

static bool take_value(const struct web_key *key, void *member, const char *value)
{
    switch (key->type) {
    case KEY_PATH:
        set_string(member, value);
        return value[0] == '/';
    case KEY_LISTEN:
        set_string(member, value);
        return !web_listener_explain(value);
    case KEY_HOSTS:
        return take_hosts(member, value);
    }
    return false;
}

static void complain_of_value(
    struct web_reader *reader, const struct web_key *key, const char *value)
{
    if (key->type == KEY_LISTEN) {
        complain(reader, "%s = %s: %s", key->name, value, web_listener_explain(value));
    } else {
        complain(reader, "%s = %s: expected %s", key->name, value, key->wanted);
    }
}

static void complain_of_key(struct web_reader *reader, const char *name)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(name);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        closest_match_try(&nearest, keys[i].name);
    }
    complain(reader, "%s: unknown key%s%s%s", name, nearest.best ? "; did you mean " : "",
        nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

/* Returns not 0: so inih wants it; errors are complained of here. */
static int take_key(void *context, const char *section, const char *name, const char *value)
{
    struct web_reader *reader = context;
    if (strcmp(section, "web") != 0) {
        complain(reader, "%s: the only section is [web]", name);
        return 1;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            if (!take_value(&keys[i], (char *)reader->conf + keys[i].offset, value)) {
                complain_of_value(reader, &keys[i], value);
            }
            return 1;
        }
    }
    complain_of_key(reader, name);
    return 1;
}

/* ---- the file ---- */

/* As fgets, for inih. A line that is too long is complained of, and passed over. */
static char *next_line(char *out, int size, void *stream)
{
    struct web_reader *reader = stream;
    if (!fgets(out, size, reader->stream)) {
        return NULL;
    }
    reader->line++;
    size_t n = strlen(out);
    bool is_whole = n > 0 && out[n - 1] == '\n';
    if (is_whole ? n <= MAX_LINE_LENGTH : feof(reader->stream) && n <= MAX_LINE_LENGTH) {
        return out;
    }
    complain(reader, "a line has at most %d bytes; a list may go on in indented lines",
        MAX_LINE_LENGTH);
    for (int c = 0; !is_whole && c != '\n' && c != EOF;) {
        c = fgetc(reader->stream);
    }
    memcpy(out, "\n", 2);
    return out;
}

bool web_conf_read(struct web_conf *conf, const char *path)
{
    struct web_reader reader = {.conf = conf, .path = path ? path : DEFAULT_PATH};
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
        complain(&reader, "it cannot be read: %s", strerror(errno));
    } else if (wrong != 0 && !reader.has_errors) {
        reader.line = wrong > 0 ? (unsigned)wrong : reader.line;
        complain(&reader, "a line is KEY = VALUE below [web]");
    }
    fclose(reader.stream);
    return !reader.has_errors;
}

void web_conf_deinit(struct web_conf *conf)
{
    free(conf->socket);
    free(conf->listen);
    name_list_deinit(&conf->hosts);
}
