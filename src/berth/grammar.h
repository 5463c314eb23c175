/* grammar.h - tables for options.c: one row for each option, one struct for each subcommand. */
#ifndef BERTH_BERTH_GRAMMAR_H
#define BERTH_BERTH_GRAMMAR_H

#include "berth/options.h"

/* Takes an option's argument (NULL if it has none). Returns NULL, or what is wrong with it. */
typedef const char *set_option(struct options *options, const char *argument);

/* The subcommands that take an option. */
enum {
    IN_RUN = 1,
    IN_ACQUIRE = 2,
    IN_RELEASE = 4,
    IN_RENEW = 8,
    IN_ALL = 15,
};

enum { FIRST_LONG = 256 };

struct option_row {
    int letter; /* from FIRST_LONG on: a long option only */
    unsigned in;
    const char *word;
    const char *argument; /* as the help names it; NULL: none */
    set_option *set;
    const char *help;
};

extern const struct option_row option_rows[]; /* in the order of the help; ends with .set = NULL */

struct grammar {
    unsigned in;
    const char *usage;
    const char *summary;
    bool needs_dashes; /* before a command */
    /* Takes the positional arguments; `dashes` is the index in `words` of what follows "--", or n
     * if there is no "--". False after a message. */
    bool (*take_words)(struct options *options, char **words, int n, int dashes);
    const char *more_help;
};

#endif
