/* top_line.h - one line of the screen of `berthctl top`: text that never leaves its columns, and
 * how each part of it looks. Pure but for the locale, as printable.h. */
#ifndef BERTH_BERTHCTL_TOP_LINE_H
#define BERTH_BERTHCTL_TOP_LINE_H

#include "base/text.h"
#include "berthctl/look.h"

#include <stdbool.h>

enum { TOP_PARTS = 24 };

struct top_part {
    size_t begin; /* byte of the text; it ends where the next one begins */
    enum look look;
};

struct top_line {
    struct text text; /* escaped, at most `max` columns */
    size_t columns, max;
    struct top_part parts[TOP_PARTS];
    size_t n_parts;
    bool is_chosen; /* the cursor is here */
};

void top_line_init(struct top_line *line, size_t max);
void top_line_deinit(struct top_line *line);

/* Columns that are left. */
size_t top_line_room(const struct top_line *line);
/* Adds an escaped text, cut to what room is left. */
void top_line_add(struct top_line *line, enum look look, const char *escaped);
/* The same, into so many columns, and a gap behind them. */
void top_line_add_cell(
    struct top_line *line, enum look look, const char *escaped, size_t width, bool is_right);
/* A name, of which the end tells most: cut in its middle. */
void top_line_add_name(
    struct top_line *line, enum look look, const char *escaped, size_t width);

/* Adds the words of an escaped text, in which each LF ends a paragraph, as lines of at most `width`
 * columns, each with its LF. */
void text_add_wrapped(struct text *text, const char *escaped, size_t width);

#endif
