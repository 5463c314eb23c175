/* child_help.h - for tests that watch processes: children that wait until they are told to end. */
#pragma once

#include "job/process.h"

struct child {
    pid_t pid; /* 0: it has been reaped */
    int hold; /* the child ends when this is closed; -1 if it is */
    struct process process; /* as the kernel had it at the start */
};

/* Runs `prepare` (or nothing, if NULL) in the child; returns when that is done. */
struct child child_start(void (*prepare)(void));
/* In another child's process group; 0: in its own. */
struct child child_start_in_group(pid_t group);
/* Lets it end and waits for that, but leaves it a zombie. */
void child_end(struct child *child);
/* Waits until a signal has ended it, but leaves it a zombie. */
void child_await(const struct child *child);
/* Its status as of waitpid(). First kills it if it has not been told to end, unless `signal` is
 * 0. */
int child_reap(struct child *child, int signal);
/* Waits and reaps; whether that signal has ended it. */
bool child_ends_by(struct child *child, int signal);

/* process_identify(), wherever the process is. */
enum process_check identify(
    pid_t pid, uint32_t asker_uid, bool asker_is_admin, struct process *out);
