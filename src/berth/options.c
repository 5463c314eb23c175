#include "berth/options.h"

#include "client/message.h"

#include <stdio.h>
#include <string.h>

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

static void refuse(const struct option_reader *reader, const char *subcommand)
{
    struct text see = TEXT_INIT, why = TEXT_INIT;
    text_add_format(&see, "berth %s", subcommand);
    option_reader_explain(reader, see.bytes, &why);
    message("%s", why.bytes);
    text_deinit(&see);
    text_deinit(&why);
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
    }
    if (options->help) {
        return true;
    }
    if (reader.fault) {
        refuse(&reader, argv[0]);
        return false;
    }
    argv[1 + n] = NULL;
    return grammar->take_words(options, argv + 1, n, dashes);
}

void options_print_help(const struct grammar *grammar)
{
    struct text rows = TEXT_INIT;
    option_table_help(option_rows, grammar->in, HELP_COLUMN, &rows);
    printf("Usage: %s\n%s\n\n%s", grammar->usage, grammar->summary, rows.bytes);
    text_deinit(&rows);
    if (grammar->more_help[0]) {
        printf("\n%s", grammar->more_help);
    }
}
