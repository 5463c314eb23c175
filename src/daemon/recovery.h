/* recovery.h - at the start: what an earlier berthd knew, from its journal and state directory. */
#ifndef BERTH_DAEMON_RECOVERY_H
#define BERTH_DAEMON_RECOVERY_H

#include <stdbool.h>

struct server;

/* Before anybody can connect; definitions are in place. Whatever is missing or damaged: logged, and
 * the daemon starts, with a grace where leases may be missing. `socket_path` is its one name. False (logged) if
 * the file would make another kind of a resource that is in use: then the daemon does not start. */
bool recovery_run(struct server *server, const char *socket_path);

#endif
