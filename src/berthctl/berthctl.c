/* berthctl.c - the program `berthctl`: its command line and tables. ctl_call asks, show shows. Doc:
 * berthctl(1). */
#include "base/nearest.h"
#include "berthctl/show.h"
#include "client/descriptors.h"
#include "client/exit_status.h"
#include "config.h"

#include "client/harmless.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

enum {
    OPTION_REASON = 1,
    OPTION_WAIT = 2,
    OPTION_JSON = 4,
    OPTION_DATABASE = 8,
};

/* wire/commands.def has each request's word, number of arguments, right and help. */
struct command {
    enum command_index request;
    const char *arguments; /* as the help shows them */
    unsigned options; /* the options that it takes */
    unsigned required; /* those of them that must be given */
    show_function *show, *show_json;
};

static const struct command commands[] = {
    {COMMAND_status, "[NAME...] [--json]", OPTION_JSON, 0, show_status, show_status_json},
    {COMMAND_metrics, "", 0, 0, show_metrics, NULL},
    {COMMAND_revoke, "LEASE", 0, 0, show_nothing, NULL},
    {COMMAND_drop, "LEASE", 0, 0, show_nothing, NULL},
    {COMMAND_limit, "NAME N", 0, 0, show_nothing, NULL},
    {COMMAND_add, "NAME ITEM", 0, 0, show_added, NULL},
    {COMMAND_remove, "NAME ITEM", 0, 0, show_nothing, NULL},
    {COMMAND_reserve, "NAME ITEM --reason TEXT", OPTION_REASON, OPTION_REASON, show_nothing, NULL},
    {COMMAND_pause, "NAME [--reason TEXT]", OPTION_REASON, 0, show_nothing, NULL},
    {COMMAND_resume, "NAME", 0, 0, show_nothing, NULL},
    {COMMAND_reset, "NAME", 0, 0, show_nothing, NULL},
    {COMMAND_forget, "NAME [--database DB]", OPTION_DATABASE, 0, show_nothing, NULL},
    {COMMAND_drain, "[--wait]", OPTION_WAIT, 0, show_drain, NULL},
    {COMMAND_undrain, "", 0, 0, show_nothing, NULL},
    {COMMAND_reload, "", 0, 0, show_nothing, NULL},
    {COMMAND_ping, "", 0, 0, show_ok, NULL},
    {COMMAND_version, "", 0, 0, show_version, NULL},
};

enum { N_COMMANDS_SHOWN = sizeof commands / sizeof commands[0] };

/* `val` is the bit of an option that only some commands take, or else a letter. */
static const struct option long_options[] = {
    {"reason", required_argument, NULL, OPTION_REASON},
    {"wait", no_argument, NULL, OPTION_WAIT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"database", required_argument, NULL, OPTION_DATABASE},
    {"socket", required_argument, NULL, 'S'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

/* The parsed command line. */
struct line {
    const char *socket, *reason, *database;
    unsigned options; /* given */
    bool help, version;
};

/* ---- help ---- */

static int print_help(void)
{
    printf("usage: berthctl [-S SOCKET] COMMAND\n\n");
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        const struct command_row *row = &command_table[commands[i].request];
        printf("  %-8s %-24s %s\n", row->word, commands[i].arguments, row->help);
    }
    printf(
        "\n"
        "  -S, --socket PATH|user   else $BERTH_SOCKET, else " ENDPOINT_DEFAULT ";\n"
        "                           user: your own daemon's\n"
        "  -h, --help               this text\n"
        "  -V, --version            the version of berthctl alone\n"
        "\n"
        "In a NAME of status, * stands for any part without a slash: 'market/*' is a template\n"
        "and its instances in use.\n"
        "A LEASE is a word that status shows in that column; the job has it in $BERTH_LEASE.\n"
        "For revoke and drop, a lease of another host of the fleet is SESSION/LEASE. BOUND\n"
        "is what a lease is bound to, if not to a process; a lease is away while no client is\n"
        "connected for it.\n"
        "\n"
        "Exit status: 0 done; 1 the lease is over; 64 wrong usage; 69 berthd cannot be reached,\n"
        "or does not answer within 5 seconds; 75 somebody has ended the drain, or it is in use;\n"
        "77 not permitted; 78 no such resource or item, or not possible.\n"
        "\n"
        "More: man berthctl\n");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* `word` is the wrong word, or NULL. */
static int usage(const char *what, const char *word)
{
    struct text escaped = TEXT_INIT;
    text_add_escaped(&escaped, word ? word : "");
    complain("%s%s%s (see berthctl --help)", what, word ? ": " : "", escaped.bytes);
    text_deinit(&escaped);
    return STATUS_USAGE;
}

/* ---- command line ---- */

/* The word that getopt() has refused. It looks at the letters of a word one after the other, and
 * moves on at the last. */
static const char *refused_word(char **argv)
{
    const char *before = argv[optind - 1], *next = argv[optind]; /* NULL behind the last one */
    bool are_letters = next && next[0] == '-' && next[1] != '-';
    bool is_inside = optopt != 0 && are_letters && strchr(next, optopt) &&
        !(before[0] == '-' && strchr(before, optopt));
    return is_inside ? next : before;
}

/* argv[0] is the command, or berthctl itself. */
static void refuse_option(char **argv)
{
    const char *word = refused_word(argv);
    bool is_number = word[0] == '-' && word[1] >= '0' && word[1] <= '9';
    if (is_number && strcmp(argv[0], command_table[COMMAND_limit].word) == 0) {
        usage("a limit is a number from 0 to 1000000", word);
    } else {
        usage("no such option", word);
    }
}

/* Takes options from argv[1] on; with a `+` only those before the first other word. Returns the
 * index of the first word that is no option, or -1 after a message. */
static int take_options(struct line *line, int argc, char **argv, const char *letters)
{
    int option;
    opterr = 0;
    optind = 0; /* glibc: starts again */
    while ((option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        switch (option) {
        case 'S':
            line->socket = optarg;
            break;
        case 'h':
            line->help = true;
            break;
        case 'V':
            line->version = true;
            break;
        case ':':
            usage("an argument is missing", argv[optind - 1]);
            return -1;
        case '?':
            refuse_option(argv);
            return -1;
        case OPTION_REASON:
            line->reason = optarg;
            line->options |= OPTION_REASON;
            break;
        case OPTION_DATABASE:
            line->database = optarg;
            line->options |= OPTION_DATABASE;
            break;
        default:
            line->options |= (unsigned)option;
        }
    }
    return optind;
}

static const struct command *command_find(const char *word)
{
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        if (strcmp(command_table[commands[i].request].word, word) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int refuse_command(const char *word)
{
    struct nearest nearest = NEAREST_INIT(word);
    struct text escaped = TEXT_INIT;
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        nearest_try(&nearest, command_table[commands[i].request].word);
    }
    text_add_escaped(&escaped, word);
    complain("no such command: %s%s%s%s (see berthctl --help)", escaped.bytes,
        nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
        nearest.best ? "?" : "");
    text_deinit(&escaped);
    return STATUS_USAGE;
}

/* 0, or the exit status after a message. */
static int check(const struct command *command, const struct line *line, char **words, size_t n)
{
    const struct command_row *row = &command_table[command->request];
    struct text form = TEXT_INIT;
    text_add_format(&form, "usage: berthctl %s %s", row->word, command->arguments);
    int exit_status = 0;
    if (n < row->min || n > row->max || (line->options & ~command->options) ||
        (command->required & ~line->options)) {
        exit_status = usage(form.bytes, NULL);
    }
    for (size_t i = 0; i < n && exit_status == 0; i++) {
        if (words[i][0] == '\0') {
            exit_status = usage("an argument is empty", NULL);
        }
    }
    if (exit_status == 0 && line->reason && line->reason[0] == '\0') {
        exit_status = usage("the reason is empty", NULL);
    }
    if (exit_status == 0 && line->database && line->database[0] == '\0') {
        exit_status = usage("the name of the database is empty", NULL);
    }
    text_deinit(&form);
    return exit_status;
}

static int run(const struct command *command, const struct line *line, char **words, size_t n)
{
    const struct command_row *row = &command_table[command->request];
    struct call call = {
        .connection = CONNECTION_INIT,
        .request =
            {
                .word = row->word,
                .arguments = words,
                .n_arguments = n,
                .reason = line->reason,
                .database = line->database,
                .wait = line->options & OPTION_WAIT,
            },
        .right = row->right,
    };
    if (!endpoint_choose(&call.endpoint, line->socket)) {
        return usage("not a path for a socket", line->socket ? line->socket : "$BERTH_SOCKET");
    }
    char *answer = call_answer(&call);
    int exit_status = call.exit_status;
    if (answer) {
        exit_status =
            (line->options & OPTION_JSON ? command->show_json : command->show)(&call, answer);
    }
    call_end(&call);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct line line = {0};
    descriptors_fill_standard();
    harmless_choose_locale();
    int first = take_options(&line, argc, argv, "+:S:hV");
    if (first < 0) {
        return STATUS_USAGE;
    }
    int after = first; /* the command stands where a program's name does */
    if (first < argc) {
        int n = take_options(&line, argc - first, argv + first, ":S:hV");
        if (n < 0) {
            return STATUS_USAGE;
        }
        after += n;
    }
    if (line.help) {
        return print_help();
    }
    if (line.version) {
        return puts("berthctl " PACKAGE_VERSION) >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS
                                                                             : EXIT_FAILURE;
    }
    if (first == argc) {
        return usage("no command", NULL);
    }
    const struct command *command = command_find(argv[first]);
    if (!command) {
        return refuse_command(argv[first]);
    }
    int exit_status = check(command, &line, argv + after, (size_t)(argc - after));
    return exit_status ? exit_status : run(command, &line, argv + after, (size_t)(argc - after));
}
