/* changes.h - what operators have changed at runtime, as lines of text and back: requests of the
 * protocol, and with those that a key of the file may overrule, that key's value (`file=`). */
#ifndef BERTH_DAEMON_CHANGES_H
#define BERTH_DAEMON_CHANGES_H

#include "base/text.h"
#include "core/core.h"

/* Adds one line for each change in force. */
void changes_describe(struct text *out, const struct core *core);

/* Makes them again. Those whose resource is gone, or whose key has another value in the file now,
 * are left out (logged). `lines` is taken apart. The caller carries the effects out. */
void changes_apply(struct core *core, char *lines, nanoseconds now, struct effects *effects);

#endif
