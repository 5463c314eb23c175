/* tree.h - --tree: the descendants of a job that have outlived their parents. berth is their
 * reaper, so they are its children; those outside the job's process group get signals from here. */
#ifndef BERTH_BERTH_TREE_H
#define BERTH_BERTH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_list {
    pid_t *pids; /* in their order */
    size_t n, room;
};

struct tree {
    struct pid_list strangers; /* children that we had before the job */
    struct pid_list told; /* by the last tree_stop() */
};

/* Before the job is forked. False with errno. */
bool tree_init(struct tree *tree);

/* To all children that are neither in the group nor strangers. */
void tree_signal(const struct tree *tree, pid_t group, int signal);

/* The same, and continues them, or they would not see it. With `only_new` only those that were not
 * there the last time. */
void tree_stop(struct tree *tree, pid_t group, int signal, bool only_new);

/* Is there any child but strangers? To be asked when waitpid() has said that there are some. */
bool tree_has_members(const struct tree *tree);

#endif
