#include "core/rate.h"

#include "base/memory.h"
#include "core/queue.h"
#include "core/place.h"

#include <stdlib.h>

/* ---- debts ---- */

/* Rounded up: never faster than the rate says. */
static nanoseconds step_of(const struct rate *rate)
{
    return (rate->window + rate->units - 1) / rate->units;
}

static nanoseconds debt(const struct meter *meter)
{
    return meter->paid_at > *meter->now ? meter->paid_at - *meter->now : 0;
}

bool meter_is_in_debt(const struct meter *meter)
{
    return debt(meter) > 0;
}

uint32_t meter_units(const struct meter *meter)
{
    const struct definition *definition = meter->resource->definition;
    nanoseconds step = step_of(&definition->rate);
    nanoseconds units = (debt(meter) + step - 1) / step;
    return units < definition->burst ? definition->burst - (uint32_t)units : 0;
}

nanoseconds meter_has_at(const struct meter *meter, uint64_t units)
{
    const struct definition *definition = meter->resource->definition;
    if (units > definition->burst) {
        return NEVER;
    }
    nanoseconds may_owe = (nanoseconds)(definition->burst - units) * step_of(&definition->rate);
    return later(*meter->now, meter->paid_at - may_owe);
}

void meter_charge(const struct claim *claim)
{
    struct meter *meter = claim->resource->meter;
    nanoseconds price =
        (nanoseconds)claim->count * step_of(&claim->resource->definition->rate);
    meter->charged_at = *meter->now;
    meter->paid_at = later(meter->paid_at, *meter->now) + price;
    meter->charged_to = claim->lease->id;
}

/* When all is paid for, as if the rate had been this one since the last grant. */
static nanoseconds paid_at(const struct definition *definition, const struct saved_rate *before)
{
    nanoseconds step = step_of(&definition->rate), most = definition->burst * step;
    nanoseconds owed = before->paid_at - before->charged_at;
    if (step != before->step) {
        nanoseconds units = (owed + before->step - 1) / before->step;
        owed = units < definition->burst ? units * step : most;
    }
    return before->charged_at + earlier(owed, most);
}

struct saved_rate resource_rate(const struct resource *resource)
{
    const struct meter *meter = resource->meter;
    return meter ? (struct saved_rate){meter->charged_at, meter->paid_at,
                       step_of(&resource->definition->rate)}
                 : (struct saved_rate){.step = 0};
}

nanoseconds rate_restore(
    struct core *core, const struct saved_claim *claim, uint64_t lease, nanoseconds now)
{
    struct resource *resource;
    struct saved_rate before = claim->rate;
    if (before.step == 0 || before.charged_at > now ||
        registry_get(core, claim->name, NULL, &resource) != OUTCOME_OK) {
        return 0;
    }
    queue_mark_dirty(core, resource); /* so that an idle one is forgotten again */
    struct meter *meter = resource->meter;
    nanoseconds until = meter ? paid_at(resource->definition, &before) : 0;
    if (until > now && until >= meter->paid_at) {
        meter->charged_at = before.charged_at;
        meter->paid_at = until;
        meter->charged_to = lease;
    }
    return until > now ? until : 0;
}

/* ---- meters ---- */

/* What was granted before the core knew is at most a burst: that is owed at first. */
static struct meter *meter_new(struct core *core, struct resource *resource)
{
    const struct definition *definition = resource->definition;
    struct meter *meter = memory_new(sizeof *meter);
    meter->resource = resource;
    meter->now = &core->now;
    if (core->rates_unknown_at != NEVER) {
        meter->charged_at = core->rates_unknown_at;
        meter->paid_at = meter->charged_at + definition->burst * step_of(&definition->rate);
    }
    return meter;
}

void meter_free(struct core *core, struct resource *resource)
{
    if (resource->meter) {
        sorted_set_discard(&core->rate_timers, &resource->meter->timer);
        free(resource->meter);
        resource->meter = NULL;
    }
}

void meter_define(struct core *core, struct resource *resource, const struct saved_rate *before)
{
    const struct definition *definition = resource->definition;
    if (definition->rate.units == 0 || definition->database != 0) {
        meter_free(core, resource);
    } else if (!resource->meter) {
        resource->meter = meter_new(core, resource);
    } else {
        resource->meter->paid_at = paid_at(definition, before);
    }
}

void core_begin_rates(struct core *core, nanoseconds now)
{
    struct resource *resource;
    core->rates_unknown_at = now;
    TAILQ_FOREACH (resource, &core->resource_list, link) {
        meter_free(core, resource);
        meter_define(core, resource, NULL);
    }
}

nanoseconds core_rates_begun(const struct core *core)
{
    return core->rates_unknown_at;
}

/* ---- time ---- */

void meter_begin_look(struct core *core, struct meter *meter)
{
    const struct resource *resource = meter->resource;
    bool is_idle = sorted_set_is_empty(&resource->holders) && resource_waiting(resource) == 0;
    sorted_set_discard(&core->rate_timers, &meter->timer);
    if (resource->is_instance && is_idle) {
        meter_look_again(core, meter, meter->paid_at);
    }
}

void meter_look_again(struct core *core, struct meter *meter, nanoseconds at)
{
    bool is_set = sorted_set_contains(&meter->timer);
    if (at > *meter->now && at != NEVER && (!is_set || (uint64_t)at < meter->timer.major)) {
        sorted_set_discard(&core->rate_timers, &meter->timer);
        sorted_set_insert(&core->rate_timers, &meter->timer, (uint64_t)at, ++core->timer_serial);
    }
}

void rates_are_due(struct core *core, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    struct meter *meter = container_of(sorted_set_first(&core->rate_timers), struct meter, timer);
    sorted_set_discard(&core->rate_timers, &meter->timer);
    queue_mark_dirty(core, meter->resource);
}
