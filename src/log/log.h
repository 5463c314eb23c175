/* log.h - to stderr, or to whoever log_divert() names. A healthy daemon says nothing but what an
 * operator did. Preserves errno. */
#ifndef BERTH_LOG_LOG_H
#define BERTH_LOG_LOG_H

#include "base/time.h"
#include "base/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { /* syslog's numbers */
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7,
};

/* What a message is about: it can be found by that where the log has fields (log_fields.h). All of
 * it may be missing: {0} is about nothing. Good for as long as what it was made from (log_subject.h). */
enum { LOG_RESOURCES = 16 };
struct log_process {
    uint32_t uid;
    int32_t pid; /* 0: none */
};
struct log_about {
    const char *event; /* one word */
    const char *database, *identity, *program;
    struct log_process holder, asker;
    char lease[64];
    /* Names with a space between them; what does not fit is left out. */
    char resources[LOG_RESOURCES * (NAME_BYTES + 1)];
};

/* Whether stderr is the journal: lines have its level prefixes then. */
bool log_init(enum log_level most_verbose);

/* Takes a finished message, without newline, in printable ASCII; false: it is to go to stderr. */
typedef bool log_taker(enum log_level level, const char *text, const struct log_about *about);
void log_divert(log_taker *taker);

/* Whether anything of this level is said at all: before something is made up for it. */
bool log_says(enum log_level level);

/* Bytes outside printable ASCII in the finished line are shown as \xNN: clients' text ends up
 * here. */
__attribute__((format(printf, 2, 3))) void log_message(
    enum log_level level, const char *format, ...);
__attribute__((format(printf, 3, 4))) void log_about(
    enum log_level level, const struct log_about *about, const char *format, ...);

/* For what clients can provoke at will: at most a few lines a minute, then their number; for each user
 * who asks, or else holds, by itself (log_budget.h). */
__attribute__((format(printf, 1, 2))) void log_provoked(const char *format, ...);
__attribute__((format(printf, 3, 4))) void log_provoked_about(
    enum log_level level, const struct log_about *about, const char *format, ...);

/* The latest line of that level; "" before the first. */
const char *log_last_error(void);

/* Printable ASCII as it is, other bytes as \xNN; what does not fit is cut. Returns the length. */
size_t log_escape(char *out, size_t size, const char *text);

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
