/* request_log.h - what is said about an operator's request, once, when its result is known: a line
 * of the log, and an entry of the history if it has succeeded. */
#pragma once

#include "core/ended.h"
#include "log/log.h"
#include "wire/protocol.h"

struct history;
struct lease;
struct request_log;

/* Who asks, when, and about what. */
struct request_asked {
    struct log_process asker; /* the log's */
    struct actor by; /* the history's */
    nanoseconds at;
    const char *database; /* whose request it is; or NULL. It outlives the request */
    const char *was, *is; /* what it changes, before and, if it does not say so, after; or NULL */
};

/* Whether the history gets an entry of the request; about a lease of this host, from what takes it
 * away. */
bool request_is_recorded(const struct request *request);
/* Keeps nothing of the request. */
struct request_log *request_log_new(
    const struct request *request, const struct request_asked *asked, struct history *history);
/* Only the answer says what has been before, and is after. */
void request_log_was(struct request_log *log, const char *was, const char *is);
/* It is about that lease of this host. Does nothing if `log` is NULL. */
void request_log_is_about(struct request_log *log, const struct lease *lease);
/* Logs "pause deploy: asked by uid 0, pid 1" and `outcome`, such as ": refused", or "". Takes `log`
 * over; does nothing if it is NULL. */
void request_log_end(struct request_log *log, bool is_done, const char *outcome);
/* The same, if the answer did not come: the request may have been carried out. */
void request_log_unanswered(struct request_log *log);
/* What a database remembers of such a request: .target, which is its second argument, becomes what
 * it was. */
void request_complete(struct did *did, const char *database);
/* A database tells all hosts of it; .host is NULL if it was done here, and .target the request's
 * second argument. An entry of the history, if the request is known, and has none yet. */
void request_did(void *history, const struct did *did, nanoseconds at);
/* Frees it without saying anything. Returns NULL. */
struct request_log *request_log_free(struct request_log *log);
