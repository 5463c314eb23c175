/* calls.h - what has been sent to one Redis and not been answered yet, in the order of the
 * answers. */
#ifndef BERTH_REDIS_CALLS_H
#define BERTH_REDIS_CALLS_H

#include "redis/scripts.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct call {
    STAILQ_ENTRY(call) link;
    bool is_load; /* the link's own FUNCTION LOAD or SCRIPT LOAD; else a script's call */
    const struct script_set *set; /* what is called, or loaded */
    unsigned n_loads; /* how often it was sent again behind one */
    bool is_asking; /* the link's own ASKING, before each other call */
    bool is_question; /* the link's own: is the slot at this node? */
    uint64_t tag;
    char *bytes; /* owned: what was sent */
    size_t n;
};

struct calls {
    STAILQ_HEAD(, call) list;
};

void calls_init(struct calls *calls);
/* Forgets all calls. */
void calls_clear(struct calls *calls);
/* Takes over call.bytes. */
void calls_add(struct calls *calls, const struct call *call);
/* The oldest call; NULL: there is none. The caller frees it. */
struct call *calls_take(struct calls *calls);
struct call *call_free(struct call *call); /* returns NULL */

#endif
