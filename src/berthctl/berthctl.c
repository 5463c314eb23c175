/* berthctl.c - the program `berthctl`: the table of its commands, and which of them is meant.
 * command_line reads the options, run carries out, ctl_call asks, show shows. Doc: berthctl(1). */
#include "base/closest_match.h"
#include "berthctl/run.h"
#include "client/descriptors.h"
#include "client/exit_status.h"
#include "client/sanitize.h"
#include "config.h"
#include "view/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

/* How many requests a command sends. */
enum requests {
    WHOLE, /* one, with all arguments */
    EACH, /* one for each argument */
    EACH_BUT_LAST, /* the same, and each has the last argument too */
};

/* wire/commands.def has each request's word, number of arguments, right and help. */
static const struct command {
    enum command_index request;
    const char *arguments; /* as the help shows them */
    unsigned options; /* the options that it takes */
    show_function *show; /* or NULL: a success shows nothing */
    enum requests requests;
    unsigned required; /* options that must be given */
    run_function *run; /* in place of sending the requests; or NULL */
    const char *also; /* another form of its arguments; or NULL */
    const char *word, *help; /* in place of the request's; or NULL */
    uint8_t more; /* arguments that are not sent as such */
    uint8_t least; /* that must be given, if more than the request needs */
    unsigned in_place; /* the option that takes the place of all arguments; or 0 */
} commands[] = {
    {COMMAND_status, "[NAME...] [OPTION]...", OPTION_JSON | OPTION_BUSY | OPTION_USER | OPTION_SORT,
        .run = run_status},
    {COMMAND_watch, "[OPTION]...", OPTION_BUSY | OPTION_USER | OPTION_SORT, .run = run_top,
        .word = "top", .help = "show resources, holders and waiters, live"},
    {COMMAND_watch, "[NAME...] [OPTION]...", OPTION_ENDED | OPTION_JSON, .run = run_watch,
        .more = MAX_NAMES},
    {COMMAND_why, "NAME[=N]... | LEASE | PID", 0, .run = run_why, .least = 1},
    {COMMAND_history, "[NAME...] [OPTION]...",
        OPTION_SINCE | OPTION_UNTIL | OPTION_USER | OPTION_LEASE | OPTION_FAILED | OPTION_HOST |
            OPTION_LIMIT | OPTION_JSON,
        .run = run_history},
    {COMMAND_history, "[NAME...] [OPTION]...",
        OPTION_SINCE | OPTION_UNTIL | OPTION_USER | OPTION_JSON, .run = run_stats,
        .word = "stats", .help = "show how long leases waited and were held"},
    {COMMAND_metrics, "", 0, .run = run_metrics},
    {COMMAND_hosts, "[--json]", OPTION_JSON, .run = run_hosts},
    {COMMAND_revoke, "LEASE... [OPTION]...",
        OPTION_REASON | OPTION_WAIT | OPTION_TIMEOUT | OPTIONS_OF_CHOICE, .requests = EACH,
        .run = run_revoke, .also = "NAME --all | --holder ID | --pid PID [OPTION]..."},
    {COMMAND_drop, "LEASE... [--reason TEXT]", OPTION_REASON, .requests = EACH},
    {COMMAND_move, "LEASE first|last [OPTION]...", OPTION_REASON, .requests = WHOLE},
    {COMMAND_wait, "NAME... [--timeout DURATION]", OPTION_TIMEOUT | OPTION_LEASE, .run = run_wait,
        .also = "--lease LEASE [--timeout DURATION]", .least = 1, .in_place = OPTION_LEASE},
    {COMMAND_limit, "NAME... N [--reason TEXT]", OPTION_REASON, .requests = EACH_BUT_LAST},
    {COMMAND_add, "NAME ITEM [--reason TEXT]", OPTION_REASON, .show = show_added},
    {COMMAND_remove, "NAME ITEM [--reason TEXT]", OPTION_REASON, .requests = WHOLE},
    {COMMAND_reserve, "NAME ITEM --reason TEXT", OPTION_REASON, .required = OPTION_REASON},
    {COMMAND_pause, "NAME... [--reason TEXT]", OPTION_REASON, .requests = EACH},
    {COMMAND_resume, "NAME... [--reason TEXT]", OPTION_REASON, .requests = EACH},
    {COMMAND_reset, "NAME... [--reason TEXT]", OPTION_REASON, .requests = EACH},
    {COMMAND_forget, "NAME... [--database DB] [--reason TEXT]", OPTION_DATABASE | OPTION_REASON,
        .requests = EACH},
    {COMMAND_upgrade, "[DATABASE]", 0, .run = run_finish_upgrade, .more = 1,
        .word = "finish-upgrade"},
    {COMMAND_found, "DATABASE [--yes] [--reason TEXT]", OPTION_YES | OPTION_REASON,
        .run = run_found, .more = 1, .least = 1},
    {COMMAND_drain, "[--wait] [--reason TEXT]", OPTION_WAIT | OPTION_REASON, .show = show_drain},
    {COMMAND_undrain, "[--reason TEXT]", OPTION_REASON, .requests = WHOLE},
    {COMMAND_reload, "", 0, .show = show_reloaded},
    {COMMAND_ping, "", 0, .show = show_ok},
    {COMMAND_version, "", 0, .show = show_version},
};

static const char *word_of(const struct command *command)
{
    return command->word ? command->word : command_table[command->request].word;
}

static const char *help_of(const struct command *command)
{
    return command->help ? command->help : command_table[command->request].help;
}

enum { N_COMMANDS_SHOWN = sizeof commands / sizeof commands[0] };

/* ---- help ---- */

static int print_command_help(const struct command *command)
{
    printf("usage: berthctl %s %s\n", word_of(command), command->arguments);
    if (command->also) {
        printf("       berthctl %s %s\n", word_of(command), command->also);
    }
    printf("\n%s\n\n", help_of(command));
    line_print_options(command->options | OPTION_SOCKET | OPTION_HELP);
    printf("\nMore: man berthctl\n");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_help(void)
{
    printf("usage: berthctl [-S SOCKET] COMMAND\n"
           "       berthctl help COMMAND\n\n");
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        char form[64];
        snprintf(form, sizeof form, "%-8s %s", word_of(&commands[i]), commands[i].arguments);
        printf("  %-38s %s\n", form, help_of(&commands[i]));
    }
    printf("\n");
    line_print_options(OPTIONS_OF_ALL);
    printf(
        "\n"
        "In a NAME of status or watch, * matches any text without a slash: 'market/*' is\n"
        "a template and its instances in use.\n"
        "A LEASE is an id from the LEASE column of status; a job has its own in $BERTH_LEASE.\n"
        "A lease of another host of the fleet is SESSION/LEASE. BOUND is what a lease is bound\n"
        "to, if not to a process.\n"
        "\n"
        "Exit status: 0 done; 1 the lease has ended; 64 wrong usage; 69 berthd cannot be reached,\n"
        "or does not answer within 5 seconds; 75 in use, waited as long as --timeout says, or\n"
        "someone has ended the drain; 77 not permitted; 78 no such resource or item, or not\n"
        "possible.\n"
        "\n"
        "More: man berthctl\n");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- which command ---- */

static const struct command *command_find(const char *word)
{
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        if (strcmp(word_of(&commands[i]), word) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int refuse_command(const char *word)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        closest_match_try(&nearest, word_of(&commands[i]));
    }
    message("no such command: %s%s%s%s (see berthctl --help)", word,
        nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
        nearest.best ? "?" : "");
    return STATUS_USAGE;
}

/* 0, or the exit status after a message. */
static int check(const struct command *command, const struct line *line, char **words, size_t n)
{
    const struct command_row *row = &command_table[command->request];
    struct text form = TEXT_INIT;
    unsigned strange = line->options & ~(command->options | OPTIONS_OF_ALL);
    if (strange) {
        text_add_format(&form, "%s takes no --%s; ", word_of(command), line_option_word(strange));
    }
    text_add_format(&form, "usage: berthctl %s %s", word_of(command), command->arguments);
    if (command->also) {
        text_add_format(&form, "; or %s", command->also);
    }
    unsigned choice = line->options & OPTIONS_OF_CHOICE;
    bool is_replaced = line->options & command->in_place;
    bool is_one = command->requests == WHOLE || choice != 0,
         is_too_much = is_one && n > (is_replaced ? 0 : (size_t)row->max + command->more);
    int exit_status = 0;
    bool is_too_few = !is_replaced && (n < row->min || n < command->least);
    if (is_too_few || is_too_much || strange || (command->required & ~line->options) ||
        (choice & (choice - 1)) != 0) { /* more than one of them */
        exit_status = line_refuse(form.bytes, NULL);
    }
    for (size_t i = 0; i < n && exit_status == 0; i++) {
        if (words[i][0] == '\0') {
            exit_status = line_refuse("an argument is empty", NULL);
        }
    }
    text_deinit(&form);
    return exit_status;
}

/* ---- running ---- */

static int berthctl_run(
    const struct command *command, const struct line *line, char **words, size_t n)
{
    struct call call = {
        .command = word_of(command),
        .connection = CONNECTION_INIT,
        .right = command_table[command->request].right,
    };
    call_set(&call, command->request, words, n);
    call.request.reason = line->reason;
    call.request.database = line->database;
    call.request.wait = line->options & OPTION_WAIT && command->request != COMMAND_revoke;
    if (!endpoint_choose(&call.endpoint, line->socket)) {
        return line_refuse(
            "not a path for a socket", line->socket ? line->socket : "$BERTH_SOCKET");
    }
    int exit_status;
    if (command->run) {
        exit_status = command->run(&call, line);
    } else if (command->requests != WHOLE) {
        exit_status = run_each(&call, command->requests == EACH ? n : n - 1, command->show);
    } else {
        exit_status = show_answer(&call, command->show);
    }
    call_end(&call);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct line line = {0};
    (void)argc;
    message_program = "berthctl";
    stdio_fill_closed();
    sanitize_choose_locale();
    user_name = user_look_up;
    if (!line_read(&line, argv)) {
        return STATUS_USAGE;
    }
    bool asks_help = line.n_words > 0 && strcmp(line.words[0], "help") == 0;
    const char *word = line.n_words > asks_help ? line.words[asks_help] : NULL;
    const struct command *command = word ? command_find(word) : NULL;
    if (line.options & OPTION_HELP || asks_help) {
        return command ? print_command_help(command)
            : word && asks_help ? refuse_command(word) : print_help();
    }
    if (line.options & OPTION_VERSION) {
        return puts("berthctl " PACKAGE_VERSION) >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS
                                                                             : EXIT_FAILURE;
    }
    if (!command) {
        return word ? refuse_command(word) : line_refuse("no command", NULL);
    }
    char **words = line.words + 1;
    size_t n = line.n_words - 1;
    line.past.names = words;
    line.past.n_names = n;
    int exit_status = check(command, &line, words, n);
    return exit_status ? exit_status : berthctl_run(command, &line, words, n);
}
