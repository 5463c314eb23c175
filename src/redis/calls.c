#include "redis/calls.h"

#include "base/memory.h"

#include <stdlib.h>

void calls_init(struct calls *calls)
{
    STAILQ_INIT(&calls->list);
}

void calls_clear(struct calls *calls)
{
    struct link_call *call;
    while ((call = calls_take(calls))) {
        call_free(call);
    }
}

void calls_add(struct calls *calls, const struct link_call *call)
{
    struct link_call *copy = memory_new(sizeof *copy);
    *copy = *call;
    STAILQ_INSERT_TAIL(&calls->list, copy, link);
}

struct link_call *calls_take(struct calls *calls)
{
    struct link_call *call = STAILQ_FIRST(&calls->list);
    if (call) {
        STAILQ_REMOVE_HEAD(&calls->list, link);
    }
    return call;
}

struct link_call *call_free(struct link_call *call)
{
    free(call->bytes);
    free(call);
    return NULL;
}
