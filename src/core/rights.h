/* rights.h - access checks: may this uid, with these groups, do that? Pure; every such decision is
 * made here. Which right a request needs is a column of the command table (wire/commands.def). */
#pragma once

#include "core/definition.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct credentials {
    uid_t uid;
    const gid_t *gids; /* the primary group and the others; NULL: they are not known (yet) */
    size_t n_gids;
};

/* Root, the daemon's own uid, and the users and groups of [daemon] admin-users, admin-groups.
 * Besides, those of view-users and view-groups, who may look as an admin does. */
struct daemon_admins {
    uid_t own_uid;
    const struct id_set *users, *groups;
    const struct id_set *view_users, *view_groups;
};

bool rights_admin_of_daemon(
    const struct credentials *credentials, const struct daemon_admins *admins);
/* An admin of the daemon, or of this resource. */
bool rights_admin_of(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
/* May see what leases on this resource hide from others: its admins, and who sees everything. */
bool rights_see(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
/* May take units: anyone, if the resource allows nobody in particular; and its admins. Deny
 * overrides allow, except for an admin of the daemon: a denied admin of the resource may administer
 * it, but not use it. While the groups are not known, a user whom one of them might deny is
 * refused. */
bool rights_use(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
