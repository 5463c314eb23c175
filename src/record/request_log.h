/* request_log.h - what is said about an operator's request, once, when its result is known: a line
 * of the log, and an entry of the history if it has succeeded, unless a database keeps that. */
#pragma once

#include "core/ended.h"
#include "log/log.h"
#include "wire/protocol.h"

struct history;
struct request_log;

/* Who asks, when, and about what. */
struct request_asked {
    struct log_process asker; /* the log's */
    struct actor by; /* the history's */
    nanoseconds at;
    const char *database; /* whose request it is; or NULL. It outlives the request */
    const char *was, *is; /* what it changes, before and, if it does not say so, after; or NULL */
};

/* Keeps nothing of the request. */
struct request_log *request_log_new(
    const struct request *request, const struct request_asked *asked, struct history *history);
/* Logs "pause deploy: asked by uid 0, pid 1" and `outcome`, such as ": refused", or "". Takes `log`
 * over; does nothing if it is NULL. */
void request_log_end(struct request_log *log, bool is_done, const char *outcome);
/* What a database remembers of such a request: .target, which is its second argument, becomes what
 * it was. */
void request_complete(struct did *did, const char *database);
/* Frees it without saying anything. Returns NULL. */
struct request_log *request_log_free(struct request_log *log);
