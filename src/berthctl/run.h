/* run.h - the command line of berthctl: its options, their help, and the functions that show the
 * answers and run the commands that need more than one request and its answer. */
#pragma once

#include "berthctl/ctl_call.h"
#include "table/status_filter.h"
#include "view/past.h"
#include "view/printable.h"

enum { MAX_NAMES = 16 }; /* of one request, as of status */

/* Bits of the options. */
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
    OPTION_SOCKET = 65536,
    OPTION_HELP = 131072,
    OPTION_VERSION = 262144,
    OPTION_FAILED = 524288,
    OPTION_HOST = 1048576,
    OPTION_LIMIT = 2097152,
    OPTIONS_OF_ALL = OPTION_SOCKET | OPTION_HELP | OPTION_VERSION,
    OPTIONS_OF_CHOICE = OPTION_ALL | OPTION_HOLDER | OPTION_PID,
};

/* Which leases of a resource; at least one member says so. */
struct lease_filter {
    const char *holder; /* those of that identity, held or waiting; or NULL */
    uint64_t pid; /* those of that process of this host, held or waiting; or 0 */
    bool all; /* all that are held */
};

/* The command line. The strings are words of argv. Set to {0} at first. */
struct line {
    char **words; /* but for the options: the command, and its arguments; ends with NULL */
    size_t n_words;
    const char *socket, *reason, *database;
    struct lease_filter choice;
    struct status_filter shown;
    struct past_choice past;
    nanoseconds timeout;
    unsigned options; /* given */
};

/* Gathers the words at the front of argv + 1. False after a message. */
bool line_read(struct line *line, char **argv);

/* Prints a line of help for each of these bits. */
void line_print_options(unsigned options);

/* The long name of the first of these bits, at least one. */
const char *line_option_word(unsigned options);

/* Says what is wrong with the command line; `word` is the wrong word, or NULL. Returns the exit
 * status. */
int line_refuse(const char *what, const char *word);

/* ---- shown: results on stdout, messages on stderr ---- */

/* The words are those of the line that begins with "ok"; call_line() has the others. Returns the
 * exit status. */
typedef int show_function(struct call *call, char *words[], size_t n);
/* Sends the request, and shows the answer; `show` NULL: not. Returns the exit status. */
int show_answer(struct call *call, show_function *show);

show_function show_ok, show_version, show_added, show_drain, show_reloaded, show_upgraded;

/* Writes the text to stdout, and frees it. Returns the exit status. */
int show_print(struct text *text);
/* Columns of the terminal; 0: stdout is none. */
size_t show_width(void);

/* ---- carried out ---- */

/* Carries a command out in its own way. The call has the command's arguments. Returns the exit
 * status. */
typedef int run_function(struct call *call, const struct line *line);
run_function run_finish_upgrade, run_found, run_history, run_hosts, run_metrics, run_revoke,
    run_stats, run_status, run_top, run_wait, run_watch, run_why;

/* Sends the call's request for each of its first `n` arguments, with what follows them: for none if
 * one of several should be a resource and is not. Goes on after a refusal. Returns the first exit
 * status that is not 0. */
int run_each(struct call *call, size_t n, show_function *show);
