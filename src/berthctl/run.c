/* run.c - see run.h. */
#include "berthctl/run.h"

#include "client/exit_status.h"

#include <string.h>

static nanoseconds deadline_of(const struct line *line)
{
    return line->options & OPTION_TIMEOUT ? clock_now() + line->timeout : NEVER;
}

int run_each(struct call *call, size_t n, show_function *show)
{
    const struct ctl_request all = call->request;
    int exit_status = 0;
    call->is_one_of_several = n > 1 && call->right == RIGHT_OWNER;
    for (size_t i = 0; i < n; i++) {
        char *words[] = {all.arguments[i], all.n_arguments > n ? all.arguments[n] : NULL};
        call->request.arguments = words;
        call->request.n_arguments = 1 + all.n_arguments - n;
        call->exit_status = 0;
        char *answer = call_answer(call);
        int now = answer ? show(call, answer) : call->exit_status;
        exit_status = exit_status == 0 ? now : exit_status;
        if (now == STATUS_DOWN) {
            break;
        }
    }
    call->request = all;
    return exit_status;
}

/* A resource in place of a lease: says what to add. */
static bool is_resource(struct call *call, char *word)
{
    call->request = (struct ctl_request){
        .word = command_table[COMMAND_status].word, .arguments = &word, .n_arguments = 1};
    bool is_known = call_answer(call);
    if (is_known) {
        struct text escaped = TEXT_INIT;
        text_add_escaped(&escaped, word);
        complain("revoke: %s is a resource: add --all, --holder ID or --pid PID", escaped.bytes);
        text_deinit(&escaped);
    }
    return is_known;
}

/* Of a word that was to be a lease. */
static void explain_refusal(struct call *call, char *word, int *exit_statusp)
{
    struct text refusal = call->refusal;
    bool is_no_lease = call->code == CODE_LOST || call->code == CODE_BAD_VALUE;
    call->refusal = (struct text)TEXT_INIT;
    if (is_no_lease && is_resource(call, word)) {
        *exit_statusp = STATUS_USAGE;
    } else {
        if (is_no_lease) {
            chosen_suggest(call, word, &refusal);
        }
        complain("%s", refusal.bytes);
    }
    text_deinit(&refusal);
}

int run_revoke(struct call *call, const struct line *line)
{
    bool wait = line->options & OPTION_WAIT;
    nanoseconds until = deadline_of(line);
    const struct ctl_request all = call->request;
    if (line->options & OPTIONS_OF_CHOICE) {
        return chosen_revoke(call, &line->choice, wait, until);
    }
    call->is_silent = all.n_arguments == 1; /* there may be more to say */
    int exit_status = run_each(call, all.n_arguments, show_nothing);
    if (call->is_silent && call->refusal.length > 0) {
        explain_refusal(call, all.arguments[0], &exit_status);
    }
    call->is_silent = false;
    return exit_status != 0 || !wait
        ? exit_status
        : chosen_wait_gone(call, all.arguments, all.n_arguments, until);
}

int run_finish_upgrade(struct call *call, const struct line *line)
{
    (void)line;
    if (call->request.n_arguments > 0) {
        call->request.n_arguments = 0;
        call->request.database = call->request.arguments[0];
    }
    char *answer = call_answer(call);
    return answer ? show_upgraded(call, answer) : call->exit_status;
}

int run_wait(struct call *call, const struct line *line)
{
    return chosen_wait_idle(call, deadline_of(line));
}

/* NAME=N is NAME:N on the wire, as = would make it a key. */
int run_why(struct call *call, const struct line *line)
{
    (void)line;
    for (size_t i = 0; i < call->request.n_arguments; i++) {
        char *equals = strchr(call->request.arguments[i], '=');
        if (equals) {
            *equals = ':';
        }
    }
    char *answer = call_answer(call);
    return answer ? show_why(call, answer) : call->exit_status;
}
