/* request_log.h - what the log says of an operator's request: once, and when it is known what has
 * become of it. */
#ifndef BERTH_DAEMON_REQUEST_LOG_H
#define BERTH_DAEMON_REQUEST_LOG_H

#include "log/log.h"
#include "wire/protocol.h"

struct request_log;

/* Whether such requests are logged: those that need an admin's right. */
bool request_log_has(enum command_index command);
/* Needs nothing of the request afterwards. `database` (or NULL) must outlive it. */
struct request_log *request_log_new(
    const struct request *request, struct log_process asker, const char *database);
/* "pause deploy: asked by uid 0, pid 1" and `outcome`, such as ": refused", or "". Takes it over; nothing
 * if it is NULL. */
void request_log_end(struct request_log *log, const char *outcome);
/* Without a word. Returns NULL, and takes it. */
struct request_log *request_log_free(struct request_log *log);

#endif
