#include "redis/calls.h"

#include "base/memory.h"

#include <stdlib.h>

void calls_init(struct calls *calls)
{
    STAILQ_INIT(&calls->list);
}

void calls_clear(struct calls *calls)
{
    struct call *call;
    while ((call = calls_take(calls))) {
        call_free(call);
    }
}

void calls_add(struct calls *calls, const struct call *call)
{
    struct call *copy = memory_new(sizeof *copy);
    *copy = *call;
    STAILQ_INSERT_TAIL(&calls->list, copy, link);
}

struct call *calls_take(struct calls *calls)
{
    struct call *call = STAILQ_FIRST(&calls->list);
    if (call) {
        STAILQ_REMOVE_HEAD(&calls->list, link);
    }
    return call;
}

struct call *call_free(struct call *call)
{
    free(call->bytes);
    free(call);
    return NULL;
}
