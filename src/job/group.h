/* group.h - signals process groups, and a wrapper's descendants, where kill(2) would lend out
 * berthd's right to signal everybody: each process gets what the lease's user might send it, and
 * those that the user may not signal get another signal, or none.
 *
 * libuv's thread pool reads all of /proc for that, off the loop: once for all signals that have
 * come meanwhile. */
#pragma once

#include "core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct group_signal {
    struct process leader; /* if it leads no group, only it is signalled */
    struct process wrapper; /* its descendants get the signals too; pid 0: there is none */
    uint32_t uid;
    int own; /* to processes that `uid` may signal */
    int others; /* to all others; 0: nothing */
    bool is_sent; /* to at least one */
};

struct group_signal_list {
    struct group_signal *signals;
    size_t n;
};

struct group_signaller {
    uv_loop_t *loop;
    uv_work_t work;
    struct group_signal_list waiting; /* the loop's */
    struct group_signal_list sending; /* the pool's while `is_sending` */
    bool is_sending;
};

/* After the loop has ended. */
void group_signaller_deinit(struct group_signaller *signaller);
/* Soon. Logged if nobody gets it. */
void group_signaller_add(struct group_signaller *signaller, const struct group_signal *signal);
