/* keeper.h - the process by which a lease is shown. */
#ifndef BERTH_JOB_KEEPER_H
#define BERTH_JOB_KEEPER_H

#include <stdint.h>

struct lease;

/* The pid that its client gave or, if the main process of a tree has ended, that of the wrapper,
 * which has kept the lease since. Reads /proc where there is a wrapper: while its client is
 * connected, nothing reports the main process's end. */
int32_t keeper_pid(const struct lease *lease);

#endif
