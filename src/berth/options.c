#include "berth/options.h"

#include "client/message.h"
#include "client/unknown_option.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_OPTIONS = 32,
    FIRST_ROW = 256, /* getopt's value of a word is that and the number of its row */
};

struct getopt_tables {
    char letters[2 + 2 * MAX_OPTIONS + 1];
    struct option words[MAX_OPTIONS + 1];
};

static void getopt_tables_fill(struct getopt_tables *tables, unsigned in)
{
    /* In order, so that the index of the first NAME is known; ':' reports a missing argument. */
    size_t n_letters = 0, n = 0;
    tables->letters[n_letters++] = '-';
    tables->letters[n_letters++] = ':';
    for (const struct option_row *row = option_rows; row->set; row++) {
        if (!(row->in & in)) {
            continue;
        }
        assert(n < MAX_OPTIONS);
        tables->words[n++] = (struct option){
            .name = row->word,
            .has_arg = row->argument ? required_argument : no_argument,
            .val = FIRST_ROW + (int)(row - option_rows),
        };
        if (row->letter) {
            tables->letters[n_letters++] = row->letter;
            if (row->argument) {
                tables->letters[n_letters++] = ':';
            }
        }
    }
    tables->letters[n_letters] = '\0';
    tables->words[n] = (struct option){0};
}

/* Of a letter, or of getopt's value of a word. */
static const struct option_row *find_row(unsigned in, int letter)
{
    const struct option_row *row = option_rows;
    if (letter >= FIRST_ROW) {
        return &option_rows[letter - FIRST_ROW];
    }
    while (row->set && !(row->letter == letter && (row->in & in))) {
        row++;
    }
    return row->set ? row : NULL;
}

/* `words` are the options that there are; argv[0] is the subcommand. */
static void refuse_option(
    const struct grammar *grammar, int letter, char **argv, const struct option words[])
{
    const char *word = argv[optind - 1];
    char see[32];
    const char alone[] = {'-', (char)optopt, '\0'};
    /* An unknown letter may be one of several in a word. */
    bool is_letter = optopt > 0 && optopt < FIRST_ROW && !find_row(grammar->in, optopt);
    if (letter == ':') {
        message("%s needs an argument", word);
    } else {
        snprintf(see, sizeof see, "berth %s", argv[0]);
        unknown_option_refuse(is_letter ? alone : word, words, see);
    }
}

static bool take_option(struct options *options, const struct grammar *grammar, int letter,
    char **argv, const struct option words[])
{
    const struct option_row *row = find_row(grammar->in, letter);
    if (!row) {
        refuse_option(grammar, letter, argv, words);
        return false;
    }
    const char *wrong = row->set((char *)options + row->offset, row->argument ? optarg : NULL);
    if (wrong) {
        message("--%s=%s: %s", row->word, optarg, wrong);
    }
    return !wrong;
}

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

bool options_parse(struct options *options, const struct grammar *grammar, int argc, char **argv)
{
    *options = (struct options){
        .wait = NEVER,
        .kill_after = NEVER,
        .on_lost = ON_LOST_NOT_SAID,
        .ttl = NEVER,
        .conflict_status = -1,
        .down_after = 5 * NANOSECONDS_PER_SECOND,
    };
    struct getopt_tables tables;
    getopt_tables_fill(&tables, grammar->in);

    bool needs_dashes = grammar->needs_dashes && !has_dashes(argc, argv);
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
        } else if (!take_option(options, grammar, letter, argv, tables.words)) {
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
    for (const struct option_row *row = option_rows; row->set; row++) {
        if (!(row->in & grammar->in)) {
            continue;
        }
        char left[40] = "    ";
        if (row->letter) {
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
