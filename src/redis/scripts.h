/* scripts.h - what Redis runs for us, embedded at build time: one library of functions, and the
 * same as one script. doc/redis.md has their arguments and answers. */
#pragma once

#include "fleet/script.h"

#define SCRIPT_KEYS_WORD "21" /* the number of keys, as FCALL and EVALSHA take it */

enum { N_SCRIPT_KEYS = 21, SCRIPT_KEY_BYTES = 96 };

struct script_text {
    const char *text;
    size_t length;
};

/* All operations on the data of one layout. Libraries of other digests may live beside it. */
struct script_set {
    unsigned layout;
    const char *name; /* the library's: berth_L<layout>_<digest> */
    const char *about; /* the function that answers the library's name, without keys */
    const char *functions[N_SCRIPTS];
    struct script_text library; /* for FUNCTION LOAD */
    struct script_text script; /* for EVAL: the last argument is one of script_words, or "about" */
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
