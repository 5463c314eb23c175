/* show.c - shows the answer to each command, and runs `berthctl status` and `berthctl metrics`. */
#include "berthctl/run.h"

#include "base/words.h"
#include "client/exit_status.h"
#include "client/live_line.h"
#include "config.h"
#include "table/grid.h"
#include "table/status_table.h"
#include "view/json.h"
#include "view/programs.h"
#include "view/prometheus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int show_print(struct text *text)
{
    fwrite(text->bytes, 1, text->length, stdout);
    text_deinit(text);
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EXIT_SUCCESS;
    }
    message("cannot write the answer: %m");
    return EXIT_FAILURE;
}

int show_answer(struct call *call, show_function *show)
{
    char *words[MAX_WORDS], *answer = call_answer(call);
    if (!answer || !show) {
        return answer ? EXIT_SUCCESS : call->exit_status;
    }
    return show(call, words, words_split(answer, words, MAX_WORDS));
}

int show_ok(struct call *call, char *words[], size_t n)
{
    (void)call, (void)words, (void)n;
    struct text out = TEXT_INIT;
    text_add(&out, "ok\n");
    return show_print(&out);
}

int show_version(struct call *call, char *words[], size_t n)
{
    char *version = words_find(words, n, "version");
    uint64_t protocol, pid, uptime;
    if (!version || !percent_decode(version) || !words_find_number(words, n, "proto", &protocol) ||
        !words_find_number(words, n, "pid", &pid) ||
        !words_find_number(words, n, "uptime", &uptime)) {
        return call_protocol_error(call);
    }
    struct text out = TEXT_INIT;
    text_add_safe(&out, "berthctl " PACKAGE_VERSION "\nberthd %s (protocol %llu, pid %llu, up ",
        version, (unsigned long long)protocol, (unsigned long long)pid);
    text_add_age(&out, uptime);
    text_add(&out, ")\n");
    return show_print(&out);
}

/* An `add` may make an item that nobody has meant. */
int show_added(struct call *call, char *words[], size_t n)
{
    static const struct {
        const char *was, *says;
    } rows[] = {
        {"absent", "is a new item"},
        {"draining", "was draining, and is in service again"},
        {"reserved", "is no longer reserved"},
        {"present", "is already there"},
    };
    const char *was = words_find(words, n, "was");
    for (size_t i = 0; was && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(was, rows[i].was) == 0) {
            struct text out = TEXT_INIT;
            text_add_safe(&out, "%s: %s %s\n", call->request.arguments[0],
                call->request.arguments[1], rows[i].says);
            return show_print(&out);
        }
    }
    return EXIT_SUCCESS;
}

/* What the file says and is not in force. */
int show_reloaded(struct call *call, char *words[], size_t n)
{
    (void)call;
    char *notes = words_find(words, n, "notes");
    if (notes && !call_stderr_is_the_journal()) {
        message("reloaded, but:");
        call_print_lines(message_decoded(notes));
    }
    return EXIT_SUCCESS;
}

/* It may have been the newest before. */
int show_upgraded(struct call *call, char *words[], size_t n)
{
    uint64_t layout, was;
    char *database = words_find(words, n, "database");
    if (!database || !percent_decode(database) ||
        !words_find_number(words, n, "layout", &layout)) {
        return call_protocol_error(call);
    }
    bool is_old = words_find_number(words, n, "was", &was) && was == layout;
    struct text out = TEXT_INIT;
    text_add_safe(&out, "database %s has layout %llu%s\n", database, (unsigned long long)layout,
        is_old ? " already: there is nothing to upgrade" : "");
    return show_print(&out);
}

/* Waits for `* drained`. False, after a message: it will not come. */
static bool wait_drained(struct call *call)
{
    char *line;
    call->deadline = NEVER;
    while ((line = call_line(call)) && strcmp(line, "* drained") != 0) {
        if (strcmp(line, "* undrained") == 0) {
            message("someone has ended the drain");
            call->exit_status = code_table[CODE_CANCELLED].exit_status;
            return false;
        }
    }
    return line;
}

int show_drain(struct call *call, char *words[], size_t n)
{
    uint64_t held;
    if (!words_find_number(words, n, "held", &held)) {
        return call_protocol_error(call);
    }
    struct text out = TEXT_INIT;
    if (call->request.wait) {
        if (held > 0) {
            message("draining: waiting for %llu held lease%s to be given back",
                (unsigned long long)held, held == 1 ? "" : "s");
        }
        if (!wait_drained(call)) { /* with none held: at once, unless leases may still come back */
            return call->exit_status;
        }
        text_add(&out, "drained\n");
    } else {
        text_add_format(&out, "draining, %llu lease%s held\n", (unsigned long long)held,
            held == 1 ? "" : "s");
    }
    return show_print(&out);
}

/* ---- status ---- */

enum { MAX_LEASES = 20 }; /* of each resource, on a terminal and without NAME */

size_t show_width(void)
{
    return isatty(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : 0;
}

static struct table_style style_of(const struct call *call, const struct status_filter *choice)
{
    size_t width = show_width();
    bool is_of_some = call->request.n_arguments > 0;
    return (struct table_style){
        .width = width,
        .max_leases = width > 0 && !is_of_some ? MAX_LEASES : 0,
        .is_of_some = is_of_some,
        .sort = choice->sort,
        .is_coloured = width > 0 && look_wants_colour(),
    };
}

/* Of what a database that is up has not answered, or not as a whole. */
static bool is_partial(const struct status_resource *resource)
{
    static const char *const words[] = {"no-answer", "busy", "too-large", NULL};
    const char *state = resource->database_state;
    unsigned place;
    return state && word_look_up(words, state, &place);
}

int run_status(struct call *call, const struct line *line)
{
    struct status status = {0};
    struct text out = TEXT_INIT;
    int exit_status = EXIT_SUCCESS;
    if (call_take(call, status_take, &status)) {
        struct table_style style = style_of(call, &line->shown);
        bool is_cut = status_first(&status, is_partial); /* whatever is shown of it */
        status_choose(&status, &line->shown);
        if (line->options & OPTION_JSON) {
            json_print(&status, &out);
        } else {
            programs_fill_in(&status);
            table_print(&status, &style, &out);
        }
        exit_status = show_print(&out);
        exit_status = exit_status == EXIT_SUCCESS && is_cut ? STATUS_DOWN : exit_status;
    } else {
        exit_status = call->exit_status;
    }
    status_deinit(&status);
    return exit_status;
}

/* ---- metrics: the host's figures, then those of the fleet from each database ---- */

int run_metrics(struct call *call, const struct line *line)
{
    (void)line;
    struct metrics_asking asking = {0};
    struct text out = TEXT_INIT;
    bool is_whole;
    do {
        call->is_silent = asking.database > 0;
        call->code = CODE_NONE;
        call->request = metrics_request(&asking);
        is_whole = call_take(call, prometheus_take, metrics_figures(&asking));
        if (!is_whole && call->code == CODE_NONE) {
            /* There may be more of this answer: the next comes over another connection. */
            call_end(call);
        }
    } while (metrics_go_on(&asking, is_whole));
    if (!asking.has_failed) {
        prometheus_print(&asking.host, &out);
    }
    bool has_failed = asking.has_failed;
    metrics_deinit(&asking);
    return has_failed ? call->exit_status : show_print(&out);
}
