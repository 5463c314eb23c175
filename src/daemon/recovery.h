/* recovery.h - at the start: takes over what an earlier berthd knew, from its journal and state
 * directory. */
#ifndef BERTH_DAEMON_RECOVERY_H
#define BERTH_DAEMON_RECOVERY_H

#include <stdbool.h>

struct serving;

/* Before clients can connect, and after definitions are in place; `socket_path` is the socket's one
 * name. If something is missing or damaged, logs it, and the daemon starts, with a grace where
 * leases may be missing. False (logged) if the file would make a resource in use another kind: then
 * the daemon does not start. */
bool recovery_run(struct serving *serving, const char *socket_path);

#endif
