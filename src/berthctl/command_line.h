/* command_line.h - the options of `berthctl`: their help, and reading them. */
#ifndef BERTH_BERTHCTL_COMMAND_LINE_H
#define BERTH_BERTHCTL_COMMAND_LINE_H

#include "berthctl/chosen.h"
#include "berthctl/show.h"
#include "berthctl/status_choice.h"

/* What has ended, besides the resources, which are the call's arguments. Times are milliseconds
 * since 1970. */
struct past_choice {
    struct optional since; /* what ended then or later */
    struct optional until; /* of this, what was asked for before */
    struct optional uid; /* only this user's */
    const char *lease; /* only this one; or NULL */
};

/* Bits of the options that only some commands take. */
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
    OPTION_ENDED = 16384,
    OPTION_YES = 32768,
    OPTIONS_OF_CHOICE = OPTION_ALL | OPTION_HOLDER | OPTION_PID,
};

/* The options given. The strings are words of argv. Set to {0} at first. */
struct line {
    const char *socket, *reason, *database;
    struct choice choice;
    struct status_choice shown;
    struct past_choice past;
    nanoseconds timeout;
    unsigned options; /* given */
    bool help, version;
};

/* Takes options from argv[1] on; before the command only those before the first other word. argv[0]
 * is the command, or berthctl itself. Returns the index of the first word that is no option, or -1
 * after a message. */
int line_take_options(struct line *line, int argc, char **argv, bool is_before_command);

/* A line of help for each of these bits, and for each of these letters. */
void line_print_options(unsigned options, const char *letters);

/* The long name of the lowest of these bits, at least one. */
const char *line_option_word(unsigned options);

/* Says what is wrong with the command line; `word` is the wrong word, or NULL. Returns the exit
 * status. */
int line_refuse(const char *what, const char *word);

#endif
