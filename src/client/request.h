/* request.h - the lines that berth sends. Pure. */
#ifndef BERTH_CLIENT_REQUEST_H
#define BERTH_CLIENT_REQUEST_H

#include "client/clock.h"
#include "client/options.h"
#include "wire/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One line, LF included. */
struct request_line {
    char text[LINE_BYTES + 1];
    size_t length;
};

/* `wait` is what is left of options->wait. `parent` is $BERTH_LEASE or NULL; sent if it can be a
 * lease. False if the line would be too long. */
bool request_acquire(struct request_line *line, const struct options *options, nanoseconds wait,
    pid_t job, const char *parent);

void request_release_lease(struct request_line *line, const char *lease);
void request_status(struct request_line *line, const char *lease);

/* `berth release` as its options say. False if the line would be too long. */
bool request_release(struct request_line *line, const struct options *options);

#endif
