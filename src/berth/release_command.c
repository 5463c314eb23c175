/* release_command.c - `berth release`. */
#include "berth/call.h"
#include "berth/request.h"
#include "berth/subcommands.h"
#include "client/exit_status.h"
#include "client/message.h"

int command_release(const struct options *options)
{
    struct request_line line;
    const struct answer *answer;
    if (!request_release(&line, options)) {
        message("the arguments do not fit into one request");
        return STATUS_USAGE;
    }
    return call(options, &line, &answer);
}
