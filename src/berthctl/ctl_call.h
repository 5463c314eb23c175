/* ctl_call.h - one request to berthd and what comes back, with a deadline. What goes wrong is said
 * on stderr here; nobody else need look at the connection. */
#ifndef BERTH_BERTHCTL_CTL_CALL_H
#define BERTH_BERTHCTL_CTL_CALL_H

#include "berthctl/ctl_request.h"
#include "client/connection.h"
#include "wire/protocol.h"

struct call {
    struct endpoint endpoint;
    struct connection connection;
    struct ctl_request request;
    enum right right; /* who may do that */
    nanoseconds deadline; /* of the answer that is waited for */
    int exit_status; /* once something has failed */
};

/* "berthctl: ..." on stderr. What others wrote must be escaped. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends the request. NULL, or the answer, which begins with "ok" and is good until the next
 * call_line(). If it is NULL, why has been said. */
char *call_answer(struct call *call);

/* The next line, whatever it is, or NULL. */
char *call_line(struct call *call);

/* The daemon has said what makes no sense: says so, and returns the exit status. */
int call_nonsense(const struct call *call);

void call_end(struct call *call);

#endif
