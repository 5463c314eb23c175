/* watch.h - waits for processes to end: by pidfds in the loop and, where none can be had, by
 * looking at /proc. What their end means is the caller's.
 *
 * A look, and a signal to a process without a pidfd, take descriptors for a moment. Connections and
 * pidfds together leave some (settings.c). Should there be none all the same, a process that
 * nobody has reaped yet counts as alive until there is one again. */
#pragma once

#include "core/types.h"

#include <sys/queue.h>
#include <uv.h>

struct watch;
struct watches;

/* Called once, from the loop. The watch still exists: watch_free() it, now or later. */
typedef void watch_gone_function(struct watches *watches, void *context);

TAILQ_HEAD(watch_queue, watch);

struct watches {
    uv_loop_t *loop;
    uv_timer_t timer; /* runs unless `looked_at` and `gone` are empty */
    /* Each watch is in one of these: */
    struct watch_queue with_pidfd;
    struct watch_queue looked_at; /* at least once a second */
    struct watch_queue gone; /* known to be gone, but not reported yet */
    struct watch_queue reported;
    uint32_t n_pidfds, n_looked_at;
    uint32_t looks_left; /* in this second */
    uint32_t part; /* of those looked at: how many at a time, in this second */
    uint32_t max; /* pidfds; lowering it takes none away */
};

/* At most `max` pidfds at once. */
void watches_init(struct watches *watches, uv_loop_t *loop, uint32_t max);
/* Asserts that no watch is left. The memory must outlive the loop, which has the timer in it: close
 * all that uv_walk() finds, and run the loop once more. */
void watches_deinit(struct watches *watches);

/* Calls `gone` when the process has ended, even if it ended before; never from in here. */
struct watch *watch_new(struct watches *watches, const struct process *process,
    watch_gone_function *gone, void *context);
/* At any time, also from `gone`, which is then not called any more. Accepts NULL; returns NULL. */
struct watch *watch_free(struct watch *watch);
/* As process_signal(). */
bool watch_signal(struct watch *watch, int signal);
