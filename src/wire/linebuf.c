#include "wire/linebuf.h"

#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

void linebuf_deinit(struct linebuf *buffer)
{
    if (buffer->owned) {
        free(buffer->bytes);
    }
    *buffer = (struct linebuf)LINEBUF_INIT;
}

bool linebuf_has_line(const struct linebuf *buffer)
{
    size_t unscanned = buffer->end - buffer->scanned;
    return unscanned > 0 && memchr(buffer->bytes + buffer->scanned, '\n', unscanned);
}

/* Nothing is pending. */
static void linebuf_lend(struct linebuf *buffer, char *bytes, size_t n)
{
    if (buffer->owned) {
        free(buffer->bytes);
    }
    *buffer =
        (struct linebuf){.bytes = bytes, .end = (uint32_t)n, .skipping = buffer->skipping};
}

bool linebuf_feed(struct linebuf *buffer, char *bytes, size_t n)
{
    size_t pending = linebuf_pending(buffer);
    if (pending == 0) {
        linebuf_lend(buffer, bytes, n);
        return true;
    }
    char *joined = malloc(pending + n);
    if (!joined) {
        return false;
    }
    memcpy(joined, buffer->bytes + buffer->start, pending);
    if (n > 0) {
        memcpy(joined + pending, bytes, n);
    }
    struct linebuf next = {
        .bytes = joined,
        .end = (uint32_t)(pending + n),
        .scanned = buffer->scanned - buffer->start,
        .owned = true,
        .skipping = buffer->skipping,
    };
    linebuf_deinit(buffer);
    *buffer = next;
    return true;
}

bool linebuf_keep(struct linebuf *buffer)
{
    if (linebuf_pending(buffer) > 0) {
        return buffer->owned || linebuf_feed(buffer, NULL, 0);
    }
    linebuf_lend(buffer, NULL, 0);
    return true;
}

enum line_result linebuf_next(struct linebuf *buffer, char **linep, size_t *lengthp)
{
    for (;;) {
        size_t unscanned = buffer->end - buffer->scanned;
        char *newline =
            unscanned > 0 ? memchr(buffer->bytes + buffer->scanned, '\n', unscanned) : NULL;
        uint32_t stop = newline ? (uint32_t)(newline - buffer->bytes) : buffer->end;
        size_t length = stop - buffer->start;
        bool too_long = !buffer->skipping && length >= LINE_BYTES;

        if (too_long) {
            buffer->skipping = true;
        }
        if (!newline) {
            buffer->scanned = buffer->end;
            if (buffer->skipping) {
                buffer->start = buffer->end;
            }
            return too_long ? LINE_TOO_LONG : LINE_MORE;
        }
        char *line = buffer->bytes + buffer->start;
        buffer->start = buffer->scanned = stop + 1;
        if (!buffer->skipping) {
            *newline = '\0';
            *linep = line;
            *lengthp = length;
            return LINE_OK;
        }
        buffer->skipping = false;
        if (too_long) {
            return LINE_TOO_LONG;
        }
    }
}
