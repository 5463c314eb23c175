/* top_screen.h - what the terminal shows of `berthctl top`, line by line. Pure. */
#ifndef BERTH_BERTHCTL_TOP_SCREEN_H
#define BERTH_BERTHCTL_TOP_SCREEN_H

#include "berthctl/top_state.h"

struct top_screen {
    struct top_line *lines; /* owned */
    size_t n;
    bool is_grey; /* all but the first line: it is what was, not what is */
};

/* Makes all lines of the terminal, of the rows that top_update() has made. Brings the scroll of a
 * page into its bounds. */
void top_screen_make(struct top_screen *screen, struct top *top);
void top_screen_deinit(struct top_screen *screen);

#endif
