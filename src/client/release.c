/* release.c - `berth release`. */
#include "client/call.h"
#include "client/commands.h"
#include "client/message.h"
#include "client/request.h"
#include "client/status.h"

int command_release(const struct options *options)
{
    struct request_line line;
    const struct answer *answer;
    if (!request_release(&line, options)) {
        message("too long for one request");
        return STATUS_USAGE;
    }
    return call(options, &line, &answer);
}
