/* ctl_call.h - one request to berthd and its answer, with a deadline. Reports errors on stderr, so
 * that its callers need not look at the connection. */
#pragma once

#include "client/ctl_request.h"
#include "base/text.h"
#include "client/connection.h"
#include "client/message.h"
#include "wire/protocol.h"

struct call {
    const char *command; /* as the user has written it, for messages */
    struct endpoint endpoint;
    struct connection connection;
    struct ctl_request request;
    enum right right; /* who may make the request */
    nanoseconds deadline; /* for the current answer */
    bool is_patient; /* a database looks for the answer, perhaps for 20 s */
    bool is_one_of_several; /* the same request is sent for several leases */
    bool is_silent; /* a refusal is only kept in .code and .refusal */
    bool awaits_berthd; /* a connection that ends is no message but .has_closed */
    bool has_closed; /* call_again() comes next */
    enum code unsaid; /* nor is a refusal with this code a message, unless it is CODE_NONE */
    enum code code; /* of the last refusal; CODE_NONE before */
    struct text refusal; /* a message that was not written */
    int exit_status; /* once something has failed */
};

/* Sets the request to that command with these arguments. */
void call_set(struct call *call, enum command_index command, char *const arguments[], size_t n);

/* Sends the request, over the connection of the last one. Returns the answer, which begins
 * with "ok" and is good until the next call_line(), or NULL after a message. */
char *call_answer(struct call *call);

/* Sends the request, and has the lines of its answer taken. False after a message. */
bool call_take(struct call *call, answer_taker *take, void *object);

/* The next line, whatever it is, or NULL. */
char *call_line(struct call *call);

/* Waits for that line, whatever comes before it. False after a message: `until` has passed, or the
 * connection has ended. */
bool call_wait_event(struct call *call, const char *event, nanoseconds until);

/* After .has_closed: waits until berthd is back, for a minute at most. False after a message: it is
 * not, or `until` has passed. */
bool call_again(struct call *call, nanoseconds until);

/* What was waited for has not come in time: says so, and sets the exit status. */
void call_timed_out(struct call *call);

/* The daemon's answer makes no sense: says so, and returns the exit status. */
int call_protocol_error(const struct call *call);

/* Writes each of the lines to stderr. Modifies `lines`. */
void call_print_lines(char *lines);
/* Whether it is the journal, where berthd has logged what it answers to `reload`. JOURNAL_STREAM
 * names a file; stderr may have been redirected since. */
bool call_stderr_is_the_journal(void);

void call_end(struct call *call);
