/* process.h - what the kernel says about a process, and signals to it. A pid alone is never
 * trusted: it may be another process by now. watch.h sees when a process is gone. */
#pragma once

#include "core/ended.h"
#include "job/process_text.h"

enum process_check {
    PROCESS_OK,
    PROCESS_NONE, /* no such process, or it has ended; or a thread's id */
    PROCESS_NOT_YOURS,
};

/* Where a process is, as far as process_identify() could look. A process is in its parent's PID
 * namespace or below it: if it is in ours, so is its parent. */
struct process_place {
    bool is_here; /* in our PID namespace */
    pid_t parent; /* 0: none that we can see */
};

/* Whether a user may bind a lease to the process: it must be one that the user might signal
 * (kill(2)), and not process 1. Sets `*out` on PROCESS_OK. With PROCESS_NONE errno is ESRCH, or
 * says why /proc could not be read. Whatever the result, *placep says where it is. */
enum process_check process_identify(pid_t pid, uint32_t asker_uid, bool asker_is_admin,
    struct process *out, struct process_place *placep);

/* The process `pid` that had connected to this socket by then; a later one with its number, or a
 * child that has inherited the socket, is another. False: it has ended, or cannot be looked at. */
bool process_of_peer(int socket, pid_t pid, nanoseconds connected_by, struct process *out);

/* What /proc says about it now; `status` may be NULL. False with errno. */
bool process_look(pid_t pid, struct process_stat *stat, struct process_status *status);

/* Whether it waits for the lock of a file, flock(2)'s: the process that has taken that, -1 if it is
 * not known, or 0: it does not wait, or that cannot be seen. */
pid_t process_file_lock_holder(pid_t pid);

enum { MAX_PARENTS = 64 };
/* The process and its ancestors, the nearest first, without process 1. Returns how many. */
size_t process_and_ancestors(pid_t pid, pid_t pids[MAX_PARENTS]);
/* Looks into /proc only if it is another process. */
bool process_is_or_descends_from(pid_t pid, pid_t ancestor);

/* Whether kill(2) would let `uid`, with no privileges other than root's. */
bool process_may_be_signalled_by(const struct process_status *status, uint32_t uid);

/* Reads where this process comes from; if its start is not known (0), of the one that has the pid
 * and was there at that instant, on CLOCK_BOOTTIME. `with_args`: also its arguments. Long texts are
 * cut, and good until the next call. False: it is gone, or cannot be seen. */
bool process_look_origin(const struct process *process, nanoseconds there_at, bool with_args,
    struct process_origin *origin);

/* The user who has logged in, whatever sudo(8) has made of them since. False: nobody has, or the
 * kernel does not say. */
bool process_login(pid_t pid, uint32_t *uidp);

/* Whether that same process lives and is no zombie. When in doubt it counts as alive, since units
 * would be given away; a process without a known start (0) is nobody. */
bool process_is_alive(const struct process *process);

/* `peer_pid` as of SO_PEERCRED: whether the pids that it names mean the same here. When in doubt
 * they do not. */
bool process_shares_our_namespace(pid_t peer_pid);

/* A pidfd that is certainly this process's, owned by the caller; -1 with errno ESRCH if the process
 * is gone, or with another errno if none can be had. */
int process_open(const struct process *process);

/* Whether it leads a process group for a signal to go to: never our own group (a script, say, that
 * has started us and is a job too). If so, that number means this group. */
bool process_leads_group(int pidfd, const struct process *process);

/* Signals its process group if it leads one, else only itself; `process` NULL: only itself. SIGCONT
 * follows a signal that might not be taken otherwise. `pidfd` is process_open()'s. False with errno
 * if nobody got it. */
bool process_signal(int pidfd, const struct process *process, int signal);
