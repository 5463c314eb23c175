/* top_actions.h - what `berthctl top` does when a key is typed, or an answer comes. Pure. */
#ifndef BERTH_BERTHCTL_TOP_ACTIONS_H
#define BERTH_BERTHCTL_TOP_ACTIONS_H

#include "berthctl/top_state.h"

#include <stdint.h>

/* Of rows that are up to date; leaves them so. `code` is a character or an enum top_code. */
void top_type(struct top *top, uint32_t code);

/* The answer to .question; `said` is escaped, each sentence with an LF behind it. */
void top_answered(struct top *top, bool is_good, const char *said);

#endif
