/* asker.h - the user of a connection with their groups, as rights.h needs them, for one turn of the
 * loop. */
#pragma once

#include "admission/peer.h"
#include "base/time.h"
#include "core/rights.h"
#include "status/viewer.h"

struct user_names;

struct asker {
    int fd; /* the connection's */
    const struct daemon_admins *admins;
    struct credentials credentials; /* groups are read when needed */
    gid_t *gids; /* for the credentials; owned */
    bool has_looked; /* for the groups */
    struct viewer viewer; /* the user as a viewer */
    struct user_names *names; /* for the viewer; NULL: users are not named */
    nanoseconds now; /* with .names */
    const struct rights *last; /* the rights last checked for the viewer, and the answer */
    bool last_answer;
};

/* `fd` is the connection's; -1: the connection is gone. */
void asker_init(struct asker *asker, int fd, uint32_t uid, const struct daemon_admins *admins);
void asker_deinit(struct asker *asker);
/* From now on, the viewer is told the names of users, as far as they are known. */
void asker_names_users(struct asker *asker, struct user_names *names, nanoseconds now);

typedef bool rights_function(const struct credentials *credentials,
    const struct daemon_admins *admins, const struct rights *rights);

/* For rights to no resource: to administer the daemon. */
rights_function rights_daemon;

/* Groups cost two system calls: they are read only if the uid alone does not decide. They are those
 * that the process had when it connected. */
bool asker_may(struct asker *asker, rights_function *may, const struct rights *rights);
