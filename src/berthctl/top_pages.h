/* top_pages.h - the texts that cover the list of `berthctl top`: help, details of a row, and why it
 * waits. Pure. */
#ifndef BERTH_BERTHCTL_TOP_PAGES_H
#define BERTH_BERTHCTL_TOP_PAGES_H

#include "berthctl/top_state.h"

/* The title of the page, and its lines, each with an LF, in at most `width` columns. Escaped. */
void text_add_page_title(struct text *text, const struct top *top);
void text_add_page(struct text *text, const struct top *top, size_t width);

#endif
