#include "core/effects.h"

#include "base/memory.h"
#include "core/lease.h"
#include "core/news.h"

#include <assert.h>
#include <stdlib.h>

void effects_deinit(struct effects *effects)
{
    assert(effects->n == 0 && !effects->ended && !effects->changed);
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

void effects_withdraw(struct effects *effects, size_t from, enum effect_kind kind,
    const struct lease *lease)
{
    size_t n = from;
    for (size_t i = from; i < effects->n; i++) {
        const struct effect effect = effects->list[i];
        if (effect.kind != kind || effect.lease != lease) {
            effects->list[n++] = effect;
        } else {
            free(effect.reason);
            free(effect.resource);
        }
    }
    effects->n = n;
}

void effects_append_saying(struct effects *effects, enum effect_kind kind, struct lease *lease,
    struct client *client, enum outcome why, char *reason)
{
    effects_append(effects, kind, lease, client, why);
    effects->list[effects->n - 1].reason = reason;
}

void effects_name_resource(
    struct effects *effects, size_t from, const struct lease *lease, const char *resource)
{
    for (size_t i = from; i < effects->n; i++) {
        struct effect *effect = &effects->list[i];
        if (effect->kind == EFFECT_DENIED && effect->lease == lease) {
            free(effect->resource);
            effect->resource = memory_string(resource);
        }
    }
}

void effects_change(struct effects *effects, struct lease *lease)
{
    if (!lease->is_changed) {
        lease->is_changed = true;
        lease->next_changed = effects->changed;
        effects->changed = lease;
        if (effects->news) {
            news_lease(effects->news, lease);
        }
    }
}

void effects_clear_changed(struct effects *effects)
{
    while (effects->changed) {
        struct lease *lease = effects->changed;
        effects->changed = lease->next_changed;
        lease->is_changed = false;
    }
}

void effects_clear(struct effects *effects)
{
    for (size_t i = 0; i < effects->n; i++) {
        free(effects->list[i].reason);
        free(effects->list[i].resource);
    }
    effects->n = 0;
    effects_clear_changed(effects);
    while (effects->ended) {
        struct lease *lease = effects->ended;
        effects->ended = lease->next_ended;
        lease_free(lease);
    }
}
