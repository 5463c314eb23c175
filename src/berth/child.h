/* child.h - the process that becomes the job: forked before the lease is asked for, so that its
 * pid can travel in the request, and held back until the lease is there. */
#ifndef BERTH_BERTH_CHILD_H
#define BERTH_BERTH_CHILD_H

#include "berth/environment.h"
#include "berth/signals.h"
#include "berth/tree.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid; /* also its process group; 0: none */
    bool is_reaped; /* then only others are left, if at all */
    struct tree *tree; /* NULL without --tree; else: */
    bool is_alone; /* no descendants are left */
    int go; /* what is written here lets it run, its end lets it exit; -1: it runs */
};

/* False with errno. `argv` and `signals` must stay. */
bool child_fork(struct child *child, char **argv, const struct signals *signals);

/* Lets it run. If it has gone in the meantime, its end will say so. */
void child_start(struct child *child, const struct environment *environment);

/* Before child_start(): it is gone when this returns. */
void child_discard(struct child *child);

/* To the whole process group; and, once the child has ended, to all that is left of its tree. */
void child_signal(const struct child *child, int signal);
/* It cannot take a signal, and so cannot stop either: it waits in the kernel without a break, as in
 * vfork() while its own child is stopped. False if that cannot be seen. */
bool child_is_stuck(const struct child *child);
/* Is anybody left in the group? */
bool child_has_group(const struct child *child);

/* To the group and all of the tree, which are continued, or they would not see it. `only_new`: only
 * to those of the tree that have lost their parents since the last time. */
void child_stop(const struct child *child, int signal, bool only_new);

/* Executes argv in place of this process, whose environment is ready; returns the exit status if it
 * cannot, having said why. */
int child_execute(char **argv);

enum child_change { CHILD_AS_BEFORE, CHILD_STOPPED, CHILD_ENDED };

/* What has become of it; `*statusp` as of waitpid(). Reaps what else of the job is ours to reap. */
enum child_change child_look(struct child *child, int *statusp);

#endif
