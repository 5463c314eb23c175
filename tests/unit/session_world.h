/* session_world.h - the one world of a test, for the fixture's own files alone. */
#pragma once

#include "session_fixture.h"

enum { MAX_NAMED = 512 };

#define SECOND NANOSECONDS_PER_SECOND

struct named_id {
    char name[16];
    uint64_t id;
};

extern struct named_id named[MAX_NAMED];
extern size_t n_named;
extern struct effects world_effects;

/* ---- session_say.c ---- */

/* A text that is good for a few further calls. */
const char *keep(struct text *text);
const char *name_of(uint64_t id);
uint64_t id_of(const char *name);
/* "$A" becomes the id. */
void add_with_ids(struct text *out, const char *from, size_t n);
/* And back. */
void add_word(struct text *out, const char *word);
const char *outcome_word(enum outcome outcome);
/* As the daemon's glue does. */
void carry_out(void);
void forget_happenings(void);

/* ---- session_answer.c ---- */

/* No call in flight is answered any more. */
void forget_unanswered(void);
