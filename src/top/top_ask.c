/* top_ask.c - one question of `berthctl top` to berthd at a time, over a connection of its own,
 * while the picture goes on. Never waits. */
#include "top/top_internal.h"

#include "base/words.h"
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

/* `error CODE TEXT` */
static void add_error(struct text *reply, char *const words[], size_t n)
{
    enum code code = n > 1 ? code_find(words[1]) : CODE_NONE;
    bool has_text = n > 2 && percent_decode(words[2]);
    text_add_safe(reply, "%s (%s)\n",
        has_text                ? words[2]
            : code != CODE_NONE ? code_table[code].meaning
                                : "refused",
        n > 1 ? words[1] : "");
}

/* True: that was all of it. */
static bool top_ask_take_line(struct top_ask *ask, struct top *top, char *line)
{
    char *words[MAX_WORDS];
    size_t n = words_split(line, words, MAX_WORDS);
    const char *word = n > 0 ? words[0] : "";
    bool is_why = top->question.asking == TOP_ASKS_WHY;
    if (strcmp(word, "error") == 0) {
        add_error(&ask->reply, words, n);
        top_ask_answer(ask, top, false, ask->reply.bytes);
    } else if (!ask->is_ok && strcmp(word, "ok") != 0) {
        top_ask_answer(ask, top, false, "the server does not speak this protocol");
    } else if (!is_why || (ask->is_ok && strcmp(word, "end") == 0)) {
        text_add(&ask->reply, "");
        top_ask_answer(ask, top, true, ask->reply.bytes);
    } else {
        if (strcmp(word, "because") == 0 && n > 1 && percent_decode(words[1])) {
            /* the first says what becomes of it */
            text_add_safe(&ask->reply, "%s%s\n", ask->reply.length > 0 ? "  " : "", words[1]);
        }
        ask->is_ok = true;
        return false;
    }
    return true;
}

void top_ask_read(struct top_ask *ask, struct top *top)
{
    char *line;
    enum connection_line got;
    bool goes_on = connection_read(&ask->connection);
    while ((got = connection_next(&ask->connection, &line)) == CONNECTION_LINE) {
        if (top_ask_take_line(ask, top, line)) {
            return;
        }
    }
    if (got == CONNECTION_GARBAGE) {
        top_ask_answer(ask, top, false, "the server does not speak this protocol");
    } else if (!goes_on) {
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
