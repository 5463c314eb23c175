/* process.h - what the kernel says about one process, and signals to it. A pid alone is never
 * trusted: it may be another process by now. When one is gone is seen by watch.h. */
#ifndef BERTH_DAEMON_PROCESS_H
#define BERTH_DAEMON_PROCESS_H

#include "core/types.h"
#include "daemon/process_text.h"

enum process_check {
    PROCESS_OK,
    PROCESS_NONE, /* no such process, or it has ended; or a thread's id */
    PROCESS_NOT_YOURS,
};

/* Whether the asker may bind a lease to it: whether he might signal it (kill(2)), and it is not 1.
 * `*out` is filled in for PROCESS_OK. With PROCESS_NONE errno is ESRCH, or says why /proc could not
 * be read. */
enum process_check process_identify(
    pid_t pid, uint32_t asker_uid, bool asker_is_admin, struct process *out);

/* What /proc says of it now; `status` may be NULL. False with errno. */
bool process_look(pid_t pid, struct process_stat *stat, struct process_status *status);
/* Whether kill(2) would let `uid`, without privileges of another kind than root's. */
bool process_may_be_signalled_by(const struct process_status *status, uint32_t uid);

/* That same process, and no zombie. What cannot be found out is taken for alive, since units would
 * be given away; a process whose start is not known (0) is nobody. */
bool process_is_alive(const struct process *process);

/* `peer_pid` as of SO_PEERCRED: whether the pids that it names are the same to us. When in doubt
 * they are not. */
bool process_shares_our_namespace(pid_t peer_pid);

/* A pidfd that is certainly of this process, owned by the caller; -1 with errno ESRCH if the
 * process is gone, or with another errno if there is none to be had. */
int process_open(const struct process *process);

/* Whether it leads a process group that a signal to it goes to: never the one that we are in (of a
 * script, say, that has started us and is a job too). If so, that number means this group. */
bool process_leads_group(int pidfd, const struct process *process);

/* To its process group if it leads one, else to itself alone; SIGCONT goes after a signal that
 * might not be taken otherwise. `pidfd` is process_open()'s. False with errno if nobody got it. */
bool process_signal(int pidfd, const struct process *process, int signal);
/* The same to it alone. */
bool process_signal_alone(int pidfd, int signal);

#endif
