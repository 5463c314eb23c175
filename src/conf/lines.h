/* lines.h - one file -> calls of sections.h, by way of inih.
 *
 * inih takes lines of at most 197 bytes; much of what it does not take it cuts, joins to other
 * lines or skips silently. So this file reads whole lines of any length, keeps section headers to
 * itself, complains of malformed lines, and gives inih only lines that it takes: a long value in
 * pieces, as indented lines. */
#ifndef BERTH_CONF_LINES_H
#define BERTH_CONF_LINES_H

#include "conf/sections.h"

enum {
    WORD_BYTES = 140, /* key, "=" and the longest word fit into inih's line */
};

/* Reads to the end of `stream`. Check ferror(stream) for a read error. */
void lines_read(struct loading *loading, FILE *stream);

#endif
