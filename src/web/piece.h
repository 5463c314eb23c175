/* piece.h - a piece of JSON that is kept, and whose ages go on: the values of "age_ms" grow, those
 * of "left_ms" shrink with time. Pure. */
#ifndef BERTH_WEB_PIECE_H
#define BERTH_WEB_PIECE_H

#include "base/table.h"
#include "base/text.h"
#include "base/time.h"

#include <stdbool.h>

struct piece_number {
    size_t at, length; /* of its digits */
    uint64_t value;
    bool grows;
};

struct piece {
    struct table_node node;
    char *name; /* owned */
    uint64_t made; /* the serial of what it shows; 0: there is nothing yet */
    nanoseconds made_at;
    struct text text;
    struct piece_number *numbers;
    size_t n_numbers, numbers_size;
};

struct piece *piece_new(const char *name);
void piece_free(struct piece *piece);

/* Empties it: the caller adds to .text, and then calls piece_end(). */
void piece_begin(struct piece *piece);
void piece_end(struct piece *piece, uint64_t serial, nanoseconds now);
/* Adds it as it is at `now`. */
void piece_add(const struct piece *piece, nanoseconds now, struct text *out);

#endif
