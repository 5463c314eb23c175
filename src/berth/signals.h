/* signals.h - the signals that the wrapper handles, read from a descriptor: no handler ever runs,
 * so the job's dispositions are the wrapper's own, and only the mask has to be restored. */
#pragma once

#include <signal.h>
#include <stdbool.h>

struct signals {
    int fd; /* readable when a signal is there; close-on-exec */
    sigset_t original; /* the mask at start */
    bool child_was_ignored; /* SIGCHLD was ignored at start, which would hide the job's end */
};

/* Blocks the signals to handle. Signals ignored at start (nohup) stay ignored, here and in the
 * job. */
bool signals_init(struct signals *signals);

/* In the child: restores everything as it was at start. */
void signals_restore(const struct signals *signals);

/* The next signal, or 0. */
int signals_next(const struct signals *signals);

/* Whether the signal is forwarded to the job; and whether it ends berth while there is no job
 * yet. */
bool signal_is_forwarded(int signal);
bool signal_ends(int signal);

/* Dies by `signal` without a core; where that is not possible, exits with 128 + signal. With
 * `whole_group`, the signal goes to all of berth's process group. */
_Noreturn void signal_die(int signal, bool whole_group);

/* Stops by `signal`, which berth may have blocked, alone or with all of its process group. Returns
 * true when continued; false at once where the signal is ignored or nobody could continue berth. */
bool signal_stop(int signal, bool whole_group);
