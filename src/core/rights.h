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
 * Besides, those of view-users and view-groups, who may look as an admin does, and who keeps the
 * history. */
struct daemon_admins {
    uid_t own_uid;
    const struct id_set *users, *groups;
    const struct id_set *view_users, *view_groups;
    const char *history_user; /* a name, or a numeric id */
};

bool rights_admin_of_daemon(
    const struct credentials *credentials, const struct daemon_admins *admins);
/* An admin of the daemon, or of this resource. */
bool rights_admin_of(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
/* May see what leases on this resource hide from others: its admins, and who sees everything. */
bool rights_see(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
/* May have what is kept of all leases that are over: root, the daemon's own user, and the history
 * user. `name` is the user's; NULL: it has none, or is not known. */
bool rights_history(
    const struct credentials *credentials, const struct daemon_admins *admins, const char *name);
/* May take units: anyone, if the resource allows nobody in particular; and its admins. Deny
 * overrides allow, except for an admin of the daemon: a denied admin of the resource may administer
 * it, but not use it. While the groups are not known, a user whom one of them might deny is
 * refused. */
bool rights_use(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
