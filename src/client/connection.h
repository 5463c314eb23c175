/* connection.h - lines to and from berthd over its Unix socket. What they mean is not known here.
 *
 * Nothing blocks but connection_wait_line(), which takes an instant until when. */
#ifndef BERTH_CLIENT_CONNECTION_H
#define BERTH_CLIENT_CONNECTION_H

#include "base/clock.h"
#include "client/endpoint.h"
#include "wire/linebuf.h"
#include "wire/protocol.h"

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
    CONNECTION_GARBAGE, /* over-long, or with bytes that no line of the protocol has */
};

/* 0, or why not: an errno of socket() or connect(). EAGAIN: berthd is there, but its queue of
 * connections is full; ETIMEDOUT and the like do not happen. EPERM: who listens there is neither
 * root, berth, nor oneself, and is not spoken to. */
int connection_open(struct connection *connection, const struct endpoint *endpoint);
void connection_close(struct connection *connection); /* of none is fine */

/* "cannot connect to PATH: why", for an error of connection_open(). Where nobody has chosen the
 * socket and it is absent, the user's own is pointed at if that exists. */
void connection_explain(const struct endpoint *endpoint, int error, char *out, size_t size);

/* `line` ends in LF. False if the connection is broken, or so full that berthd must be stuck. */
bool connection_send(struct connection *connection, const char *line, size_t n);

/* Reads once what is there. False if the connection has ended. Lines taken before are gone. */
bool connection_read(struct connection *connection);

/* The next line, good until connection_read(). */
enum connection_line connection_next(struct connection *connection, char **linep);

/* Waits until there is a line or garbage. CONNECTION_MORE: it is past the deadline, or the
 * connection has ended. */
enum connection_line connection_wait_line(
    struct connection *connection, char **linep, nanoseconds deadline);

#endif
