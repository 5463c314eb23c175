/* scripts.h - the Lua scripts, embedded at build time: each is all of scripts/common/ and one file
 * of its own. doc/fleet.md has their arguments and answers. */
#ifndef BERTH_REDIS_SCRIPTS_H
#define BERTH_REDIS_SCRIPTS_H

#include "fleet/script.h"

#define SCRIPT_KEYS_WORD "21" /* the number of keys, as EVALSHA takes it */

enum { N_SCRIPT_KEYS = 21, SCRIPT_KEY_BYTES = 96 };

struct script_source {
    const char *name;
    const char *text;
    size_t length;
};

extern const struct script_source script_table[N_SCRIPTS];

extern const struct script_bounds script_bounds; /* the same bounds as in the scripts */
/* Without their prefix: "db", "sessions", ... in the order of KEYS. */
extern const char *const script_key_words[N_SCRIPT_KEYS];

#endif
