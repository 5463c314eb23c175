/* settle.c - what follows from a change: who can go goes, and who waits in a circle is denied. */
#include "core/circle.h"
#include "core/internal.h"
#include "core/queue.h"

/* Those whom a circle denies let others go. */
static void break_circles(struct core *core, nanoseconds now, struct effects *effects)
{
    struct lease *victim;
    while ((victim = circle_next_victim(core))) {
        size_t before = effects->n;
        const char *resource = victim->claims[core->circle.claim].resource->name;
        core_deny(core, victim, OUTCOME_CIRCLE, now, effects);
        effects_name_resource(effects, before, victim, resource);
        queue_pump(core, now, effects);
    }
}

void core_settle(struct core *core, nanoseconds now, struct effects *effects)
{
    core->meters.now = later(core->meters.now, now);
    queue_pump(core, now, effects);
    if (core->may_have_circle) {
        break_circles(core, now, effects);
    }
    if (core_is_drained(core) && !core->drain_reported) {
        core->drain_reported = true;
        effects_append(effects, EFFECT_DRAINED, NULL, NULL, OUTCOME_OK);
    }
}

void core_mark_all_dirty(struct core *core)
{
    struct resource *resource;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        queue_mark_dirty(core, resource);
    }
}
