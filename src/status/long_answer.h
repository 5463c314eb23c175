/* long_answer.h - an answer that is made and sent piece by piece, while the client reads it. Each
 * kind is a struct that has this one in it. */
#pragma once

#include "base/text.h"
#include "core/definition.h"
#include "status/viewer.h"

#include <stdbool.h>

struct long_answer;

/* When one piece is made, and for whom. */
struct answer_moment {
    const struct viewer *viewer;
    nanoseconds now;
    nanoseconds wall_now; /* since 1970 */
    const struct definition *definitions; /* the file's; a reload between two pieces changes them */
    size_t n_definitions;
};

struct long_answer_kind {
    /* Adds lines until `out` has `enough` bytes, or much has been looked at. False: there are no
     * more. */
    bool (*more)(struct long_answer *answer, const struct answer_moment *moment, struct text *out,
        size_t enough);
    /* How much it keeps of views of databases, of which a user may have little: 1, and 1 more for
     * each 8 MB, or 0; NULL: it never does. */
    uint32_t (*view_weight)(const struct long_answer *answer);
    void (*free)(struct long_answer *answer);
    /* In its place, once all is added, if that is not all: takes the answer over. NULL: it is. */
    void (*next)(struct long_answer *answer);
    bool has_no_end; /* no "end" line: what it adds is a whole answer, or another one follows */
};

struct long_answer {
    const struct long_answer_kind *kind;
    struct text held_back; /* events that must not come inside the answer */
};

/* Adds the next piece to `out`. False at the end; then the "end" line, if it has one, and the
 * events held back have been added as well. */
bool long_answer_continue(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough);
uint32_t long_answer_view_weight(const struct long_answer *answer);
struct long_answer *long_answer_free(struct long_answer *answer); /* returns NULL */
