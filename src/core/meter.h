/* meter.h - how many units of a resource its `rate` lets go at present: the generic cell rate
 * algorithm (ITU-T I.371), in its form of virtual scheduling.
 *
 * The rate pays for units that are granted, one in each step of window / units. What is granted but
 * not paid for yet is the debt; it is at most the burst. So in any span of time at most
 * burst + span / step units are granted. */
#pragma once

#include "core/resource.h"
#include "core/saved_lease.h"

/* What the core's meters have in common. */
struct meters {
    nanoseconds now; /* of the operation under way; of what is due late, when that was */
    nanoseconds unknown_at; /* what was granted until then is not known; NEVER: it is */
    struct sorted_set timers; /* struct meter by when its queue is to be looked at again */
    uint64_t serial; /* breaks ties */
};

/* Of a resource of host scope that has a rate; in fleet scope the database has that. */
struct meter {
    struct resource *resource;
    struct meters *meters;
    nanoseconds charged_at; /* when units were granted last */
    nanoseconds paid_at; /* when all of them are paid for */
    uint64_t charged_to; /* the lease that got them: its record has the above; 0: none */
    struct sorted_set_node timer; /* in meters.timers */
};

/* Between two units. Rounded up: never faster than the rate says. */
static inline nanoseconds rate_step(const struct rate *rate)
{
    return (rate->window + rate->units - 1) / rate->units;
}

/* The resource's definition is new, and there was `before`: its meter comes, goes, or has another
 * rate. */
void meter_define(
    struct meters *meters, struct resource *resource, const struct saved_rate *before);
void meter_free(struct resource *resource);

/* From when on so many may go at once, if all is paid for then; NEVER: that cannot be. */
nanoseconds rate_goes_at(const struct definition *definition, nanoseconds paid_at, uint64_t units);
/* How many units may go now. */
uint32_t meter_units(const struct meter *meter);
/* The same of this one, if nobody else gets any. */
nanoseconds meter_has_at(const struct meter *meter, uint64_t units);
/* Whether something is not paid for yet. */
bool meter_is_in_debt(const struct meter *meter);
/* The claim gets its units now. */
void meter_charge(const struct claim *claim, nanoseconds now);
/* When all is paid for, as if the rate had been the definition's since `before` was charged. */
nanoseconds rate_paid_at(const struct definition *definition, const struct saved_rate *before);

/* The resource's queue is about to be looked at: it need not be again, unless an idle instance is
 * to be forgotten. */
void meter_begin_look(struct meter *meter);
/* It is looked at again then, or before. */
void meter_look_again(struct meter *meter, nanoseconds at);

/* What the resource's rate has let go. */
struct saved_rate resource_rate(const struct resource *resource);
/* Of a lease that ends: until when its record alone tells what is not paid for. 0: it need not. */
static inline nanoseconds resource_owes_until(const struct resource *resource, uint64_t lease)
{
    const struct meter *meter = resource->meter;
    return meter && meter->charged_to == lease ? meter->paid_at : 0;
}
