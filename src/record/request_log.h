/* request_log.h - what the log says about an operator's request: once, when its result is known. */
#pragma once

#include "log/log.h"
#include "wire/protocol.h"

struct request_log;

/* Keeps nothing of the request. `database` (or NULL) must outlive it. */
struct request_log *request_log_new(
    const struct request *request, struct log_process asker, const char *database);
/* Logs "pause deploy: asked by uid 0, pid 1" and `outcome`, such as ": refused", or "". Takes `log`
 * over; does nothing if it is NULL. */
void request_log_end(struct request_log *log, const char *outcome);
/* Frees it without logging. Returns NULL. */
struct request_log *request_log_free(struct request_log *log);
