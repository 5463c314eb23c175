/* signals.h - the signals that the wrapper handles, read from a descriptor: no handler ever runs,
 * so the job's dispositions are the wrapper's own, and only the mask has to be put back. */
#ifndef BERTH_BERTH_SIGNALS_H
#define BERTH_BERTH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
    int fd; /* readable when there is one; close-on-exec */
    sigset_t original; /* the mask at start */
    bool child_was_ignored; /* SIGCHLD was ignored at start, which would hide the job's end */
};

/* Blocks what is handled. What was ignored at start (nohup) stays ignored, here and in the job. */
bool signals_init(struct signals *signals);

/* In the child: everything as it was at start. */
void signals_restore(const struct signals *signals);

/* The next signal, or 0. */
int signals_next(const struct signals *signals);

/* Is it forwarded to the job; and does it, while there is no job yet, end berth? */
bool signal_is_forwarded(int signal);
bool signal_ends(int signal);

/* Dies by `signal` without a core; where that is not possible, exits with 128 + signal. With
 * `whole_group` all of berth's process group gets it. */
_Noreturn void signal_die(int signal, bool whole_group);

/* Stops by `signal`, which berth may have blocked, alone or with all of its process group. Returns
 * when continued: true; or at once and false, where it is ignored or nobody could continue us. */
bool signal_stop(int signal, bool whole_group);

#endif
