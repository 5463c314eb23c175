/* request_commands.c - `berth release` and `berth renew`: one request and its answer. */
#include "berth/explain.h"
#include "berth/request.h"
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

static int request_commands_ask(struct connection *connection, const struct request_line *line,
    nanoseconds deadline, struct answer *answer)
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

typedef bool request_print(struct request_line *line, const struct options *options);

/* Returns the exit status; unless it is 0, a message was written. On 0, `*answerp` is the
 * answer. */
static int call(
    const struct options *options, request_print *print, const struct answer **answerp)
{
    static struct connection connection = CONNECTION_INIT; /* the answer points into it */
    static struct answer answer; /* large */
    nanoseconds deadline = clock_now() + options->down_after;
    struct endpoint endpoint;
    struct request_line line;
    if (!print(&line, options)) {
        message("the arguments do not fit into one request");
        return STATUS_USAGE;
    }
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
    return request_commands_ask(&connection, &line, deadline, &answer);
}

int command_release(const struct options *options)
{
    const struct answer *answer;
    int status = call(options, request_release, &answer);
    char *was = status == 0 ? words_find(answer->words, answer->n_words, "was") : NULL;
    if (was) {
        message("%s was held by %s, which goes on without it", options->lease,
            message_decoded(was));
    }
    return status;
}

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
    const struct answer *answer;
    int status = call(options, request_renew, &answer);
    if (status == 0 && options->verbose) {
        say_left(answer);
    }
    return status;
}
