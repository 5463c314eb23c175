/* model_history.c - which leases and waits are over: how, when, and what of. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static void add(struct model *model, const struct model_ended *ended)
{
    if (model->n_ended == model->ended_size) {
        model->ended_size = model->ended_size == 0 ? 256 : 2 * model->ended_size;
        model->ended = realloc(model->ended, model->ended_size * sizeof *model->ended);
    }
    model->ended[model->n_ended++] = *ended;
}

/* A request that was refused at once is none. */
static bool is_saved(const struct model_lease *lease, enum outcome why)
{
    return why != OUTCOME_OK && (lease->held || lease->has_waited);
}

static struct model_ended ended_of(
    const struct model *model, const struct model_lease *lease, enum outcome why)
{
    struct model_ended ended = {
        .id = lease->id,
        .uid = lease->uid,
        .why = why == OUTCOME_WITHDRAWN ? OUTCOME_REVOKED : why,
        .held = lease->held,
        .deserted = lease->ended_unreleased,
        .asked_at = lease->asked_at,
        .granted_at = lease->granted_at,
        .ended_at = model->now,
        .n_claims = lease->n_claims,
    };
    for (size_t i = 0; i < lease->n_claims; i++) {
        ended.claims[i].count = lease->claims[i].count;
        memcpy(ended.claims[i].units, lease->claims[i].units, sizeof ended.claims[i].units);
    }
    return ended;
}

/* An item that is no longer in service goes instead. */
static nanoseconds cooldown_of(const struct model_claim *claim, bool is_held)
{
    nanoseconds cooldown = 0;
    for (uint32_t i = 0; is_held && i < claim->count; i++) {
        if (!claim->resource->units[claim->units[i]].removed) {
            cooldown = claim->resource->rules.cooldown;
        }
    }
    return cooldown;
}

void model_history_end(struct model *model, const struct model_lease *lease, enum outcome why)
{
    bool is_stopped = lease->held && why == OUTCOME_RELEASED && lease->stopping != OUTCOME_OK;
    struct model_ended ended = ended_of(model, lease, is_stopped ? lease->stopping : why);
    for (size_t i = 0; i < lease->n_claims; i++) {
        strcpy(ended.claims[i].name, lease->claims[i].resource->name);
        ended.claims[i].cooldown = cooldown_of(&lease->claims[i], lease->held);
    }
    if (is_saved(lease, why)) {
        add(model, &ended);
    }
}

void model_history_gone(
    struct model *model, const struct model_past *past, enum outcome why, bool unseen)
{
    struct model_ended ended = ended_of(model, &past->lease, why);
    ended.deserted = true;
    ended.unseen = unseen;
    for (size_t i = 0; i < past->lease.n_claims; i++) {
        const struct rules *rules = file_find(&model->file, past->on[i].name);
        strcpy(ended.claims[i].name, past->on[i].name);
        ended.claims[i].cooldown = rules ? rules->cooldown : 0;
    }
    add(model, &ended);
}
