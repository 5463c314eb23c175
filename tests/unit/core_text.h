/* core_text.h - the words in which tests speak to core_fixture.h: definitions, numbers. A slip in a
 * test's own text ends the test. */
#pragma once

#include "core/definition.h"

enum { MAX_DEFINITIONS = 64, WORD_BYTES = 64 };

struct definitions {
    struct definition list[MAX_DEFINITIONS];
    size_t n;
};

extern const char *const outcome_words[N_OUTCOMES];
enum outcome outcome_of(const char *word);

/* The next word of *restp in `word`; false at the end. */
bool next_word(const char **restp, char word[WORD_BYTES]);
nanoseconds seconds(const char *text);
uint32_t number(const char *text);
enum on_lost on_lost_of(const char *word);
enum nested nested_of(const char *word);

/* Adds what one line of define() says. */
void definitions_parse(
    struct definitions *definitions, struct user_bounds *bounds, const char *line);
/* Overwrites what the core must not look at any more. */
void definitions_free(struct definitions *definitions);
