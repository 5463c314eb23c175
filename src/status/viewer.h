/* viewer.h - what one who asks is shown of leases (`show-commands`): pid, uid and age always;
 * program, reason and identity perhaps. Pure. */
#ifndef BERTH_STATUS_VIEWER_H
#define BERTH_STATUS_VIEWER_H

#include "core/definition.h"
#include "core/lease.h"

struct viewer {
    uint32_t uid;
    void *context;
    /* Of the resource with these rights; NULL: of the daemon. */
    bool (*administers)(void *context, const struct rights *rights);
    /* The process by which a lease of this host is shown. */
    int32_t (*pid_of)(const struct lease *lease);
};

/* All is shown of his own leases. Of others, if each of its resources that hides it is one that he
 * administers: what one resource hides, another that the lease has as well does not show. */
bool viewer_sees(const struct viewer *viewer, const struct lease *lease);

/* A lease of another host, in the list of the resource with that definition (NULL: not known
 * here). `n_hiding` of its resources hide it, as its own host says. */
bool viewer_sees_elsewhere(const struct viewer *viewer, uint32_t uid, uint64_t n_hiding,
    const struct definition *definition);

#endif
