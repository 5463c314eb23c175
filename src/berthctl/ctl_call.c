#include "berthctl/ctl_call.h"

#include "base/words.h"
#include "client/exit_status.h"
#include "view/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATIENCE_SECONDS = 5, /* for an answer, */
    LONG_PATIENCE_SECONDS = 30, /* of a database's history */
    RETRY_MILLISECONDS = 20, /* while the daemon's queue of connections is full */
    AWAY_SECONDS = 60, /* for a berthd that restarts */
    LOOK_MILLISECONDS = 100, /* whether it is back */
};

/* ---- connection ---- */

static int call_try_open(struct call *call)
{
    int error;
    while ((error = connection_open(&call->connection, &call->endpoint)) == EAGAIN &&
        clock_now() < call->deadline) {
        poll(NULL, 0, RETRY_MILLISECONDS); /* it cannot wait until a full queue has room */
    }
    return error;
}

static void complain_of_connection(const struct call *call, int error)
{
    char why[512];
    connection_explain(&call->endpoint, error, why, sizeof why);
    message("%s", why);
}

static bool call_open(struct call *call)
{
    int error = call_try_open(call);
    if (error != 0) {
        call->exit_status = STATUS_DOWN;
        call->has_closed = call->awaits_berthd;
        if (!call->awaits_berthd) {
            complain_of_connection(call, error);
        }
    }
    return error == 0;
}

static void call_has_closed(struct call *call)
{
    call->has_closed = call->awaits_berthd;
    if (!call->awaits_berthd) {
        message("berthd has closed the connection");
    }
    call->exit_status = STATUS_DOWN;
    connection_close(&call->connection);
}

bool call_again(struct call *call, nanoseconds until)
{
    nanoseconds now, limit = clock_now() + AWAY_SECONDS * NANOSECONDS_PER_SECOND;
    int error;
    call->has_closed = false;
    message("berthd closed the connection: waiting for it to come back");
    do {
        poll(NULL, 0, LOOK_MILLISECONDS);
        now = clock_now();
        call->deadline = now;
        error = call_try_open(call);
    } while (error != 0 && now < until && now < limit);
    if (error == 0) {
        call->exit_status = EXIT_SUCCESS;
    } else if (now >= until) {
        call_timed_out(call);
    } else {
        complain_of_connection(call, error);
    }
    return error == 0;
}

int call_protocol_error(const struct call *call)
{
    message("the server at %s does not speak this protocol", call->endpoint.path);
    return STATUS_DOWN;
}

void call_timed_out(struct call *call)
{
    const struct code_row *row = &code_table[CODE_TIMEOUT];
    message("%s (%s)", row->meaning, row->word);
    call->exit_status = row->exit_status;
}

static int patience_of(const struct call *call)
{
    return call->is_patient ? LONG_PATIENCE_SECONDS : PATIENCE_SECONDS;
}

static void say_no_answer(struct call *call)
{
    message("berthd has not answered for %d seconds", patience_of(call));
    call->exit_status = STATUS_DOWN;
    connection_close(&call->connection);
}

/* NULL after a message: that of `expire` at `until`. */
static char *line_until(
    struct call *call, nanoseconds until, void (*expire)(struct call *call))
{
    char *line;
    enum connection_line got = connection_wait_line(&call->connection, &line, until);
    if (got == CONNECTION_LINE) {
        return line;
    }
    if (got == CONNECTION_GARBAGE) {
        call->exit_status = call_protocol_error(call);
    } else if (clock_now() < until) {
        call_has_closed(call);
    } else {
        expire(call);
    }
    return NULL;
}

char *call_line(struct call *call)
{
    return line_until(call, call->deadline, say_no_answer);
}

bool call_wait_event(struct call *call, const char *event, nanoseconds until)
{
    char *line;
    while ((line = line_until(call, until, call_timed_out)) && strcmp(line, event) != 0) {
    }
    return line;
}

void call_end(struct call *call)
{
    connection_close(&call->connection);
    text_deinit(&call->refusal);
}

/* ---- answers ---- */

static const char *const who_may[] = {
    [RIGHT_OWNER] = "the lease's own user, root, the daemon's user, and admin-users and"
                    " admin-groups of the resource or of [daemon]",
    [RIGHT_LEASE_ADMIN] = "root, the daemon's user, and admin-users and admin-groups of all its"
                          " resources or of [daemon]",
    [RIGHT_RESOURCE_ADMIN] = "root, the daemon's user, and admin-users and admin-groups of the"
                             " resource or of [daemon]",
    [RIGHT_DAEMON_ADMIN] = "root, the daemon's user, and admin-users and admin-groups of [daemon]",
};

void call_print_lines(char *lines)
{
    for (char *line; (line = strsep(&lines, "\n")) != NULL;) {
        if (line[0] != '\0') {
            struct text escaped = TEXT_INIT;
            text_add_escaped(&escaped, line);
            fprintf(stderr, "  %s\n", escaped.bytes);
            text_deinit(&escaped);
        }
    }
}

bool call_stderr_is_the_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat status;
    return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
        fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

/* `why` is answer_why(). */
static void call_refused(struct call *call, const struct answer *answer, const char *why)
{
    const struct code_row *row = &code_table[answer->code];
    struct text refusal_text = TEXT_INIT;
    bool is_config = answer->code == CODE_CONFIG && answer->text && !call->is_silent;
    bool has_lines = is_config && !call_stderr_is_the_journal();
    text_add_format(&refusal_text, "%s%s%s: %s (%s)%s", call->command,
        call->is_one_of_several ? " " : "",
        call->is_one_of_several ? call->request.arguments[0] : "",
        is_config ? "the configuration has errors, and nothing has changed" : why,
        answer->code_word, has_lines ? ":" : "");
    if (answer->code == CODE_FORBIDDEN && call->right < sizeof who_may / sizeof who_may[0] &&
        who_may[call->right]) {
        text_add_format(&refusal_text, "; only %s may", who_may[call->right]);
    }
    text_deinit(&call->refusal);
    if (call->is_silent) {
        call->refusal = refusal_text;
    } else {
        if (answer->code == CODE_NONE || answer->code != call->unsaid) {
            message("%s", refusal_text.bytes);
        }
        if (has_lines) {
            call_print_lines(answer->text);
        }
        text_deinit(&refusal_text);
    }
    call->code = answer->code;
    call->exit_status = answer->code != CODE_NONE ? row->exit_status : STATUS_DOWN;
}

/* Parses `error CODE TEXT`. */
static bool call_take_error(struct call *call, char *line)
{
    struct answer answer;
    answer_parse(&answer, line);
    const char *why = answer.kind == ANSWER_ERROR ? answer_why(&answer) : NULL;
    if (why) {
        call_refused(call, &answer, why);
    }
    return why;
}

static bool starts_with_word(const char *line, const char *word)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\0');
}

void call_set(struct call *call, enum command_index command, char *const arguments[], size_t n)
{
    call->request = (struct ctl_request){
        .word = command_table[command].word, .arguments = arguments, .n_arguments = n};
}

static bool call_send(struct call *call)
{
    struct text line = TEXT_INIT;
    bool fits = request_print(&call->request, &line);
    if (fits) {
        /* A full daemon says so and closes: a failure to write adds nothing to that. */
        connection_send(&call->connection, line.bytes, line.length);
    } else {
        message("%s: does not fit into one request", call->command);
        call->exit_status = STATUS_USAGE;
    }
    text_deinit(&line);
    return fits;
}

char *call_answer(struct call *call)
{
    char *line;
    call->deadline = clock_now() + patience_of(call) * NANOSECONDS_PER_SECOND;
    bool is_open = call->connection.fd >= 0;
    if ((!is_open && !call_open(call)) || !call_send(call)) {
        return NULL;
    }
    do {
        line = call_line(call);
    } while (line && starts_with_word(line, "*"));
    if (line && !starts_with_word(line, "ok")) {
        if (!call_take_error(call, line)) {
            call->exit_status = call_protocol_error(call);
        }
        return NULL;
    }
    return line;
}

bool call_take(struct call *call, answer_taker *take, void *object)
{
    enum answer_result result = ANSWER_MORE;
    char *line = call_answer(call);
    while (line && (result = take(object, line)) == ANSWER_MORE) {
        line = call_line(call);
    }
    if (result == ANSWER_MALFORMED) {
        call->exit_status = call_protocol_error(call);
    }
    return result == ANSWER_END;
}
