/* child.h - the process that becomes the job: forked before the lease is requested, so that the
 * request can carry its pid, and held back until the lease is there. */
#pragma once

#include "berth/environment.h"
#include "berth/file_lock.h"
#include "berth/signals.h"
#include "berth/tree.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid; /* also its process group; 0: none */
    bool is_reaped; /* only others are left then, if any */
    struct tree *tree; /* NULL without --tree */
    const struct file_lock *file_lock; /* which the child takes before it becomes the job, whose
                                          environment then stays as it is; NULL: none */
    bool is_alone; /* no descendants are left (--tree) */
    int go; /* writing lets it run, closing lets it exit; -1: it runs */
};

/* False with errno. `argv` and `signals` must stay valid. */
bool child_fork(struct child *child, char **argv, const struct signals *signals);

/* Lets the child run. If it has ended meanwhile, child_look() says so. */
void child_start(struct child *child, const struct environment *environment);

/* Before child_start(): the child is gone when this returns. */
void child_discard(struct child *child);

/* Signals the whole process group; once the child has ended, all that is left of its tree too. */
void child_signal(const struct child *child, int signal);
/* Whether the child cannot take a signal, and so cannot stop either: it sleeps uninterruptibly in
 * the kernel, as in vfork() while its own child is stopped. False if that cannot be seen. */
bool child_is_stuck(const struct child *child);
/* Whether any process is left in the group. */
bool child_has_group(const struct child *child);

/* Signals and continues the group and all of the tree: a stopped process would not see the signal.
 * With `only_new`, only those of the tree that have been orphaned since the last time. */
void child_stop(const struct child *child, int signal, bool only_new);

/* Before a wait that would be in vain: 0, or the exit status after a message if the command does
 * not exist, or cannot be executed, by now. With a file_lock it is flock(1)'s. */
int child_check_command(char **argv, const struct file_lock *file_lock);

/* Executes argv in place of this process, whose environment is ready. If that fails, writes a
 * message and returns the exit status, as above. */
int child_execute(char **argv, const struct file_lock *file_lock);

enum child_change { CHILD_AS_BEFORE, CHILD_STOPPED, CHILD_ENDED };

/* What has become of the child; `*statusp` as of waitpid(). Also reaps the job's orphans. */
enum child_change child_look(struct child *child, int *statusp);
