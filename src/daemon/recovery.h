/* recovery.h - at the start: what an earlier berthd knew, from its journal and state directory. */
#ifndef BERTH_DAEMON_RECOVERY_H
#define BERTH_DAEMON_RECOVERY_H

struct server;

/* Before anybody can connect; definitions are in place. Whatever is missing or damaged: logged, and
 * the daemon starts, with a grace where leases may be missing. */
void recovery_run(struct server *server);

#endif
