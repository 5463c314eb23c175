/* viewer.h - what a user may see of leases (`show-commands`): always pid, uid and age; program,
 * reason and identity only with the right to. Pure. */
#pragma once

#include "core/definition.h"
#include "core/ended.h"
#include "core/lease.h"
#include "core/saved_lease.h"

struct core;

struct viewer {
    uint32_t uid;
    void *context;
    /* Whether the viewer may see what the resource with these rights hides; NULL: any resource. */
    bool (*may_see)(void *context, const struct rights *rights);
    /* The process that status shows for a lease of this host. */
    int32_t (*pid_of)(const struct lease *lease);
    /* Whether a held lease's client has not read the grant. The function may be NULL: not known. */
    bool (*is_unread)(const struct lease *lease);
    /* Whether its process waits for the lock of a file (flock(2)): the process that has taken it,
     * -1 if that is not known, or 0: it does not wait. The function may be NULL: not known. */
    int32_t (*file_lock_holder)(const struct lease *lease);
    /* What the name service calls that user; NULL: not known. The function may be NULL. */
    const char *(*user_of)(void *context, uint32_t uid);
};

/* A user sees everything about their own leases. Another's details show only if the viewer
 * may see what each of its resources hides (rights_see()): what one resource hides, another does
 * not show. */
bool viewer_sees(const struct viewer *viewer, const struct lease *lease);

/* Whether the job of a held lease has not begun, since its client, perhaps stopped, has not read
 * the grant for a second. Nothing tells when that ends: only for answers, not for who follows. */
bool viewer_sees_not_started(
    const struct viewer *viewer, const struct lease *lease, nanoseconds now);

/* The name of a user, whom everybody may know, as their uid; NULL: not known. */
const char *viewer_user_of(const struct viewer *viewer, uint32_t uid);

/* For a lease of another host, as far as that one of its resources is concerned (NULL: not known
 * here). `hides_there`: it hides the lease, as its own host says. */
bool viewer_sees_remote(const struct viewer *viewer, uint32_t uid, bool hides_there,
    const struct definition *definition);

/* For a lease that is over: bit 1 << i of `hiding` says that the resource of claim i hid it when it
 * ended. What a resource hid then counts as much as what it hides now. If the resource is gone,
 * only who sees everything sees it. */
bool viewer_sees_ended(const struct viewer *viewer, struct core *core,
    const struct saved_lease *saved, uint16_t hiding);

/* The name of the i-th of the resources that it is about. False: there are not so many. */
bool did_resource(const struct did *did, size_t i, char name[static NAME_BYTES + 1]);
/* Whether it was done to a lease: then its reason shows as the lease does, once that is over. */
bool did_is_of_lease(const struct did *did);
/* Whether the reason of what an operator did shows: to everybody, as in `status`, unless that was
 * done to a lease. */
bool viewer_sees_did(const struct viewer *viewer, struct core *core, const struct did *did);
