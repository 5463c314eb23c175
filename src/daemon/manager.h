/* manager.h - all that berthd has to do with a service manager, by libsystemd, which manager.c
 * alone includes. Without it (configure --without-systemd) the answer to every question is no:
 * berthd runs, but nobody hears that it is ready, that its loop turns or what it does; a socket
 * that is handed over is refused, and what is logged has no fields.
 *
 * The environment is left as it is: berthd starts no other program that it could mislead. */
#ifndef BERTH_DAEMON_MANAGER_H
#define BERTH_DAEMON_MANAGER_H

#include "core/types.h"
#include "log/log.h"

#include <stdbool.h>

enum { MANAGER_FIRST_FD = 3 };

/* How many descriptors were handed over, from MANAGER_FIRST_FD on; they are close-on-exec now.
 * Negative (logged): that cannot be said, or not be done. */
int manager_sockets(void);

/* Whether there is somebody to notify. Says (logs) so if there is, but cannot be. */
bool manager_is_there(void);
/* sd_notify(3)'s assignments, a line each. False if it was not said: never waits for who does not
 * read. */
bool manager_notify(const char *assignments);
/* How often it wants to hear WATCHDOG=1 at the least; 0: not at all. */
nanoseconds manager_watchdog(void);
/* Whether the journal has taken it, with its fields: never waits either. */
bool manager_log(enum log_level level, const char *text, const struct log_about *about);
/* For its status line: why berthd does not start. */
void manager_not_started(const char *why);

#endif
