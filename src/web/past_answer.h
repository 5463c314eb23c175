/* past_answer.h - what /history.json says of what was told. Pure but for the time.
 *
 * Doc: doc/man/berth-web.8.scd. */
#pragma once

#include "base/text.h"
#include "web/past_ask.h"

/* False: nobody has told anything, and `out` is a line that says why. */
bool past_answer_print(const struct past_ask *ask, const char *host, struct text *out);
