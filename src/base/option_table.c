#include "base/option_table.h"

#include "base/closest_match.h"
#include "base/words.h"

#include <limits.h>

/* ---- kinds of values ---- */

const char *option_set_true(void *member, char *argument)
{
    (void)argument;
    *(bool *)member = true;
    return NULL;
}

const char *option_set_text(void *member, char *argument)
{
    *(const char **)member = argument;
    return NULL;
}

const char *option_set_duration(void *member, char *argument)
{
    return duration_parse(argument, member) ? NULL : "not a duration like 30s or 1h30m";
}

/* ---- reading ---- */

/* The option of this word, or the only one that begins so, whatever its names; or NULL. */
static const struct option_row *find_word(
    const struct option_reader *reader, const char *word, size_t n)
{
    const struct option_row *found = NULL;
    size_t n_found = 0;
    for (const struct option_row *row = reader->rows; row->word; row++) {
        if ((row->in & reader->in) && strncmp(row->word, word, n) == 0) {
            if (row->word[n] == '\0') {
                return row;
            }
            bool is_same =
                found && row->set && row->set == found->set && row->offset == found->offset;
            n_found += !is_same;
            found = row;
        }
    }
    return n_found == 1 ? found : NULL;
}

static const struct option_row *find_letter(const struct option_reader *reader, char letter)
{
    const struct option_row *row = reader->rows;
    while (row->word && !((row->in & reader->in) && row->letter == letter)) {
        row++;
    }
    return row->word ? row : NULL;
}

/* `argument` NULL: it is the next word, if the option has one. */
static enum option_fault take(
    struct option_reader *reader, const struct option_row *row, char *argument)
{
    bool needs_argument = row->argument && row->argument[0] != '\0';
    if (needs_argument && !argument) {
        argument = *reader->argv;
        reader->argv += argument != NULL;
    }
    if (needs_argument && !argument) {
        return OPTION_WITHOUT_ARGUMENT;
    }
    reader->last = row;
    reader->given |= row->in;
    reader->argument = argument;
    reader->why = row->set ? row->set((char *)reader->object + row->offset, argument) : NULL;
    return reader->why ? OPTION_WITH_WRONG_ARGUMENT : 0;
}

/* "--WORD" or "--WORD=ARGUMENT" */
static enum option_fault take_word(struct option_reader *reader, char *word)
{
    size_t n = strcspn(word, "=");
    char *argument = word[n] == '=' ? word + n + 1 : NULL;
    const struct option_row *row = find_word(reader, word, n);
    return row && (row->argument || !argument) ? take(reader, row, argument) : OPTION_UNKNOWN;
}

/* "-LETTERS", of which the last may have the rest as its argument. */
static enum option_fault take_letters(struct option_reader *reader, char *letters)
{
    enum option_fault fault = 0;
    while (fault == 0 && *letters) {
        const struct option_row *row = find_letter(reader, *letters);
        reader->wrong = letters++;
        fault = row ? take(reader, row, row->argument && *letters ? letters : NULL)
                    : OPTION_UNKNOWN;
        if (row && row->argument) {
            break;
        }
    }
    return fault;
}

char *option_reader_next(struct option_reader *reader)
{
    reader->last = NULL;
    while (*reader->argv && reader->fault == 0) {
        char *word = *reader->argv++;
        if (reader->has_dashes || word[0] != '-' || word[1] == '\0') {
            return word;
        }
        reader->wrong = word + 1;
        if (strcmp(word, "--") == 0) {
            reader->has_dashes = true;
            reader->last = NULL;
        } else if (word[1] == '-') {
            reader->fault = take_word(reader, word + 2);
        } else {
            reader->fault = take_letters(reader, word + 1);
        }
    }
    return NULL;
}

/* ---- what is wrong ---- */

static void explain_unknown(
    const struct option_reader *reader, const char *see, struct text *out)
{
    struct text name = TEXT_INIT;
    /* Else a letter, of several perhaps. */
    bool is_long = reader->wrong[-1] == '-' && reader->wrong[0] == '-';
    int shown = is_long ? INT_MAX : 1;
    text_add_bytes(&name, reader->wrong + is_long, is_long ? strcspn(reader->wrong, "=") - 1 : 0);
    struct closest_match nearest = CLOSEST_MATCH_INIT(name.bytes);
    for (const struct option_row *row = reader->rows; row->word; row++) {
        if (row->in & reader->in) {
            closest_match_try(&nearest, row->word);
        }
    }
    text_add_format(out, "no such option: -%.*s%s%s%s (see %s --help)", shown, reader->wrong,
        nearest.best ? "; did you mean --" : "", nearest.best ? nearest.best : "",
        nearest.best ? "?" : "", see);
    text_deinit(&name);
}

void option_reader_explain(
    const struct option_reader *reader, const char *see, struct text *out)
{
    switch (reader->fault) {
    case OPTION_UNKNOWN:
        explain_unknown(reader, see, out);
        break;
    case OPTION_WITHOUT_ARGUMENT:
        text_add_format(out, "-%s needs an argument", reader->wrong);
        break;
    case OPTION_WITH_WRONG_ARGUMENT:
        text_add_format(out, "--%s=%s: %s", reader->last->word, reader->argument, reader->why);
        break;
    }
}

/* ---- help ---- */

enum { GAP = 2 }; /* at least, before the help */

void option_table_help(
    const struct option_row rows[], unsigned in, size_t width, struct text *out)
{
    for (const struct option_row *row = rows; row->word; row++) {
        if (!(row->in & in)) {
            continue;
        }
        size_t begin = out->length;
        const char letter[] = {'-', row->letter, ',', '\0'};
        text_add_format(out, "  %-3s --%s%s%s", row->letter ? letter : "", row->word,
            row->argument && *row->argument ? " " : "", row->argument ? row->argument : "");
        for (const char *line = row->help; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            if (out->length - begin + GAP > width) {
                text_add(out, "\n");
                begin = out->length;
            }
            text_add_repeated(out, ' ', width - (out->length - begin));
            text_add_bytes(out, line, strcspn(line, "\n"));
        }
        text_add(out, "\n");
    }
}
