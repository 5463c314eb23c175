/* top_internal.h - what the files of top_screen.h and top_actions.h tell each other. Pure but for
 * the names of users. */
#ifndef BERTH_BERTHCTL_TOP_INTERNAL_H
#define BERTH_BERTHCTL_TOP_INTERNAL_H

#include "berthctl/top_state.h"

#include <stdint.h>

/* ---- top_header.c ---- */

/* At least 1. */
size_t top_header_lines(const struct top *top);

/* Adds that one of them to an empty line. */
void top_header_line(const struct top *top, size_t number, struct top_line *line);

/* ---- top_pages.c ---- */

/* The title of the page, and its lines, each with an LF, in at most `width` columns. Escaped. */
void text_add_page_title(struct text *text, const struct top *top);
void text_add_page(struct text *text, const struct top *top, size_t width);

/* ---- top_table.c ---- */

/* The columns for the units of leases: those that are seen now decide. */
size_t top_table_units_width(const struct top *top);

/* Adds it to an empty line. */
void top_table_titles(const struct top *top, struct top_line *line);
void top_table_line(const struct top *top, const struct top_row *row, struct top_line *line);

/* ---- top_typing.c ---- */

/* A key while there is a prompt, but for the Enter that ends a reason. */
void top_typed(struct top *top, uint32_t code);

#endif
