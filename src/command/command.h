/* command.h - one line of a client -> one answer. */
#ifndef BERTH_COMMAND_COMMAND_H
#define BERTH_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct conn;

/* Modifies `line`. False: the request would only be answered, which is not possible any more, so it
 * is skipped and not charged. */
bool command_run(struct conn *conn, char *line, size_t length);

#endif
