#include "daemon/log.h"

#include "daemon/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PROVOKED_PER_MINUTE = 10,
    LINE_SIZE = 2048,
};

static enum log_level threshold = LOG_LEVEL_INFO;
static bool with_level;
static char last_error[LINE_SIZE];

void log_init(enum log_level most_verbose)
{
    threshold = most_verbose;
    with_level = getenv("JOURNAL_STREAM") != NULL;
}

/* One write per line, so that lines of several processes do not mix. */
static void emit(enum log_level level, const char *text)
{
    char line[LINE_SIZE + 16];
    int n = with_level ? snprintf(line, sizeof line, "<%d>", (int)level)
                       : snprintf(line, sizeof line, "berthd: ");
    size_t end = (size_t)n;
    for (; *text && end + 6 < sizeof line; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= ' ' && c <= '~') {
            line[end++] = (char)c;
        } else {
            end += (size_t)snprintf(line + end, sizeof line - end, "\\x%02x", c);
        }
    }
    line[end++] = '\n';
    /* Whoever does not read the log must not stop the daemon: lines are lost instead. */
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&log, 1, 0) != 1) {
        return;
    }
    ssize_t written = write(STDERR_FILENO, line, end);
    (void)written; /* nowhere left to say so */
}

static void emit_formatted(enum log_level level, const char *format, va_list arguments)
{
    char text[LINE_SIZE];
    vsnprintf(text, sizeof text, format, arguments);
    if (level == LOG_LEVEL_ERROR) {
        memcpy(last_error, text, sizeof last_error);
    }
    emit(level, text);
}

const char *log_last_error(void)
{
    return last_error;
}

void log_message(enum log_level level, const char *format, ...)
{
    int saved = errno;
    if (level <= threshold) {
        va_list arguments;
        va_start(arguments, format);
        emit_formatted(level, format, arguments);
        va_end(arguments);
    }
    errno = saved;
}

void log_provoked(const char *format, ...)
{
    static nanoseconds minute_began;
    static unsigned said, suppressed;
    int saved = errno;
    nanoseconds now = clock_now();
    if (said == 0 || now - minute_began >= 60 * NANOSECONDS_PER_SECOND) {
        if (suppressed > 0) {
            log_warning("%u more such messages suppressed", suppressed);
        }
        minute_began = now;
        said = suppressed = 0;
    }
    if (said < PROVOKED_PER_MINUTE) {
        va_list arguments;
        va_start(arguments, format);
        emit_formatted(LOG_LEVEL_WARNING, format, arguments);
        va_end(arguments);
        said++;
    } else {
        suppressed++;
    }
    errno = saved;
}
