/* record_words.h - words of a record by their value, for record.c, which writes them, and
 * record_read.c. */
#ifndef BERTH_JOURNAL_RECORD_WORDS_H
#define BERTH_JOURNAL_RECORD_WORDS_H

#include "core/definition.h"
#include "core/outcome.h"

#include <stdbool.h>

static const char *const state_words[] = {[false] = "waiting", [true] = "held"};
static const char *const stopping_words[] = {
    [OUTCOME_REVOKED] = "revoked",
    [OUTCOME_WITHDRAWN] = "withdrawn",
    [OUTCOME_MAX_HOLD] = "max-hold",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_DEADLINE] = "deadline",
};

#endif
