/* rate.h - how many units of a resource its `rate` lets go at present: the generic cell rate
 * algorithm (ITU-T I.371), in its form of virtual scheduling. Host scope; in fleet scope the
 * database has it.
 *
 * A unit that is granted is paid for in one step, window / units of the rate. What has been granted
 * but not been paid for yet is the debt; it is at most the burst. So in any span of time at most
 * burst + span / step units are granted. */
#pragma once

#include "core/internal.h"

/* Of a resource of host scope that has a rate. */
struct meter {
    struct resource *resource;
    const nanoseconds *now; /* the core's */
    nanoseconds charged_at; /* when units were granted last */
    nanoseconds paid_at; /* when all units are paid for; nothing is granted that is not here */
    uint64_t charged_to; /* the lease that got them: its record has the above; 0: none */
    struct sorted_set_node timer; /* in the core's rate timers: when its queue is to be looked at */
};

/* The resource's definition is new, or there was `before`: its meter comes, goes, or has another
 * rate. */
void meter_define(struct core *core, struct resource *resource, const struct saved_rate *before);
void meter_free(struct core *core, struct resource *resource);

/* How many units may go now. */
uint32_t meter_units(const struct meter *meter);
/* From when on so many may go at once, if nobody else gets any; NEVER: that is not possible. */
nanoseconds meter_has_at(const struct meter *meter, uint64_t units);
/* Whether something is not paid for yet. */
bool meter_is_in_debt(const struct meter *meter);
/* The claim gets its units now. */
void meter_charge(const struct claim *claim);

/* Of a claim that ends: until when its record alone tells what is not paid for. 0: it need not. */
static inline nanoseconds claim_owed_until(const struct claim *claim)
{
    const struct meter *meter = claim->resource->meter;
    return meter && meter->charged_to == claim->lease->id ? meter->paid_at : 0;
}
/* An earlier run has granted the claim to that lease. Returns until when something is owed; 0. */
nanoseconds rate_restore(
    struct core *core, const struct saved_claim *claim, uint64_t lease, nanoseconds now);

/* The resource's queue is about to be looked at: it need not be again, unless an idle instance is to
 * be forgotten. */
void meter_begin_look(struct core *core, struct meter *meter);
/* It is looked at again then, or before. */
void meter_look_again(struct core *core, struct meter *meter, nanoseconds at);
/* The first timer is due. */
void rates_are_due(struct core *core, nanoseconds now, struct effects *effects);
