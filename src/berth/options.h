/* options.h - the command lines of berth, as tables: the same rows serve parsing and help
 * (option_rows.c, grammars.c). */
#pragma once

#include "base/clock.h"
#include "base/on_lost.h"
#include "base/option_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OPTIONS_MAX_RESOURCES = 16 };

enum if_down {
    IF_DOWN_FAIL,
    IF_DOWN_WAIT, /* until berthd is there */
    IF_DOWN_RUN, /* without a lease */
};

struct wanted {
    const char *name; /* not NUL-terminated: ":COUNT" may follow */
    int name_length;
    uint32_t count;
};

/* The parsed command line. Strings belong to argv. NULL: not given. */
struct options {
    struct wanted wanted[OPTIONS_MAX_RESOURCES];
    size_t n_wanted;
    char **command; /* run: the job's argv */
    const char *lease; /* release, renew: LEASE or NAME */
    pid_t pid; /* acquire; 0: not given */
    nanoseconds ttl; /* a span; NEVER: not given */

    nanoseconds wait; /* a span; 0 = do not wait, NEVER = for ever */
    nanoseconds down_after; /* a span */
    int conflict_status; /* -E; -1: not given */
    int priority;
    int signal; /* 0: not given */
    nanoseconds kill_after; /* a span; NEVER: not given */
    enum on_lost on_lost;
    enum if_down if_down;
    const char *item, *export, *socket;
    const char *holder, *reason; /* attributes of the lease */
    bool no_fork, tree, json;
    bool quiet, verbose;
    bool help;
};

/* ---- the tables ---- */

/* The subcommands that take an option. */
enum {
    IN_RUN = 1,
    IN_ACQUIRE = 2,
    IN_RELEASE = 4,
    IN_RENEW = 8,
    IN_ALL = 15,
};

extern const struct option_row option_rows[]; /* .in has the subcommands that take it */

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

extern const struct grammar grammar_run, grammar_acquire, grammar_release, grammar_renew;

/* "TERM", "SIGTERM" or "15"; 0 if it is no signal. */
int signal_parse(const char *word);

/* argv[0] is the subcommand's word. False, after a message: the line is wrong. With options->help
 * nothing else is filled in. */
bool options_parse(struct options *options, const struct grammar *grammar, int argc, char **argv);

/* Prints to stdout. */
void options_print_help(const struct grammar *grammar);
