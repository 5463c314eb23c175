/* manager.h - everything between a daemon and its service manager, by libsystemd, which only
 * manager.c includes. Without it (configure --without-systemd) the answer to every question is no:
 * the daemon runs, but tells nobody that it is ready, that its loop turns or what it does; it
 * refuses a socket that is handed over, and its log has no fields.
 *
 * Leaves the environment as it is: no daemon of ours starts a program that it could mislead. */
#pragma once

#include "base/time.h"
#include "log/log.h"

#include <stdbool.h>

enum { MANAGER_FIRST_FD = 3 };

/* How many descriptors were handed over, from MANAGER_FIRST_FD on; they are close-on-exec now.
 * Negative (logged): unknown, or an error. */
int manager_sockets(void);

/* Whether there is a manager to notify. Logs if there is one, but it cannot be notified. */
bool manager_is_there(void);
/* sd_notify(3)'s assignments, one a line. False if not sent: never waits for a manager that does
 * not read. */
bool manager_notify(const char *assignments);
/* The longest time between two WATCHDOG=1; 0: none are wanted. */
nanoseconds manager_watchdog(void);
/* Whether the journal has taken the message, with its fields: never waits either. */
bool manager_log(enum log_level level, const char *text, const struct log_subject *subject);
/* For the status line: why the daemon does not start. Returns 2 s later if a client waits in the
 * socket that was handed over: one start every 2 s meets no limit of the manager, so that the
 * socket stays open, and the client is served once the file is mended. */
void manager_not_started(const char *why);
