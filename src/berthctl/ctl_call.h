/* ctl_call.h - one request to berthd and its answer, with a deadline. Reports errors on stderr, so
 * that its callers need not look at the connection. */
#ifndef BERTH_BERTHCTL_CTL_CALL_H
#define BERTH_BERTHCTL_CTL_CALL_H

#include "berthctl/ctl_request.h"
#include "client/connection.h"
#include "wire/protocol.h"

struct call {
    struct endpoint endpoint;
    struct connection connection;
    struct ctl_request request;
    enum right right; /* who may make the request */
    nanoseconds deadline; /* for the current answer */
    int exit_status; /* once something has failed */
};

/* Writes "berthctl: ..." to stderr. Escape text from elsewhere first. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends the request. Returns the answer, which begins with "ok" and is good until the next
 * call_line(), or NULL after a message. */
char *call_answer(struct call *call);

/* The same for another request on the same connection. */
char *call_again(struct call *call);

/* The next line, whatever it is, or NULL. */
char *call_line(struct call *call);

/* The daemon's answer makes no sense: says so, and returns the exit status. */
int call_nonsense(const struct call *call);

void call_end(struct call *call);

#endif
