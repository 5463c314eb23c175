#include "status/viewer.h"

#include "core/core.h"
#include "core/resource.h"
#include "wire/protocol.h"

#include <string.h>

/* What a resource with that definition hides; NULL: with one that is not known. */
static bool may_see(const struct viewer *viewer, const struct definition *definition)
{
    return viewer->may_see(viewer->context, definition ? &definition->rights : NULL);
}

bool viewer_sees(const struct viewer *viewer, const struct lease *lease)
{
    for (size_t i = 0; lease->uid != viewer->uid && i < lease_n_all(lease); i++) {
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

/* What that resource hides elsewhere, or has hidden, or hides now. */
static bool sees_what_hides(
    const struct viewer *viewer, const struct definition *definition, bool is_hidden)
{
    bool hides = is_hidden || (definition && definition->shows_to_owner_only);
    return !hides || may_see(viewer, definition);
}

bool viewer_sees_remote(const struct viewer *viewer, uint32_t uid, bool hides_there,
    const struct definition *definition)
{
    return uid == viewer->uid || sees_what_hides(viewer, definition, hides_there);
}

static bool sees_past_of(
    const struct viewer *viewer, struct core *core, const char *name, bool has_hidden)
{
    return sees_what_hides(viewer, core_find_definition(core, name), has_hidden);
}

bool viewer_sees_ended(const struct viewer *viewer, struct core *core,
    const struct saved_lease *saved, uint16_t hiding)
{
    bool sees = true;
    for (size_t i = 0; saved->uid != viewer->uid && sees && i < saved->n_claims; i++) {
        sees = sees_past_of(viewer, core, saved->claims[i].name, hiding >> i & 1);
    }
    return sees;
}

bool did_is_of_lease(const struct did *did)
{
    enum command_index command = command_index_of(did->verb, strlen(did->verb));
    return command < N_COMMANDS && command_is_of_lease(command);
}

bool did_resource(const struct did *did, size_t i, char name[static NAME_BYTES + 1])
{
    const char *next = i == 0 ? did->resource : did->others;
    for (size_t k = 1; next && k < i; k++) {
        next = strchr(next, ' ');
        next += next ? 1 : 0;
    }
    size_t n = next ? strcspn(next, " ") : 0;
    bool fits = n > 0 && n <= NAME_BYTES;
    memcpy(name, fits ? next : "", fits ? n : 0);
    name[fits ? n : 0] = '\0';
    return fits;
}

bool viewer_sees_did(const struct viewer *viewer, struct core *core, const struct did *did)
{
    char name[NAME_BYTES + 1];
    if (!did_is_of_lease(did) || did->by.uid == viewer->uid) {
        return true;
    }
    bool sees = true;
    for (size_t i = 0; sees && did_resource(did, i, name); i++) {
        sees = sees_past_of(viewer, core, name, did->hiding >> i & 1);
    }
    return sees;
}
