#include "client/options.h"

#include "client/message.h"
#include "client/signal_words.h"
#include "wire/text.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* Takes an option's argument (NULL if it has none). NULL, or what is wrong with it. */
typedef const char *set_option(struct options *options, const char *argument);

struct option_row {
    int letter; /* above 255: a long option alone */
    const char *word;
    const char *argument; /* how the help names it; NULL: none */
    set_option *set;
    const char *help;
};

struct grammar {
    const char *usage;
    const char *summary;
    const struct option_row *rows;
    /* The positional arguments, with `dashes` the place in `words` of what follows "--", or
     * n if there is none. False: said why. */
    bool (*take_words)(struct options *options, char **words, int n, int dashes);
    const char *more_help;
};

enum { MAX_OPTIONS = 24, FIRST_LONG = 256 };

/* ---- one function for each option ---- */

static const char *set_nonblock(struct options *options, const char *argument)
{
    (void)argument;
    options->wait = 0;
    return NULL;
}

static const char *set_timeout(struct options *options, const char *argument)
{
    return duration_parse(argument, &options->wait) ? NULL : "not a duration like 30s or 1.5h";
}

static const char *set_conflict_status(struct options *options, const char *argument)
{
    uint64_t status;
    if (!number_parse(argument, 255, &status)) {
        return "not an exit status from 0 to 255";
    }
    options->conflict_status = (int)status;
    return NULL;
}

static const char *set_priority(struct options *options, const char *argument)
{
    int64_t priority;
    if (!signed_number_parse(argument, 1000, &priority)) {
        return "not a number from -1000 to 1000";
    }
    options->priority = (int)priority;
    return NULL;
}

static const char *set_text(const char **textp, const char *argument, size_t most, const char *why)
{
    size_t n = strlen(argument);
    if (n < 1 || n > most) {
        return why;
    }
    *textp = argument;
    return NULL;
}

static const char *set_holder(struct options *options, const char *argument)
{
    return set_text(&options->holder, argument, HOLDER_BYTES, "not 1 to 128 bytes");
}

static const char *set_reason(struct options *options, const char *argument)
{
    return set_text(&options->reason, argument, REASON_BYTES, "not 1 to 256 bytes");
}

static const char *set_item(struct options *options, const char *argument)
{
    options->item = argument;
    return item_is_valid(argument) ? NULL : "not an item's name";
}

static const char *set_if_down(struct options *options, const char *argument)
{
    static const char *const words[] = {
        [IF_DOWN_FAIL] = "fail", [IF_DOWN_WAIT] = "wait", [IF_DOWN_RUN] = "run"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(argument, words[i]) == 0) {
            options->if_down = (enum if_down)i;
            return NULL;
        }
    }
    return "not one of fail, wait, run";
}

static const char *set_down_after(struct options *options, const char *argument)
{
    return duration_parse(argument, &options->down_after) ? NULL : "not a duration like 5s";
}

static const char *set_signal(struct options *options, const char *argument)
{
    options->signal = signal_parse(argument);
    return options->signal != 0 ? NULL : "not a signal like TERM or 15";
}

static const char *set_kill_after(struct options *options, const char *argument)
{
    return duration_parse(argument, &options->kill_after) ? NULL : "not a duration like 10s";
}

static const char *set_on_lost(struct options *options, const char *argument)
{
    return on_lost_parse(argument, &options->on_lost) ? NULL : "not one of kill, term, warn";
}

static const char *set_export(struct options *options, const char *argument)
{
    static const char bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    options->export = argument;
    if (strncmp(argument, "BERTH_", 6) == 0) {
        return "not for a name that berth sets itself";
    }
    bool valid = strspn(argument, bytes) == strlen(argument) && argument[0] != '\0' &&
        strchr("0123456789", argument[0]) == NULL;
    return valid ? NULL : "not the name of a variable";
}

static const char *set_socket(struct options *options, const char *argument)
{
    options->socket = argument;
    return NULL;
}

static const char *set_quiet(struct options *options, const char *argument)
{
    (void)argument;
    options->quiet = true;
    return NULL;
}

static const char *set_verbose(struct options *options, const char *argument)
{
    (void)argument;
    options->verbose = true;
    return NULL;
}

static const char *set_help(struct options *options, const char *argument)
{
    (void)argument;
    options->help = true;
    return NULL;
}

/* ---- the tables ---- */

enum {
    LETTER_HOLDER = FIRST_LONG,
    LETTER_REASON,
    LETTER_IF_DOWN,
    LETTER_DOWN_AFTER,
    LETTER_EXPORT,
    LETTER_ON_LOST,
    LETTER_ITEM
};

static const struct option_row run_rows[] = {
    {'n', "nonblock", NULL, set_nonblock, "don't wait"},
    {'w', "timeout", "DURATION", set_timeout, "wait at most so long; 0 is -n (default: for ever)"},
    {'E', "conflict-exit-code", "N", set_conflict_status, "status for \"not acquired\" (75)"},
    {'p', "priority", "N", set_priority, "bigger first (0)"},
    {LETTER_HOLDER, "holder", "ID", set_holder, "identity; one identity holds a resource once"},
    {LETTER_REASON, "reason", "TEXT", set_reason, "shown in status"},
    {'s', "signal", "SIG", set_signal, "what the job is asked to stop with (TERM)"},
    {'k', "kill-after", "DURATION", set_kill_after,
        "how long after that it is killed; at most the resource's"},
    {LETTER_ON_LOST, "on-lost", "kill|term|warn", set_on_lost,
        "what to do when the lease is lost; at least the resource's"},
    {LETTER_IF_DOWN, "if-down", "fail|wait|run", set_if_down, "if berthd does not answer (fail)"},
    {LETTER_DOWN_AFTER, "down-after", "DURATION", set_down_after,
        "how long berthd may take to answer (5s)"},
    {LETTER_EXPORT, "export", "VAR", set_export,
        "put the items (of the only pool) or slots into VAR"},
    {'S', "socket", "PATH|user", set_socket, "berthd's socket; \"user\" is that of your own"},
    {'q', "quiet", NULL, set_quiet, "say nothing about waiting and being busy"},
    {'v', "verbose", NULL, set_verbose, "say what was granted"},
    {'h', "help", NULL, set_help, "this text"},
    {0},
};

static const struct option_row release_rows[] = {
    {LETTER_HOLDER, "holder", "ID", set_holder, "what this identity holds of NAME"},
    {LETTER_ITEM, "item", "ITEM", set_item, "whatever holds this item, or slot, of NAME"},
    {LETTER_DOWN_AFTER, "down-after", "DURATION", set_down_after,
        "how long berthd may take to answer (5s)"},
    {'S', "socket", "PATH|user", set_socket, "berthd's socket; \"user\" is that of your own"},
    {'h', "help", NULL, set_help, "this text"},
    {0},
};

/* ---- positional arguments ---- */

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
        message("%s: not a resource's name", word);
        return false;
    }
    if (colon && !number_parse(colon + 1, UINT64_MAX, &count)) {
        message("%s: what follows the colon is not a number of units", word);
        return false;
    }
    if (options->n_wanted == OPTIONS_MAX_RESOURCES) {
        message("more than %d resources", OPTIONS_MAX_RESOURCES);
        return false;
    }
    options->wanted[options->n_wanted++] = (struct wanted){
        .name = word,
        .name_length = (int)n,
        .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX, /* berthd says: impossible */
    };
    return true;
}

static bool run_take_words(struct options *options, char **words, int n, int dashes)
{
    if (dashes == n) {
        message("no COMMAND");
        return false;
    }
    if (dashes == 0) {
        message("no NAME");
        return false;
    }
    for (int i = 0; i < dashes; i++) {
        if (!take_wanted(options, words[i])) {
            return false;
        }
    }
    options->command = words + dashes;
    return true;
}

static bool release_take_words(struct options *options, char **words, int n, int dashes)
{
    uint64_t id;
    (void)dashes;
    if (n != 1) {
        message(n == 0 ? "no LEASE or NAME" : "more than one LEASE or NAME");
        return false;
    }
    if (options->holder && options->item) {
        message("--holder and --item exclude each other");
        return false;
    }
    bool by_name = options->holder || options->item;
    if (by_name ? !name_is_valid(words[0]) : !lease_id_parse(words[0], &id)) {
        message(by_name ? "%s: not a resource's name"
                        : "%s: not a lease; for a NAME say --holder ID or --item ITEM",
            words[0]);
        return false;
    }
    options->lease = words[0];
    return true;
}

const struct grammar grammar_run = {
    .usage = "berth run [OPTION]... NAME[:COUNT]... -- COMMAND [ARG]...",
    .summary = "Runs COMMAND once it has its units of every NAME, and gives them back at its end.",
    .rows = run_rows,
    .take_words = run_take_words,
    .more_help =
        "COMMAND finds BERTH_LEASE, BERTH_SOCKET, BERTH_NAME, BERTH_TOKEN, BERTH_SLOT or "
        "BERTH_ITEM,\n"
        "and BERTH_COUNT in its environment; with several NAMEs these are the first one's, and\n"
        "BERTH_1_NAME, BERTH_1_TOKEN, ... BERTH_2_NAME, ... are in the order given.\n"
        "\n"
        "The exit status is COMMAND's own, or 64 usage, 69 berthd not reachable, 75 not acquired,\n"
        "77 not permitted, 78 unknown or impossible, 126 cannot execute, 127 not found.\n",
};

const struct grammar grammar_release = {
    .usage = "berth release LEASE | NAME --holder ID | NAME --item ITEM",
    .summary = "Gives a lease back before its job has ended. What is free already is no error.",
    .rows = release_rows,
    .take_words = release_take_words,
    .more_help = "",
};

/* ---- parsing ---- */

struct getopt_tables {
    char letters[2 + 2 * MAX_OPTIONS + 1];
    struct option words[MAX_OPTIONS + 1];
};

static void getopt_tables_fill(struct getopt_tables *tables, const struct option_row *rows)
{
    /* In order, so that the place of the first NAME is known; ':' tells a missing argument. */
    size_t n_letters = 0, n = 0;
    tables->letters[n_letters++] = '-';
    tables->letters[n_letters++] = ':';
    for (; rows[n].set; n++) {
        tables->words[n] = (struct option){
            .name = rows[n].word,
            .has_arg = rows[n].argument ? required_argument : no_argument,
            .val = rows[n].letter,
        };
        if (rows[n].letter < FIRST_LONG) {
            tables->letters[n_letters++] = (char)rows[n].letter;
            if (rows[n].argument) {
                tables->letters[n_letters++] = ':';
            }
        }
    }
    tables->letters[n_letters] = '\0';
    tables->words[n] = (struct option){0};
}

static const struct option_row *find_row(const struct option_row *rows, int letter)
{
    while (rows->set && rows->letter != letter) {
        rows++;
    }
    return rows->set ? rows : NULL;
}

static bool take_option(
    struct options *options, const struct grammar *grammar, int letter, char **argv)
{
    const struct option_row *row = find_row(grammar->rows, letter);
    if (!row) {
        /* An unknown letter may be one of several in a word. */
        if (optopt > 0 && optopt < FIRST_LONG && !find_row(grammar->rows, optopt)) {
            message("no such option: -%c", optopt);
        } else {
            message(
                letter == ':' ? "%s needs an argument" : "no such option: %s", argv[optind - 1]);
        }
        return false;
    }
    const char *wrong = row->set(options, row->argument ? optarg : NULL);
    if (wrong) {
        message("--%s=%s: %s", row->word, optarg, wrong);
    }
    return !wrong;
}

static void append_words(char *out, size_t size, char **words, int n)
{
    for (int i = 0; i < n; i++) {
        append(out, size,
            strpbrk(words[i], " \t\n'\"\\$&;|<>*?()`") || !*words[i] ? " '%s'" : " %s", words[i]);
    }
}

/* `berth run deploy ./x`: nothing may guess where the command begins but the user. */
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

bool options_parse(struct options *options, const struct grammar *grammar, int argc, char **argv)
{
    *options = (struct options){
        .wait = NEVER,
        .kill_after = NEVER,
        .conflict_status = -1,
        .down_after = 5 * NANOSECONDS_PER_SECOND,
    };
    struct getopt_tables tables;
    getopt_tables_fill(&tables, grammar->rows);

    bool needs_dashes = grammar == &grammar_run && !has_dashes(argc, argv);
    int n = 0; /* positional words, gathered at the front of argv + 1: never ahead of optind */
    int letter;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, tables.letters, tables.words, NULL)) != -1) {
        if (letter == 1) {
            if (needs_dashes && optind < argc) {
                say_no_dashes(argc, argv, optind - 1);
                return false;
            }
            argv[1 + n++] = optarg;
        } else if (!take_option(options, grammar, letter, argv)) {
            return false;
        } else if (options->help) {
            return true;
        }
    }
    int dashes = n;
    while (optind < argc) {
        argv[1 + n++] = argv[optind++];
    }
    argv[1 + n] = NULL;
    return grammar->take_words(options, argv + 1, n, dashes);
}

void options_print_help(const struct grammar *grammar)
{
    printf("Usage: %s\n%s\n\n", grammar->usage, grammar->summary);
    for (const struct option_row *row = grammar->rows; row->set; row++) {
        char left[40] = "    ";
        if (row->letter < FIRST_LONG) {
            snprintf(left, sizeof left, "-%c, ", row->letter);
        }
        append(left, sizeof left, "--%s%s%s", row->word, row->argument ? " " : "",
            row->argument ? row->argument : "");
        printf("  %-30s  %s\n", left, row->help);
    }
    if (grammar->more_help[0]) {
        printf("\n%s", grammar->more_help);
    }
}
