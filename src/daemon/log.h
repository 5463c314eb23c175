/* log.h - to stderr, with the journal's level prefixes if that is where it goes. A healthy daemon
 * says nothing but what an operator did. Preserves errno. */
#ifndef BERTH_DAEMON_LOG_H
#define BERTH_DAEMON_LOG_H

enum log_level { /* syslog's numbers */
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7,
};

void log_init(enum log_level most_verbose);

/* Bytes outside printable ASCII in the finished line are shown as \xNN: clients' text ends up
 * here. */
__attribute__((format(printf, 2, 3))) void log_message(
    enum log_level level, const char *format, ...);

/* For what clients can provoke at will: at most a few lines a minute, then their number. */
__attribute__((format(printf, 1, 2))) void log_provoked(const char *format, ...);

/* The latest line of that level; "" before the first. */
const char *log_last_error(void);

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
