/* answer.h - parses and checks the lines that berthd sends: callers need not trust the server to
 * keep to the protocol. Pure. */
#pragma once

#include "base/words.h"
#include "wire/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum answer_kind {
    ANSWER_OTHER, /* a line within an answer of several lines, or an unknown one */
    ANSWER_OK,
    ANSWER_WAITING,
    ANSWER_PENDING,
    ANSWER_ERROR,
    ANSWER_EVENT,
};

/* All pointers point into the line. */
struct answer {
    enum answer_kind kind;
    enum event event; /* of ANSWER_EVENT; EVENT_NONE: unknown here, to be ignored */
    const char *lease; /* ok, waiting, pending, events; "" if there is none */
    enum code code; /* error, denied, lost, revoked, expired; CODE_NONE: unknown here */
    const char *code_word; /* the code as a word; "" if there is none */
    char *text; /* why, as sent; NULL if not given */
    size_t n_words;
    char *words[MAX_WORDS]; /* of the whole line */
};

/* Parses the line in place. */
void answer_parse(struct answer *answer, char *line);
/* Of ANSWER_ERROR: its text, decoded, or else what its code means. NULL: it has no code, or the
 * text is malformed. Call it once. */
const char *answer_why(struct answer *answer);

/* ---- answers of several lines ---- */

enum answer_result {
    ANSWER_MORE,
    ANSWER_END,
    ANSWER_MALFORMED, /* no daemon sends that */
};

/* Takes one line after another of an answer, the `ok` line first. Copies what it keeps, and may
 * modify the line. */
typedef enum answer_result answer_taker(void *object, char *line);
