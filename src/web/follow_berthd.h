/* follow_berthd.h - a copy of what berthd shows, by `watch`, over a connection that is made again
 * when it ends. */
#pragma once

#include "view/live_link.h"

#include <stdbool.h>
#include <uv.h>

struct follower {
    struct live_link link;
    uint64_t events; /* of .link.is_kept or .link.why: how often they have changed */

    /* private */
    uv_loop_t *loop;
    void (*changed)(void *context);
    void *context;
    bool was_kept; /* when .changed was called last */
    char *said_why; /* .link.why then; owned */
    uv_poll_t *poll; /* of the connection; NULL: there is none */
    uv_timer_t timer;
};

/* `changed` is called when the copy, .link.is_kept or .why has changed, after the watchers of it.
 * Watchers may be added before follower_start(). */
void follower_init(struct follower *follower, uv_loop_t *loop, const struct endpoint *endpoint,
    void (*changed)(void *context), void *context);
void follower_start(struct follower *follower);
/* The loop must run once more. The copy stays until follower_deinit(). */
void follower_stop(struct follower *follower);
void follower_deinit(struct follower *follower);
