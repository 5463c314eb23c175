/* release.c - `berth release`: one request, one answer. */
#include "client/answer.h"
#include "client/commands.h"
#include "client/connection.h"
#include "client/message.h"
#include "client/request.h"
#include "client/status.h"
#include "client/why.h"

#include <string.h>

static int take_answer(struct answer *answer)
{
    if (answer->kind == ANSWER_OK) {
        return 0;
    }
    if (answer->kind != ANSWER_ERROR) {
        message("what listens there does not speak Berth's protocol");
        return STATUS_DOWN;
    }
    message("%s", why(answer));
    return answer->code == CODE_NONE ? STATUS_DOWN : code_table[answer->code].exit_status;
}

static int ask_release(
    struct connection *connection, const struct request_line *line, nanoseconds deadline)
{
    static struct answer answer; /* large */
    char *text;
    /* If that fails, berthd has closed, but may have said why before. */
    connection_send(connection, line->text, line->length);
    while (connection_wait_line(connection, &text, deadline) == CONNECTION_LINE) {
        answer_parse(&answer, text);
        if (answer.kind != ANSWER_EVENT) {
            return take_answer(&answer);
        }
    }
    message("no answer from berthd");
    return STATUS_DOWN;
}

int command_release(const struct options *options)
{
    nanoseconds deadline = clock_now() + options->down_after;
    struct connection connection = CONNECTION_INIT;
    struct request_line line;
    struct endpoint endpoint;

    if (!endpoint_choose(&endpoint, options->socket)) {
        message("the socket's path is empty or too long");
        return STATUS_USAGE;
    }
    if (!request_release(&line, options)) {
        message("too long for one request");
        return STATUS_USAGE;
    }
    int error = connection_open(&connection, &endpoint);
    if (error != 0) {
        char why[512];
        connection_explain(&endpoint, error, why, sizeof why);
        message("%s", why);
        return STATUS_DOWN;
    }
    int status = ask_release(&connection, &line, deadline);
    connection_close(&connection);
    return status;
}
