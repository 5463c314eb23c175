#include "core/lease.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const char *lease_names(const struct lease *lease)
{
    return (const char *)&lease->claims[lease_n_all(lease)];
}

const struct claim *lease_asked(const struct lease *lease, size_t i)
{
    const struct claim *claim = lease->claims;
    while (claim->asked != i) {
        claim++;
    }
    return claim;
}

bool lease_is_detached(const struct lease *lease)
{
    return lease->client->is_nobody;
}

struct client *lease_real_client(const struct lease *lease)
{
    return lease_is_detached(lease) ? NULL : lease->client;
}

void lease_move(struct lease *lease, struct client *to)
{
    LIST_REMOVE(lease, link);
    lease->client = to;
    LIST_INSERT_HEAD(&to->leases, lease, link);
}

static size_t names_size(const struct acquire_request *ask)
{
    size_t size = 0;
    for (size_t i = 0; i < ask->n_wants; i++) {
        size += ask->wants[i].is_level ? 0 : strlen(ask->wants[i].name) + 1;
    }
    return size;
}

/* Returns what is behind them. */
static char *copy_names(const struct acquire_request *ask, char *room)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        if (!ask->wants[i].is_level) {
            room = stpcpy(room, ask->wants[i].name) + 1;
            room[-1] = ' ';
        }
    }
    room[-1] = '\0';
    return room;
}

/* One block: the lease, its claims, its texts. */
struct lease *lease_new(const struct acquire_request *ask, uint32_t uid, nanoseconds now)
{
    size_t size = sizeof(struct lease) + ask->n_wants * sizeof(struct claim);
    struct lease *lease =
        memory_new(size + names_size(ask) + lease_attributes_texts_size(&ask->attributes));
    lease->n_claims = (uint8_t)(ask->n_wants - ask->n_shared);
    lease->n_shares = (uint8_t)ask->n_shared;
    lease_attributes_copy(
        &lease->attributes, &ask->attributes, copy_names(ask, (char *)lease_names(lease)));
    lease->asked_at = now;
    lease->uid = uid;
    lease->pid = ask->pid;
    lease->binding = (uint8_t)ask->binding;
    lease->process = ask->process;
    lease->wrapper = ask->wrapper;
    lease->ttl = ask->ttl;
    lease->state = LEASE_WAITING;
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct requested_resource *want = &ask->wants[i];
        lease->claims[i].lease = lease;
        lease->claims[i].count = want->count;
        lease->claims[i].is_all = want->is_all;
        lease->claims[i].is_level = want->is_level;
        lease->n_levels += want->is_level;
        lease->claims[i].asked = (uint8_t)i;
        if (ask->n_shared != 0) {
            lease->claims[i].of = want->of;
            lease->claims[i].sharer = want->sharer;
            lease->claims[i].asked = want->asked;
        }
    }
    return lease;
}

struct claim *lease_own_claim(struct lease *lease, const struct resource *resource)
{
    size_t i = 0;
    while (i < lease->n_claims && lease->claims[i].resource != resource) {
        i++;
    }
    return i < lease->n_claims ? &lease->claims[i] : NULL;
}

void taken_free(struct taken *taken)
{
    if (taken) {
        free(taken->reason);
    }
    free(taken);
}

void lease_free(struct lease *lease)
{
    if (lease->state == LEASE_ENDED) {
        free(lease->ending);
    }
    taken_free(lease->taken);
    free(lease->kept);
    free(lease);
}

void lease_set_state(struct lease *lease, enum lease_state state)
{
    static const bool allowed[][3] = {
        [LEASE_WAITING] = {[LEASE_HELD] = true, [LEASE_ENDED] = true},
        [LEASE_HELD] = {[LEASE_ENDED] = true},
        [LEASE_ENDED] = {false},
    };
    if (!allowed[lease->state][state]) {
        abort();
    }
    lease->state = (uint8_t)state;
}
