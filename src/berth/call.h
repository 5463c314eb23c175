/* call.h - one request, one answer: for subcommands that do nothing else. */
#ifndef BERTH_BERTH_CALL_H
#define BERTH_BERTH_CALL_H

#include "berth/options.h"
#include "berth/request.h"
#include "client/answer.h"

/* The exit status; why has been said if it is not 0. `*answerp` is the answer if it is ok. */
int call(
    const struct options *options, const struct request_line *line, const struct answer **answerp);

#endif
