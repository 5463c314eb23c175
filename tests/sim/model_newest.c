/* model_newest.c - the model's requests that replace others, by walks over all leases. */
#include "model.h"

#include <string.h>

bool model_has_identity(const struct model_lease *lease)
{
    return lease->held || lease->replace == REPLACE_NOTHING;
}

/* Not only as a level. */
static bool names(const struct model_lease *lease, const struct model_resource *resource)
{
    bool names = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        names |= lease->claims[i].resource == resource && !lease->claims[i].is_level;
    }
    return names;
}

const struct model_lease *model_identity_ahead(const struct model *model,
    const struct model_lease *lease, const struct model_resource *resource)
{
    bool waits =
        lease->holder != 0 && !model_has_identity(lease) && names(lease, resource);
    for (size_t i = 0; waits && i < model->n_leases; i++) {
        struct model_lease *other = model->leases[i];
        bool is_same = other->holder == lease->holder && model_has_identity(other) &&
            (other->uid == lease->uid || resource->rules.identity_shared);
        if (is_same && names(other, resource)) {
            return other;
        }
    }
    return NULL;
}

/* Whether it has named each that the other has. */
static bool names_all_of(const struct model_lease *lease, const struct model_lease *other)
{
    bool has_all = true;
    for (size_t i = 0; i < other->n_claims; i++) {
        has_all &= other->claims[i].is_level || names(lease, other->claims[i].resource);
    }
    return has_all;
}

/* Of one user, with one identity, on the same resources. */
static bool is_of_group(const struct model_lease *a, const struct model_lease *b)
{
    return a->holder != 0 && a->holder == b->holder && a->uid == b->uid && names_all_of(a, b) &&
        names_all_of(b, a);
}

struct model_lease *model_older(const struct model *model, const struct model_lease *lease)
{
    for (size_t i = 0; lease->replace != REPLACE_NOTHING && i < model->n_waiters; i++) {
        struct model_lease *other = model->waiters[i];
        if (other->id < lease->id && is_of_group(lease, other)) {
            return other;
        }
    }
    return NULL;
}

static bool stands_before(const struct model_lease *a, const struct model_lease *b)
{
    uint64_t turn_of_a = a->moved ? a->moved : a->id, turn_of_b = b->moved ? b->moved : b->id;
    return a->is_first != b->is_first ? a->is_first
        : a->is_first                 ? turn_of_a > turn_of_b
                                      : turn_of_a < turn_of_b;
}

/* Several, which only restarts bring about, end in any order. */
static struct model_lease *next_older(const struct model *model, const struct model_lease *lease)
{
    const struct trace *trace = model->trace;
    struct model_lease *said = trace->at < trace->n_events
        ? model_find_lease(model, trace->events[trace->at].lease)
        : NULL;
    bool is_older = said && !said->held && said->id < lease->id && is_of_group(lease, said);
    struct model_lease *older = model_older(model, lease);
    return older && is_older ? said : older;
}

void model_replace_older(struct model *model, struct model_lease *lease)
{
    struct model_lease *older;
    while ((older = next_older(model, lease))) {
        struct model_lease before = *older;
        uint64_t ticket = before.moved ? before.moved : before.id;
        before.number = before.number ? before.number : ticket;
        before.moved = model_ticket_after(lease, older);
        model_lease_end(model, older, OUTCOME_REPLACED);
        if (!lease->held && stands_before(&before, lease)) {
            lease->moved = before.moved;
            lease->is_first = before.is_first;
            lease->number = before.number;
            model_stand_again(model, lease);
            model_go_on_from(model, lease, &before);
        }
    }
}

bool model_is_replaced(
    const struct model *model, uint32_t uid, const struct model_ask *ask, uint64_t id)
{
    struct model_lease asked = {.uid = uid, .holder = ask->holder};
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct model_claim *claim = &asked.claims[asked.n_claims++];
        claim->resource = model_find_resource(model, ask->wants[i].name);
        claim->is_level = ask->wants[i].is_level;
        if (!claim->resource) {
            return false;
        }
    }
    bool is_replaced = false;
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *lease = model->leases[i];
        is_replaced |= lease->id > id && lease->replace != REPLACE_NOTHING &&
            is_of_group(&asked, lease);
    }
    return is_replaced;
}

uint64_t model_replaced_holder(const struct model *model, uint64_t id)
{
    const struct model_lease *lease = model_find_lease(model, id);
    for (size_t i = 0; lease && i < model->n_leases; i++) {
        struct model_lease *other = model->leases[i];
        if (!lease->held && lease->replace == REPLACE_RUNNING && other->held &&
            other->stopping == OUTCOME_OK && is_of_group(lease, other)) {
            return other->id;
        }
    }
    return 0;
}
