/* option_table.h - command lines, read by a table of options, and the help that it prints. Pure. */
#pragma once

#include "base/text.h"

/* Puts an option's argument (NULL if it has none) into a member of an object. Returns NULL, or what
 * is wrong with it. */
typedef const char *set_option(void *member, char *argument);
set_option option_set_true; /* a bool */
set_option option_set_text; /* a const char *, which points into argv */
set_option option_set_duration; /* nanoseconds */

struct option_row {
    char letter; /* 0: a long option only */
    unsigned in; /* bits: what they mean, the table says */
    const char *word;
    const char *argument; /* as the help names it; NULL: none; "": one after a "=", or none */
    set_option *set; /* NULL: its bit is enough */
    size_t offset; /* of the member */
    const char *help; /* lines with LF between them */
};

enum option_fault {
    OPTION_UNKNOWN = 1,
    OPTION_WITHOUT_ARGUMENT,
    OPTION_WITH_WRONG_ARGUMENT,
};

struct option_reader {
    const struct option_row *rows; /* in the order of the help; ends with .word = NULL */
    unsigned in; /* the rows that have one of these bits */
    void *object; /* whose members they set */
    char **argv; /* the next word; ends with NULL */

    bool has_dashes; /* "--" has come: all that follows are words */
    unsigned given; /* .in of all options so far */
    const struct option_row *last; /* the option just before argv; NULL: there is none */
    enum option_fault fault; /* 0: none */
    const char *wrong; /* the option as it was written, without its first dash */
    const char *argument, *why; /* of OPTION_WITH_WRONG_ARGUMENT */
};

/* Reads on: the next word that is no option; or NULL: there is none, or .fault says why. A long
 * option may be shortened, as long as only one begins so. */
char *option_reader_next(struct option_reader *reader);
/* What is wrong, in words; `see` is the command whose --help has the options. */
void option_reader_explain(
    const struct option_reader *reader, const char *see, struct text *out);

/* Adds the options of these bits; their help begins behind `width` columns. */
void option_table_help(
    const struct option_row rows[], unsigned in, size_t width, struct text *out);
