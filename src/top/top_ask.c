/* top_ask.c - one question of `berthctl top` to berthd at a time, over a connection of its own,
 * while the picture goes on. Never waits. */
#include "top/top_internal.h"

#include "client/ctl_request.h"
#include "view/printable.h"
#include "wire/protocol.h"

#include <string.h>

#define PATIENCE (5 * NANOSECONDS_PER_SECOND)

void top_ask_end(struct top_ask *ask)
{
    connection_close(&ask->connection);
    text_deinit(&ask->reply);
    ask->is_ok = false;
}

static void top_ask_answer(struct top_ask *ask, struct top *top, bool is_good, const char *reply)
{
    top_answered(top, is_good, reply);
    top_ask_end(ask);
}

/* ---- sending ---- */

static bool print_question(const struct top_question *question, struct text *line)
{
    bool is_why = question->asking == TOP_ASKS_WHY;
    char *argument =
        question->subject.lease && !is_why ? question->subject.lease : question->subject.name;
    struct ctl_request request = {
        .word = command_table[is_why ? COMMAND_why : COMMAND_revoke].word,
        .arguments = &argument,
        .n_arguments = 1,
        .reason = question->reason[0] != '\0' ? question->reason : NULL,
    };
    if (is_why && question->subject.lease) {
        request.lease = question->subject.lease;
        request.n_arguments = 0;
    }
    return request_print(&request, line);
}

void top_ask_send(struct top_ask *ask, struct top *top, nanoseconds now)
{
    struct text line = TEXT_INIT;
    char why[512];
    if (!top->question.is_new) {
        return;
    }
    top_ask_end(ask);
    top->question.is_new = false;
    ask->is_why = top->question.asking == TOP_ASKS_WHY;
    ask->deadline = now + PATIENCE;
    int error = connection_open(&ask->connection, ask->endpoint);
    if (error != 0) {
        struct text reply = TEXT_INIT;
        connection_explain(ask->endpoint, error, why, sizeof why);
        text_add_escaped(&reply, why);
        top_ask_answer(ask, top, false, reply.bytes);
        text_deinit(&reply);
    } else if (print_question(&top->question, &line)) {
        connection_send(&ask->connection, line.bytes, line.length); /* or it is seen to end */
    } else {
        top_ask_answer(ask, top, false, "does not fit into one request");
    }
    text_deinit(&line);
}

/* ---- the answer ---- */

/* Its first line. */
static enum answer_result take_first(struct top_ask *ask, char *line)
{
    struct answer answer;
    answer_parse(&answer, line);
    const char *why = answer.kind == ANSWER_ERROR ? answer_why(&answer) : NULL;
    if (why) {
        text_add_safe(&ask->reply, "%s (%s)\n", why, answer.code_word);
    }
    ask->is_ok = answer.kind == ANSWER_OK;
    return why || (ask->is_ok && !ask->is_why) ? ANSWER_END
        : ask->is_ok                           ? ANSWER_MORE
                                               : ANSWER_MALFORMED;
}

static enum answer_result top_ask_take_line(void *object, char *line)
{
    struct top_ask *ask = object;
    return ask->is_ok ? why_take(&ask->reply, line) : take_first(ask, line);
}

void top_ask_read(struct top_ask *ask, struct top *top)
{
    switch (connection_take(&ask->connection, top_ask_take_line, ask)) {
    case TAKEN_MORE:
        break;
    case TAKEN_ALL:
        text_add(&ask->reply, "");
        top_ask_answer(ask, top, ask->is_ok, ask->reply.bytes);
        break;
    case TAKEN_NONSENSE:
        top_ask_answer(ask, top, false, "the server does not speak this protocol");
        break;
    case TAKEN_CLOSED:
        top_ask_answer(ask, top, false, "berthd has closed the connection");
    }
}

nanoseconds top_ask_due(const struct top_ask *ask)
{
    return ask->connection.fd >= 0 ? ask->deadline : NEVER;
}

void top_ask_give_up(struct top_ask *ask, struct top *top)
{
    top_ask_answer(ask, top, false, "berthd has not answered for 5 seconds");
}
