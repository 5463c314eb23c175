/* top_typing.h - what is typed into the last line of `berthctl top`. Pure but for the names of
 * users. */
#ifndef BERTH_BERTHCTL_TOP_TYPING_H
#define BERTH_BERTHCTL_TOP_TYPING_H

#include "berthctl/top_state.h"

#include <stdint.h>

/* A key while there is a prompt, but for the Enter that ends a reason. */
void top_typed(struct top *top, uint32_t code);

#endif
