#include "core/lease.h"

#include "base/memory.h"
#include "core/core.h"

#include <stdlib.h>

struct lease *lease_new(const struct ask *ask, uint32_t uid, nanoseconds now)
{
    struct lease *lease = memory_new(sizeof *lease + ask->n_wants * sizeof lease->claims[0]);
    lease->asked_at = now;
    lease->uid = uid;
    lease->pid = ask->pid;
    terms_copy(&lease->terms, &ask->terms);
    lease->binding = (uint8_t)ask->binding;
    lease->process = ask->process;
    lease->wrapper = ask->wrapper;
    lease->ttl = ask->ttl;
    lease->state = LEASE_WAITING;
    lease->n_claims = (uint8_t)ask->n_wants;
    for (size_t i = 0; i < ask->n_wants; i++) {
        lease->claims[i].lease = lease;
        lease->claims[i].count = ask->wants[i].count;
    }
    return lease;
}

void lease_free(struct lease *lease)
{
    free(lease->waiting);
    free(lease->term);
    terms_deinit(&lease->terms);
    free(lease->kept);
    free(lease->last_names);
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
