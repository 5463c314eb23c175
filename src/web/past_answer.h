/* past_answer.h - what /history.json says of what was told. Pure.
 *
 * Doc: doc/man/berth-web.8.scd. */
#pragma once

#include "base/text.h"
#include "web/past_ask.h"

/* False: nobody has told anything, and `out` is a line that says why. Moves what was told to the
 * first one who has. */
bool past_answer_print(struct past_ask *ask, const char *host, struct text *out);
