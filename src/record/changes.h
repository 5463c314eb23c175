/* changes.h - operators' changes at runtime, as lines of text and back: requests of the protocol.
 * Each also has what it rests on in the file (`file=`). */
#pragma once

#include "base/text.h"
#include "core/core.h"

struct state;

/* Adds one line for each change in force. */
void changes_describe(struct text *out, const struct core *core);

/* The next image of the state gets these lines. False: they are what it has already. */
bool changes_note(struct state *state, const struct core *core);

/* Makes those changes again that the file has not ended meanwhile (logged), as core_define() would
 * have. Modifies `lines`. The caller carries the effects out. */
void changes_apply(struct core *core, char *lines, nanoseconds now, struct effects *effects);
