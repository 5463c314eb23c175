/* group.h - signals to process groups, and to what descends from a wrapper, where kill(2) would lend our right to signal everybody: each
 * process gets what the lease's user might send it, and those that the user may not signal get
 * something else, or nothing.
 *
 * That takes a look at all of /proc, which is libuv's thread pool's work, not the loop's: one look
 * for all that have come meanwhile. */
#ifndef BERTH_DAEMON_GROUP_H
#define BERTH_DAEMON_GROUP_H

#include "core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct group_signal {
    struct process leader; /* if it leads no group, it is signalled alone */
    struct process wrapper; /* all that descends from it gets them too; pid 0: there is none */
    uint32_t uid;
    int own; /* to those that `uid` may signal */
    int others; /* to all others; 0: nothing */
    bool is_sent; /* to anybody */
};

/* Each gets its signals, leaders last. Looks at /proc at once. Of a wrapper nothing is left to kill:
 * then it is killed itself, for it hangs. */
void group_signals_send(struct group_signal signals[], size_t n);

struct group_signal_list {
    struct group_signal *signals;
    size_t n, size;
};

struct group_signaller {
    uv_loop_t *loop;
    uv_work_t work;
    struct group_signal_list waiting; /* the loop's */
    struct group_signal_list sending; /* the pool's while `is_sending` */
    bool is_sending;
};

void group_signaller_init(struct group_signaller *signaller, uv_loop_t *loop);
/* After the loop has ended. */
void group_signaller_deinit(struct group_signaller *signaller);
/* Soon. Logged if nobody gets it. */
void group_signaller_add(struct group_signaller *signaller, const struct group_signal *signal);

#endif
