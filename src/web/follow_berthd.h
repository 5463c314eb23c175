/* follow_berthd.h - a copy of what berthd shows, by `watch`, over a connection that is made again
 * when it ends. */
#ifndef BERTH_WEB_FOLLOW_BERTHD_H
#define BERTH_WEB_FOLLOW_BERTHD_H

#include "base/backoff.h"
#include "client/endpoint.h"
#include "view/live.h"
#include "web/talk.h"

#include <stdbool.h>
#include <uv.h>

struct follower {
    uv_loop_t *loop;
    struct endpoint endpoint;
    struct live live;
    bool is_connected; /* the copy is whole, and is kept up to date */
    uint64_t connections; /* that were made */
    uint64_t events; /* of .is_connected or .why: how often they have changed */
    char why[512]; /* why it is not connected */

    /* private */
    void (*changed)(void *context);
    void *context;
    struct talk *talk;
    struct backoff backoff;
    uv_timer_t timer;
};

/* `changed` is called when the copy or .is_connected has changed, after the watchers of the copy.
 * Watchers may be added before follower_start(). */
void follower_init(struct follower *follower, uv_loop_t *loop, const struct endpoint *endpoint,
    void (*changed)(void *context), void *context);
void follower_start(struct follower *follower);
/* The loop must run once more. The copy stays until follower_deinit(). */
void follower_stop(struct follower *follower);
void follower_deinit(struct follower *follower);

#endif
