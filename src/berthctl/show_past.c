/* show_past.c - `berthctl history` and `berthctl stats`: what has ended. */
#include "base/clock.h"
#include "berthctl/past_table.h"
#include "berthctl/run.h"
#include "berthctl/running.h"
#include "view/past_json.h"
#include "view/users.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- asking ---- */

/* How long ago that was. */
static void print_span(char out[static 24], uint64_t instant)
{
    uint64_t now = (uint64_t)(clock_wall_now() / NANOSECONDS_PER_MILLISECOND);
    snprintf(out, 24, "%llu", (unsigned long long)(now > instant ? now - instant : 0));
}

static bool read_past(struct call *call, const char *line, struct past *past)
{
    for (; line; line = call_line(call)) {
        switch (past_take(past, line)) {
        case ANSWER_MORE:
            continue;
        case ANSWER_END:
            users_fill_in_past(past);
            return true;
        case ANSWER_MALFORMED:
            call->exit_status = call_nonsense(call);
            return false;
        }
    }
    return false;
}

/* False after a message. */
static bool ask_past(struct call *call, const struct past_choice *choice, struct past *past)
{
    char since[24], user[24];
    if (choice->since.is_given) {
        print_span(since, choice->since.number);
        call->request.since = since;
    }
    if (choice->uid.is_given) {
        snprintf(user, sizeof user, "%llu", (unsigned long long)choice->uid.number);
        call->request.user = user;
    }
    call->request.lease = choice->lease;
    char *answer = call_answer(call);
    call->request.since = call->request.user = NULL;
    bool is_read = answer && read_past(call, answer, past);
    if (is_read && choice->until.is_given) {
        past_cut(past, choice->until.number);
    }
    return is_read;
}

/* What is held now, and the limits. A name that only the history knows is no error; then nothing is
 * read. False after a message. */
static bool ask_status(struct call *call, struct status *status)
{
    const struct ctl_request asked = call->request;
    call->request.word = command_table[COMMAND_status].word;
    call->unsaid = CODE_UNKNOWN;
    char *answer = call_answer(call);
    bool is_read = answer && show_read_status(call, answer, status);
    call->request = asked;
    call->unsaid = CODE_NONE;
    return is_read || (!answer && call->code == CODE_UNKNOWN);
}

/* ---- showing ---- */

static struct past_style style_of(const struct call *call, const struct past_choice *choice)
{
    return (struct past_style){
        .width = show_width(),
        .since = choice->since,
        .is_of_some = call->request.n_arguments > 0 || choice->uid.is_given || choice->lease ||
            choice->until.is_given,
    };
}

/* Shows what has ended, and says what has not. Returns the exit status. */
static int print_history(
    struct call *call, const struct past_choice *choice, const struct past *past)
{
    struct text out = TEXT_INIT;
    struct status status = STATUS_INIT;
    const struct past_style style = style_of(call, choice);
    bool is_empty = past->n == 0,
         is_asked = choice->uid.is_given || choice->until.is_given ||
             (is_empty && (choice->lease || call->request.n_arguments > 0));
    if (is_asked && !ask_status(call, &status)) {
        status_deinit(&status);
        return call->exit_status;
    }
    if (!is_empty || !choice->lease || !running_add_lease(&status, choice->lease, &out)) {
        past_table_print(past, &style, &out);
    }
    if ((choice->uid.is_given || choice->until.is_given) && !choice->lease) {
        const struct running_choice running = {
            .uid = choice->uid,
            .before = choice->until,
            .now = past->now,
            .names = call->request.arguments,
            .n_names = call->request.n_arguments,
        };
        running_add_some(&status, &running, &out);
    }
    if (is_empty && call->request.n_arguments > 0) {
        running_add_fleet(&status, &out);
    }
    status_deinit(&status);
    return show_print(&out);
}

static int show_history(struct call *call, const struct past_choice *choice, bool is_json)
{
    struct past past = PAST_INIT;
    struct text out = TEXT_INIT;
    int exit_status = EXIT_FAILURE;
    if (!ask_past(call, choice, &past)) {
        exit_status = call->exit_status;
    } else if (is_json) {
        past_json_print(&past, &out);
        exit_status = show_print(&out);
    } else {
        exit_status = print_history(call, choice, &past);
    }
    past_deinit(&past);
    return exit_status;
}

static int print_stats(const struct call *call, const struct past_choice *choice,
    const struct past *past, const struct status *status, bool is_json)
{
    struct text out = TEXT_INIT;
    const struct stats_choice chosen = {
        .since = choice->since,
        .uid = choice->uid,
        .names = call->request.arguments,
        .n_names = call->request.n_arguments,
    };
    struct stats stats = stats_of(past, status, &chosen);
    if (is_json) {
        stats_json_print(&stats, &out);
    } else {
        struct past_style style = style_of(call, choice);
        stats_table_print(&stats, &out);
        past_add_note(past, stats.n_ended, &style, &out);
    }
    stats_deinit(&stats);
    return show_print(&out);
}

/* Asks for the history of all users, since each one's share is a part of what all have used. Asks
 * for status first: a lease that ends in between is in both answers, and counts once. */
static int show_stats(struct call *call, const struct past_choice *choice, bool is_json)
{
    struct past past = PAST_INIT;
    struct status status = STATUS_INIT;
    struct past_choice asked = *choice;
    asked.uid = (struct optional){0};
    bool is_read = ask_status(call, &status) && ask_past(call, &asked, &past);
    int exit_status =
        is_read ? print_stats(call, choice, &past, &status, is_json) : call->exit_status;
    past_deinit(&past);
    status_deinit(&status);
    return exit_status;
}

static struct past_choice choice_of(const struct line *line)
{
    struct past_choice choice = line->past;
    choice.uid = (struct optional){line->options & OPTION_USER, line->shown.uid};
    return choice;
}

int run_history(struct call *call, const struct line *line)
{
    const struct past_choice choice = choice_of(line);
    return show_history(call, &choice, line->options & OPTION_JSON);
}

int run_stats(struct call *call, const struct line *line)
{
    const struct past_choice choice = choice_of(line);
    return show_stats(call, &choice, line->options & OPTION_JSON);
}
