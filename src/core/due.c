/* due.c - the next instant at which something is due, and what is done then. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/queue.h"

static nanoseconds due(const struct sorted_set *timers)
{
    const struct sorted_set_node *first = sorted_set_first(timers);
    return first ? (nanoseconds)first->major : NEVER;
}

static void wait_is_over(struct core *core, nanoseconds now, struct effects *effects)
{
    struct sorted_set_node *node = sorted_set_first(&core->wait_timers);
    core_deny(
        core, container_of(node, struct waiting, timer)->lease, OUTCOME_TIMEOUT, now, effects);
}

/* As with those that rest, below. */
static void rates_are_due(struct core *core, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    struct sorted_set *timers = &core->meters.timers;
    nanoseconds instant = due(timers);
    while (due(timers) == instant) {
        struct meter *meter = container_of(sorted_set_first(timers), struct meter, timer);
        sorted_set_remove(timers, &meter->timer);
        queue_mark_dirty(core, meter->resource);
    }
}

/* Units that rest until the same instant are free together, before anybody is granted one. */
static void cooldowns_are_over(struct core *core, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    nanoseconds instant = due(&core->cooldown_timers);
    while (due(&core->cooldown_timers) == instant) {
        struct sorted_set_node *node = sorted_set_first(&core->cooldown_timers);
        struct unit *unit = container_of(node, struct cooldown, timer)->unit;
        unit_end_cooldown(unit, &core->cooldown_timers);
        queue_mark_dirty(core, unit->resource);
        unit_settle(unit);
    }
}

/* What becomes due in time. At the same instant the first row's comes first: units are free before
 * a wait ends. */
static const struct clock {
    void (*is_due)(struct core *core, nanoseconds now, struct effects *effects);
    size_t timers; /* where the core has them */
    nanoseconds (*next)(const struct core *core); /* NULL: when the first of .timers is due */
} clocks[] = {
    {rates_are_due, offsetof(struct core, meters.timers), NULL},
    {cooldowns_are_over, offsetof(struct core, cooldown_timers), NULL},
    {lease_timer_is_due, offsetof(struct core, lease_timers), NULL},
    {tenure_is_due, 0, tenure_next_deadline},
    {detached_is_due, 0, core_grace_until},
    {keep_is_due, offsetof(struct core, keep_timers), NULL},
    {wait_is_over, offsetof(struct core, wait_timers), NULL},
};

enum { N_CLOCKS = sizeof clocks / sizeof clocks[0] };

static nanoseconds clock_next(const struct clock *clock, const struct core *core)
{
    const struct sorted_set *timers = (const void *)((const char *)core + clock->timers);
    return clock->next ? clock->next(core) : due(timers);
}

nanoseconds core_next_deadline(const struct core *core)
{
    nanoseconds next = NEVER;
#pragma GCC unroll 8 /* so the compiler knows the columns of each row */
    for (size_t i = 0; i < N_CLOCKS; i++) {
        nanoseconds at = clock_next(&clocks[i], core);
        next = at < next ? at : next;
    }
    return next;
}

/* In the order in which things were due, so that a late tick decides as a prompt one would have. */
void core_tick(struct core *core, nanoseconds now, struct effects *effects)
{
    nanoseconds next;
    while ((next = core_next_deadline(core)) <= now) {
        size_t i = 0;
        while (clock_next(&clocks[i], core) != next) {
            i++;
        }
        core->meters.now = later(core->meters.now, next);
        clocks[i].is_due(core, now, effects);
        queue_pump(core, now, effects);
    }
    core_settle(core, now, effects);
}
