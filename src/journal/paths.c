#include "journal/paths.h"

#include "base/table.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_WORD = 200 };

__attribute__((format(printf, 3, 4))) static bool fits(
    char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(out, size, format, arguments);
    va_end(arguments);
    return n >= 0 && (size_t)n < size;
}

/* systemd gives several, separated by colons. */
static int first_length(const char *directories)
{
    return (int)strcspn(directories, ":");
}

/* The variable's value if it is set and absolute. */
static const char *directory_of_environment(const char *variable)
{
    const char *directory = getenv(variable);
    return directory && directory[0] == '/' ? directory : NULL;
}

bool path_at_runtime(const char *socket_path, const char *suffix, char *out, size_t size)
{
    const char *runtime = directory_of_environment("RUNTIME_DIRECTORY");
    return runtime ? fits(out, size, "%.*s/%s%s", first_length(runtime), runtime,
                         strrchr(socket_path, '/') + 1, suffix)
                   : fits(out, size, "%s%s", socket_path, suffix);
}

bool path_of_state_directory(char *out, size_t size)
{
    const char *directory = directory_of_environment("STATE_DIRECTORY");
    if (directory) {
        return fits(out, size, "%.*s", first_length(directory), directory);
    }
    if (geteuid() != 0 && (directory = directory_of_environment("XDG_STATE_HOME"))) {
        return fits(out, size, "%s/berth", directory);
    }
    if (geteuid() != 0 && (directory = directory_of_environment("HOME"))) {
        return fits(out, size, "%s/.local/state/berth", directory);
    }
    return fits(out, size, "/var/lib/berth");
}

static bool stands_for_itself(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' ||
        c == '_' || c == '.';
}

/* Escapes as systemd-escape --path does. A path too long for a file name is cut, and gets a
 * hash. */
static void path_word(const char *path, char out[static LONGEST_WORD + 32])
{
    static const char hex[] = "0123456789abcdef";
    const char *rest = path + strspn(path, "/");
    size_t n = 0;
    for (; *rest && n < LONGEST_WORD; rest++) {
        unsigned char c = (unsigned char)*rest;
        if (c == '/') {
            rest += strspn(rest, "/") - 1;
            if (rest[1] != '\0') {
                out[n++] = '-';
            }
        } else if (stands_for_itself((char)c) && (c != '.' || n > 0)) {
            out[n++] = (char)c;
        } else {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
    }
    out[n] = '\0';
    if (*rest) {
        snprintf(out + n, 18, "-%016" PRIx64, hash_string(path, 0));
    }
}

bool path_in_state_directory(const char *socket_path, const char *suffix, char *out, size_t size)
{
    char directory[PATH_MAX], word[LONGEST_WORD + 32];
    path_word(socket_path, word);
    return path_of_state_directory(directory, sizeof directory) &&
        fits(out, size, "%s/%s%s", directory, word, suffix);
}

bool path_canonical(const char *socket_path, char *out, size_t size)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(socket_path, '/');
    size_t n = slash ? (size_t)(slash - socket_path) : 0;
    bool has_folder = slash && fits(folder, sizeof folder, "%.*s", (int)n, socket_path) &&
        realpath(n > 0 ? folder : "/", real);
    const char *base = has_folder ? slash + 1 : socket_path;
    bool is_root = has_folder && strcmp(real, "/") == 0;
    return fits(
        out, size, "%s%s%s", has_folder && !is_root ? real : "", has_folder ? "/" : "", base);
}
