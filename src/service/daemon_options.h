/* daemon_options.h - the command line of a daemon. */
#pragma once

#include "base/option_table.h"

/* What all have; the first member of what a daemon has. */
struct daemon_options {
    const char *conf_path; /* NULL: the default */
    int ready_fd; /* -1: none */
    bool check_only, verbose;
    bool help, version;
};

set_option option_set_fd;

#define DAEMON_OPTION(set, member) set, offsetof(struct daemon_options, member)

/* The last rows of each table. */
#define DAEMON_OPTION_ROWS(program, ready_fd_help)                                                 \
    {0, 1, "ready-fd", "N", DAEMON_OPTION(option_set_fd, ready_fd), ready_fd_help},                \
    {'v', 1, "verbose", NULL, DAEMON_OPTION(option_set_true, verbose), "log more"},                \
    {'h', 1, "help", NULL, DAEMON_OPTION(option_set_true, help), "this text"},                     \
    {0, 1, "version", NULL, DAEMON_OPTION(option_set_true, version), program "'s version"},        \
    {0}

struct daemon_usage {
    const char *head, *more; /* before and after the options */
    const struct option_row *rows;
};

/* `options` has its defaults. Returns if all is right. */
void daemon_options_read(
    struct daemon_options *options, const struct daemon_usage *usage, char **argv);
/* Begins to log as they say: to the journal if stderr is that. */
void daemon_options_log(const struct daemon_options *options);
/* Says why, shows the usage, and exits. */
_Noreturn void daemon_options_refuse(const struct daemon_usage *usage, const char *why);
