/* talk.h - one request to berthd over a connection of its own, and the lines of its answer, on the
 * loop. */
#ifndef BERTH_WEB_TALK_H
#define BERTH_WEB_TALK_H

#include "client/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct talk;

enum talk_result {
    TALK_MORE,
    TALK_DONE, /* the answer is whole */
    TALK_NONSENSE, /* no berthd says that */
};

struct talker {
    enum talk_result (*line)(void *context, char *line);
    /* It is over, and the talk is gone. `why` NULL: TALK_DONE. Called once, never from within
     * talk_begin(); not after talk_stop(). */
    void (*end)(void *context, const char *why);
    void *context;
};

/* Sends the request, which ends in LF. After `limit` milliseconds it is over, 0: never. NULL, and
 * `why` says it: nobody is there. */
struct talk *talk_begin(uv_loop_t *loop, const struct endpoint *endpoint, const char *request,
    uint64_t limit, const struct talker *talker, char *why, size_t size);
/* NULL is nothing. The loop must run once more for its handles. */
void talk_stop(struct talk *talk);

#endif
