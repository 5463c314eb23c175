#include "client/message.h"

#include "base/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 4096 };

static bool is_shown(char c)
{
    return c >= ' ' && c <= '~';
}

/* Writes bytes outside printable ASCII as \xNN, as berth knows no locale. Returns the length;
 * leaves room for a newline. */
static size_t escape(char line[MESSAGE_BYTES], size_t n, const char *text)
{
    enum { ESCAPED = 4 };
    for (; *text && n + ESCAPED + 1 < MESSAGE_BYTES; text++) {
        if (is_shown(*text)) {
            line[n++] = *text;
        } else {
            n += (size_t)snprintf(line + n, ESCAPED + 1, "\\x%02x", (unsigned char)*text);
        }
    }
    return n;
}

void message(const char *format, ...)
{
    int saved_errno = errno;
    static const char prefix[] = "berth: ";
    char text[MESSAGE_BYTES], line[MESSAGE_BYTES];
    memcpy(line, prefix, sizeof prefix);

    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t n = escape(line, sizeof prefix - 1, length > 0 ? text : "");
    line[n++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, n);
    (void)written; /* there is nowhere else to complain */
    errno = saved_errno;
}

char *message_clean(char *text)
{
    static char empty[] = "";
    if (!text || !percent_decode(text)) {
        return empty;
    }
    for (char *c = text; *c; c++) {
        if (!is_shown(*c)) {
            *c = '?';
        }
    }
    return text;
}

void append(char *out, size_t size, const char *format, ...)
{
    size_t n = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + n, size - n, format, arguments);
    va_end(arguments);
}
