/* answer.h - the lines that berthd sends, checked: nothing behind this file trusts the server to
 * keep to the protocol. Pure. */
#ifndef BERTH_CLIENT_ANSWER_H
#define BERTH_CLIENT_ANSWER_H

#include "client/options.h"
#include "wire/protocol.h"
#include "wire/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum answer_kind {
    ANSWER_OTHER, /* a line within an answer of several lines, or nothing of ours */
    ANSWER_OK,
    ANSWER_WAITING,
    ANSWER_ERROR,
    ANSWER_EVENT,
};

/* All pointers point into the line. */
struct answer {
    enum answer_kind kind;
    enum event event; /* of ANSWER_EVENT; EVENT_NONE: not known here, to be ignored */
    const char *lease; /* ok of an acquire, waiting, events; "" if there is none */
    enum code code; /* error, denied, lost; CODE_NONE: not known here */
    const char *code_word; /* the same as a word; "" if there is none */
    char *text; /* why, as sent; NULL if not said */
    size_t n_words;
    char *words[MAX_WORDS]; /* all of the line */
};

/* Takes the line apart in place. */
void answer_parse(struct answer *answer, char *line);

/* What was granted of one resource. */
struct granted {
    bool pool; /* named items, not numbered slots */
    const char *name, *token;
    const char *units; /* comma-separated; slots may be ranges like 3-7 */
    uint32_t count;
};

struct grant {
    char lease[LEASE_ID_SIZE];
    size_t n;
    struct granted granted[OPTIONS_MAX_RESOURCES];
};

/* From "ok LEASE UNITS..." or "* granted LEASE UNITS...". False unless it gives exactly what was
 * asked for. Pointers into the line. */
bool grant_parse(struct grant *grant, const struct answer *answer, const struct options *options);

/* Calls back for each unit: ranges of slots as one number after the other. `unit` has `length`
 * bytes. False if the list is malformed. */
typedef void unit_function(void *context, const char *unit, size_t length);
bool granted_for_each_unit(const struct granted *granted, unit_function *function, void *context);

#endif
