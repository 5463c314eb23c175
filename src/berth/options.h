/* options.h - the options of berth, as a table: the same rows serve parsing and help
 * (option_rows.c); and the subcommands that have them. */
#pragma once

#include "base/clock.h"
#include "base/nested.h"
#include "base/on_lost.h"
#include "base/replace.h"
#include "base/option_table.h"
#include "berth/file_lock.h"

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
    const char *how; /* "all" or "shared", of count 1; or NULL */
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
    bool shared;
    int signal; /* 0: not given */
    nanoseconds kill_after; /* a span; NEVER: not given */
    enum on_lost on_lost;
    enum nested nested;
    enum replace replace;
    enum if_down if_down;
    const char *item, *export, *socket;
    const char *holder, *reason, *share; /* attributes of the lease */
    bool no_fork, tree, json;
    bool quiet, verbose;
    bool help;

    struct file_lock given_lock; /* flock */
    bool unlock_file; /* flock */
    const struct file_lock *file_lock; /* which the job takes first; NULL: none */
};

/* ---- the table ---- */

/* The subcommands that take an option. */
enum {
    IN_RUN = 1,
    IN_ACQUIRE = 2,
    IN_RELEASE = 4,
    IN_RENEW = 8,
    IN_FLOCK = 16,
    IN_ALL = 31,
};

extern const struct option_row option_rows[]; /* .in has the subcommands that take it */

/* "TERM", "SIGTERM" or "15"; 0 if it is no signal. */
int signal_parse(const char *word);

/* `words` are FILE and COMMAND. False after a message. */
bool flock_take_words(struct options *options, char **words, int n, int dashes);

/* ---- the subcommands that take options; each returns the exit status ---- */

int command_run(const struct options *options);
int command_acquire(const struct options *options);
int command_renew(const struct options *options);
int command_release(const struct options *options);
int command_flock(const struct options *options);
