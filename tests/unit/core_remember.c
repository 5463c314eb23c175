/* core_remember.c - see the header. */
#include "core_remember.h"

#include "core/meter.h"
#include "terms_help.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *string)
{
    return string ? strdup(string) : NULL;
}

static nanoseconds until(const struct lease *lease)
{
    if (lease->state == LEASE_HELD) {
        return lease->lease_timer ? (nanoseconds)lease->lease_timer->timer.major : NEVER;
    }
    const struct sorted_set_node *timer = &lease->waiting->timer;
    return sorted_set_contains(timer) ? (nanoseconds)timer->major : NEVER;
}

static void remember_claim(struct saved_claim *out, const struct claim *claim, bool is_held)
{
    *out = (struct saved_claim){
        .name = copy(claim->resource->name),
        .count = claim->count,
        .is_all = claim->is_all,
        .is_level = claim->is_level,
        .sharer = claim->sharer,
    };
    if (!is_held || claim_is_share(claim)) {
        return;
    }
    struct saved_unit *units = calloc(claim->count, sizeof *units);
    size_t n = 0;
    for (const struct unit *unit = claim->units; unit; unit = unit->next_of_claim) {
        units[n].slot = unit->item ? 0 : unit->index;
        units[n++].item = copy(unit->item);
    }
    out->units = units;
    out->token = claim->token;
    out->is_pool = resource_is_pool(claim->resource);
    out->rate = resource_rate(claim->resource);
}

struct saved_lease *remember(const struct lease *lease)
{
    struct saved_lease *saved =
        calloc(1, sizeof *saved + lease_attributes_texts_size(&lease->attributes));
    *saved = (struct saved_lease){
        .id = lease->id,
        .is_held = lease->state == LEASE_HELD,
        .uid = lease->uid,
        .pid = lease->pid,
        .binding = (enum binding)lease->binding,
        .process = lease->process,
        .wrapper = lease->wrapper,
        .asked_at = lease->asked_at,
        .granted_at = lease->granted_at,
        .until = until(lease),
        .hold_until = lease->lease_timer ? lease->lease_timer->hold_until : NEVER,
        .ttl = lease->ttl,
        .stopping = lease->is_ending ? OUTCOME_RELEASED : (enum outcome)lease->stopping,
        .by = lease->taken ? lease->taken->by : (struct actor){.is_known = false},
        .stop_reason = lease_stop_reason(lease) ? strdup(lease_stop_reason(lease)) : NULL,
        .ticket = lease->ticket,
        .database = lease->database,
        .wants_now = lease->wants_now,
        .is_away = lease->is_away,
        .n_claims = lease_n_all(lease),
    };
    lease_attributes_copy(&saved->attributes, &lease->attributes, (char *)(saved + 1));
    for (size_t i = 0; i < saved->n_claims; i++) {
        remember_claim(&saved->claims[i], lease_asked(lease, i), saved->is_held);
    }
    return saved;
}

static void free_const(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

struct saved_lease *forget(struct saved_lease *saved)
{
    for (size_t i = 0; saved && i < saved->n_claims; i++) {
        const struct saved_claim *claim = &saved->claims[i];
        for (size_t k = 0; claim->units && k < claim->count; k++) {
            free_const(claim->units[k].item);
        }
        free_const(claim->units);
        free_const(claim->name);
    }
    if (saved) {
        free_const(saved->stop_reason);
    }
    free(saved);
    return NULL;
}

static const char *claim_difference(
    const struct saved_claim *a, const struct saved_claim *b, bool is_held)
{
    if (!texts_are_same(a->name, b->name) || a->count != b->count ||
        a->sharer != b->sharer) {
        return "a claim";
    }
    if (is_held && (a->token != b->token || a->is_pool != b->is_pool)) {
        return "a token";
    }
    for (size_t i = 0; is_held && a->sharer == 0 && i < a->count; i++) {
        if (a->units[i].slot != b->units[i].slot ||
            !texts_are_same(a->units[i].item, b->units[i].item)) {
            return "a unit";
        }
    }
    return NULL;
}

const char *saved_lease_difference(const struct saved_lease *a, const struct saved_lease *b)
{
    const struct {
        const char *name;
        bool is_same;
    } fields[] = {
        {"id", a->id == b->id},
        {"state", a->is_held == b->is_held},
        {"uid", a->uid == b->uid},
        {"pid", a->pid == b->pid},
        {"binding", a->binding == b->binding},
        {"process", a->process.pid == b->process.pid && a->process.started == b->process.started},
        {"asked_at", a->asked_at == b->asked_at},
        {"granted_at", a->granted_at == b->granted_at},
        {"rested_at", a->rested_at == b->rested_at},
        {"until", a->until == b->until},
        {"ttl", a->ttl == b->ttl},
        {"stopping", a->stopping == b->stopping},
        {"stop_reason", texts_are_same(a->stop_reason, b->stop_reason)},
        {"ticket", a->ticket == b->ticket && a->database == b->database},
        {"wants_now", a->wants_now == b->wants_now},
        {"is_away", a->is_away == b->is_away},
        {"claims", a->n_claims == b->n_claims},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (!fields[i].is_same) {
            return fields[i].name;
        }
    }
    const char *attribute = lease_attributes_difference(&a->attributes, &b->attributes);
    if (attribute) {
        return attribute;
    }
    for (size_t i = 0; i < a->n_claims; i++) {
        const char *difference = claim_difference(&a->claims[i], &b->claims[i], a->is_held);
        if (difference) {
            return difference;
        }
    }
    return NULL;
}
