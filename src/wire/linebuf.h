/* linebuf.h - bytes in, lines out: bounded, whatever the peer sends.
 *
 * The caller lends bytes with linebuf_feed(), takes lines with linebuf_next() until it returns
 * LINE_MORE, and calls linebuf_keep(), which copies what is left, before the lent bytes go away. So
 * a connection that sends whole lines costs no memory and no copy. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum line_result {
    LINE_MORE, /* no whole line is left */
    LINE_OK,
    LINE_TOO_LONG, /* returned once, at the start of an over-long line, which is then skipped */
};

struct linebuf {
    char *bytes; /* lent if !owned */
    uint32_t start, end;
    uint32_t scanned; /* there is no LF between start and here */
    bool owned;
    bool skipping; /* inside an over-long line */
};

#define LINEBUF_INIT {0}

void linebuf_deinit(struct linebuf *buffer);

/* Lends `n` bytes, at most 1 GiB, until linebuf_keep(); if something is left over from before,
 * appends a copy instead. linebuf_next() writes into these bytes. False if out of memory. */
bool linebuf_feed(struct linebuf *buffer, char *bytes, size_t n);

/* On LINE_OK, *linep ends in a NUL in place of its LF; `length` counts neither. The line is good
 * until the next linebuf_feed() or linebuf_keep(), and may contain zero bytes. */
enum line_result linebuf_next(struct linebuf *buffer, char **linep, size_t *lengthp);

/* Ends the loan: copies the bytes that have not been taken. False if out of memory. */
bool linebuf_keep(struct linebuf *buffer);

/* The number of bytes that have not been taken yet. */
static inline size_t linebuf_pending(const struct linebuf *buffer)
{
    return buffer->end - buffer->start;
}

/* Whether these contain the end of a line. */
bool linebuf_has_line(const struct linebuf *buffer);
