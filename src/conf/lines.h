/* lines.h - one file -> calls of sections.h, by way of inih.
 *
 * inih takes lines of at most 197 bytes, and of what it does not take much is cut, joined to other
 * lines or passed over in silence. So it is given only lines that it takes: this file reads whole
 * lines of any length, keeps section headers to itself, complains of what is no line of the
 * configuration, and hands a long value on in pieces, as indented lines. */
#ifndef BERTH_CONF_LINES_H
#define BERTH_CONF_LINES_H

#include "conf/sections.h"

enum {
    WORD_BYTES = 140, /* key, "=" and the longest word fit into inih's line */
};

/* Reads to the end of `stream`. A read error is left in ferror(stream). */
void lines_read(struct loading *loading, FILE *stream);

#endif
