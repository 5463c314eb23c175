/* run.h - carries out the commands that are more than a request and its answer. */
#ifndef BERTH_BERTHCTL_RUN_H
#define BERTH_BERTHCTL_RUN_H

#include "berthctl/command_line.h"

/* Carries a command out in its own way. The call has the command's arguments. Returns the exit
 * status. */
typedef int run_function(struct call *call, const struct line *line);
run_function run_finish_upgrade, run_found, run_history, run_hosts, run_revoke, run_stats,
    run_status, run_top, run_wait, run_watch, run_why;

/* Sends the call's request for each of its first `n` arguments, with what follows them. Goes on
 * after a refusal. Returns the first exit status that is not 0. */
int run_each(struct call *call, size_t n, show_function *show);

#endif
