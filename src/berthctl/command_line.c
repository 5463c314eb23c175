/* command_line.c - the options of `berthctl`: one table, for their help and for reading them. */
#include "berthctl/run.h"

#include "base/utf8.h"
#include "base/words.h"
#include "client/exit_status.h"
#include "client/unknown_option.h"
#include "view/datetime.h"
#include "view/users.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* Up to the column of the help. */
#define NEXT_LINE "                           "

/* An option, for getopt() and for the help. */
static const struct row {
    unsigned option; /* its bit; or 0 */
    const char *word, *argument; /* NULL: it takes none */
    const char *help;
    char letter; /* in place of the bit: every command takes it */
} rows[] = {
    {OPTION_ALL, "all", NULL, .help = "all leases that hold units of NAME"},
    {OPTION_HOLDER, "holder", "ID", .help = "those with this identity, held or waiting"},
    {OPTION_PID, "pid", "PID", .help = "those of this process of this host, held or waiting"},
    {OPTION_REASON, "reason", "TEXT", .help = "why: shown to those concerned, and in the log"},
    {OPTION_WAIT, "wait", NULL, .help = "return once nothing is held"},
    {OPTION_TIMEOUT, "timeout", "DURATION", .help = "wait at most this long, then exit with 75"},
    {OPTION_DATABASE, "database", "DB", .help = "the database, if the file has several"},
    {OPTION_BUSY, "busy", NULL, .help = "only what is held or waited for"},
    {OPTION_USER, "user", "USER", .help = "only leases of this user, by name or uid"},
    {OPTION_SORT, "sort", "name|kind|limit|used|free|wait|age",
        .help = "sort by that column, largest first; age is that of the oldest lease"},
    {OPTION_SINCE, "since", "WHEN",
        .help = "only what ended since then: 1h, 03:00, yesterday, 2026-11-23"},
    {OPTION_UNTIL, "until", "WHEN", .help = "of that, only what was requested before then"},
    {OPTION_LEASE, "lease", "LEASE", .help = "only this one"},
    {OPTION_ENDED, "ended", NULL, .help = "also report how each lease ended"},
    {OPTION_YES, "yes", NULL,
        .help = "do not ask whether the database ever held anything: it did not"},
    {OPTION_JSON, "json", NULL, .help = "one JSON object in place of the table, or of each line"},
    {.letter = 'S', .word = "socket", .argument = "PATH|user",
        .help = "else $BERTH_SOCKET, else " ENDPOINT_DEFAULT ";\n" NEXT_LINE
                "user: your own daemon's"},
    {.letter = 'h', .word = "help", .help = "this text"},
    {.letter = 'V', .word = "version", .help = "berthctl's own version"},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

void line_print_options(unsigned options, const char *letters)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        if ((row->option & options) || (row->letter && strchr(letters, row->letter))) {
            struct text form = TEXT_INIT;
            text_add_format(&form, "--%s%s%s", row->word, row->argument ? " " : "",
                row->argument ? row->argument : "");
            const char letter[] = {'-', row->letter, ',', '\0'};
            printf("  %-3s %-20s%s%s\n", row->letter ? letter : "", form.bytes,
                form.length > 20 ? "\n" NEXT_LINE : " ", row->help);
            text_deinit(&form);
        }
    }
}

const char *line_option_word(unsigned options)
{
    unsigned lowest = options & ~(options - 1);
    size_t i = 0;
    while (i < N_ROWS - 1 && rows[i].option != lowest) {
        i++;
    }
    return rows[i].word;
}

int line_refuse(const char *what, const char *word)
{
    message("%s%s%s (see berthctl --help)", what, word ? ": " : "", word ? word : "");
    return STATUS_USAGE;
}

/* The word that getopt() has refused. getopt() takes the letters of a word one by one, and moves
 * `optind` to the next word only after the last letter. */
static const char *refused_word(char **argv)
{
    const char *before = argv[optind - 1], *next = argv[optind]; /* NULL behind the last one */
    bool are_letters = next && next[0] == '-' && next[1] != '-';
    bool is_inside = optopt != 0 && are_letters && strchr(next, optopt) &&
        !(before[0] == '-' && strchr(before, optopt));
    return is_inside ? next : before;
}

/* argv[0] is the command, or berthctl itself. */
static void refuse_option(char **argv, const struct option words[])
{
    const char *word = refused_word(argv);
    bool is_number = word[0] == '-' && word[1] >= '0' && word[1] <= '9';
    if (is_number && strcmp(argv[0], command_table[COMMAND_limit].word) == 0) {
        line_refuse("a limit is a number from 0 to 1000000", word);
    } else {
        unknown_option_refuse(word, words, "berthctl");
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
        if (!datetime_parse(optarg, now, &then)) {
            line_refuse("not a time like 1h, 03:00, yesterday or 2026-11-23", optarg);
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
    } else if (option == OPTION_BUSY) {
        line->shown.busy = true;
    } else if (option == OPTION_USER) {
        line->shown.by_user = line->past.uid.is_given = user_find(optarg, &line->shown.uid);
        line->past.uid.number = line->shown.uid;
        if (!line->shown.by_user) {
            line_refuse("no such user", optarg);
            return false;
        }
    } else if (option == OPTION_SORT && !(line->shown.sort = sort_find(optarg))) {
        line_refuse("not a column to sort by (name, kind, limit, used, free, wait, age)", optarg);
        return false;
    } else if (option == OPTION_PID &&
        (!number_parse(optarg, INT32_MAX, &line->choice.pid) || line->choice.pid == 0)) {
        line_refuse("not a process", optarg);
        return false;
    } else if (option == OPTION_TIMEOUT && !duration_parse(optarg, &line->timeout)) {
        line_refuse("not a duration like 30s or 1h30m", optarg);
        return false;
    }
    return take_past_argument(&line->past, option);
}

/* `val` is the option's bit, or else its letter. */
static void fill_words(struct option words[N_ROWS + 1])
{
    memset(words, 0, (N_ROWS + 1) * sizeof *words);
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        words[i].name = row->word;
        words[i].has_arg = row->argument ? required_argument : no_argument;
        words[i].val = row->letter ? row->letter : (int)row->option;
    }
}

int line_take_options(struct line *line, int argc, char **argv, bool is_before_command)
{
    struct option words[N_ROWS + 1];
    fill_words(words);
    const char *letters = is_before_command ? "+:S:hV" : ":S:hV";
    int option;
    opterr = 0;
    optind = 0; /* glibc: starts again */
    while ((option = getopt_long(argc, argv, letters, words, NULL)) != -1) {
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
            line_refuse("an argument is missing", argv[optind - 1]);
            return -1;
        case '?':
            refuse_option(argv, words);
            return -1;
        default:
            line->options |= (unsigned)option;
            if (option == OPTION_REASON) {
                line->after_reason = argv[optind];
            }
            if (!take_argument(line, (unsigned)option)) {
                return -1;
            }
        }
    }
    /* getopt() has moved the words behind the options, in their order. */
    for (int i = optind + 1; line->after_reason && i < argc; i++) {
        if (argv[i] == line->after_reason) {
            line_refuse("quote a reason of several words, or put all names before it", argv[i]);
            return -1;
        }
    }
    return optind;
}
