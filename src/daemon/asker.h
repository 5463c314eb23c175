/* asker.h - who is at the other end of a connection, with his groups: what rights.h is asked with.
 * For the time of one turn of the loop. */
#ifndef BERTH_DAEMON_ASKER_H
#define BERTH_DAEMON_ASKER_H

#include "core/rights.h"
#include "daemon/peer.h"
#include "status/viewer.h"

struct asker {
    int fd; /* the connection's */
    const struct daemon_admins *admins;
    struct credentials credentials; /* without groups until they are needed */
    struct peer_groups groups;
    bool has_looked; /* for the groups */
    struct viewer viewer; /* he himself */
    const struct rights *last; /* that the viewer was asked about, and the answer */
    bool last_answer;
};

/* `fd` is the connection's; -1: nobody is there any more. */
void asker_init(struct asker *asker, int fd, uint32_t uid, const struct daemon_admins *admins);
void asker_deinit(struct asker *asker);

typedef bool rights_function(const struct credentials *credentials,
    const struct daemon_admins *admins, const struct rights *rights);

/* Of no resource: to administer the daemon. */
rights_function rights_daemon;

/* Groups cost two system calls: they are asked for only if the uid alone does not do. They are
 * those that the process had when it connected. */
bool asker_may(struct asker *asker, rights_function *may, const struct rights *rights);

#endif
