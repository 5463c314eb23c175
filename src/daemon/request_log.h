/* request_log.h - what the log says of an operator's request: once, and when it is known what has
 * become of it. */
#ifndef BERTH_DAEMON_REQUEST_LOG_H
#define BERTH_DAEMON_REQUEST_LOG_H

#include "daemon/command.h"

struct request_log;

/* NULL: it changes nothing, and is not logged. Needs nothing of the call afterwards; but for its
 * database's name, which the configuration has. */
struct request_log *request_log_new(const struct call *call);
/* "pause deploy: asked by uid 0, pid 1" and `outcome`, such as ": refused", or "". Takes it over; nothing
 * if it is NULL. */
void request_log_end(struct request_log *log, const char *outcome);
/* Without a word. Returns NULL, and takes it. */
struct request_log *request_log_free(struct request_log *log);

#endif
