#include "log/log.h"

#include "base/clock.h"
#include "log/log_budget.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_SIZE = 2048 };

const char *log_program = "berthd";

static enum log_level threshold = LOG_LEVEL_INFO;
static bool has_time, has_level;
static log_taker *diverted;
static char last_error[LINE_SIZE];
const struct log_subject log_nothing;

/* ---- the destination ---- */

/* JOURNAL_STREAM names a file; stderr may have been redirected since. */
static bool stderr_is_the_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat status;
    return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
        fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

/* If one of them were closed, the first connections would get the log. */
static void open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

bool log_init(enum log_level max_verbose, bool with_time)
{
    open_standard_descriptors();
    threshold = max_verbose;
    has_level = stderr_is_the_journal();
    has_time = with_time;
    return has_level;
}

void log_divert(log_taker *taker)
{
    diverted = taker;
}

bool log_says(enum log_level level)
{
    return level <= threshold;
}

const char *log_last_error(void)
{
    return last_error;
}

/* ---- a line ---- */

size_t log_escape(char *out, size_t size, const char *text)
{
    enum { LONGEST_ESCAPE = sizeof "\\xNN" - 1 };
    size_t end = 0;
    for (; *text && end + LONGEST_ESCAPE < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= ' ' && c <= '~') {
            out[end++] = (char)c;
        } else {
            end += (size_t)snprintf(out + end, size - end, "\\x%02x", c);
        }
    }
    out[end] = '\0';
    return end;
}

/* Local time as in RFC 3339, and a space: "2026-11-28T15:40:01.123+01:00 ". */
static void format_time(char *out, size_t size)
{
    nanoseconds now = clock_wall_now();
    time_t seconds = (time_t)(now / NANOSECONDS_PER_SECOND);
    int rest = (int)(now % NANOSECONDS_PER_SECOND / NANOSECONDS_PER_MILLISECOND);
    struct tm local = {0};
    char second[32], offset[8];
    localtime_r(&seconds, &local);
    strftime(second, sizeof second, "%FT%T", &local);
    strftime(offset, sizeof offset, "%z", &local);
    snprintf(out, size, "%s.%03d%.3s:%s ", second, rest, offset, offset + 3);
}

/* One write per line, so that lines of several processes do not mix. */
static void to_stderr(enum log_level level, const char *text)
{
    char when[64] = "", line[LINE_SIZE + 96];
    if (has_time && !has_level) {
        format_time(when, sizeof when);
    }
    int n = has_level ? snprintf(line, sizeof line, "<%d>%s\n", (int)level, text)
                      : snprintf(line, sizeof line, "%s%s: %s\n", when, log_program, text);
    /* A reader that stops reading must not stop the daemon: lines are lost instead. */
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&log, 1, 0) != 1) {
        return;
    }
    ssize_t written = write(STDERR_FILENO, line, (size_t)n);
    (void)written; /* nowhere is left to report it */
}

static void emit(
    enum log_level level, const struct log_subject *subject, const char *format, va_list arguments)
{
    int saved = errno;
    char text[LINE_SIZE], line[LINE_SIZE];
    vsnprintf(text, sizeof text, format, arguments);
    log_escape(line, sizeof line, text);
    if (level == LOG_LEVEL_ERROR) {
        memcpy(last_error, line, sizeof last_error);
    }
    if (!diverted || !diverted(level, line, subject)) {
        to_stderr(level, line);
    }
    errno = saved;
}

void log_message_on(
    enum log_level level, const struct log_subject *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (log_says(level)) {
        emit(level, subject, format, arguments);
    }
    va_end(arguments);
}

/* ---- lines that clients can provoke ---- */

static bool may_be_said(const struct log_subject *subject)
{
    static struct log_budgets budgets;
    uint32_t suppressed;
    uint32_t uid = subject->asker.pid != 0 ? subject->asker.by.uid
        : subject->holder.pid != 0         ? subject->holder.by.uid
                                           : LOG_BUDGET_NOBODY;
    bool may_be = log_budget_take(&budgets, uid, clock_now(), &suppressed);
    if (suppressed > 0 && uid == LOG_BUDGET_NOBODY) {
        log_warning("%u more such messages suppressed", suppressed);
    } else if (suppressed > 0) {
        log_warning("%u more messages provoked by uid %u suppressed", suppressed, uid);
    }
    return may_be;
}

void log_ratelimited_on(
    enum log_level level, const struct log_subject *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (may_be_said(subject)) {
        emit(level, subject, format, arguments);
    }
    va_end(arguments);
}
