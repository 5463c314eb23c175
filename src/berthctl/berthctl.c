/* berthctl.c - the program `berthctl`: its command line and tables. ctl_call asks, show shows. Doc:
 * berthctl(1). */
#include "base/nearest.h"
#include "base/utf8.h"
#include "base/words.h"
#include "berthctl/chosen.h"
#include "berthctl/show.h"
#include "berthctl/show_past.h"
#include "berthctl/users.h"
#include "berthctl/when.h"
#include "client/descriptors.h"
#include "client/exit_status.h"
#include "client/harmless.h"
#include "config.h"

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
    OPTION_ALL = 16,
    OPTION_HOLDER = 32,
    OPTION_PID = 64,
    OPTION_TIMEOUT = 128,
    OPTION_BUSY = 256,
    OPTION_USER = 512,
    OPTION_SORT = 1024,
    OPTION_SINCE = 2048,
    OPTION_UNTIL = 4096,
    OPTION_LEASE = 8192,
    OPTIONS_OF_CHOICE = OPTION_ALL | OPTION_HOLDER | OPTION_PID,
};

struct line;
/* Carries a command out in its own way. Returns the exit status. */
typedef int run_function(struct call *call, const struct line *line);
static run_function run_history, run_hosts, run_revoke, run_stats, run_status, run_wait, run_why;

/* How many requests a command is. */
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
    show_function *show;
    enum requests requests;
    unsigned required; /* options that must be given */
    run_function *run; /* in place of sending the requests; or NULL */
    const char *also; /* another form of its arguments; or NULL */
    const char *word, *help; /* in place of the request's; or NULL */
} commands[] = {
    {COMMAND_status, "[NAME...] [OPTION]...",
        OPTION_JSON | OPTION_BUSY | OPTION_USER | OPTION_SORT, show_nothing, .requests = WHOLE,
        .run = run_status},
    {COMMAND_why, "NAME[=N]... | LEASE | PID", 0, show_why, .requests = WHOLE, .run = run_why},
    {COMMAND_history, "[NAME...] [OPTION]...",
        OPTION_SINCE | OPTION_UNTIL | OPTION_USER | OPTION_LEASE | OPTION_JSON, show_nothing,
        .requests = WHOLE, .run = run_history},
    {COMMAND_history, "[NAME...] [OPTION]...", OPTION_SINCE | OPTION_USER | OPTION_JSON,
        show_nothing, .requests = WHOLE, .run = run_stats, .word = "stats",
        .help = "show how long leases waited and were held, and whose"},
    {COMMAND_metrics, "", 0, show_metrics, .requests = WHOLE},
    {COMMAND_hosts, "[--json]", OPTION_JSON, show_nothing, .requests = WHOLE, .run = run_hosts},
    {COMMAND_revoke, "LEASE... [OPTION]...",
        OPTION_REASON | OPTION_WAIT | OPTION_TIMEOUT | OPTIONS_OF_CHOICE, show_nothing,
        .requests = EACH, .run = run_revoke,
        .also = "NAME --all | --holder ID | --pid PID [OPTION]..."},
    {COMMAND_drop, "LEASE... [--reason TEXT]", OPTION_REASON, show_nothing, .requests = EACH},
    {COMMAND_wait, "NAME... [--timeout DURATION]", OPTION_TIMEOUT, show_nothing, .requests = WHOLE,
        .run = run_wait},
    {COMMAND_limit, "NAME... N", 0, show_nothing, .requests = EACH_BUT_LAST},
    {COMMAND_add, "NAME ITEM", 0, show_added, .requests = WHOLE},
    {COMMAND_remove, "NAME ITEM", 0, show_nothing, .requests = WHOLE},
    {COMMAND_reserve, "NAME ITEM --reason TEXT", OPTION_REASON, show_nothing, .requests = WHOLE,
        .required = OPTION_REASON},
    {COMMAND_pause, "NAME... [--reason TEXT]", OPTION_REASON, show_nothing, .requests = EACH},
    {COMMAND_resume, "NAME...", 0, show_nothing, .requests = EACH},
    {COMMAND_reset, "NAME...", 0, show_nothing, .requests = EACH},
    {COMMAND_forget, "NAME... [--database DB]", OPTION_DATABASE, show_nothing, .requests = EACH},
    {COMMAND_drain, "[--wait]", OPTION_WAIT, show_drain, .requests = WHOLE},
    {COMMAND_undrain, "", 0, show_nothing, .requests = WHOLE},
    {COMMAND_reload, "", 0, show_nothing, .requests = WHOLE},
    {COMMAND_ping, "", 0, show_ok, .requests = WHOLE},
    {COMMAND_version, "", 0, show_version, .requests = WHOLE},
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

/* `val` is the bit of an option that only some commands take, or else a letter. */
static const struct option long_options[] = {
    {"reason", required_argument, NULL, OPTION_REASON},
    {"wait", no_argument, NULL, OPTION_WAIT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"database", required_argument, NULL, OPTION_DATABASE},
    {"all", no_argument, NULL, OPTION_ALL},
    {"holder", required_argument, NULL, OPTION_HOLDER},
    {"pid", required_argument, NULL, OPTION_PID},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"busy", no_argument, NULL, OPTION_BUSY},
    {"user", required_argument, NULL, OPTION_USER},
    {"sort", required_argument, NULL, OPTION_SORT},
    {"since", required_argument, NULL, OPTION_SINCE},
    {"until", required_argument, NULL, OPTION_UNTIL},
    {"lease", required_argument, NULL, OPTION_LEASE},
    {"socket", required_argument, NULL, 'S'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

/* The parsed command line. */
struct line {
    const char *socket, *reason, *database;
    struct choice choice;
    struct status_choice shown;
    struct past_choice past;
    nanoseconds timeout;
    unsigned options; /* given */
    bool help, version;
};

/* What the help of a command says about its options. */
static const struct {
    unsigned option;
    const char *form, *help;
} option_rows[] = {
    {OPTION_ALL, "--all", "all leases that hold units of NAME"},
    {OPTION_HOLDER, "--holder ID", "those with this identity, held or waiting"},
    {OPTION_PID, "--pid PID", "those of this process of this host, held or waiting"},
    {OPTION_REASON, "--reason TEXT", "why: shown to those concerned, and in the log"},
    {OPTION_WAIT, "--wait", "return when nothing is held any more"},
    {OPTION_TIMEOUT, "--timeout DURATION", "wait at most this long, then exit with 75"},
    {OPTION_DATABASE, "--database DB", "the database, if the file has several"},
    {OPTION_BUSY, "--busy", "only what is held or waited for"},
    {OPTION_USER, "--user USER", "only leases of this user, by name or uid"},
    {OPTION_SORT, "--sort name|kind|limit|used|free|wait|age",
        "resources by that column, the largest first; age: of their oldest lease"},
    {OPTION_SINCE, "--since WHEN", "1h, 03:00, yesterday, 2026-11-23: what has ended from then on"},
    {OPTION_UNTIL, "--until WHEN", "of this, only what was asked for before"},
    {OPTION_LEASE, "--lease LEASE", "only this one"},
    {OPTION_JSON, "--json", "one JSON object in place of the table"},
};

/* ---- help ---- */

static const char usual_options[] =
    "  -S, --socket PATH|user   else $BERTH_SOCKET, else " ENDPOINT_DEFAULT ";\n"
    "                           user: your own daemon's\n"
    "  -h, --help               this text\n";

static int print_command_help(const struct command *command)
{
    printf("usage: berthctl %s %s\n", word_of(command), command->arguments);
    if (command->also) {
        printf("       berthctl %s %s\n", word_of(command), command->also);
    }
    printf("\n%s\n\n", help_of(command));
    for (size_t i = 0; i < sizeof option_rows / sizeof option_rows[0]; i++) {
        if (command->options & option_rows[i].option) {
            bool is_long = strlen(option_rows[i].form) > 20;
            const char *gap = is_long ? "\n                           " : " ";
            printf("      %-20s%s%s\n", option_rows[i].form, gap, option_rows[i].help);
        }
    }
    printf("%s\nMore: man berthctl\n", usual_options);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_help(void)
{
    printf("usage: berthctl [-S SOCKET] COMMAND\n"
           "       berthctl help COMMAND\n\n");
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        printf("  %-8s %-29s %s\n", word_of(&commands[i]), commands[i].arguments,
            help_of(&commands[i]));
    }
    printf(
        "\n"
        "%s"
        "  -V, --version            the version of berthctl alone\n"
        "\n"
        "In a NAME of status, * stands for any part without a slash: 'market/*' is a template\n"
        "and its instances in use.\n"
        "A LEASE is a word that status shows in that column; the job has it in $BERTH_LEASE.\n"
        "For revoke and drop, a lease of another host of the fleet is SESSION/LEASE. BOUND\n"
        "is what a lease is bound to, if not to a process.\n"
        "\n"
        "Exit status: 0 done; 1 the lease is over; 64 wrong usage; 69 berthd cannot be reached,\n"
        "or does not answer within 5 seconds; 75 in use, waited as long as --timeout says, or\n"
        "somebody has ended the drain; 77 not permitted; 78 no such resource or item, or not\n"
        "possible.\n"
        "\n"
        "More: man berthctl\n",
        usual_options);
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

/* Of an option that chooses from what has ended. False after a message. */
static bool take_past_argument(struct past_choice *past, unsigned option)
{
    bool is_until = option == OPTION_UNTIL;
    struct optional *when = is_until ? &past->until : &past->since;
    int64_t now = clock_wall_now() / NANOSECONDS_PER_MILLISECOND, then;
    if (option == OPTION_LEASE) {
        past->lease = optarg;
    } else if (is_until || option == OPTION_SINCE) {
        if (!when_parse(optarg, now, &then)) {
            usage("not a time like 1h, 03:00, yesterday or 2026-11-23", optarg);
            return false;
        }
        *when = (struct optional){true, (uint64_t)(then > 0 ? then : 0)};
    }
    return true;
}

/* Of an option that only some commands take. False after a message. */
static bool take_argument(struct line *line, unsigned option)
{
    if (option == OPTION_REASON) {
        optarg[utf8_cut(optarg, REASON_BYTES)] = '\0';
        line->reason = optarg;
    } else if (option == OPTION_DATABASE) {
        line->database = optarg;
    } else if (option == OPTION_HOLDER) {
        line->choice.holder = optarg;
    } else if (option == OPTION_ALL) {
        line->choice.all = true;
    } else if (option == OPTION_USER && !user_find(optarg, &line->shown.uid)) {
        usage("no such user", optarg);
        return false;
    } else if (option == OPTION_SORT && !(line->shown.sort = sort_find(optarg))) {
        usage("not a column to sort by (name, kind, limit, used, free, wait, age)", optarg);
        return false;
    } else if (option == OPTION_PID &&
        (!number_parse(optarg, INT32_MAX, &line->choice.pid) || line->choice.pid == 0)) {
        usage("not a process", optarg);
        return false;
    } else if (option == OPTION_TIMEOUT && !duration_parse(optarg, &line->timeout)) {
        usage("not a duration like 30s or 1h30m", optarg);
        return false;
    }
    return take_past_argument(&line->past, option);
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
        default:
            line->options |= (unsigned)option;
            if (!take_argument(line, (unsigned)option)) {
                return -1;
            }
        }
    }
    return optind;
}

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
    struct nearest nearest = NEAREST_INIT(word);
    struct text escaped = TEXT_INIT;
    for (size_t i = 0; i < N_COMMANDS_SHOWN; i++) {
        nearest_try(&nearest, word_of(&commands[i]));
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
    text_add_format(&form, "usage: berthctl %s %s", word_of(command), command->arguments);
    if (command->also) {
        text_add_format(&form, "; or %s", command->also);
    }
    unsigned choice = line->options & OPTIONS_OF_CHOICE;
    bool is_too_much = n > row->max && (command->requests == WHOLE || choice != 0);
    int exit_status = 0;
    bool is_too_few = n < row->min || (n == 0 && command->request == COMMAND_why);
    if (is_too_few || is_too_much ||
        (line->options & ~command->options) || (command->required & ~line->options) ||
        (choice & (choice - 1)) != 0) { /* more than one of them */
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

/* ---- running ---- */

static nanoseconds deadline_of(const struct line *line)
{
    return line->options & OPTION_TIMEOUT ? clock_now() + line->timeout : NEVER;
}

/* Sends the call's request for each of its first `n` arguments, with what follows them. Goes on
 * after a refusal. Returns the first exit status that is not 0. */
static int run_each(struct call *call, size_t n, show_function *show)
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

static int run_revoke(struct call *call, const struct line *line)
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

static int run_status(struct call *call, const struct line *line)
{
    struct status_choice choice = line->shown;
    choice.busy = line->options & OPTION_BUSY;
    choice.by_user = line->options & OPTION_USER;
    return show_status(call, &choice, line->options & OPTION_JSON);
}

static int run_hosts(struct call *call, const struct line *line)
{
    return show_hosts(call, line->options & OPTION_JSON);
}

static int run_wait(struct call *call, const struct line *line)
{
    return chosen_wait_idle(call, deadline_of(line));
}

static int run_past(struct call *call, const struct line *line,
    int (*show)(struct call *call, const struct past_choice *choice, bool is_json))
{
    struct past_choice choice = line->past;
    choice.uid = (struct optional){line->options & OPTION_USER, line->shown.uid};
    return show(call, &choice, line->options & OPTION_JSON);
}

static int run_history(struct call *call, const struct line *line)
{
    return run_past(call, line, show_history);
}

static int run_stats(struct call *call, const struct line *line)
{
    return run_past(call, line, show_stats);
}

/* NAME=N is NAME:N on the wire, as = would make it a key. */
static int run_why(struct call *call, const struct line *line)
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

static int run_one(const struct command *command, struct call *call)
{
    char *answer = call_answer(call);
    return answer ? command->show(call, answer) : call->exit_status;
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
                .wait = line->options & OPTION_WAIT && command->request != COMMAND_revoke,
            },
        .right = row->right,
    };
    if (!endpoint_choose(&call.endpoint, line->socket)) {
        return usage("not a path for a socket", line->socket ? line->socket : "$BERTH_SOCKET");
    }
    int exit_status;
    if (command->run) {
        exit_status = command->run(&call, line);
    } else if (command->requests != WHOLE) {
        exit_status = run_each(&call, command->requests == EACH ? n : n - 1, command->show);
    } else {
        exit_status = run_one(command, &call);
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
    bool asks_help = first < argc && strcmp(argv[first], "help") == 0;
    if (line.help || asks_help) {
        first += asks_help;
        const struct command *command = first < argc ? command_find(argv[first]) : NULL;
        return command ? print_command_help(command)
            : first < argc && asks_help ? refuse_command(argv[first]) : print_help();
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
