/* keeper.h - by which process a lease is shown. */
#ifndef BERTH_DAEMON_KEEPER_H
#define BERTH_DAEMON_KEEPER_H

#include <stdint.h>

struct lease;

/* The pid that its client gave or, if the main process of a tree has ended, that of the wrapper,
 * which keeps the lease since. Looks at /proc where there is a wrapper: while its client is
 * connected, nobody tells of the main process. */
int32_t keeper_pid(const struct lease *lease);

#endif
