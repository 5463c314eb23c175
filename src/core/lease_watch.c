/* lease_watch.c - when berthd watches the process that a lease is bound to. */
#include "core/internal.h"

void detached_watch(struct lease *lease, struct effects *effects)
{
    if (!lease->is_watched) {
        lease->is_watched = true;
        effects_append(effects, EFFECT_WATCH, lease, NULL, OUTCOME_OK);
    }
}

/* A pidfd for each of thousands of leases would leave no descriptors for connections. */
void detached_unwatch(struct lease *lease, struct effects *effects)
{
    if (lease->is_watched && !lease->process_is_gone && lease->stopping == OUTCOME_OK) {
        lease->is_watched = false;
        effects_append(effects, EFFECT_UNWATCH, lease, NULL, OUTCOME_OK);
    }
}

enum outcome lease_bind(struct lease *lease, const struct client *by, enum binding binding,
    const struct process *process, struct effects *effects)
{
    bool is_anothers = binding == BOUND_CONNECTION && lease->client != by;
    if (lease->binding == BOUND_TIME || lease->is_opaque || lease->is_ending || is_anothers) {
        return OUTCOME_KIND;
    }
    lease->binding = (uint8_t)binding;
    if (lease->attributes.signal == 0) {
        lease->attributes.signal = SIGNAL_TERM; /* it has a job now */
    }
    lease->process = *process;
    lease->wrapper = (struct process){.pid = 0};
    lease->pid = process->pid;
    lease->main_is_gone = lease->process_is_gone = false;
    lease->is_watched = false;
    if (binding == BOUND_PROCESS &&
        (lease_is_detached(lease) || lease->stopping != OUTCOME_OK)) {
        detached_watch(lease, effects);
    }
    effects_change(effects, lease);
    return OUTCOME_OK;
}
