/* berthd_request.h - one request to berthd, or berth-history, over a connection of its own, and the
 * lines of its answer, on the loop. */
#pragma once

#include "client/answer.h"
#include "client/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct berthd_request;

/* `why` of a request that has taken too long. */
extern const char request_is_late[];

struct request_callbacks {
    answer_taker *take;
    void *object; /* of it */
    /* It is over, and the talk is gone. `why` NULL: the answer is whole. Called once, never from
     * within berthd_request_begin(); not after berthd_request_stop(). */
    void (*end)(void *context, const char *why);
    void *context;
};

/* Sends the request, which ends in LF. After `limit` milliseconds it is over. NULL: nobody is
 * there. */
struct berthd_request *berthd_request_begin(uv_loop_t *loop, const struct endpoint *endpoint,
    const char *request, uint64_t limit, const struct request_callbacks *talker);
/* NULL is nothing. The loop must run once more for its handles. */
void berthd_request_stop(struct berthd_request *talk);
