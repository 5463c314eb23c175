/* log.h - writes to stderr, or to the function given to log_divert(). In normal operation, the log
 * has only what operators did. Preserves errno. */
#pragma once

#include "base/actor.h"
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

/* What a message is about, for logs that have fields (log_fields.h). Every member is optional.
 * Valid only as long as the objects it was made from (log_subject.h). */
enum { LOG_RESOURCES = 16, LOG_MORE = 16 };
struct log_process {
    struct actor by; /* whose it is */
    int32_t pid; /* 0: none, or of another host */
};
struct log_field {
    const char *name, *value; /* the value NULL or "": left out */
};
struct log_subject {
    const char *event; /* one word */
    const char *database, *identity, *program;
    struct log_process holder, asker;
    const struct log_field *more; /* at most LOG_MORE */
    size_t n_more;
    char lease[64];
    /* Names separated by spaces; names that do not fit are left out. */
    char resources[LOG_RESOURCES * (NAME_BYTES + 1)];
};

static inline struct log_process log_process_of(uint32_t uid, int32_t pid)
{
    return (struct log_process){.by = {.is_known = true, .uid = uid}, .pid = pid};
}

extern const struct log_subject log_nothing; /* in particular */

/* Whose messages they are: "berthd" unless it is set. */
extern const char *log_program;

/* Returns whether stderr is the journal; lines then have its level prefixes. Elsewhere they begin
 * with the time, if with_time: not where a user who has typed a command reads them. */
bool log_init(enum log_level max_verbose, bool with_time);

/* Takes a finished message: printable ASCII, without newline. False sends it to stderr. */
typedef bool log_taker(enum log_level level, const char *text, const struct log_subject *subject);
void log_divert(log_taker *taker);

/* Whether messages of this level are written at all; ask before composing an expensive one. */
bool log_says(enum log_level level);

/* In the finished line, bytes outside printable ASCII become \xNN: messages contain clients'
 * text. */
__attribute__((format(printf, 3, 4))) void log_message_on(
    enum log_level level, const struct log_subject *subject, const char *format, ...);

/* For messages that clients can provoke at will: at most a few lines a minute for each user who
 * asks, or else holds (log_budget.h); the others are counted. */
__attribute__((format(printf, 3, 4))) void log_ratelimited_on(
    enum log_level level, const struct log_subject *subject, const char *format, ...);

/* The latest line of level error; "" before the first. */
const char *log_last_error(void);

/* Keeps printable ASCII, writes other bytes as \xNN, and cuts what does not fit. Returns the
 * length. */
size_t log_escape(char *out, size_t size, const char *text);

#define log_message(level, ...) log_message_on(level, &log_nothing, __VA_ARGS__)
#define log_ratelimited(...) log_ratelimited_on(LOG_LEVEL_WARNING, &log_nothing, __VA_ARGS__)
#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)
