#include "berth/call.h"

#include "berth/explain.h"
#include "client/connection.h"
#include "client/exit_status.h"
#include "client/message.h"

static int take_answer(struct answer *answer)
{
    if (answer->kind == ANSWER_OK) {
        return 0;
    }
    if (answer->kind != ANSWER_ERROR) {
        message("the server there does not speak Berth's protocol");
        return STATUS_DOWN;
    }
    message("%s", why(answer));
    return answer->code == CODE_NONE ? STATUS_DOWN : code_table[answer->code].exit_status;
}

static int ask(struct connection *connection, const struct request_line *line, nanoseconds deadline,
    struct answer *answer)
{
    char *text;
    /* If that fails, berthd has closed, but may have said why. */
    connection_send(connection, line->text, line->length);
    while (connection_wait_line(connection, &text, deadline) == CONNECTION_LINE) {
        answer_parse(answer, text);
        if (answer->kind != ANSWER_EVENT) {
            return take_answer(answer);
        }
    }
    message("no answer from berthd");
    return STATUS_DOWN;
}

int call(
    const struct options *options, const struct request_line *line, const struct answer **answerp)
{
    static struct connection connection = CONNECTION_INIT; /* the answer points into it */
    static struct answer answer; /* large */
    nanoseconds deadline = clock_now() + options->down_after;
    struct endpoint endpoint;
    if (!endpoint_choose(&endpoint, options->socket)) {
        message("the socket path is empty or too long");
        return STATUS_USAGE;
    }
    int error = connection_open(&connection, &endpoint);
    if (error != 0) {
        char reason[512];
        connection_explain(&endpoint, error, reason, sizeof reason);
        message("%s", reason);
        return STATUS_DOWN;
    }
    *answerp = &answer;
    return ask(&connection, line, deadline, &answer);
}
