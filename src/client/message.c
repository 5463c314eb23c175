#include "client/message.h"

#include "wire/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 4096 };

void message(const char *format, ...)
{
    int saved_errno = errno;
    static const char prefix[] = "berth: ";
    char line[MESSAGE_BYTES];
    memcpy(line, prefix, sizeof prefix);
    size_t n = sizeof prefix - 1;

    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + n, sizeof line - n - 1, format, arguments);
    va_end(arguments);
    if (length > 0) {
        n += strlen(line + n);
    }
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
        if (*c < ' ' || *c > '~') {
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
