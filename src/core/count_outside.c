/* count_outside.c - counts requests and leases that the core does not have. */
#include "core/internal.h"

void core_count_refused(struct core *core, const struct acquire_request *ask, enum outcome why)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct definition *definition = core_find_definition(core, ask->wants[i].name);
        if (definition) {
            counts_deny(&tallies_find(core, definition->name)->counts, why);
        }
    }
}

void core_count_ended_earlier(
    struct core *core, const struct saved_lease *saved, enum outcome why, nanoseconds at)
{
    for (size_t i = 0; i < saved->n_claims; i++) {
        const char *name = saved->claims[i].name;
        const struct definition *definition = core_find_definition(core, name);
        struct tally *tally = tallies_find(core, definition ? definition->name : name);
        if (saved->is_held) {
            nanoseconds held_for = at > saved->granted_at ? at - saved->granted_at : 0;
            counts_end(&tally->counts, why, (uint64_t)held_for / 1000);
        } else {
            counts_deny(&tally->counts, why);
        }
    }
}
