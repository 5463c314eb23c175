/* top_header.h - the lines above the list of `berthctl top`: the host's figures, and whatever keeps
 * it from granting. Pure. */
#ifndef BERTH_BERTHCTL_TOP_HEADER_H
#define BERTH_BERTHCTL_TOP_HEADER_H

#include "berthctl/top_state.h"

/* At least 1. */
size_t top_header_lines(const struct top *top);

/* Adds that one of them to an empty line. */
void top_header_line(const struct top *top, size_t number, struct top_line *line);

#endif
