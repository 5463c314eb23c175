/* linebuf.h - bytes in, lines out: bounded, whatever the peer sends.
 *
 * Bytes are lent with linebuf_feed(), lines taken with linebuf_next() until it says LINE_MORE, and
 * what is left over is copied by linebuf_keep() before the lent bytes go away. A connection that
 * sends whole lines thus costs no memory and no copy. Pure. */
#ifndef BERTH_WIRE_LINEBUF_H
#define BERTH_WIRE_LINEBUF_H

#include <stdbool.h>
#include <stddef.h>

enum line_result {
    LINE_MORE, /* no whole line left */
    LINE_OK,
    LINE_TOO_LONG, /* said once, at the start of an over-long line, which is then skipped */
};

struct linebuf {
    char *bytes; /* lent if !owned */
    size_t start, end;
    size_t scanned; /* no LF between start and this */
    bool owned;
    bool skipping; /* inside an over-long line */
};

#define LINEBUF_INIT {0}

void linebuf_deinit(struct linebuf *buffer);

/* Lends `n` bytes until linebuf_keep(); appends them (copying) if something was left over. The
 * bytes are written to while lines are taken. False if out of memory. */
bool linebuf_feed(struct linebuf *buffer, char *bytes, size_t n);

/* On LINE_OK *linep is NUL-terminated in place of its LF, `length` without it, and good until the
 * next linebuf_feed() or linebuf_keep(). It may contain zero bytes. */
enum line_result linebuf_next(struct linebuf *buffer, char **linep, size_t *lengthp);

/* Ends the loan: copies what was not taken. False if out of memory. */
bool linebuf_keep(struct linebuf *buffer);

/* Bytes not taken yet. */
size_t linebuf_pending(const struct linebuf *buffer);

/* Whether the end of a line is among them. */
bool linebuf_has_line(const struct linebuf *buffer);

#endif
