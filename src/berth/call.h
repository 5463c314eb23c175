/* call.h - one request and its answer: for subcommands that do nothing else. */
#ifndef BERTH_BERTH_CALL_H
#define BERTH_BERTH_CALL_H

#include "berth/options.h"
#include "berth/request.h"
#include "client/answer.h"

/* Returns the exit status; unless it is 0, a message was written. On 0, `*answerp` is the
 * answer. */
int call(
    const struct options *options, const struct request_line *line, const struct answer **answerp);

#endif
