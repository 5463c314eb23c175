/* changes.h - operators' changes at runtime, as lines of text and back: requests of the protocol. A
 * change that a key of the file may overrule also has that key's value (`file=`). */
#ifndef BERTH_DAEMON_CHANGES_H
#define BERTH_DAEMON_CHANGES_H

#include "base/text.h"
#include "core/core.h"

/* Adds one line for each change in force. */
void changes_describe(struct text *out, const struct core *core);

/* Makes the changes again. Leaves out (logged) changes whose resource is gone, or whose key now has
 * another value in the file. Modifies `lines`. The caller carries the effects out. */
void changes_apply(struct core *core, char *lines, nanoseconds now, struct effects *effects);

#endif
