#include "status/viewer.h"

#include "core/core.h"
#include "core/resource.h"

/* What a resource with that definition hides; NULL: with one that is not known. */
static bool may_see(const struct viewer *viewer, const struct definition *definition)
{
    return viewer->may_see(viewer->context, definition ? &definition->rights : NULL);
}

bool viewer_sees(const struct viewer *viewer, const struct lease *lease)
{
    for (size_t i = 0; lease->uid != viewer->uid && i < lease->n_claims; i++) {
        const struct definition *definition = lease->claims[i].resource->definition;
        if (definition->shows_to_owner_only && !may_see(viewer, definition)) {
            return false;
        }
    }
    return true;
}

bool viewer_sees_not_started(
    const struct viewer *viewer, const struct lease *lease, nanoseconds now)
{
    return lease->state == LEASE_HELD && now - lease->granted_at >= NANOSECONDS_PER_SECOND &&
        lease->stopping == OUTCOME_OK && viewer->is_unread && viewer->is_unread(lease);
}

const char *viewer_user_of(const struct viewer *viewer, uint32_t uid)
{
    return viewer->user_of ? viewer->user_of(viewer->context, uid) : NULL;
}

bool viewer_sees_remote(const struct viewer *viewer, uint32_t uid, uint64_t n_hiding,
    const struct definition *definition)
{
    bool hides_here = definition && definition->shows_to_owner_only;
    if (uid == viewer->uid || (n_hiding == 0 && !hides_here)) {
        return true;
    }
    bool is_that_one = hides_here && n_hiding <= 1;
    return may_see(viewer, is_that_one ? definition : NULL);
}

bool viewer_sees_ended(const struct viewer *viewer, struct core *core,
    const struct saved_lease *saved, uint16_t hiding)
{
    for (size_t i = 0; saved->uid != viewer->uid && i < saved->n_claims; i++) {
        const struct definition *definition = core_find_definition(core, saved->claims[i].name);
        bool hides = (hiding >> i & 1) || (definition && definition->shows_to_owner_only);
        if (hides && !may_see(viewer, definition)) {
            return false;
        }
    }
    return true;
}

bool viewer_sees_did(const struct viewer *viewer, struct core *core, const struct did *did)
{
    const struct definition *definition =
        did->resource ? core_find_definition(core, did->resource) : NULL;
    bool hides = definition && definition->shows_to_owner_only;
    return !hides || did->by.uid == viewer->uid || may_see(viewer, definition);
}
