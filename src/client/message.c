#include "client/message.h"

#include "base/words.h"
#include "client/sanitize.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 4096 };

const char *message_program = "berth";

static void (*precede)(void);

void message_precede_by(void (*function)(void))
{
    precede = function;
}

static bool is_ascii(const char *text)
{
    while ((signed char)*text > 0) {
        text++;
    }
    return *text == '\0';
}

/* Returns the length; leaves room for a newline. Looks at the locale only if that matters: most
 * jobs start without it. */
static size_t escape(char line[MESSAGE_BYTES], size_t n, const char *text)
{
    if (!is_ascii(text)) {
        sanitize_choose_locale();
    }
    while (*text && n + SANITIZED_SIZE + 1 < MESSAGE_BYTES) {
        char shown[SANITIZED_SIZE];
        text += sanitize_char(shown, text);
        size_t length = strlen(shown);
        memcpy(line + n, shown, length);
        n += length;
    }
    return n;
}

void message(const char *format, ...)
{
    int saved_errno = errno;
    char text[MESSAGE_BYTES], line[MESSAGE_BYTES];
    int prefix = snprintf(line, sizeof line, "%s: ", message_program);

    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t n = escape(line, (size_t)prefix, length > 0 ? text : "");
    line[n++] = '\n';
    if (precede) {
        precede();
    }
    ssize_t written = write(STDERR_FILENO, line, n);
    (void)written; /* there is nowhere else to complain */
    errno = saved_errno;
}

char *message_decoded(char *text)
{
    static char empty[] = "";
    return text && percent_decode(text) ? text : empty;
}

void append(char *out, size_t size, const char *format, ...)
{
    size_t n = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + n, size - n, format, arguments);
    va_end(arguments);
}
