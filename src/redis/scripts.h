/* scripts.h - what Redis runs for us, embedded at build time: one library of functions, and the
 * same as one script. doc/redis.md has their arguments and answers. */
#pragma once

#include "fleet/script.h"

#include <stdbool.h>

#define SCRIPT_KEYS_WORD "23" /* the number of keys, as FCALL and EVALSHA take it */

/* The first N_DATA_KEYS are data; the others are for people's eyes, and may be missing. */
enum { N_DATA_KEYS = 21, N_SCRIPT_KEYS = 23, SCRIPT_KEY_BYTES = 96 };

/* All operations on the data of one layout. Libraries of other digests may live beside it. */
struct script_set {
    unsigned layout;
    const char *name; /* the library's: berth_L<layout>_<digest> */
    const char *about; /* the function that answers the library's name, without keys */
    const char *functions[N_SCRIPTS];
    const char *library; /* for FUNCTION LOAD */
    const char *script; /* for EVAL: the last argument is one of script_words, or "about" */
    const char *sha; /* of the script, for EVALSHA */
};

/* From the oldest to the newest layout, without gaps. */
extern const struct script_set script_sets[];
extern const size_t n_script_sets;
extern const struct layouts script_layouts; /* of these */

/* For EVAL: what may scripts do there? See scripts/rights.lua. */
extern const char script_rights[];
extern const struct script_bounds script_bounds; /* the same bounds as in the scripts */
/* Without their prefix: "db", "sessions", ... in the order of KEYS. */
extern const char *const script_key_words[N_SCRIPT_KEYS];

/* ---- the names of a database's keys and channels ---- */

enum {
    CHANNEL_OWN, /* for events of one session */
    CHANNEL_ALL,
    N_CHANNELS
};

/* All names share one hash tag, the prefix. */
struct keys {
    char keys[N_SCRIPT_KEYS][SCRIPT_KEY_BYTES];
    char channels[N_CHANNELS][SCRIPT_KEY_BYTES];
};

/* False if the names would be too long. */
bool keys_init(struct keys *keys, const char *prefix, const char *session);
