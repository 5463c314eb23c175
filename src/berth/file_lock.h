/* file_lock.h - the lock of a file that flock(2) gives, for `berth flock`, which takes it besides a
 * lease: whoever uses flock(1) is excluded, too. */
#pragma once

#include "base/time.h"

#include <stdbool.h>

struct file_lock {
    const char *path;
    int fd; /* inherited by the job, which keeps the lock as long as any process has it open */
    bool is_shared;
    bool is_closed; /* the job does not inherit it: only the wrapper keeps the lock */
    bool is_verbose;
    nanoseconds until; /* how long to wait; NEVER: for ever */
    int conflict_status; /* it was not got by then */
};

/* Opens .path, made if it is missing. Returns 0, or the exit status after a message. */
int file_lock_open(struct file_lock *lock);

/* In the process that becomes the job: waits for the lock, which the wrapper has then, too, as it
 * has the same file open. False: *statusp is the exit status. */
bool file_lock_take(const struct file_lock *lock, int *statusp);
