/* live_line.h - one line on the terminal behind stderr that is written over while it changes, and
 * gone before anything else is written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Columns; a usual number for one that does not say. */
size_t terminal_width(int fd);

/* stderr is a terminal that can erase. */
bool live_line_has_terminal(void);

/* And this process leads its foreground group: in the background we would write over what the user
 * types, and below an xargs or a make forty of us over one line. */
bool live_line_is_possible(void);

/* stderr takes nothing now: its terminal is stopped (^S), or nobody reads its pipe. */
bool stderr_would_block(void);

/* Writes "berth: TEXT" over the line, cut to the terminal's width; if it is possible, and would
 * not block: a stopped terminal must not delay a job. TEXT is printable ASCII. */
void live_line_show(const char *text);

/* Erases the line, if there is one and that would not block. */
void live_line_clear(void);
