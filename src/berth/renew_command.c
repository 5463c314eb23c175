/* renew_command.c - `berth renew`. */
#include "berth/call.h"
#include "berth/request.h"
#include "berth/subcommands.h"
#include "client/exit_status.h"
#include "client/message.h"

/* "ok LEASE [left=MILLISECONDS]" */
static void say_left(const struct answer *answer)
{
    uint64_t left;
    if (words_find_number(answer->words, answer->n_words, "left", &left)) {
        message("%s is held for another %llu.%03llus", answer->lease,
            (unsigned long long)(left / 1000), (unsigned long long)(left % 1000));
    } else {
        message("%s is held", answer->lease);
    }
}

int command_renew(const struct options *options)
{
    struct request_line line;
    const struct answer *answer;
    if (!request_renew(&line, options)) {
        message("the arguments do not fit into one request");
        return STATUS_USAGE;
    }
    int status = call(options, &line, &answer);
    if (status == 0 && options->verbose) {
        say_left(answer);
    }
    return status;
}
