/* rights.h - may this uid with these groups do that? Pure; the one place where it is decided.
 * Which right a request needs is a column of the command table (wire/commands.def). */
#ifndef BERTH_CORE_RIGHTS_H
#define BERTH_CORE_RIGHTS_H

#include "core/definition.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct credentials {
    uid_t uid;
    const gid_t *gids; /* the primary group and the others; NULL: they are not known (yet) */
    size_t n_gids;
};

/* Root, the daemon's own uid, or named in admin-users or admin-groups of [daemon]. */
struct daemon_admins {
    uid_t own_uid;
    const struct id_set *users, *groups;
};

bool rights_admin_of_daemon(
    const struct credentials *credentials, const struct daemon_admins *admins);
/* An admin of the daemon, or of this resource. */
bool rights_admin_of(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);
/* Allowed to take units: anyone, if the resource allows nobody in particular; and its admins. Who is
 * denied is not, whatever allows him, unless he is an admin of the daemon: an admin of the resource
 * may then administer it, but not use it. While the groups are not known, nobody is let in whom one
 * of them might deny. */
bool rights_use(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights);

#endif
