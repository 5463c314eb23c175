/* berth.c - the program `berth`: its subcommands and their grammars. */
#include "config.h"

#include "base/closest_match.h"
#include "base/words.h"
#include "berth/options.h"
#include "client/descriptors.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "wire/protocol.h"

#include <stdio.h>
#include <string.h>

struct grammar {
    unsigned in;
    const char *usage;
    const char *summary;
    bool needs_dashes; /* before a command */
    bool is_command_after_word; /* options end with the first word */
    /* Takes the positional arguments; `dashes` is the index in `words` of what follows "--", or n
     * if there is no "--". False after a message. */
    bool (*take_words)(struct options *options, char **words, int n, int dashes);
    const char *more_help;
};

/* ---- NAME[:COUNT]... ---- */

/* berthctl and the protocol write NAME=COUNT. */
static void say_no_name(const char *word)
{
    uint64_t count;
    const char *equals = strchr(word, '=');
    if (equals && number_parse(equals + 1, UINT64_MAX, &count)) {
        message("%s: not a resource's name; did you mean %.*s:%s?", word, (int)(equals - word),
            word, equals + 1);
    } else {
        message("%s: not a resource's name", word);
    }
}

static bool take_wanted(struct options *options, const char *word)
{
    char name[NAME_BYTES + 1];
    const char *colon = strchr(word, ':');
    size_t n = colon ? (size_t)(colon - word) : strlen(word);
    uint64_t count = 1;

    if (n < sizeof name) {
        memcpy(name, word, n);
        name[n] = '\0';
    }
    if (n >= sizeof name || !name_is_valid(name)) {
        say_no_name(word);
        return false;
    }
    bool is_worded = colon && (strcmp(colon, ":all") == 0 || strcmp(colon, ":shared") == 0);
    if (colon && !is_worded && !number_parse(colon + 1, UINT64_MAX, &count)) {
        message("%s: COUNT must be a number of units, all or shared", word);
        return false;
    }
    if (options->n_wanted == OPTIONS_MAX_RESOURCES) {
        message("more than %d resources", OPTIONS_MAX_RESOURCES);
        return false;
    }
    options->wanted[options->n_wanted++] = (struct wanted){
        .name = word,
        .name_length = (int)n,
        .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX, /* berthd refuses it */
        .how = is_worded ? colon + 1 : options->shared && !colon ? "shared" : NULL,
    };
    return true;
}

static bool take_all_wanted(struct options *options, char **words, int n)
{
    if (n == 0) {
        message("no NAME");
        return false;
    }
    if (options->replace != REPLACE_NOTHING && !options->holder) {
        message("--replace needs --holder ID");
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!take_wanted(options, words[i])) {
            return false;
        }
    }
    return true;
}

static bool run_take_words(struct options *options, char **words, int n, int dashes)
{
    if (dashes == n) {
        message("no COMMAND");
        return false;
    }
    if (options->no_fork && options->tree) {
        message("--no-fork cannot be combined with --tree");
        return false;
    }
    options->command = words + dashes;
    return take_all_wanted(options, words, dashes);
}

static bool acquire_take_words(struct options *options, char **words, int n, int dashes)
{
    if (dashes > 0 && dashes < n) {
        message("acquire runs no COMMAND; did you mean `berth run`?");
        return false;
    }
    if (options->pid != 0 && options->ttl != NEVER) {
        message("--pid cannot be combined with --ttl");
        return false;
    }
    if (options->pid == 0 && options->ttl == NEVER) {
        message("how long should the lease last? Use --pid $$ (as long as the calling script), "
                "or --ttl DURATION");
        return false;
    }
    return take_all_wanted(options, words, n);
}

/* ---- LEASE or NAME ---- */

/* LEASE, or what may be SESSION/LEASE: berthd knows. */
static bool may_be_lease(const char *word)
{
    const char *slash = strchr(word, '/');
    uint64_t id;
    return lease_id_parse(slash ? slash + 1 : word, &id);
}

/* `hint` is NULL if the NAME alone may do. */
static bool take_lease(struct options *options, char **words, int n, const char *hint)
{
    if (n != 1) {
        message(n == 0 ? "LEASE or NAME is required" : "more than one LEASE or NAME");
        return false;
    }
    bool by_name = options->holder || options->item;
    bool may_be_name = by_name || !hint; /* berthd knows */
    if (may_be_name ? !name_is_valid(words[0]) : !may_be_lease(words[0])) {
        message(may_be_name ? "%s: not a resource's name" : "%s: not a lease; for a NAME use %s",
            words[0], hint);
        return false;
    }
    options->lease = words[0];
    return true;
}

static bool release_take_words(struct options *options, char **words, int n, int dashes)
{
    (void)dashes;
    if (options->holder && options->item) {
        message("--holder and --item exclude each other");
        return false;
    }
    return take_lease(options, words, n, NULL);
}

static bool renew_take_words(struct options *options, char **words, int n, int dashes)
{
    (void)dashes;
    return take_lease(options, words, n, "--holder ID");
}

/* ---- the subcommands ---- */

static const struct grammar grammar_run = {
    .in = IN_RUN,
    .usage = "berth run [OPTION]... NAME[:COUNT]... -- COMMAND [ARG]...",
    .summary = "Waits for units of every NAME, runs COMMAND while it holds them, and gives them\n"
               "back when COMMAND ends.",
    .needs_dashes = true,
    .take_words = run_take_words,
    .more_help =
        "COMMAND finds BERTH_LEASE, BERTH_SOCKET, BERTH_NAME, BERTH_TOKEN, BERTH_SLOT or "
        "BERTH_ITEM,\n"
        "and BERTH_COUNT in its environment; with several NAMEs these are those of the first, and\n"
        "BERTH_1_NAME, BERTH_1_TOKEN, ... BERTH_2_NAME, ... are in the order given;\n"
        "BERTH_WAITED_MS is how long it has waited.\n"
        "\n"
        "The exit status is COMMAND's own, or 64 usage, 69 berthd not reachable, 75 not acquired,\n"
        "77 not permitted, 78 unknown or impossible, 124 stopped because the lease was gone,\n"
        "126 cannot execute, 127 not found.\n",
};

static const struct grammar grammar_acquire = {
    .in = IN_ACQUIRE,
    .usage = "berth acquire [OPTION]... --pid PID | --ttl DURATION NAME[:COUNT]...",
    .summary = "Takes units of every NAME for another process, and prints what berth run gives its "
               "COMMAND.",
    .take_words = acquire_take_words,
    .more_help =
        "It prints assignments for a shell, or for systemd's EnvironmentFile=:\n"
        "  found=$(berth acquire --pid $$ NAME) && eval \"$found\" && echo \"$BERTH_LEASE\"\n"
        "With --json: one object with version, lease, socket, and resources, a list of objects "
        "with\n"
        "name, token, count, and units, a list of slots (numbers) or items (strings).\n"
        "\n"
        "The exit status is 0, or 64 usage, 69 berthd not reachable, or lease given back "
        "because\n"
        "it could not be printed or berthd cannot see PID, 75 not acquired, 77 not permitted,\n"
        "78 unknown or impossible.\n",
};

static const struct grammar grammar_release = {
    .in = IN_RELEASE,
    .usage = "berth release LEASE | NAME [--holder ID | --item ITEM]",
    .summary = "Gives a lease back before its job has ended. It is not an error if the lease is\n"
               "already free. For a lock, NAME is enough; for anything else, say whose lease it\n"
               "is, or which unit.",
    .take_words = release_take_words,
    .more_help = "",
};

static const struct grammar grammar_renew = {
    .in = IN_RENEW,
    .usage = "berth renew LEASE | NAME --holder ID [--ttl DURATION]",
    .summary =
        "Restarts the ttl of a lease; if it has none, checks whether the lease is held.",
    .take_words = renew_take_words,
    .more_help =
        "The exit status is 0, or 1 if the lease is lost, 64 usage, 69 berthd not reachable,\n"
        "77 not permitted, 78 unknown, or a ttl for a lease that has none.\n",
};

static const struct grammar grammar_flock = {
    .in = IN_FLOCK,
    .usage = "berth flock [OPTION]... FILE COMMAND [ARG]... | FILE -c LINE",
    .summary = "Runs COMMAND, or a LINE for the shell, while it has the lock of FILE, as flock(1) "
               "does,\nand a lease that berthctl shows. FILE is made if it is missing.",
    .is_command_after_word = true,
    .take_words = flock_take_words,
    .more_help =
        "Without berthd, or without flock/* in its file, the lock of FILE alone is taken.\n"
        "\n"
        "The exit status is COMMAND's own, or 1 not got, 64 usage, 65 FILE has no locks, 66 FILE\n"
        "cannot be opened, 69 cannot execute, 71 no memory or descriptors, 73 FILE cannot be made,\n"
        "124 stopped because the lease was gone.\n",
};

/* ---- a command line ---- */

enum { HELP_COLUMN = 34 };

/* The message may be pasted into a shell. */
static void append_quoted(char *out, size_t size, const char *word)
{
    append(out, size, "'");
    for (size_t n; *word; word += n + (word[n] == '\'')) {
        n = strcspn(word, "'");
        append(out, size, "%.*s%s", (int)n, word, word[n] == '\'' ? "'\\''" : "");
    }
    append(out, size, "'");
}

static void append_words(char *out, size_t size, char **words, int n)
{
    for (int i = 0; i < n; i++) {
        bool is_plain = words[i][0] != '\0' && !strpbrk(words[i], " \t\n'\"\\$&;|<>*?()`~#!{}[]");
        append(out, size, " ");
        if (is_plain) {
            append(out, size, "%s", words[i]);
        } else {
            append_quoted(out, size, words[i]);
        }
    }
}

/* For `berth run deploy ./x`: only the user can say where the command begins. */
static void say_no_dashes(int argc, char **argv, int first_word)
{
    char words[1024] = "berth";
    append_words(words, sizeof words, argv, first_word + 1);
    append(words, sizeof words, " --");
    append_words(words, sizeof words, argv + first_word + 1, argc - first_word - 1);
    message("no `--`: did you mean `%s`?", words);
}

static bool has_dashes(int argc, char **argv)
{
    int i = 1;
    while (i < argc && strcmp(argv[i], "--") != 0) {
        i++;
    }
    return i < argc;
}

static void refuse_option(const struct option_reader *reader, const char *subcommand)
{
    struct text see = TEXT_INIT, why = TEXT_INIT;
    text_add_format(&see, "berth %s", subcommand);
    option_reader_explain(reader, see.bytes, &why);
    message("%s", why.bytes);
    text_deinit(&see);
    text_deinit(&why);
}

/* argv[0] is the subcommand's word. False, after a message: the line is wrong. With options->help
 * nothing else is filled in. */
static bool options_parse(
    struct options *options, const struct grammar *grammar, int argc, char **argv)
{
    *options = (struct options){
        .wait = NEVER,
        .kill_after = NEVER,
        .on_lost = ON_LOST_NOT_SAID,
        .nested = NESTED_NOT_SAID,
        .ttl = NEVER,
        .conflict_status = -1,
        .down_after = 5 * NANOSECONDS_PER_SECOND,
    };
    struct option_reader reader = {
        .rows = option_rows, .in = grammar->in, .object = options, .argv = argv + 1};
    bool needs_dashes = grammar->needs_dashes && !has_dashes(argc, argv);
    int n = 0, dashes = 0; /* positional words, gathered at the front of argv + 1 */
    for (char *word; (word = option_reader_next(&reader)) != NULL && !options->help;) {
        if (needs_dashes && *reader.argv) {
            say_no_dashes(argc, argv, (int)(reader.argv - argv) - 1);
            return false;
        }
        argv[1 + n++] = word;
        dashes += !reader.has_dashes;
        reader.has_dashes |= grammar->is_command_after_word;
    }
    if (options->help) {
        return true;
    }
    if (reader.fault) {
        refuse_option(&reader, argv[0]);
        return false;
    }
    argv[1 + n] = NULL;
    return grammar->take_words(options, argv + 1, n, dashes);
}

static void print_help_of(const struct grammar *grammar)
{
    struct text rows = TEXT_INIT;
    option_table_help(option_rows, grammar->in, HELP_COLUMN, &rows);
    printf("Usage: %s\n%s\n\n%s", grammar->usage, grammar->summary, rows.bytes);
    text_deinit(&rows);
    if (grammar->more_help[0]) {
        printf("\n%s", grammar->more_help);
    }
}

/* ---- all of them ---- */

static const struct command {
    const char *word;
    const struct grammar *grammar;
    int (*run)(const struct options *options);
} commands[] = {
    {"run", &grammar_run, command_run},
    {"acquire", &grammar_acquire, command_acquire},
    {"renew", &grammar_renew, command_renew},
    {"release", &grammar_release, command_release},
    {"flock", &grammar_flock, command_flock},
};

enum { N_COMMANDS_HERE = sizeof commands / sizeof commands[0] };

static int print_help(void)
{
    printf("Usage:\n");
    for (size_t i = 0; i < N_COMMANDS_HERE; i++) {
        printf("  %s\n", commands[i].grammar->usage);
    }
    printf(
        "  berth help [COMMAND]\n"
        "\n"
        "Runs a job under a lease from berthd, or takes a lease for another process. Every command\n"
        "has a --help.\n"
        "berthctl status shows what is held and waited for. More: man berth\n");
    return 0;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    static struct options options;
    if (!options_parse(&options, command->grammar, argc, argv)) {
        return STATUS_USAGE;
    }
    if (options.help) {
        print_help_of(command->grammar);
        return 0;
    }
    return command->run(&options);
}

/* berthctl shows and changes what berth uses. */
static bool is_of_operators(const char *word)
{
    static const enum command_index of_everybody[] = {COMMAND_status, COMMAND_wait, COMMAND_why,
        COMMAND_history, COMMAND_hosts, COMMAND_watch, COMMAND_revoke, COMMAND_drop,
        COMMAND_metrics};
    bool is_found = false;
    for (size_t i = 0; i < sizeof of_everybody / sizeof of_everybody[0]; i++) {
        is_found = is_found || strcmp(word, command_table[of_everybody[i]].word) == 0;
    }
    for (size_t i = 0; i < N_COMMANDS && !is_found; i++) {
        enum right right = command_table[i].right;
        is_found = (right == RIGHT_LEASE_ADMIN || right == RIGHT_RESOURCE_ADMIN ||
                       right == RIGHT_DAEMON_ADMIN) &&
            strcmp(word, command_table[i].word) == 0;
    }
    return is_found;
}

static int refuse_command(const char *word)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    for (size_t i = 0; i < N_COMMANDS_HERE; i++) {
        closest_match_try(&nearest, commands[i].word);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (is_of_operators(command_table[i].word)) {
            closest_match_try(&nearest, command_table[i].word);
        }
    }
    if (nearest.best) {
        message("no such command: %s; did you mean %s %s?", word,
            is_of_operators(nearest.best) ? "berthctl" : "berth", nearest.best);
    } else {
        message("no such command: %s; see berth --help", word);
    }
    return STATUS_USAGE;
}

static const struct command *find_command(const char *word)
{
    for (size_t i = 0; i < N_COMMANDS_HERE; i++) {
        if (strcmp(word, commands[i].word) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int help(const char *word)
{
    const struct command *command = find_command(word);
    if (command) {
        print_help_of(command->grammar);
    }
    return command ? 0 : refuse_command(word);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    stdio_fill_closed();
    const struct command *command = find_command(word);
    if (command) {
        return run_command(command, argc - 1, argv + 1);
    }
    bool is_help = strcmp(word, "help") == 0;
    if (is_help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return is_help && argc > 2 ? help(argv[2]) : print_help();
    }
    if (strcmp(word, "--version") == 0) {
        printf("berth %s\n", PACKAGE_VERSION);
        return 0;
    }
    if (argc > 1) {
        return refuse_command(word);
    }
    message("no command; see berth --help");
    return STATUS_USAGE;
}
