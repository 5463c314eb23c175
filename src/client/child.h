/* child.h - the process that becomes the job: forked before the lease is asked for, so that its
 * pid can travel in the request, and held back until the lease is there. */
#ifndef BERTH_CLIENT_CHILD_H
#define BERTH_CLIENT_CHILD_H

#include "client/environment.h"
#include "client/signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid; /* also its process group; 0: none */
    bool is_reaped; /* then only the group is left, if at all */
    int go; /* what is written here lets it run, its end lets it exit; -1: it runs */
};

/* False with errno. `argv` and `signals` must stay. */
bool child_fork(struct child *child, char **argv, const struct signals *signals);

/* Lets it run. If it has gone in the meantime, its end will say so. */
void child_start(struct child *child, const struct environment *environment);

/* Before child_start(): it is gone when this returns. */
void child_discard(struct child *child);

/* To the whole process group. */
void child_signal(const struct child *child, int signal);
/* Is anybody left in it? */
bool child_has_group(const struct child *child);

enum child_change { CHILD_AS_BEFORE, CHILD_STOPPED, CHILD_ENDED };

/* `*statusp` as of waitpid(). */
enum child_change child_look(struct child *child, int *statusp);

#endif
