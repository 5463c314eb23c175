/* command.h - one line of a client -> one answer. */
#ifndef BERTH_DAEMON_COMMAND_H
#define BERTH_DAEMON_COMMAND_H

#include <stddef.h>

struct conn;

/* Modifies `line`. */
void command_run(struct conn *conn, char *line, size_t length);

#endif
