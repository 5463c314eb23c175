/* calls.h - what has been sent to one Redis and not been answered yet, in the order of the
 * answers. */
#pragma once

#include "redis/scripts.h"

#include <stdint.h>
#include <sys/queue.h>

enum link_call_kind {
    CALL_SCRIPT, /* the only one that is not the link's own */
    CALL_LOAD, /* FUNCTION LOAD or SCRIPT LOAD */
    CALL_ASKING, /* before each other call, where the keys are ahead of their slot */
    CALL_SLOT_QUESTION, /* is the slot at this node? */
    CALL_OLD_LIBRARIES, /* a step of old_libraries.h */
};

struct link_call {
    STAILQ_ENTRY(link_call) link;
    enum link_call_kind kind;
    const struct script_set *set; /* what is called, or loaded */
    unsigned n_loads; /* how often it was sent again behind a CALL_LOAD */
    uint64_t tag;
    char *bytes; /* owned: what was sent */
    size_t n;
};

struct calls {
    STAILQ_HEAD(, link_call) list;
};

void calls_init(struct calls *calls);
/* Forgets all calls. */
void calls_clear(struct calls *calls);
/* Takes over call.bytes. */
void calls_add(struct calls *calls, const struct link_call *call);
/* The oldest call; NULL: there is none. The caller frees it. */
struct link_call *calls_take(struct calls *calls);
struct link_call *call_free(struct link_call *call); /* returns NULL */
