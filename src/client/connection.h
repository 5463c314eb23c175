/* connection.h - lines to and from berthd over its Unix socket, whatever they mean.
 *
 * Only connection_wait_line() blocks, until an instant that its caller gives. */
#pragma once

#include "base/clock.h"
#include "client/answer.h"
#include "client/endpoint.h"
#include "wire/linebuf.h"
#include "wire/protocol.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct connection {
    int fd; /* -1: none; close-on-exec */
    struct linebuf lines;
    char bytes[LINE_BYTES]; /* lent to `lines` */
};

#define CONNECTION_INIT                                                                            \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

enum connection_line {
    CONNECTION_LINE,
    CONNECTION_MORE, /* no whole line is there yet */
    CONNECTION_GARBAGE, /* over-long, or with bytes that no line of the protocol may have */
};

/* 0, or the errno of socket() or connect(). EAGAIN: berthd is there, but its queue of connections
 * is full; ETIMEDOUT and the like do not occur. EPERM: the server is neither root, berth, nor this
 * user, and was not spoken to. */
int connection_open(struct connection *connection, const struct endpoint *endpoint);
void connection_close(struct connection *connection); /* accepts a closed one */

/* Writes "cannot connect to PATH: why", for an error of connection_open(), and how to start a
 * berthd that does not run. If nobody has chosen the socket and it is absent, mentions the user's
 * own socket if that exists. */
void connection_explain(const struct endpoint *endpoint, int error, char *out, size_t size);

/* `line` ends in LF. False if the connection is broken, or so full that berthd must be stuck. */
bool connection_send(struct connection *connection, const char *line, size_t n);

/* Reads once what is there; ends the life of lines taken before. False if the connection has
 * ended. */
bool connection_read(struct connection *connection);
/* The same where a descriptor may come along, which the caller closes; *fdp -1: none has. */
bool connection_read_passed(struct connection *connection, int *fdp);

/* The next line, good until connection_read(). */
enum connection_line connection_next(struct connection *connection, char **linep);

enum connection_taken {
    TAKEN_MORE, /* nothing else is there yet */
    TAKEN_ALL, /* ANSWER_END */
    TAKEN_NONSENSE, /* ANSWER_MALFORMED, or CONNECTION_GARBAGE */
    TAKEN_CLOSED, /* the connection has ended */
};

/* Reads once what is there, and has each line taken. */
enum connection_taken connection_take(
    struct connection *connection, answer_taker *take, void *object);

/* As poll(), until that instant; NEVER: for ever. */
int poll_until(struct pollfd fds[], size_t n, nanoseconds until);
/* Waits until there is a line or garbage. CONNECTION_MORE: the deadline has passed, or the
 * connection has ended. */
enum connection_line connection_wait_line(
    struct connection *connection, char **linep, nanoseconds deadline);
