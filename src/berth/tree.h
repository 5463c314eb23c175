/* tree.h - --tree: orphaned descendants of a job. berth is their subreaper, so they become its
 * children; those outside the job's process group are signalled here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_list {
    pid_t *pids; /* sorted */
    size_t n, room;
};

struct tree {
    struct pid_list strangers; /* children that berth had before the job */
    struct pid_list signalled; /* signalled by the last tree_stop() */
};

/* Call before the job is forked. False with errno. */
bool tree_init(struct tree *tree);

/* Signals all children that are neither in the group nor strangers. */
void tree_signal(const struct tree *tree, pid_t group, int signal);

/* The same, and continues them: a stopped process would not see the signal. With `only_new`, only
 * those that were not there the last time. */
void tree_stop(struct tree *tree, pid_t group, int signal, bool only_new);

/* Whether there are children other than strangers. Ask when waitpid() has said that there are
 * children. */
bool tree_has_members(const struct tree *tree);
