#include "core/effects.h"

#include "core/lease.h"
#include "core/memory.h"

#include <assert.h>
#include <stdlib.h>

void effects_deinit(struct effects *effects)
{
    assert(effects->n == 0 && !effects->ended);
    free(effects->list);
    *effects = (struct effects)EFFECTS_INIT;
}

void effects_append(struct effects *effects, enum effect_kind kind, struct lease *lease,
    struct client *client, enum outcome why)
{
    if (effects->n == effects->size) {
        effects->size = effects->size == 0 ? 8 : effects->size * 2;
        effects->list = memory_resize(effects->list, effects->size, sizeof *effects->list);
    }
    effects->list[effects->n++] =
        (struct effect){.kind = kind, .why = why, .lease = lease, .client = client};
}

void effects_clear(struct effects *effects)
{
    effects->n = 0;
    while (effects->ended) {
        struct lease *lease = effects->ended;
        effects->ended = lease->next_ended;
        lease_free(lease);
    }
}
