/* due.c - the next instant at which something is due, and what is done then. */
#include "base/memory.h"
#include "core/internal.h"
#include "core/keep.h"
#include "core/queue.h"

static nanoseconds due(const struct order *timers)
{
    const struct order_node *first = order_first(timers);
    return first ? (nanoseconds)first->major : NEVER;
}

static void cooldown_is_over(struct core *core)
{
    struct order_node *node = order_first(&core->cooldown_timers);
    struct unit *unit = container_of(node, struct unit, node);
    order_remove(&core->cooldown_timers, node);
    queue_mark_dirty(core, unit->resource);
    unit_settle(unit);
}

static void wait_is_over(struct core *core, nanoseconds now, struct effects *effects)
{
    struct order_node *node = order_first(&core->wait_timers);
    core_deny(
        core, container_of(node, struct waiting, timer)->lease, OUTCOME_TIMEOUT, now, effects);
}

/* Units that rest until the same instant are free together, before anybody is granted one. */
static void cooldowns_are_over(struct core *core, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    nanoseconds instant = due(&core->cooldown_timers);
    while (due(&core->cooldown_timers) == instant) {
        cooldown_is_over(core);
    }
}

static nanoseconds next_cooldown(const struct core *core)
{
    return due(&core->cooldown_timers);
}

static nanoseconds next_wait(const struct core *core)
{
    return due(&core->wait_timers);
}

/* What becomes due in time. At the same instant the first row's comes first: units are free before
 * a wait ends. */
static const struct {
    nanoseconds (*next)(const struct core *core);
    void (*is_due)(struct core *core, nanoseconds now, struct effects *effects);
} clocks[] = {
    {next_cooldown, cooldowns_are_over},
    {term_next_deadline, term_is_due},
    {tenure_next_deadline, tenure_is_due},
    {detached_next_deadline, detached_is_due},
    {keep_next_deadline, keep_is_due},
    {next_wait, wait_is_over},
};

enum { N_CLOCKS = sizeof clocks / sizeof clocks[0] };

nanoseconds core_next_deadline(const struct core *core)
{
    nanoseconds next = NEVER;
    for (size_t i = 0; i < N_CLOCKS; i++) {
        nanoseconds at = clocks[i].next(core);
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
        while (clocks[i].next(core) != next) {
            i++;
        }
        clocks[i].is_due(core, now, effects);
        queue_pump(core, now, effects);
    }
    core_settle(core, now, effects);
}
