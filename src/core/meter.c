#include "core/meter.h"

#include "base/memory.h"

#include <stdlib.h>

/* ---- meters ---- */

/* What was granted before the core knew is at most a burst: that is owed at first. */
static struct meter *meter_new(struct meters *meters, struct resource *resource)
{
    const struct definition *definition = resource->definition;
    struct meter *meter = memory_new(sizeof *meter);
    meter->resource = resource;
    meter->meters = meters;
    if (meters->unknown_at != NEVER) {
        meter->charged_at = meters->unknown_at;
        meter->paid_at = meter->charged_at + definition->burst * rate_step(&definition->rate);
    }
    return meter;
}

void meter_free(struct resource *resource)
{
    struct meter *meter = resource->meter;
    if (meter) {
        sorted_set_discard(&meter->meters->timers, &meter->timer);
        free(meter);
        resource->meter = NULL;
    }
}

void meter_define(
    struct meters *meters, struct resource *resource, const struct saved_rate *before)
{
    const struct definition *definition = resource->definition;
    if (definition->rate.units == 0 || definition->database != 0) {
        meter_free(resource);
    } else if (!resource->meter) {
        resource->meter = meter_new(meters, resource);
    } else if (before->paid_at > meters->now) {
        resource->meter->paid_at = rate_paid_at(definition, before);
    }
}

/* ---- debts ---- */

static nanoseconds debt(const struct meter *meter)
{
    return meter->paid_at > meter->meters->now ? meter->paid_at - meter->meters->now : 0;
}

bool meter_is_in_debt(const struct meter *meter)
{
    return debt(meter) > 0;
}

uint32_t meter_units(const struct meter *meter)
{
    const struct definition *definition = meter->resource->definition;
    nanoseconds step = rate_step(&definition->rate);
    nanoseconds units = (debt(meter) + step - 1) / step;
    return units < definition->burst ? definition->burst - (uint32_t)units : 0;
}

nanoseconds rate_goes_at(const struct definition *definition, nanoseconds paid_at, uint64_t units)
{
    if (units > definition->burst) {
        return NEVER;
    }
    return paid_at - (nanoseconds)(definition->burst - units) * rate_step(&definition->rate);
}

nanoseconds meter_has_at(const struct meter *meter, uint64_t units)
{
    return rate_goes_at(meter->resource->definition, meter->paid_at, units);
}

void meter_charge(const struct claim *claim, nanoseconds now)
{
    struct meter *meter = claim->resource->meter;
    nanoseconds step = rate_step(&claim->resource->definition->rate);
    meter->charged_at = now;
    meter->paid_at = later(meter->paid_at, now) + claim->count * step;
    meter->charged_to = claim->lease->id;
}

nanoseconds rate_paid_at(const struct definition *definition, const struct saved_rate *before)
{
    nanoseconds step = rate_step(&definition->rate), most = definition->burst * step;
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
                       rate_step(&resource->definition->rate)}
                 : (struct saved_rate){.step = 0};
}

/* ---- time ---- */

void meter_begin_look(struct meter *meter)
{
    const struct resource *resource = meter->resource;
    bool is_idle = sorted_set_is_empty(&resource->holders) && resource_waiting(resource) == 0;
    sorted_set_discard(&meter->meters->timers, &meter->timer);
    if (resource->is_instance && is_idle) {
        meter_look_again(meter, meter->paid_at);
    }
}

void meter_look_again(struct meter *meter, nanoseconds at)
{
    struct meters *meters = meter->meters;
    bool is_set = sorted_set_contains(&meter->timer);
    if (at > meters->now && at != NEVER && (!is_set || (uint64_t)at < meter->timer.major)) {
        sorted_set_discard(&meters->timers, &meter->timer);
        sorted_set_insert(&meters->timers, &meter->timer, (uint64_t)at, ++meters->serial);
    }
}
